//! `segno compile-component`: the process in which a host compiles an upload. Hidden from the help.

use std::{
    io::{Read as _, Write as _},
    path::PathBuf,
};

use segno_guest::{Compiler, Limits, compile_into};

use super::{CliError, Exit};

/// The path of the running program or, if the file may have been replaced since, the system's
/// handle of it.
pub(super) fn compiler() -> Compiler {
    let held = PathBuf::from("/proc/self/exe");
    match held.exists() {
        true => Compiler::Program(held),
        false => std::env::current_exe().map_or(Compiler::Thread, Compiler::Program),
    }
}

/// Directory of compiled code for commands that run guests without a host, in the user's cache.
pub(super) fn kept() -> Option<PathBuf> {
    Some(segno_build::cache_directory().ok()?.join("compiled"))
}

/// Compile the component on standard input into a file, for a host
#[derive(Debug, clap::Args)]
pub(super) struct CompileComponentArgs {
    /// Limits of the host, as JSON
    #[arg(long, value_name = "JSON")]
    limits: String,
    /// Compile code that counts its instructions
    #[arg(long)]
    counts: bool,
    /// Existing file for the code
    #[arg(long, value_name = "FILE")]
    into: PathBuf,
}

impl CompileComponentArgs {
    pub(super) fn run(self) -> Result<Exit, CliError> {
        let limits: Limits = serde_json::from_str(&self.limits)
            .map_err(|error| CliError::Usage(format!("--limits: {error}")))?;
        let mut component = Vec::new();
        std::io::stdin().read_to_end(&mut component)?;
        match compile_into(&limits, self.counts, &component, &self.into) {
            Ok(()) => Ok(Exit::Done),
            Err(error) => {
                // The host reports this to the client that sent the component.
                write!(std::io::stdout(), "{error:#}")?;
                Ok(Exit::Error)
            }
        }
    }
}
