//! The tutorials: their commands are run one after the other, with their code changes in between.
//! Each shows the source of a new project.
//!
//! Those in TypeScript and Python need tools from npm and PyPI, as the suite `languages` does.

use std::{fs, path::Path};

use tests::{
    documents::{Block, blocks},
    shell::{Said, Shell},
};

use crate::languages::{PYTHON, TYPESCRIPT, has_tools};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Waits that are longer here than in print, since other tests run at the same time.
const WAITS: [(&str, &str); 2] = [("--wait 30s", "--wait 240s"), ("sleep 2", "sleep 5")];

struct Tutorial {
    page: &'static str,
    /// Language of the project, as in `segno new --lang`.
    language: &'static str,
    /// Language of the listings.
    fence: &'static str,
    /// Files of a new project that the page changes. It shows the first one.
    sources: &'static [&'static str],
    /// Parts of the output, with the begin of their line.
    parts: &'static [(&'static str, &'static str)],
}

const IN_RUST: Tutorial = Tutorial {
    page: "docs/start/tutorial.md",
    language: "rust",
    fence: "rust",
    sources: &["src/lib.rs"],
    parts: &[("cargo test", "test result: ok. 3 passed")],
};

const IN_TYPESCRIPT: Tutorial = Tutorial {
    page: "docs/start/tutorial-typescript.md",
    language: "ts",
    fence: "ts",
    sources: &["src/index.ts"],
    parts: &[
        ("npm test", "# pass 3"),
        ("npm test", "# pass 4"),
        ("segno inspect fay", "failed at src/index.ts:39: TypeError"),
    ],
};

const IN_PYTHON: Tutorial = Tutorial {
    page: "docs/start/tutorial-python.md",
    language: "py",
    fence: "python",
    sources: &["app.py", "test_app.py"],
    parts: &[
        (".venv/bin/pytest", "3 passed"),
        (".venv/bin/pytest", "4 passed"),
        ("segno inspect fay", "failed at app.py:40"),
    ],
};

/// Parts of the output in every language.
const PARTS: [(&str, &str); 13] = [
    ("segno why ada", "ada/p/confirmed"),
    ("segno inspect ada", "#1 promise confirmed {}"),
    ("segno inspect ada ||", "no host answers: exit code 8"),
    ("segno deploy . --check", "same so far          1      0"),
    ("segno deploy . --migrate", "moved  1 execution"),
    ("segno result ada", "\"ada@example.org is confirmed\""),
    ("segno logs ada", "your address is confirmed"),
    ("segno deploy . --check ||", "diverges          1      1"),
    ("segno deploy . --check ||", "exit code 7"),
    ("segno result bob", "\"bob@example.org is confirmed\""),
    ("segno replay ada", "identical: 8 records"),
    ("segno replay ada.segno-bundle", "identical: "),
    ("segno result eve", "exit code 4"),
];

/// Parts of the output where the page has a bug that is mended.
const MENDED: [(&str, &str); 4] = [
    ("segno resolve fay", "exit code 6"),
    ("segno replay fay", "identical: 4 records"),
    ("segno continue fay", "which repeats its journal of 4 records"),
    ("segno result fay", "\"fay@example.org is confirmed\""),
];

#[test]
fn every_line_of_the_tutorial_works_as_printed() {
    works_as_printed(&IN_RUST, &[]);
}

#[test]
fn every_line_of_the_tutorial_in_typescript_works_as_printed() {
    if has_tools(&TYPESCRIPT) {
        works_as_printed(&IN_TYPESCRIPT, &MENDED);
    }
}

#[test]
fn every_line_of_the_tutorial_in_python_works_as_printed() {
    if has_tools(&PYTHON) {
        works_as_printed(&IN_PYTHON, &MENDED);
    }
}

fn works_as_printed(tutorial: &Tutorial, more: &[(&str, &str)]) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let changed = tempfile::tempdir().expect("there is room for a folder");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
    let shell = Shell::in_folder(folder.path(), SEGNO, &target);
    let created = shell.run("", &[format!("segno new created --lang {}", tutorial.language)]);
    assert_eq!(created[0].exit, Some(0), "{created:#?}");
    let lines = tutorial.lines(&shell.work().join("created"), changed.path());
    let said = shell.run("", &lines);
    let failed: Vec<&Said> = said.iter().filter(|said| said.exit != Some(0)).collect();
    assert!(failed.is_empty(), "these lines failed: {failed:#?}\n\nall of them: {said:#?}");
    for (line, part) in PARTS.iter().chain(more).chain(tutorial.parts) {
        let found: Vec<&Said> = said.iter().filter(|said| said.line.starts_with(line)).collect();
        let shows = found.iter().any(|said| said.out.contains(part));
        assert!(shows, "{part:?} is missing: {found:#?}");
    }
}

impl Tutorial {
    /// Lines of the page. A code change and a new file are also lines: they copy a prepared file
    /// into place.
    ///
    /// The listing of the page is compared with the project in `created`.
    fn lines(&self, created: &Path, changed: &Path) -> Vec<String> {
        let read = |file: &&str| fs::read_to_string(created.join(file)).expect("it is created");
        let mut sources: Vec<String> = self.sources.iter().map(read).collect();
        let (mut lines, mut listings) = (Vec::new(), 0);
        for Block { language, text, .. } in
            blocks().into_iter().filter(|block| block.file == self.page)
        {
            let (file, text) = match language.as_str() {
                "sh" => {
                    lines.extend(text.lines().map(with_longer_waits));
                    continue;
                }
                "diff" => {
                    let place = place_of_change(&sources, &text);
                    sources[place] = with_change(&sources[place], &text);
                    (self.sources[place].to_owned(), sources[place].clone())
                }
                fence if fence == self.fence => match new_file(&text) {
                    Some(file) => (file.to_owned(), text),
                    None => {
                        assert_eq!(text, sources[0], "{} shows a new project", self.page);
                        listings += 1;
                        continue;
                    }
                },
                _ => continue,
            };
            let prepared = changed.join(lines.len().to_string());
            fs::write(&prepared, text).expect("there is room for a file");
            lines.push(format!("cp {} {file}", prepared.display()));
        }
        assert_eq!(listings, 1, "{} shows {}", self.page, self.sources[0]);
        lines
    }
}

fn with_longer_waits(line: &str) -> String {
    WAITS.iter().fold(line.to_owned(), |line, (printed, longer)| line.replace(printed, longer))
}

/// Path in the comment that begins the listing of a new file.
fn new_file(listing: &str) -> Option<&str> {
    let first = listing.lines().next()?;
    let path = first.strip_prefix("// ").or_else(|| first.strip_prefix("# "))?;
    (path.contains('.') && !path.contains(' ')).then_some(path)
}

/// The lines of a change before it, and after it. Lines that begin with `-` are removed, those with
/// `+` are added.
fn sides(change: &str) -> [String; 2] {
    ['-', '+'].map(|sign| {
        let kept = change.lines().filter(|line| line.starts_with([' ', sign]));
        kept.map(|line| format!("{}\n", &line[1..])).collect()
    })
}

/// Place of the source that has the lines before a change, once.
fn place_of_change(sources: &[String], change: &str) -> usize {
    let [before, _] = sides(change);
    let fits = |source: &String| source.matches(&before).count() == 1;
    let place = sources.iter().position(fits);
    place.unwrap_or_else(|| panic!("no source has this once:\n{before}"))
}

fn with_change(source: &str, change: &str) -> String {
    let [before, after] = sides(change);
    source.replace(&before, &after)
}
