//! The tutorial: its commands are run one after the other, with its code changes in between.

use std::{fs, path::Path};

use segno_build::template;
use tests::{
    documents::{Block, blocks},
    shell::{Said, Shell},
};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Lines of the tutorial. A code change is also a line: it copies a prepared file into place.
fn lines(changed: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut source = template::LIB.to_owned();
    let tutorial = blocks().into_iter().filter(|block| block.file == "docs/tutorial.md");
    for Block { language, text, .. } in tutorial {
        match language.as_str() {
            "sh" => lines.extend(text.lines().map(str::to_owned)),
            "diff" => {
                source = with_change(&source, &text);
                let file = changed.join(format!("{}.rs", lines.len()));
                fs::write(&file, &source).expect("there is room for a file");
                lines.push(format!("cp {} src/lib.rs", file.display()));
            }
            _ => {}
        }
    }
    lines
}

/// The source after a change. Lines that begin with `-` are removed, those with `+` are added.
fn with_change(source: &str, change: &str) -> String {
    let side = |sign| {
        let kept = change.lines().filter(|line| line.starts_with([' ', sign]));
        kept.map(|line| format!("{}\n", &line[1..])).collect::<String>()
    };
    let (before, after) = (side('-'), side('+'));
    assert_eq!(source.matches(&before).count(), 1, "the source has this once:\n{before}");
    source.replace(&before, &after)
}

#[test]
fn every_line_of_the_tutorial_works_as_printed() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let changed = tempfile::tempdir().expect("there is room for a folder");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
    let shell = Shell::in_folder(folder.path(), SEGNO, &target);
    let said = shell.run("", &lines(changed.path()));
    let failed: Vec<&Said> = said.iter().filter(|said| said.exit != Some(0)).collect();
    assert!(failed.is_empty(), "these lines failed: {failed:#?}\n\nall of them: {said:#?}");
    let parts = [
        ("cargo test", "test result: ok. 3 passed"),
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
    for (line, part) in parts {
        let found: Vec<&Said> = said.iter().filter(|said| said.line.starts_with(line)).collect();
        let shows = found.iter().any(|said| said.out.contains(part));
        assert!(shows, "{part:?} is missing: {found:#?}");
    }
}
