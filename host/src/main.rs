//! The command `segno`.

use std::process::ExitCode;

use segno::cli::{Cli, Console};

#[tokio::main]
async fn main() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        // Help and version end here too, with code 0.
        Err(error) => error.exit(),
    };
    let mut console = Console::system(cli.json(), cli.color());
    cli.run(&mut console).await.into()
}
