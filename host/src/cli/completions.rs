//! `segno completions`.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::{Cli, CliError, Console, Exit};

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno completions bash > ~/.local/share/bash-completion/completions/segno
  segno completions zsh > ~/.zfunc/_segno
  segno completions fish > ~/.config/fish/completions/segno.fish")]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

impl CompletionsArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "segno", &mut script);
        console.raw(&script)?;
        Ok(Exit::Done)
    }
}
