//! `segno verify` in a test: the crate's component, in the real engine, under every fault it knows.

use std::{
    env,
    ffi::OsString,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde::Serialize;
use serde_json::Value as Json;

/// A workflow of this crate that is to be verified as a component.
///
/// The crate is built with `segno build` and run by `segno verify`, both by the program in the variable
/// `SEGNO` or, without it, by `segno` on the path. Nothing is sent outside, and no host is needed.
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
    /// Starts it with this input; without one, with `null`.
    ///
    /// # Panics
    /// The input cannot be written as JSON.
    pub fn input<T: Serialize + ?Sized>(mut self, input: &T) -> Self {
        self.input = Some(serde_json::to_value(input).expect("the input can be written as JSON"));
        self
    }

    /// What activities and requests come to, and what is sent to it: a file, by its path from the folder
    /// of the crate.
    pub fn script(self, path: impl AsRef<Path>) -> Self {
        let path = self.folder.join(path);
        self.option("--script", path)
    }

    /// A further component, by the name that the workflow calls it by.
    pub fn module(self, name: &str, path: impl AsRef<Path>) -> Self {
        let path = self.folder.join(path);
        self.option("--module", format!("{name}={}", path.display()))
    }

    /// Makes at most so many runs.
    pub fn runs(self, runs: usize) -> Self {
        self.option("--runs", runs.to_string())
    }

    /// Draws samples from this seed.
    pub fn seed(self, seed: u64) -> Self {
        self.option("--seed", seed.to_string())
    }

    /// The outcome may depend on the order in which results come.
    pub fn orders_may_differ(mut self) -> Self {
        self.flags.push("--orders-may-differ");
        self
    }

    /// Only the run of this schedule, as a finding prints it.
    pub fn schedule(self, schedule: &str) -> Self {
        self.option("--schedule", schedule)
    }

    fn option(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.options.push((name, value.into()));
        self
    }

    /// Verifies it.
    ///
    /// # Panics
    /// Something was found, with the findings as the message; or nothing could be verified.
    #[track_caller]
    pub fn check(&self) {
        let output = self.run(false);
        match output.status.code() {
            Some(0) => {}
            Some(10) => panic!("{}", String::from_utf8_lossy(&output.stdout)),
            _ => self.failed(&output),
        }
    }

    /// Verifies it, and gives the report of `segno verify --json`.
    ///
    /// # Panics
    /// Nothing could be verified.
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
