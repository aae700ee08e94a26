//! The guide: its listings quote the source of the example, and its commands do what it says.

use std::{fs, path::Path};

use tests::{
    documents::{Block, blocks, repository},
    shell::{Said, Shell},
};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Files that the guide quotes, relative to the folder of the example.
const SOURCES: [&str; 4] = ["src/lib.rs", "src/tests.rs", "bug.patch", "upgrade.patch"];

fn guide() -> Vec<Block> {
    blocks().into_iter().filter(|block| block.file == "docs/start/guide.md").collect()
}

#[test]
fn what_is_quoted_is_the_source_of_the_example() {
    let example = repository().join("examples/subscription");
    let read = |file| fs::read_to_string(example.join(file)).expect("it can be read");
    let sources = SOURCES.map(read);
    let mut quoted = [false; SOURCES.len()];
    for block in guide() {
        if !matches!(block.language.as_str(), "rust" | "diff") {
            continue;
        }
        let source = sources.iter().position(|source| source.contains(&block.text));
        let source = source.unwrap_or_else(|| panic!("this is not in the example: {block:#?}"));
        quoted[source] = true;
    }
    assert_eq!(quoted, [true; SOURCES.len()], "the guide quotes {SOURCES:?}");
}

/// Expected exit code of a line: the one in its comment, or 0.
fn expected(line: &str) -> i32 {
    let code = line.split_once("# exit code ").map(|(_, rest)| rest);
    let code = code.filter(|rest| !rest.contains(" if "));
    let digits = code.and_then(|rest| rest.split(|letter: char| !letter.is_ascii_digit()).next());
    digits.map_or(0, |digits| digits.parse().expect("it is a number"))
}

#[test]
fn every_line_of_the_guide_works_as_printed() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
    let shell = Shell::in_folder(folder.path(), SEGNO, &target);
    let guide = guide();
    let shown = guide.iter().filter(|block| block.language == "console");
    let lines: Vec<String> = shown.flat_map(Block::commands).map(str::to_owned).collect();
    let said = shell.run("", &lines);
    let failed: Vec<&Said> =
        said.iter().filter(|said| said.exit != Some(expected(&said.line))).collect();
    assert!(failed.is_empty(), "these lines failed: {failed:#?}\n\nall of them: {said:#?}");
    let parts = [
        ("cargo test", "test result: ok. 7 passed"),
        ("segno inspect ada", "waits for timer ada/0, in 13 d 23 h"),
        ("segno tree bob", "bob/0"),
        ("segno result bob", "\"cancelled\""),
        ("segno inspect eve", "src/lib.rs:"),
        ("segno inspect eve", "attempt to subtract with overflow"),
        ("segno replay eve --module subscription", "identical: 2 records"),
        ("segno continue eve --module", "which repeats its journal of 2 records"),
        ("segno result eve --wait", "true"),
        ("segno logs eve", "Invoice 1 is due."),
        ("segno restart", "eve-r1  started in place of eve"),
        ("segno replay ada --module next.wasm", "identical: 2 records"),
        ("segno replay eve --module next.wasm", "asked:    command 2: publish `invoice.paid`"),
        ("segno modules", "subscription"),
        ("segno events", "invoice.paid"),
        ("segno deploy next.wasm --as subscription --check", "same so far"),
        ("segno bundle --in-flight subscription", "in-flight.segno-bundle  "),
        ("segno deploy next.wasm --as subscription --check --bundle", "same so far"),
        ("segno deploy next.wasm --as subscription --migrate", "moved  1 execution"),
        ("segno result ada", "\"paid\": 0"),
    ];
    for (line, part) in parts {
        let found = said.iter().filter(|said| said.line.starts_with(line));
        let found: Vec<&Said> = found.collect();
        assert!(!found.is_empty(), "no line begins with {line:?}: {said:#?}");
        let contains = |said: &&&Said| said.out.contains(part);
        assert!(found.iter().any(|said| contains(&said)), "{part:?} is missing: {found:#?}");
    }
}
