//! The commands of the README and of the API's document do what they say: every fenced `console`
//! block is run as printed, and the answers that stand below a command are compared.
//!
//! What is substituted, so that tests can run side by side: the host's address, by `SEGNO_LISTEN`,
//! by `SEGNO_SERVER`, and in the text of lines where it is written out; the home, which is an empty
//! folder; and the target folder of `cargo test`, so that dependencies are compiled once. Kept are
//! what would be downloaded again: the folders of cargo and rustup, and Segno's cache.

use std::{
    env,
    ffi::OsString,
    fs,
    net::TcpListener,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use segno::build::template;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// The address in the README.
const ADDRESS: &str = "127.0.0.1:7766";

/// Blocks of commands that are not run, by file and the beginning of their first line, and why. They
/// are fenced as `text`.
const NOT_RUN: [(&str, &str, &str); 10] = [
    ("README.md", "cargo run -- demo", "it has tests of its own, and the second line is this test"),
    ("README.md", "segno serve &", "needs npm and an application that is not part of Segno"),
    ("README.md", "segno events --follow", "ends only when it is interrupted"),
    ("README.md", "docker run", "needs Docker"),
    ("README.md", "SEGNO_STORE=postgres:", "needs a PostgreSQL with this password"),
    ("docs/bench.md", "segno bench", "takes half an hour"),
    ("docs/guest-contract.md", "cd examples/other-languages/javascript", "needs npm"),
    ("docs/guest-contract.md", "cd examples/other-languages/python", "needs pip"),
    ("docs/operations.md", "segno export --store /var/lib/segno", "reads a host of the system"),
    ("docs/postgresql.md", "createuser", "needs a PostgreSQL of the system"),
];

/// A fenced block.
#[derive(Debug)]
struct Block {
    file: String,
    /// The heading above it.
    section: String,
    /// What stands behind the fence.
    language: String,
    text: String,
}

impl Block {
    /// The commands of a block that shows a shell.
    fn commands(&self) -> Vec<&str> {
        self.text.lines().filter_map(|line| line.strip_prefix("$ ")).collect()
    }

    /// What is shown below each command.
    fn answers(&self) -> Vec<String> {
        let mut answers: Vec<String> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), answers.last_mut()) {
                (Some(_), _) => answers.push(String::new()),
                (None, Some(answer)) => answer.push_str(line.trim()),
                (None, None) => {}
            }
        }
        answers
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it is in the repository").to_owned()
}

/// The blocks of the README and of the documents.
fn blocks() -> Vec<Block> {
    let repository = repository();
    let documents = fs::read_dir(repository.join("docs")).expect("there are documents");
    let documents = documents.map(|entry| entry.expect("it can be read").path());
    let mut files: Vec<PathBuf> = documents.collect();
    files.sort();
    files.insert(0, repository.join("README.md"));
    files.iter().flat_map(|file| blocks_of(&repository, file)).collect()
}

fn blocks_of(repository: &Path, file: &Path) -> Vec<Block> {
    let text = fs::read_to_string(file).expect("it can be read");
    let file = file.strip_prefix(repository).expect("it is inside").display().to_string();
    let (mut blocks, mut section, mut open) = (Vec::new(), String::new(), None::<Block>);
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text += &format!("{line}\n"),
            (None, Some(language)) => {
                let (file, section, language) =
                    (file.clone(), section.clone(), language.to_owned());
                open = Some(Block { file, section, language, text: String::new() });
            }
            (None, None) => {
                if let Some(heading) = line.strip_prefix('#') {
                    section = heading.trim_start_matches('#').trim().to_owned();
                }
            }
        }
    }
    assert!(open.is_none(), "{file}: the last block is not closed");
    blocks
}

/// The sections of the README whose commands are run, one after the other, in one shell.
const SECTIONS: [&str; 3] = ["A workflow", "On a schedule", "Something that several writers share"];

/// The section whose commands are run afterwards, in the same folder, with a host of its own.
const AFTERWARDS: [&str; 1] = ["Looking after it"];

/// The document that goes on from there, with a host of its own as well.
const API: &str = "docs/api.md";

#[test]
fn the_listing_is_the_source_of_a_new_crate() {
    let blocks = blocks();
    let listing = blocks.iter().find(|block| block.section == "A workflow");
    let listing = listing.expect("there is a listing");
    assert_eq!(listing.language, "rust");
    assert_eq!(listing.text, template::LIB);
}

#[test]
fn every_block_of_commands_is_run_or_says_why_not() {
    let run = |block: &Block| {
        let is_section = |section: &&&str| block.section == **section;
        block.file == API
            || block.file == "README.md"
                && SECTIONS.iter().chain(&AFTERWARDS).any(|section| is_section(&section))
    };
    let mut excused = [0; NOT_RUN.len()];
    for block in blocks() {
        let Some(first) = block.commands().first().map(ToString::to_string) else { continue };
        let place = format!("{}, {}: `{first}`", block.file, block.section);
        if block.language == "console" {
            assert!(run(&block), "{place} is fenced as `console` and is not run");
            continue;
        }
        let excuse = NOT_RUN
            .iter()
            .position(|(file, begin, _)| *file == block.file && first.starts_with(begin));
        excused[excuse.unwrap_or_else(|| panic!("{place} is neither run nor excused"))] += 1;
    }
    for ((file, begin, why), blocks) in NOT_RUN.iter().zip(excused) {
        assert!(blocks > 0, "no block of {file} begins with `{begin}` any more ({why})");
    }
}

#[test]
fn every_line_of_the_readme_works_as_printed() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let blocks = blocks();
    let lines_of = |sections: &[&str]| -> Vec<String> {
        let shown = blocks.iter().filter(|block| {
            block.file == "README.md"
                && block.language == "console"
                && sections.contains(&block.section.as_str())
        });
        shown.flat_map(Block::commands).map(str::to_owned).collect()
    };
    let shell = Shell::in_folder(folder.path());
    let mut said = shell.run("", &lines_of(&SECTIONS));
    said.extend(shell.run("signup", &lines_of(&AFTERWARDS)));
    said.extend(the_api_answers_as_shown(&shell, &blocks));
    let failed: Vec<&Said> = said.iter().filter(|line| line.exit != Some(0)).collect();
    assert!(failed.is_empty(), "these lines failed: {failed:#?}\n\nall of them: {said:#?}");
    let parts = [
        ("segno new", "signup is in signup"),
        ("cargo test", "test result: ok. 3 passed"),
        ("segno ready", "ready  http://"),
        ("segno deploy", "signup     workflow"),
        ("segno start", "ada  started"),
        ("segno inspect", "ada  signup/signup  "),
        ("segno tree", "signup/signup"),
        ("segno resolve", "ada  resolved"),
        ("segno result", "\"ada@example.org is confirmed\""),
        ("segno replay", "identical: "),
        ("segno schedule create nightly", "nightly  made, first in "),
        ("segno schedule create often", "often  made, first in "),
        ("segno schedule list", "0 3 * * *"),
        ("segno schedule pause", "nightly  paused"),
        ("segno schedule backfill", "nightly  2 started, "),
        ("curl -H \"$J\" $B/v1/resources/stock/lease", "\"token\":1"),
        ("curl -H \"$J\" -X PUT", "\"left\":12"),
        ("segno size", "journal"),
        ("segno doctor", "nothing is wrong"),
    ];
    for (line, part) in parts {
        let line = said.iter().find(|said| said.line.starts_with(line));
        let line = line.unwrap_or_else(|| panic!("no line begins with {line:?}: {said:#?}"));
        assert!(line.out.contains(part), "{part:?} is missing: {line:#?}");
    }
}

/// Runs the commands of the API's document, and compares what they answer.
fn the_api_answers_as_shown(shell: &Shell, blocks: &[Block]) -> Vec<Said> {
    let shown = blocks.iter().filter(|block| block.file == API && block.language == "console");
    let (mut lines, mut answers) = (Vec::new(), Vec::new());
    for block in shown {
        lines.extend(block.commands().into_iter().map(str::to_owned));
        answers.extend(block.answers());
    }
    let said = shell.run("signup", &lines);
    let others: Vec<(&String, &Said)> = answers
        .iter()
        .zip(&said)
        .filter(|(shown, said)| !shown.is_empty() && !is_as_shown(shown, &said.out))
        .collect();
    assert!(others.is_empty(), "{API} shows other answers: {others:#?}");
    said
}

/// Whether an answer is as it is shown: `…` stands for anything.
fn is_as_shown(shown: &str, answer: &str) -> bool {
    let mut rest = answer.trim_end();
    let parts: Vec<&str> = shown.split('…').collect();
    for (place, part) in parts.iter().enumerate() {
        let at = match place {
            0 => rest.starts_with(part).then_some(0),
            last if last + 1 == parts.len() => {
                rest.ends_with(part).then(|| rest.len() - part.len())
            }
            _ => rest.find(part),
        };
        let Some(at) = at else { return false };
        rest = &rest[at + part.len()..];
    }
    parts.len() > 1 || rest.is_empty()
}

#[test]
fn an_answer_differs_from_what_is_shown_if_any_part_is_missing() {
    for (shown, answer, expected) in [
        ("{\"a\":1}", "{\"a\":1}\n", true),
        ("{\"a\":1}", "{\"a\":1,\"b\":2}", false),
        ("{\"a\":…}", "{\"a\":12}", true),
        ("{\"a\":…,\"c\":3,…}", "{\"a\":1,\"b\":2,\"c\":3,\"d\":4}", true),
        ("{\"a\":…,\"c\":3,…}", "{\"a\":1,\"c\":4,\"d\":3}", false),
        ("…,\"c\":3}", "{\"c\":3}", false),
    ] {
        assert_eq!(is_as_shown(shown, answer), expected, "{shown} {answer}");
    }
}

/// A line and what became of it.
#[derive(Debug)]
#[allow(dead_code, reason = "`err` is read in failures")]
struct Said {
    line: String,
    exit: Option<i32>,
    out: String,
    err: String,
}

/// Shells in an empty folder, with the built command on the path.
struct Shell {
    folder: PathBuf,
    address: String,
}

impl Shell {
    fn in_folder(folder: &Path) -> Self {
        for name in ["bin", "home", "work"] {
            fs::create_dir(folder.join(name)).expect("the folder is empty");
        }
        symlink(SEGNO, folder.join("bin/segno")).expect("links can be made");
        let free = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = free.local_addr().expect("it is bound").to_string();
        Self { folder: folder.to_owned(), address }
    }

    /// Runs lines in one shell, and ends what they left in the background.
    fn run(&self, beginning_in: &str, lines: &[String]) -> Vec<Said> {
        assert!(!lines.is_empty(), "there are lines to run");
        let said = tempfile::tempdir_in(&self.folder).expect("there is room for a folder");
        let file = |kind: &str, n: usize| said.path().join(format!("{n}.{kind}"));
        let mut script = "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n".to_owned();
        for (n, line) in lines.iter().enumerate() {
            let line = line.replace(ADDRESS, &self.address);
            let [out, err, exit] = ["out", "err", "exit"].map(|kind| file(kind, n));
            let (out, err, exit) = (out.display(), err.display(), exit.display());
            script += &format!("{{ {line}\n}} >{out} 2>{err} </dev/null\necho $? >{exit}\n");
        }
        let mut shell = Command::new("timeout");
        shell.args(["--signal=TERM", "1200", "bash", "-c", &script]);
        shell.current_dir(self.folder.join("work").join(beginning_in));
        self.environment(&mut shell);
        let ended = shell.output().expect("there is a shell");
        let read = |kind, n| fs::read_to_string(file(kind, n)).unwrap_or_default();
        let line = |(n, line): (usize, &String)| Said {
            line: line.clone(),
            exit: read("exit", n).trim().parse().ok(),
            out: read("out", n),
            err: read("err", n),
        };
        let stopped = String::from_utf8_lossy(&ended.stderr);
        assert!(!stopped.contains("syntax error"), "{stopped}");
        lines.iter().enumerate().map(line).collect()
    }

    fn environment(&self, shell: &mut Command) {
        let home = env::var_os("HOME").map(PathBuf::from).expect("there is a home");
        let kept = |name: &str, otherwise: PathBuf| {
            env::var_os(name).map_or(otherwise, PathBuf::from).into_os_string()
        };
        let cache = kept("XDG_CACHE_HOME", home.join(".cache"));
        let mut path = OsString::from(self.folder.join("bin"));
        path.push(":");
        path.push(env::var_os("PATH").unwrap_or_default());
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
        shell
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.folder.join("home"))
            .env("CARGO_HOME", kept("CARGO_HOME", home.join(".cargo")))
            .env("RUSTUP_HOME", kept("RUSTUP_HOME", home.join(".rustup")))
            .env("SEGNO_CACHE_DIR", kept("SEGNO_CACHE_DIR", PathBuf::from(cache).join("segno")))
            .env("CARGO_TARGET_DIR", target)
            .env("SEGNO_LISTEN", &self.address)
            .env("SEGNO_SERVER", format!("http://{}", self.address));
        for name in ["SEGNO_WASM_TOOLCHAIN", "RUSTUP_TOOLCHAIN", "CARGO_BUILD_JOBS", "TMPDIR"] {
            if let Some(value) = env::var_os(name) {
                shell.env(name, value);
            }
        }
    }
}
