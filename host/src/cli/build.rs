//! `segno build`.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use segno_api::{ComponentInspector, model::ModuleDescription};
use segno_build::{Project, ProjectError, ProjectOptions, crate_build::BuiltComponent, report};
use segno_core::id::Digest;
use segno_guest::{Compiler, Limits, PolicySource, Wasm, WasmConfig};

use super::{
    CliError, Console, Exit, compile,
    console::{CYAN, DIM, ProgressMessage},
    modules::{contents, function_table},
    runtimes::with_runtime,
    show::size,
};

/// Build a project to a module
///
/// A folder with a Cargo.toml is a crate in Rust, one with a package.json is in
/// JavaScript, one with a pyproject.toml or app.py in Python.
///
/// Rust needs a compiler for wasm32-unknown-unknown: the one of the Rust toolchain, of rustup, or
/// of Debian. JavaScript needs Node 20 with esbuild and componentize-qjs, Python needs Python 3.10
/// with componentize-py: those of the project, or Segno's own. Missing tools are installed, once,
/// on a terminal or with --prepare.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno build
  segno build examples/order --prepare
  segno build --out order.wasm && segno deploy order.wasm")]
pub(super) struct BuildArgs {
    /// Folder of the project
    #[arg(value_name = "PROJECT", default_value = ".")]
    path: PathBuf,
    /// File for the module (default: in the target or build folder)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the JSON schemas and the imports as well
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    how: BuildFlags,
}

/// Options of a build; shared with `deploy`.
#[derive(Debug, Clone, Args)]
pub(super) struct BuildFlags {
    /// Install missing build tools: the default on a terminal
    #[arg(long)]
    prepare: bool,
    /// Install nothing, also on a terminal
    #[arg(long, conflicts_with = "prepare")]
    no_prepare: bool,
    /// Fail if Cargo.lock would have to change
    #[arg(long)]
    locked: bool,
}

impl BuildFlags {
    /// Options of the build; `on_terminal` is true if a person can see and stop installations.
    fn options(&self, on_terminal: bool) -> ProjectOptions {
        let prepare = self.prepare || (on_terminal && !self.no_prepare);
        ProjectOptions { prepare, locked: self.locked }
    }
}

#[derive(serde::Serialize)]
struct BuildOutput<'a> {
    package: &'a str,
    path: &'a Path,
    size: usize,
    digest: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    warnings: &'a str,
    #[serde(flatten)]
    description: &'a ModuleDescription,
}

impl BuildArgs {
    pub(super) async fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let built = build(&self.path, self.how, console).await?;
        let path = match self.out {
            Some(out) => {
                std::fs::write(&out, &built.component).map_err(|source| CliError::File {
                    what: "write",
                    path: out.display().to_string(),
                    source,
                })?;
                out
            }
            None => built.path,
        };
        let component: Arc<[u8]> = built.component.into();
        let description = describe(component.clone()).await?;
        let digest = Digest::of(&component).to_string();
        if console.json() {
            console.document(&BuildOutput {
                package: &built.package,
                path: &path,
                size: component.len(),
                digest: &digest,
                warnings: &built.warnings,
                description: &description,
            })?;
            return Ok(Exit::Done);
        }
        let package = console.paint(CYAN, &built.package);
        let digest = console.paint(DIM, &digest);
        console.line(format!("{package}  {}  {digest}\n", size(component.len() as u64)))?;
        match self.verbose {
            true => contents(&description, console)?,
            false => console.table(&function_table(&description))?,
        }
        let path = path.display();
        console.line(format!("\n{path}\nupload it: segno deploy {path} --as {}", built.package))?;
        Ok(Exit::Done)
    }
}

/// Reads a component's self-description in a wasm engine of this process, as a host does at an
/// upload.
pub(super) async fn describe(component: Arc<[u8]>) -> Result<ModuleDescription, CliError> {
    let source = Arc::new(with_runtime(component.clone())?);
    let limits = Limits { instances: 64, snapshot_records: 0, ..Limits::default() };
    let config = WasmConfig {
        limits,
        policy: PolicySource::default(),
        cache_dir: compile::kept(),
        compiler: Compiler::Thread,
        fair: false,
        counts: false,
        ahead: None,
        source,
    };
    let wasm = Wasm::new(config).map_err(|error| other("no-engine", &error))?;
    ComponentInspector::inspect(&wasm, component).await.map_err(|rejected| CliError::Other {
        code: "invalid-component",
        message: rejected.message,
    })
}

/// Builds the project at `path` and prints the steps and the compiler's warnings.
pub(super) async fn build(
    path: &Path,
    how: BuildFlags,
    console: &mut Console,
) -> Result<BuiltComponent, CliError> {
    let progress = console.progress(format!("building {}", path.display()));
    let path = path.to_owned();
    let building = tokio::task::spawn_blocking(move || build_here(&path, &how, &progress));
    let mut built = building.await.map_err(|error| CliError::Other {
        code: "internal",
        message: format!("the build ended early: {error}"),
    })??;
    if report::panics_on_clock(&built.component) {
        built.warnings =
            format!("{}\nwarning: {PANICS_ON_CLOCK}", built.warnings).trim().to_owned();
    }
    // With `--json`, warnings must not mix with an error document that may follow.
    if !built.warnings.is_empty() && !console.json() {
        console.remark(&built.warnings);
    }
    Ok(built)
}

const PANICS_ON_CLOCK: &str = "the module calls `SystemTime::now` or `Instant::now`, which panic in it: use `ctx.now()`, which a replay repeats; in a crate that it uses, switch the feature off that reads the clock";

/// Warns of code that reads the machine's clock: it panics at run time in a component, but not in a
/// test.
pub(super) fn warn_of_clock(component: &[u8], console: &mut Console) {
    if report::panics_on_clock(component) && !console.json() {
        console.warn(PANICS_ON_CLOCK);
    }
}

fn build_here(
    path: &Path,
    how: &BuildFlags,
    progress: &ProgressMessage,
) -> Result<BuiltComponent, CliError> {
    let on_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let project = Project::locate(path).map_err(|error| other("no-project", &error))?;
    project.build(how.options(on_terminal), progress).map_err(|error| {
        let code = match error {
            ProjectError::Toolchain(_) => "no-toolchain",
            ProjectError::Cache(_) => "no-cache",
            _ => "build-failed",
        };
        other(code, &error)
    })
}

/// An error with its causes.
pub(super) fn other(code: &'static str, error: &dyn std::error::Error) -> CliError {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    CliError::Other { code, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_installed_on_request_or_before_the_eyes_of_a_person() {
        let prepares = |prepare, no_prepare, on_terminal| {
            BuildFlags { prepare, no_prepare, locked: false }.options(on_terminal).prepare
        };
        assert!(prepares(true, false, false) && prepares(false, false, true));
        assert!(!prepares(false, false, false) && !prepares(false, true, true));
    }
}
