//! Runs this command for `segno mcp`. What needs the engine on this machine is a process of its
//! own: it prints to standard output, which here belongs to the protocol, and its memory and time
//! end with it.

use std::process::Stdio;

use async_trait::async_trait;
use segno_core::time::Millis;
use segno_env::Env;
use segno_mcp::{CommandOutput, SegnoCommand};
use tokio::process::Command;

/// Maximum duration of a command.
const LIMIT: Millis = Millis(300_000);

/// This executable.
#[derive(Debug)]
pub(super) struct OwnCommand;

#[async_trait]
impl SegnoCommand for OwnCommand {
    async fn run(&self, arguments: &[String]) -> Result<CommandOutput, String> {
        let program = std::env::current_exe()
            .map_err(|error| format!("the path of this command is not known: {error}"))?;
        let mut command = Command::new(program);
        command.arg("--json").args(arguments);
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = Env::system().within(LIMIT, command.output()).await;
        let output = output.ok_or_else(|| format!("it took longer than {} s", LIMIT.0 / 1_000))?;
        let output = output.map_err(|error| format!("it cannot be run: {error}"))?;
        Ok(CommandOutput {
            exit: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}
