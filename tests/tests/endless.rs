//! Code in TypeScript and Python that does not end: the host names its line, also in a second file,
//! in a regular expression, and in an activity. And a package that cannot run on a host: the build
//! names the author's import.
//!
//! Needs the tools of both languages; see [`languages`](crate::languages).

use std::{fs, path::Path};

use tests::shell::{Said, Shell};

use crate::languages::{Course, PYTHON, TYPESCRIPT, has_tools};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// A project whose functions do not end.
struct Endless {
    language: &'static str,
    install: &'static str,
    /// Names and texts of its files.
    files: [(&'static str, &'static str); 2],
    /// The innermost place of each function, and the place of its call.
    places: [(&'static str, [&'static str; 2]); 3],
}

const IN_TYPESCRIPT: Endless = Endless {
    language: "ts",
    install: "npm install --no-audit --no-fund",
    files: [
        (
            "src/index.ts",
            "import { activity, workflow } from '@segno/sdk';
import { counted, matched } from './helpers.js';

export const spin = workflow(async () => {
  return counted(3);
});
export const match = workflow(async () => matched('a'.repeat(40) + 'b'));
export const busy = activity(async () => counted(0));
",
        ),
        (
            "src/helpers.ts",
            "export function counted(depth: number): number {
  if (depth > 0) return counted(depth - 1) + 1;
  let turns = 0;
  for (;;) turns = (turns + 1) % 7;
}

export function matched(text: string): boolean {
  try {
    return /^(a+)+$/.test(text);
  } catch {
    return false;
  }
}
",
        ),
    ],
    places: [
        ("spin", ["in `counted` at src/helpers.ts:4", "src/index.ts:5"]),
        ("match", ["in `matched` at src/helpers.ts:9", "src/index.ts:7"]),
        ("busy", ["in `counted` at src/helpers.ts:4", "src/index.ts:8"]),
    ],
};

const IN_PYTHON: Endless = Endless {
    language: "py",
    install: "python3 -m venv .venv && .venv/bin/pip install --quiet -r requirements.txt",
    files: [
        (
            "app.py",
            "from segno_sdk import ActivityContext, Context, activity, workflow

from helpers import counted, matched


@workflow
async def spin(ctx: Context) -> int:
    return counted(3)


@workflow
async def match(ctx: Context) -> bool:
    return matched('a' * 40 + 'b')


@activity
async def busy(ctx: ActivityContext) -> int:
    return counted(0)
",
        ),
        (
            "helpers.py",
            "import re


def counted(depth: int) -> int:
    if depth > 0:
        return counted(depth - 1) + 1
    turns = 0
    while True: turns = (turns + 1) % 7


def matched(text: str) -> bool:
    try:
        return re.match('(a+)+$', text) is not None
    except BaseException:
        return False
",
        ),
    ],
    places: [
        ("spin", ["in `counted` at helpers.py:8", "app.py:8"]),
        ("match", ["in `matched` at helpers.py:13", "app.py:13"]),
        ("busy", ["in `counted` at helpers.py:8", "app.py:18"]),
    ],
};

#[test]
fn the_line_of_an_endless_loop_in_typescript_is_named() {
    is_named(&TYPESCRIPT, &IN_TYPESCRIPT);
}

#[test]
fn the_line_of_an_endless_loop_in_python_is_named() {
    is_named(&PYTHON, &IN_PYTHON);
}

fn is_named(course: &Course, project: &Endless) {
    if !has_tools(course) {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let shell = new_project(folder.path(), project.language);
    for (name, text) in project.files {
        fs::write(shell.work().join("shop").join(name), text).expect("there is room");
    }
    let mut lines = vec![
        project.install.to_owned(),
        "segno serve --limit cpu_ms=700 &".to_owned(),
        "segno ready --wait 240s".to_owned(),
        "segno deploy . --prepare".to_owned(),
    ];
    for (function, [place, _]) in project.places {
        let place = place.rsplit(' ').next().expect("it is the last word");
        lines.push(format!("segno start shop/{function} null --id {function}"));
        lines.push(format!(
            "for turn in $(seq 300); do segno inspect {function} | grep -q {place} && break; sleep 0.2; done"
        ));
    }
    for command in ["inspect", "why"] {
        lines.extend(project.places.map(|(function, _)| format!("segno {command} {function}")));
    }
    let said = shell.run("shop", &lines);
    let told = |line: &str| {
        let said = said.iter().find(|said| said.line == line).expect("the line was run");
        heard(said)
    };
    for (function, [place, caller]) in project.places {
        let inspected = told(&format!("segno inspect {function}"));
        let has_all = inspected.contains(place) && inspected.contains(caller);
        assert!(has_all, "{function}: {inspected}\n\nall of it: {said:#?}");
        let why = told(&format!("segno why {function}"));
        assert!(why.contains(place) && why.contains("cpu_ms"), "{function}: {why}");
    }
}

#[test]
fn a_package_that_cannot_run_is_refused_once_at_the_import_of_the_author() {
    if !has_tools(&TYPESCRIPT) {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let shell = new_project(folder.path(), "ts");
    let project = shell.work().join("shop");
    let import = "import { workflow } from '@segno/sdk';
import { open } from './db.js';
export const order = workflow(async () => open());
";
    let packages = [
        (
            "base",
            "import 'base-pool'; import 'base-text'; import net from 'net'; import tls from 'node:tls'; export const open = () => [net, tls];",
        ),
        ("base-pool", "import events from 'events'; export const open = () => events;"),
        ("base-text", "import fs from 'fs'; export default fs;"),
        ("over", "export { open } from 'base-pool';"),
    ];
    let lines = [IN_TYPESCRIPT.install.to_owned()];
    let installed = shell.run("shop", &lines);
    assert_eq!(installed[0].exit, Some(0), "{installed:#?}");
    for (name, text) in packages {
        let folder = project.join("node_modules").join(name);
        fs::create_dir(&folder).expect("there is room");
        fs::write(folder.join("package.json"), format!(r#"{{"name":"{name}","main":"a.js"}}"#))
            .expect("there is room");
        fs::write(folder.join("a.js"), text).expect("there is room");
    }
    fs::write(project.join("src/index.ts"), import).expect("there is room");
    for (package, parts, absent) in [
        (
            "base",
            ["the package `base` needs `net` and `node:tls` of Node", "src/db.ts:2:21:"],
            ["base-pool", "base-text"],
        ),
        (
            "over",
            [
                "the package `over` needs the package `base-pool`, which needs `events` of Node",
                "src/db.ts:2:21:",
            ],
            ["`base`", "base-text"],
        ),
    ] {
        let text = format!("// It opens the base.\nexport {{ open }} from '{package}';\n");
        fs::write(project.join("src/db.ts"), text).expect("there is room");
        let said = shell.run("shop", &["segno build . --prepare".to_owned()]);
        let heard = heard(&said[0]);
        assert!(parts.iter().all(|part| heard.contains(part)), "{heard}");
        assert!(!absent.iter().any(|part| heard.contains(part)), "{heard}");
        assert_eq!(heard.matches("ERROR").count(), 1, "{heard}");
    }
}

fn new_project(folder: &Path, language: &str) -> Shell {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
    let shell = Shell::in_folder(folder, SEGNO, &target);
    let made = shell.run("", &[format!("segno new shop --lang {language}")]);
    assert_eq!(made[0].exit, Some(0), "{made:#?}");
    shell
}

fn heard(said: &Said) -> String {
    format!("{}{}", said.out, said.err)
}
