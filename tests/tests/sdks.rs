//! The packages for npm and PyPI: their own tests, with types and lints, and the conformance
//! programs in Rust, TypeScript and Python, whose journals are the same in a test kit and on a host.
//!
//! They need tools from npm and PyPI, and run with `SEGNO_CLIENTS=1`. With
//! `SEGNO_CLIENTS=required`, as in CI, they have to run.

use std::{
    env,
    path::Path,
    process::Command,
    sync::{Mutex, PoisonError},
};

/// The folders of the packages for authors, which several tests install and build.
static AUTHORS_PACKAGES: Mutex<()> = Mutex::new(());

fn passes_in_turn(package: &str) {
    let _turn = AUTHORS_PACKAGES.lock().unwrap_or_else(PoisonError::into_inner);
    passes(package);
}

fn passes(package: &str) {
    if env::var("SEGNO_CLIENTS").unwrap_or_default().is_empty() {
        eprintln!("skipped: {package} is tested with SEGNO_CLIENTS=1, which installs tools");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdks/test");
    let mut command = Command::new(script);
    command.arg(package).env("SEGNO", env!("CARGO_BIN_EXE_segno-under-test"));
    let run = command.output().expect("there is bash");
    let said = [run.stdout, run.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(run.status.success(), "{}", said.join("\n"));
}

#[test]
fn the_package_for_typescript_passes_its_tests() {
    passes_in_turn("typescript");
}

#[test]
fn the_package_for_python_passes_its_tests() {
    passes_in_turn("python");
}

#[test]
fn programs_have_the_same_journal_in_three_languages_and_on_a_host() {
    passes_in_turn("conformance");
}

#[test]
fn the_client_for_typescript_agrees_with_the_api() {
    passes("typescript-client");
}

#[test]
fn the_client_for_python_agrees_with_the_api() {
    passes("python-client");
}

#[test]
fn packages_that_carry_the_program_are_installed_and_run() {
    passes("packages");
}
