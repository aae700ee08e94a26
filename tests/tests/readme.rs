//! The commands of the documents do what they say. Every fenced `console` block in the sections
//! below and in the API's document is run as printed, and the answers below a command are compared.
//! The blocks of the guide are run in `guide.rs`. No other document may have such blocks.

use std::{fs, path::Path};

use segno_build::template;
use tests::{
    documents::{Block, blocks, repository},
    shell::{Said, Shell},
};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Command blocks that are not run, by file and start of their first line, with the reason. They
/// are fenced as `text`.
const NOT_RUN: [(&str, &str, &str); 39] = [
    ("README.md", "cargo install", "compiles the host once more, optimised"),
    ("README.md", "cargo run -- demo", "it has tests of its own, and the second line is this test"),
    ("docs/operating/bench.md", "segno bench", "takes half an hour"),
    (
        "docs/operating/bench.md",
        "npm install @restatedev",
        "installs the server of others, and takes long",
    ),
    (
        "docs/concepts/growing.md",
        "segno serve",
        "needs two PostgreSQL servers; `chaos.rs` has them",
    ),
    (
        "docs/concepts/growing.md",
        "export SEGNO_STORE",
        "shows answers, of servers that are not there",
    ),
    ("docs/reference/api.md", "curl -N", "never ends; the tests of `segno-api` read the stream"),
    ("docs/how-to/graphs.md", "segno graph check", "shows answers, of a module that is not shown"),
    ("docs/reference/guest-contract.md", "cd examples/other-languages/javascript", "needs npm"),
    ("docs/reference/guest-contract.md", "cd examples/other-languages/python", "needs pip"),
    (
        "docs/operating/limits.md",
        "segno limit show",
        "shows answers, of a module that is not shown",
    ),
    ("docs/operating/limits.md", "segno limit set", "shows answers, of a module that is not shown"),
    ("docs/operating/limits.md", "segno inspect", "shows answers, of a module that is not shown"),
    ("docs/how-to/objects.md", "segno call", "shows answers, of a module that is not shown"),
    (
        "docs/how-to/objects.md",
        "segno start",
        "of a module that is not shown; `examples.rs` does the same",
    ),
    (
        "docs/operating/operations.md",
        "segno export --store /var/lib/segno",
        "reads a host of the system",
    ),
    ("docs/operating/postgresql.md", "createuser", "needs a PostgreSQL of the system"),
    ("docs/operating/postgresql.md", "segno doctor --database", "`doctor_database.rs` runs it"),
    (
        "docs/how-to/queries.md",
        "segno start auction/auction",
        "shows answers; `handlers.rs` asks the same of it",
    ),
    (
        "docs/how-to/python.md",
        "segno new shop --lang py",
        "the suite `languages` runs it, and more",
    ),
    ("docs/how-to/python.md", "segno start shop/order", "`sdks/conformance` does the same"),
    ("docs/how-to/python.md", "segno start shop/agent", "`budgets::command` does the same"),
    ("docs/how-to/typescript.md", "segno start shop/agent", "`budgets::command` does the same"),
    ("docs/how-to/queries.md", "segno update cart-7", "of a module that is not shown"),
    ("docs/how-to/streams.md", "segno stream", "`streams::command` does the same with other names"),
    ("docs/how-to/budgets.md", "segno", "`budgets::command` does the same with other names"),
    ("docs/how-to/agents.md", "cd examples/agent", "the suite `agent` does the same"),
    ("docs/how-to/agents.md", "segno", "the suite `agent` does the same"),
    ("docs/how-to/streams.md", "curl", "`streams::client` asks the same of it"),
    ("docs/how-to/queries.md", "curl", "shows answers; `handlers.rs` asks the same of it"),
    (
        "docs/how-to/resonate.md",
        "segno serve &",
        "needs npm and an application that is not part of Segno",
    ),
    (
        "docs/how-to/restate.md",
        "segno serve --restate",
        "needs Node and a service; the suite `restate` has both",
    ),
    ("docs/how-to/restate-endpoint.md", "segno endpoint", "the suite `endpoint_processes` runs it"),
    (
        "docs/concepts/rules.md",
        "segno inspect order-7",
        "shows an answer, of a module that is not shown",
    ),
    ("docs/operating/running.md", "useradd", "sets up a service of the system"),
    ("docs/operating/running.md", "docker build", "needs Docker"),
    ("docs/operating/running.md", "segno export", "reads a host of the system"),
    ("docs/operating/running.md", "systemctl stop", "stops a service of the system"),
    ("docs/operating/running.md", "journalctl", "reads a service of the system"),
];

/// Sections whose commands run one after the other, in one shell, by document and heading.
const SECTIONS: [(&str, &str); 3] = [
    ("docs/how-to/howto.md", "Begin a project"),
    ("docs/how-to/howto.md", "Run something by the clock"),
    ("docs/how-to/howto.md", "Share a value between several writers"),
];

/// Section whose commands run afterwards, in the same folder, with a separate host.
const AFTERWARDS: [(&str, &str); 1] = [("docs/operating/operations.md", "Looking after a store")];

/// Document whose commands run after those, also with a separate host.
const API: &str = "docs/reference/api.md";

#[test]
fn what_is_shown_of_a_new_crate_is_its_source() {
    let shown = |file: &str| {
        let mut blocks = blocks().into_iter();
        let listing = blocks.find(|block| block.file == file && block.language == "rust");
        listing.unwrap_or_else(|| panic!("{file} has no listing")).text
    };
    assert_eq!(shown("docs/start/tutorial.md"), template::LIB);
    let part = shown("README.md");
    assert!(template::LIB.contains(&part), "this is not in a new crate: {part}");
}

#[test]
fn the_comparison_of_languages_counts_the_lines_of_the_sources() {
    let read = |file: &str| fs::read_to_string(repository().join(file)).expect(file);
    let template = "host/build/src/template/files";
    let signup = ["rust/lib.rs.in", "npm/index.in", "python/app.py.in"];
    let order = ["src/lib.rs", "typescript/src/index.ts", "python/app.py"];
    let page = read("docs/how-to/languages.md");
    for (name, folder, sources) in
        [("signup", template, signup), ("order", "examples/order", order)]
    {
        let counts = sources.map(|file| read(&format!("{folder}/{file}")).lines().count());
        let [rust, typescript, python] = counts;
        let name = format!("`{name}`");
        let mut rows = page.lines().filter(|line| line.starts_with("| lines of "));
        let row = rows.find(|row| row.contains(&name));
        let row = row.unwrap_or_else(|| panic!("the table has no lines of {name}"));
        let counts = format!(" | {rust} | {typescript} | {python} |");
        assert!(row.ends_with(&counts), "the sources have {counts}, and the table has {row}");
    }
}

#[test]
fn every_block_of_commands_is_run_or_says_why_not() {
    let run = |block: &Block| match block.file.as_str() {
        API | "docs/start/guide.md" => true,
        _ => is_in(block, &SECTIONS) || is_in(block, &AFTERWARDS),
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
fn every_line_works_as_printed() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let blocks = blocks();
    let lines_of = |sections: &[(&str, &str)]| -> Vec<String> {
        let shown = blocks.iter().filter(|block| block.language == "console");
        let shown = shown.filter(|block| is_in(block, sections));
        shown.flat_map(Block::commands).map(str::to_owned).collect()
    };
    let shell = Shell::in_folder(
        folder.path(),
        SEGNO,
        &Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents"),
    );
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
        ("segno bundle", "ada.segno-bundle  1 execution"),
        ("segno replay ada.segno-bundle", "identical: "),
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

/// True if a block is in one of these sections.
fn is_in(block: &Block, sections: &[(&str, &str)]) -> bool {
    sections.contains(&(block.file.as_str(), block.section.as_str()))
}

/// Runs the commands of the API's document, and compares their answers.
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

/// True if an answer is as shown. `…` matches any text.
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
