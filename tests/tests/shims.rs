//! The shims of JavaScript and Python over a minimal host: waits for signals that lose races,
//! signals that are unread at the end, and invalid options. `languages.rs` builds components with
//! the shims.
//!
//! Without `node` or `python3` a test says so and skips. With `SEGNO_CLIENTS=required`, as in CI,
//! it fails.

use std::{env, path::Path, process::Command};

fn passes(program: &str, arguments: &[&str], language: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shim = root.join("../examples/other-languages").join(language);
    let script = root.join("shims").join(arguments[0]);
    let run = Command::new(program).arg(script).arg(shim).args(&arguments[1..]).output();
    let Ok(run) = run else {
        assert_ne!(env::var("SEGNO_CLIENTS").as_deref(), Ok("required"), "{program} is not there");
        eprintln!("SKIPPED: {program} is not there");
        return;
    };
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && run.stdout.ends_with(b"fine\n"), "{said}");
}

#[test]
fn the_shim_of_javascript_loses_no_signal_and_names_bad_options() {
    passes("node", &["javascript.mjs", "native"], "javascript");
}

#[test]
fn the_shim_of_javascript_does_so_with_promises_of_its_own() {
    passes("node", &["javascript.mjs", "queued"], "javascript");
}

#[test]
fn the_shim_of_python_loses_no_signal_and_names_bad_options() {
    passes("python3", &["python.py"], "python");
}
