//! `segno new`.

use std::path::PathBuf;

use clap::Args;

use super::{CliError, Console, Exit, build::other, console::CYAN};
use crate::build::template;

/// Create a workflow crate that builds and runs as it is
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno new my-flow
  segno new my-flow && cd my-flow && segno deploy . --prepare && segno start my-flow/signup '\"ada@example.org\"'")]
pub struct New {
    /// New folder, whose name becomes the crate's
    #[arg(value_name = "NAME")]
    path: PathBuf,
}

impl New {
    pub(super) fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let name = template::create(&self.path).map_err(|error| other("no-new-crate", &error))?;
        let path = self.path.display().to_string();
        if console.json() {
            console.document(&serde_json::json!({ "name": name.as_str(), "path": path }))?;
            return Ok(Exit::Done);
        }
        let shown = console.paint(CYAN, name.as_str());
        console.line(format!("{shown} is in {path}"))?;
        console.line(format!(
            "\nwhat next:\n  cd {path}\n  cargo test                  # the workflow, natively and in virtual time\n  \
             segno serve &               # a host, if none runs yet\n  \
             segno deploy . --prepare    # builds and uploads it; fetches a compiler if there is none"
        ))?;
        Ok(Exit::Done)
    }
}
