//! `segno build`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use segno_core::id::Digest;

use super::{
    CliError, Console, Exit,
    console::{CYAN, DIM, Progress},
    modules::contents,
    show::size,
};
use crate::{
    api::{ComponentInspector, model::ModuleDescription},
    build::{
        crate_build::{self, BuildOptions, Built},
        toolchain::{self, Request},
    },
    guest::{Compiler, Limits, Policy, Wasm, WasmConfig},
};

/// Build a workflow crate to a component
///
/// Needs a compiler for wasm32-unknown-unknown: the one of the Rust toolchain, of rustup, or of
/// Debian. If there is none, --prepare installs one and prints what it does.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno build
  segno build examples/order --prepare
  segno build --out order.wasm && segno deploy order.wasm")]
pub struct Build {
    /// Folder of the crate
    #[arg(value_name = "CRATE", default_value = ".")]
    path: PathBuf,
    /// File for the component (default: in the target folder)
    #[arg(long, value_name = "FILE.wasm")]
    out: Option<PathBuf>,
    #[command(flatten)]
    how: How,
}

/// Options of a build; shared with `deploy`.
#[derive(Debug, Clone, Args)]
pub struct How {
    /// Install a compiler for WebAssembly if there is none
    #[arg(long)]
    prepare: bool,
    /// Fail if Cargo.lock would have to change
    #[arg(long)]
    locked: bool,
}

#[derive(serde::Serialize)]
struct Document<'a> {
    package: &'a str,
    path: &'a Path,
    size: usize,
    digest: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    warnings: &'a str,
    #[serde(flatten)]
    description: &'a ModuleDescription,
}

impl Build {
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
            console.document(&Document {
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
        contents(&description, console)?;
        let path = path.display();
        console.line(format!("\n{path}\nupload it: segno deploy {path} --as {}", built.package))?;
        Ok(Exit::Done)
    }
}

/// Reads the description of the component, in a wasm engine of the command's own, as a host does at
/// an upload.
async fn describe(component: Arc<[u8]>) -> Result<ModuleDescription, CliError> {
    let source = Arc::new(BTreeMap::from([(Digest::of(&component), component.clone())]));
    let limits = Limits { instances: 64, ..Limits::default() };
    let config = WasmConfig {
        limits,
        policy: Policy::default(),
        cache_dir: None,
        compiler: Compiler::Thread,
        fair: false,
        source,
    };
    let wasm = Wasm::new(config).map_err(|error| other("no-engine", &error))?;
    ComponentInspector::inspect(&wasm, component).await.map_err(|rejected| CliError::Other {
        code: "invalid-component",
        message: rejected.message,
    })
}

/// Builds the crate at `path`, and prints the steps and the compiler's warnings.
pub async fn build(path: &Path, how: How, console: &mut Console) -> Result<Built, CliError> {
    let progress = console.progress(format!("building {}", path.display()));
    let path = path.to_owned();
    let building = tokio::task::spawn_blocking(move || build_here(&path, &how, &progress));
    let built = building.await.map_err(|error| CliError::Other {
        code: "internal",
        message: format!("the build ended early: {error}"),
    })??;
    // With `--json` they are no part of an error that may follow, which is read by programs.
    if !built.warnings.is_empty() && !console.json() {
        console.remark(&built.warnings);
    }
    Ok(built)
}

fn build_here(path: &Path, how: &How, progress: &Progress) -> Result<Built, CliError> {
    let located = crate_build::locate(path).map_err(|error| other("no-workflow-crate", &error))?;
    let request = Request::from_environment(&located.directory, how.prepare)
        .map_err(|error| other("no-toolchain", &error))?;
    let toolchain =
        toolchain::find(&request, progress).map_err(|error| other("no-toolchain", &error))?;
    let shared = crate_build::shared().map_err(|error| other("no-cache", &error))?;
    let options = BuildOptions {
        toolchain: &toolchain,
        target_directory: None,
        locked: how.locked,
        shared: Some(&shared),
    };
    let built = crate_build::build(&[located], options, progress)
        .map_err(|error| other("build-failed", &error))?;
    built.into_iter().next().ok_or_else(|| CliError::Other {
        code: "internal",
        message: "the build answered nothing".to_owned(),
    })
}

/// An error with its causes.
pub fn other(code: &'static str, error: &dyn std::error::Error) -> CliError {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    CliError::Other { code, message }
}
