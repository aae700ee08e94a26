//! The command `segno`.

#![forbid(unsafe_code)]

use std::{process::ExitCode, time::Duration};

use segno::cli::{Cli, Console, Exit};
use tokio::runtime::Runtime;

/// Memory moves between threads here: a command is allocated on one, decided on another, and its
/// reply freed on a third. This allocator is made for that; the system's allocator took a tenth of
/// a step's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Maximum time for background work after the end of the command. All relevant work is done by
/// then: the process must not wait for a computation whose result is no longer needed.
const LEFT_OVER: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        // Help and version also end here, with code 0.
        Err(error) => error.exit(),
    };
    let mut console = Console::system(cli.json(), cli.color(), cli.full());
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the threads of the command cannot be started: {error}");
            return Exit::Error.into();
        }
    };
    let exit = runtime.block_on(cli.run(&mut console));
    runtime.shutdown_timeout(LEFT_OVER);
    exit.into()
}
