//! The README's commands do what it says: every fenced `console` block is run as printed.
//!
//! What is substituted, so that tests can run side by side: see [`Shell`].

use std::{
    fs,
    path::{Path, PathBuf},
};

use segno::build::template;
use tests::shell::{Said, Shell};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Blocks of commands that are not run, by file and the beginning of their first line, and why. They
/// are fenced as `text`.
const NOT_RUN: [(&str, &str, &str); 13] = [
    ("README.md", "cargo run -- demo", "it has tests of its own, and the second line is this test"),
    ("README.md", "segno new shop --lang js", "the suite `languages` runs it, and more"),
    ("README.md", "segno serve &", "needs npm and an application that is not part of Segno"),
    ("README.md", "segno events --follow", "ends only when it is interrupted"),
    ("README.md", "docker run", "needs Docker"),
    ("README.md", "SEGNO_STORE=postgres:", "needs a PostgreSQL with this password"),
    ("docs/api.md", "B=http:", "only defines what the others use"),
    ("docs/api.md", "curl", "the answers are shortened, and those of modules that are not shown"),
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
        block.file == "README.md"
            && SECTIONS.iter().chain(&AFTERWARDS).any(|section| block.section == *section)
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
    let shell = Shell::in_folder(folder.path(), SEGNO, env!("CARGO_TARGET_TMPDIR"));
    let mut said = shell.run("", &lines_of(&SECTIONS));
    said.extend(shell.run("signup", &lines_of(&AFTERWARDS)));
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
