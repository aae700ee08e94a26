//! `segno deploy`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{
    CliError, Console, Exit,
    build::{How, build},
    console::{CYAN, DIM, YELLOW},
    modules::{function_table, refused_imports},
    show::{short_digest, size},
};
use crate::{api::model::Deployed, client::Client};

/// Upload a component, or build a crate and upload it, under a name
///
/// Executions that began on an older module of this name finish on that module; new ones use this
/// one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno deploy target/shop.wasm
  segno deploy shop-v2.wasm --as shop
  segno deploy examples/order --prepare")]
pub struct Deploy {
    /// Component file, or folder of a crate to build
    #[arg(value_name = "FILE.wasm|CRATE")]
    path: PathBuf,
    /// Name for the module (default: the name of the file or crate)
    #[arg(long = "as", value_name = "NAME")]
    alias: Option<String>,
    #[command(flatten)]
    how: How,
}

impl Deploy {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let is_crate = self.path.is_dir() || self.path.ends_with("Cargo.toml");
        let (component, name) = if is_crate {
            // A build takes a minute or two: whether there is a host that takes it is asked before.
            client.modules().await?;
            let built = build(&self.path, self.how, console).await?;
            (built.component, Some(built.package))
        } else {
            (read_component(&self.path)?, None)
        };
        let alias = match self.alias.or(name) {
            Some(alias) => alias,
            None => name_of(&self.path)?,
        };
        let progress = console.progress(format!("uploading {}", size(component.len() as u64)));
        let deployed = client.deploy(component, Some(&alias)).await?;
        drop(progress);
        if console.json() {
            console.document(&deployed)?;
            return Ok(Exit::Done);
        }
        report(&deployed, &alias, console)?;
        Ok(Exit::Done)
    }
}

fn report(deployed: &Deployed, alias: &str, console: &mut Console) -> Result<(), CliError> {
    let module = &deployed.module;
    let name = console.paint(CYAN, alias);
    let digest = console.paint(DIM, short_digest(&module.digest));
    let what = match (&deployed.replaces, deployed.created) {
        (Some(old), _) => {
            format!("replaces {}, on which executions in flight finish", short_digest(old))
        }
        (None, true) => "new".to_owned(),
        (None, false) => "was here already".to_owned(),
    };
    console.line(format!("{name}  {digest}  {}  {what}", size(module.size)))?;
    console.line("")?;
    let table = function_table(&module.description);
    console.table(&table)?;
    for import in refused_imports(&module.description) {
        let lead = console.paint(YELLOW, "refused when called:");
        let note = import.note.as_deref().unwrap_or_default();
        let what = format!("{} ({})", import.name, import.functions.join(", "));
        console.line(format!("{lead} {what}; {note}"))?;
    }
    Ok(())
}

/// The bytes of a component's file.
pub fn read_component(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|source| CliError::File {
        what: "read",
        path: path.display().to_string(),
        source,
    })
}

fn name_of(path: &Path) -> Result<String, CliError> {
    path.file_stem().and_then(|stem| stem.to_str()).map(|stem| stem.replace('_', "-")).ok_or_else(
        || CliError::Usage(format!("{} makes no name; give one with --as", path.display())),
    )
}
