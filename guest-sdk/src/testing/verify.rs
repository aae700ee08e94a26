//! Runs `segno verify` in a test: the crate's component in the real engine, under every fault that
//! it knows.

use std::{
    env,
    ffi::OsString,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde::Serialize;
use serde_json::Value as Json;

/// A verification of a workflow of this crate as a component.
///
/// `segno build` builds the crate, and `segno verify` runs it; the program is the one in the
/// environment variable `SEGNO` or, without it, `segno` on the path. Nothing is sent outside, and
/// no host is needed.
///
/// ```no_run
/// # extern crate segno_sdk as segno;
/// # #[test]
/// fn order_is_sound() {
///     segno::testing::verify("order")
///         .input(&segno::serde_json::json!({ "items": ["tea", "cup"] }))
///         .script("verify.toml")
///         .check();
/// }
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is verified before `check` or `report`"]
pub struct Verify {
    function: String,
    input: Option<Json>,
    options: Vec<(&'static str, OsString)>,
    flags: Vec<&'static str>,
    folder: PathBuf,
}

/// Verifies the workflow `function` of this crate; see [`Verify`].
pub fn verify(function: impl Into<String>) -> Verify {
    let folder =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let (options, flags) = (Vec::new(), Vec::new());
    Verify { function: function.into(), input: None, options, flags, folder }
}

impl Verify {
    /// Sets the workflow's input. Default: `null`.
    ///
    /// # Panics
    /// If the input cannot be written as JSON.
    pub fn input<T: Serialize + ?Sized>(mut self, input: &T) -> Self {
        self.input = Some(serde_json::to_value(input).expect("the input can be written as JSON"));
        self
    }

    /// Sets the script: a file with the outcomes of activities and requests and the items sent to
    /// the workflow, by its path from the folder of the crate.
    pub fn script(self, path: impl AsRef<Path>) -> Self {
        let path = self.folder.join(path);
        self.option("--script", path)
    }

    /// Adds another component, under the name by which the workflow calls it.
    pub fn module(self, name: &str, path: impl AsRef<Path>) -> Self {
        let path = self.folder.join(path);
        self.option("--module", format!("{name}={}", path.display()))
    }

    /// Sets the maximum number of runs.
    pub fn runs(self, runs: usize) -> Self {
        self.option("--runs", runs.to_string())
    }

    /// Sets the seed of random samples.
    pub fn seed(self, seed: u64) -> Self {
        self.option("--seed", seed.to_string())
    }

    /// Allows the outcome to depend on the order of results.
    pub fn orders_may_differ(mut self) -> Self {
        self.flags.push("--orders-may-differ");
        self
    }

    /// Runs only this schedule, in the notation that a finding prints.
    pub fn schedule(self, schedule: &str) -> Self {
        self.option("--schedule", schedule)
    }

    fn option(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.options.push((name, value.into()));
        self
    }

    /// Runs the verification.
    ///
    /// # Panics
    /// If there are findings, which are in the message, or if nothing could be verified.
    #[track_caller]
    pub fn check(&self) {
        let output = self.run(false);
        match output.status.code() {
            Some(0) => {}
            Some(10) => panic!("{}", String::from_utf8_lossy(&output.stdout)),
            _ => self.failed(&output),
        }
    }

    /// Runs the verification and returns the report of `segno verify --json`.
    ///
    /// # Panics
    /// If nothing could be verified.
    #[track_caller]
    pub fn report(&self) -> Json {
        let output = self.run(true);
        match output.status.code() {
            Some(0 | 10) => serde_json::from_slice(&output.stdout).expect("the report is JSON"),
            _ => self.failed(&output),
        }
    }

    #[track_caller]
    fn run(&self, json: bool) -> Output {
        let program = env::var_os("SEGNO").unwrap_or_else(|| "segno".into());
        let mut command = Command::new(&program);
        command.arg("verify").arg(&self.folder).arg(&self.function);
        if let Some(input) = &self.input {
            command.arg("--input").arg(input.to_string());
        }
        for (name, value) in &self.options {
            command.arg(name).arg(value);
        }
        command.args(&self.flags).args(json.then_some("--json"));
        command.output().unwrap_or_else(|error| {
            let program = program.to_string_lossy();
            panic!(
                "`{program}` cannot be run ({error}): install segno, or say in the variable SEGNO where it is"
            )
        })
    }

    #[track_caller]
    fn failed(&self, output: &Output) -> ! {
        let mut message = format!("`{}` could not be verified", self.function);
        for text in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(text);
            if !text.trim().is_empty() {
                let _ = write!(message, "\n{}", text.trim());
            }
        }
        panic!("{message}")
    }
}
