//! `segno deploy`.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use segno_api::model::{Deployed, Module, ModuleDescription};
use segno_build::Project;
use segno_client::{Client, ClientError};

use super::{
    CliError, Console, Exit,
    build::{BuildFlags, build, warn_of_clock},
    bundled::LoadedBundles,
    check::CheckReport,
    console::{CYAN, DIM, YELLOW},
    modules::{function_table, refused_imports},
    runtimes::upload,
    shadow,
    show::{short_digest, size},
    time::read_length,
};

/// Upload a component, or build a project and upload it, under a name
///
/// Executions that began on an older module of this name finish on that module; new ones use this
/// one. With --check nothing is put under the name: the journals of all executions in flight are
/// replayed on the new code, without effects, and the differences are reported. That proves the
/// past of each execution only.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno deploy target/shop.wasm
  segno deploy shop-v2.wasm --as shop
  segno deploy examples/order --prepare
  segno deploy 3fa94c1e --as shop                      # back to a module the host has
  segno deploy shop-v2.wasm --as shop --check          # exit code 7: something diverges
  segno deploy shop-v2.wasm --as shop --shadow 10m     # runs next to the live executions, without effects
  segno deploy shop-v2.wasm --as shop --migrate same   # moves executions that repeat their journal
  segno deploy shop-v2.wasm --as shop --check --bundle in-flight/   # without a host")]
pub(super) struct DeployArgs {
    /// Component file, or folder of a project in Rust, JavaScript or Python; or the digest of a
    /// module that the host has, or its first 8 digits or more
    #[arg(value_name = "FILE.wasm|PROJECT|DIGEST")]
    path: PathBuf,
    /// Name for the module (default: the name of the file or project)
    #[arg(long = "as", value_name = "NAME")]
    alias: Option<String>,
    #[command(flatten)]
    how: BuildFlags,
    /// Replay the executions in flight under the name on this code, report, and activate nothing
    #[arg(long, conflicts_with = "migrate")]
    check: bool,
    /// Run this code next to the live executions of the name for this long, without effects, and
    /// report differences; activate nothing
    #[arg(long, value_name = "LENGTH", value_parser = read_length, conflicts_with_all = ["check", "migrate"])]
    shadow: Option<Duration>,
    /// With --check: replay the executions in these bundles instead of asking a host; a folder
    /// means all bundles in it
    #[arg(long, value_name = "FILE|FOLDER", num_args = 1.., requires = "check")]
    bundle: Vec<PathBuf>,
    /// With --check or --migrate: number of ended executions that are replayed as well
    #[arg(long, value_name = "N")]
    ended: Option<u32>,
    /// With --check or --migrate: number of executions whose replays are compared by instructions
    /// and memory
    #[arg(long, value_name = "N")]
    costs: Option<u32>,
    /// Check, activate, and move executions: those whose journal is the same on this code
    #[arg(long, value_name = "WHICH")]
    migrate: Option<MigrationSelection>,
}

/// The executions to migrate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum MigrationSelection {
    /// Executions that repeat every record, or have none yet
    Same,
}

/// The destination of a component.
enum DeployDestination {
    Host(Client),
    /// The executions in bundles.
    Bundles(LoadedBundles),
}

/// Default number of ended executions that are checked as well.
const ENDED: u32 = 20;
/// Default number of executions whose costs are compared.
pub(super) const COSTS: u32 = 16;

impl DeployArgs {
    pub(super) async fn run(
        self,
        client: impl FnOnce() -> Result<Client, ClientError>,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        // A damaged bundle is reported before a build of a minute.
        let source = match self.bundle.is_empty() {
            true => DeployDestination::Host(client()?),
            false => DeployDestination::Bundles(LoadedBundles::read(&self.bundle)?),
        };
        let is_project = Project::is_at(&self.path);
        let (component, name) = if is_project {
            // A build takes a minute or two: the host is contacted before it.
            if let DeployDestination::Host(client) = &source {
                client.modules().await?;
            }
            let built = build(&self.path, self.how.clone(), console).await?;
            (built.component, Some(built.package))
        } else if let (Some(digest), DeployDestination::Host(client)) =
            (stored(&self.path), &source)
        {
            if self.alias.is_none() {
                return Err(CliError::Usage(format!(
                    "the module {digest} needs a name: give it with --as NAME"
                )));
            }
            (client.component(digest).await?, None)
        } else {
            let component = read_component(&self.path)?;
            warn_of_clock(&component, console);
            (component, None)
        };
        let alias = match self.alias.clone().or(name) {
            Some(alias) => alias,
            None => name_of(&self.path)?,
        };
        let client = &match source {
            DeployDestination::Host(client) => client,
            DeployDestination::Bundles(mut bundled) => {
                bundled.supply(&component);
                bundled.remarks(console);
                bundled.client().await?
            }
        };
        let progress =
            console.progress(format!("uploading and compiling {}", size(component.len() as u64)));
        if self.check || self.migrate.is_some() || self.shadow.is_some() {
            let candidate = upload(client, component.clone(), None).await?.module;
            drop(progress);
            if let Some(length) = self.shadow {
                return shadow::follow(client, &alias, &candidate.digest, length, console).await;
            }
            return self.checked(client, console, &alias, &candidate, component).await;
        }
        let deployed = upload(client, component, Some(&alias)).await?;
        drop(progress);
        if console.json() {
            console.document(&deployed)?;
            return Ok(Exit::Done);
        }
        report(&deployed, &alias, console)?;
        if !is_project {
            warn_of_refusals(&deployed.module.description, &alias, console)?;
        }
        Ok(Exit::Done)
    }

    /// Checks a module that was uploaded without a name. With `--migrate`, the module then gets the
    /// name, and executions that repeat their journal are moved.
    async fn checked(
        &self,
        client: &Client,
        console: &mut Console,
        alias: &str,
        candidate: &Module,
        component: Vec<u8>,
    ) -> Result<Exit, CliError> {
        // Ended executions in a bundle were put there to be checked.
        let usual = if self.bundle.is_empty() { ENDED } else { u32::MAX };
        let (ended, costs) = (self.ended.unwrap_or(usual), self.costs.unwrap_or(COSTS));
        let mut report = match !self.bundle.is_empty() || is_known(client, alias).await? {
            true => {
                CheckReport::new(client, alias, &candidate.digest, ended, costs, console).await?
            }
            false => CheckReport::empty(alias, &candidate.digest),
        };
        if self.migrate.is_some() {
            upload(client, component, Some(alias)).await?;
            report.move_same(client, console).await?;
        }
        if console.json() {
            console.document(&report)?;
        } else {
            report.print(console)?;
        }
        Ok(if self.migrate.is_some() { Exit::Done } else { report.exit() })
    }
}

/// Returns true if a module has the name.
pub(super) async fn is_known(client: &Client, alias: &str) -> Result<bool, CliError> {
    let has_it = |module: &Module| module.aliases.iter().any(|known| known == alias);
    Ok(client.modules().await?.modules.iter().any(has_it))
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
    console.table(&table)
}

/// Warns of imports that fail when they are called, in a component that `segno build` did not make.
fn warn_of_refusals(
    module: &ModuleDescription,
    alias: &str,
    console: &mut Console,
) -> Result<(), CliError> {
    let refused = refused_packages(module);
    if !refused.is_empty() {
        let lead = console.paint(YELLOW, "refused in workflows:");
        console.line(format!("\n{lead} {}", refused.join(", ")))?;
        console.line(format!("`segno modules {alias}` says what to use in place of each"))?;
    }
    Ok(())
}

/// The packages with functions that a workflow must not call, such as `wasi:sockets` for
/// `wasi:sockets/tcp@0.2.9`. Language runtimes import dozens of functions, used or not. Segno's own
/// packages are excluded: an SDK offers them to activities only.
fn refused_packages(module: &ModuleDescription) -> Vec<&str> {
    let packages = refused_imports(module).filter_map(|import| import.name.split('/').next());
    let mut packages: Vec<&str> =
        packages.filter(|package| !package.starts_with("segno:")).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// The digest, or a prefix of one, given instead of a file. `None` if a file of that name exists,
/// or the text cannot be a digest.
fn stored(path: &Path) -> Option<&str> {
    let digits = path.to_str().filter(|_| !path.exists())?;
    let digits = digits.strip_prefix("sha256:").unwrap_or(digits);
    let is_digest = (8..=64).contains(&digits.len())
        && digits.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit));
    is_digest.then_some(digits)
}

/// The bytes of a component's file.
pub(super) fn read_component(path: &Path) -> Result<Vec<u8>, CliError> {
    std::fs::read(path).map_err(|source| CliError::File {
        what: "read",
        path: path.display().to_string(),
        source,
    })
}

/// The name of the module in a file.
pub(super) fn name_of(path: &Path) -> Result<String, CliError> {
    path.file_stem().and_then(|stem| stem.to_str()).map(|stem| stem.replace('_', "-")).ok_or_else(
        || CliError::Usage(format!("{} makes no name; give one with --as", path.display())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use segno_api::model::{Import, ImportStatus};

    #[test]
    fn what_workflows_must_not_call_is_named_by_its_packages() {
        let import = |name: &str, status| Import {
            name: name.to_owned(),
            status,
            functions: Vec::new(),
            note: None,
        };
        let module = ModuleDescription {
            functions: Vec::new(),
            imports: vec![
                import("segno:workflow/files@0.1.0", ImportStatus::Refused),
                import("wasi:cli/exit@0.2.9", ImportStatus::Refused),
                import("wasi:random/random@0.2.9", ImportStatus::Deterministic),
                import("wasi:sockets/tcp@0.2.9", ImportStatus::Refused),
                import("wasi:cli/environment@0.2.9", ImportStatus::Refused),
                import("wasi:sockets/udp@0.2.9", ImportStatus::Refused),
            ],
            ..ModuleDescription::default()
        };
        assert_eq!(refused_packages(&module), ["wasi:cli", "wasi:sockets"]);
    }
}
