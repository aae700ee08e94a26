//! `segno man`.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};

use super::{Cli, CliError, Console, Exit};

/// Print the manual page, or write one of every command
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno man | man -l -
  segno man --dir ~/.local/share/man/man1 && man segno-deploy")]
pub(super) struct ManArgs {
    /// Folder for the pages of all commands, created if missing
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl ManArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let command = Cli::command();
        let Some(dir) = self.dir else {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            console.raw(&page)?;
            return Ok(Exit::Done);
        };
        let written =
            std::fs::create_dir_all(&dir).and_then(|()| clap_mangen::generate_to(command, &dir));
        written.map_err(|source| CliError::File {
            what: "write",
            path: dir.display().to_string(),
            source,
        })?;
        console.remark(&format!("the pages are in {}", dir.display()));
        Ok(Exit::Done)
    }
}
