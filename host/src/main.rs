//! The command `segno`.

#![deny(unsafe_code)]

mod allocator;

use std::{io, process::ExitCode, time::Duration};

use segno::cli::{Cli, Console, Exit};
use segno_env::{answer_heap, set_heap_collector};
use tokio::runtime::{Builder, Runtime};

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
    let runtime = match runtime() {
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

/// The threads of the command. They return free memory when they are asked.
fn runtime() -> io::Result<Runtime> {
    set_heap_collector(allocator::collect);
    Builder::new_multi_thread().enable_all().on_thread_park(answer_heap).build()
}
