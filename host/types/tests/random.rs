//! Arbitrary schemas: nothing panics, the same module gives the same text, and the text is a
//! program.
//!
//! `SEGNO_TSC` names the compiler of TypeScript; without it TypeScript is not compiled.

mod schemas;

use std::{env, fs, path::Path, process::Command};

use schemas::SchemaSource;
use segno_model::ModuleDescription;
use segno_types::{TypesLanguage, TypesRequest, types_file};

const MODULES: u64 = 60;

fn written(description: &ModuleDescription, language: TypesLanguage) -> String {
    let request = TypesRequest { module: "class", digest: "d", command: "c", description };
    types_file(&request, language)
}

/// Writes files of many modules, and runs a program on the folder.
fn accepted(language: TypesLanguage, name: impl Fn(u64) -> String, program: &mut Command) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name(0).replace('.', "-"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    for seed in 0..MODULES {
        let text = written(&SchemaSource::new(seed).module(), language);
        fs::write(folder.join(name(seed)), text).expect("a file");
    }
    let run = program.current_dir(&folder).output().expect("the program runs");
    let said = [run.stdout, run.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(run.status.success(), "in {}: {}", folder.display(), said.join("\n"));
}

#[test]
fn the_same_module_gives_the_same_text() {
    for seed in 0..10 {
        let description = SchemaSource::new(seed).module();
        for language in [TypesLanguage::TypeScript, TypesLanguage::Python, TypesLanguage::Rust] {
            assert_eq!(written(&description, language), written(&description, language));
        }
    }
}

#[test]
fn every_text_in_python_is_imported() {
    let script = "import glob, runpy\nfor file in sorted(glob.glob('m*.py')): runpy.run_path(file)";
    let mut python = Command::new("python3");
    accepted(TypesLanguage::Python, |seed| format!("m{seed}.py"), python.args(["-c", script]));
}

#[test]
fn every_text_in_rust_is_parsed() {
    let files = (0..MODULES).map(|seed| format!("m{seed}.rs"));
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024", "--emit", "files"]).args(files);
    accepted(TypesLanguage::Rust, |seed| format!("m{seed}.rs"), &mut rustfmt);
}

#[test]
fn every_text_in_typescript_is_compiled() {
    let Some(compiler) = env::var_os("SEGNO_TSC") else {
        eprintln!("skipped: SEGNO_TSC names the compiler of TypeScript");
        return;
    };
    let files = (0..MODULES).map(|seed| format!("m{seed}.ts"));
    let mut tsc = Command::new(compiler);
    tsc.args([
        "--ignoreConfig",
        "--strict",
        "--noEmit",
        "--target",
        "es2022",
        "--module",
        "nodenext",
    ]);
    accepted(TypesLanguage::TypeScript, |seed| format!("m{seed}.ts"), tsc.args(files));
}
