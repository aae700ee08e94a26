//! The skill for coding assistants: every snippet compiles, its tests pass, and its commands work.
//!
//! TypeScript and Python need tools from npm and PyPI, as in the suite `languages`.

use std::{fs, path::Path};

use tests::{
    documents::repository,
    shell::{Said, Shell},
};

use super::SEGNO;
use crate::languages::{Course, PYTHON, TYPESCRIPT, has_tools};

/// A fenced block: the file that the line above it names, the language, and the text.
type Snippet = (String, String, String);

fn snippets() -> Vec<Snippet> {
    let text = fs::read_to_string(repository().join("skills/segno/SKILL.md")).expect("a skill");
    let (mut found, mut file) = (Vec::new(), String::new());
    let mut parts = text.split("```");
    while let (Some(prose), Some(fenced)) = (parts.next(), parts.next()) {
        let last = prose.trim_end().lines().last().unwrap_or_default();
        let (language, code) = fenced.split_once('\n').expect("a language");
        if let Some((named, _)) = last.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
            file = named.to_owned();
        }
        found.push((file.clone(), language.to_owned(), code.to_owned()));
    }
    found
}

/// The commands of the skill.
fn commands() -> Vec<String> {
    let (_, _, text) = snippets().into_iter().find(|(_, it, _)| it == "console").expect("commands");
    text.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

/// Makes a project, with the snippets in place of its files, and runs its tests and the commands.
fn tried(language: &str, fence: &str, install: &str, test: [&str; 2]) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
    let shell = Shell::in_folder(folder.path(), SEGNO, &target);
    let made = shell.run("", &[format!("segno new press --lang {language}")]);
    assert_eq!(made[0].exit, Some(0), "{made:#?}");
    let files: Vec<Snippet> = snippets().into_iter().filter(|(_, it, _)| it == fence).collect();
    assert_eq!(files.len(), 2, "a module and its tests: {files:?}");
    for (file, _, text) in files {
        let path = shell.work().join("press").join(&file);
        assert!(path.exists(), "a new project has {file}");
        fs::write(path, text).expect("there is room");
    }
    let [test, passed] = test;
    let mut lines = vec![install.to_owned(), test.to_owned()];
    lines.retain(|line| !line.is_empty());
    let before = lines.len();
    lines.extend(["segno serve &".to_owned(), "segno ready --wait 240s".to_owned()]);
    lines.extend(commands());
    let said = shell.run("press", &lines);
    let failed: Vec<&Said> = said.iter().filter(|line| line.exit != Some(0)).collect();
    assert!(failed.is_empty(), "{failed:#?}\n\nall of them: {said:#?}");
    let tested = &said[before - 1];
    assert!(format!("{}{}", tested.out, tested.err).contains(passed), "{tested:#?}");
    for (line, part) in [
        ("segno why", "hello-1/p/approved"),
        ("segno result", "https://example.org/"),
        ("segno replay", "identical"),
    ] {
        let line = said.iter().find(|said| said.line.starts_with(line)).expect(line);
        assert!(line.out.contains(part), "{line:#?}");
    }
}

fn tried_course(course: &Course, fence: &str, passed: &str) {
    if has_tools(course) {
        tried(course.language, fence, course.install, [course.test[0], passed]);
    }
}

#[test]
fn the_snippets_in_rust_compile_and_pass() {
    tried("rust", "rust", "", ["cargo test", "2 passed"]);
}

#[test]
fn the_snippets_in_typescript_compile_and_pass() {
    tried_course(&TYPESCRIPT, "ts", "# pass 2");
}

#[test]
fn the_snippets_in_python_compile_and_pass() {
    tried_course(&PYTHON, "python", "2 passed");
}

#[test]
fn every_snippet_is_tried() {
    for (file, language, _) in snippets() {
        assert!(
            ["console", "rust", "ts", "python"].contains(&language.as_str()),
            "{file}: {language}"
        );
    }
}
