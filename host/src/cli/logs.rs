//! `segno logs`.

use std::time::Duration;

use clap::Args;

use crate::{
    api::model::{LogLevel, LogLine},
    client::Client,
};

use super::{
    CliError, Console, Exit,
    console::{DIM, GREEN, RED, YELLOW},
    time::instant,
};

/// Print what an invocation logged
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno logs order-1001
  segno logs order-1001 --level warn
  segno logs order-1001 --follow")]
pub struct Logs {
    /// The invocation
    id: String,
    /// Only lines at least as loud: trace, debug, info, warn, error
    #[arg(long, value_name = "LEVEL", default_value = "trace", value_parser = read_level)]
    level: LogLevel,
    /// Go on until the invocation has ended
    #[arg(long, short)]
    follow: bool,
}

fn read_level(text: &str) -> Result<LogLevel, String> {
    LogLevel::ALL
        .into_iter()
        .find(|level| level.as_str() == text)
        .ok_or_else(|| "it is one of trace, debug, info, warn, error".to_owned())
}

impl Logs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let mut from = 0;
        loop {
            // Asked before the lines are read, so that the last lines are not missed.
            let ended =
                !self.follow || client.wait(&self.id, Duration::ZERO).await?.state.is_settled();
            loop {
                let page = client.logs(&self.id, from, 1000).await?;
                for line in &page.lines {
                    from = line.line + 1;
                    if line.level >= self.level {
                        self.print(line, console)?;
                    }
                }
                if page.next.is_none() {
                    break;
                }
            }
            if ended {
                return Ok(Exit::Done);
            }
            // The wait for the end is the pause between two looks.
            client.wait(&self.id, Duration::from_millis(500)).await?;
        }
    }

    fn print(&self, line: &LogLine, console: &mut Console) -> Result<(), CliError> {
        if console.json() {
            let text = serde_json::to_string(line).map_err(std::io::Error::from)?;
            return console.line(text);
        }
        let style = match line.level {
            LogLevel::Trace | LogLevel::Debug => DIM,
            LogLevel::Info => GREEN,
            LogLevel::Warn => YELLOW,
            LogLevel::Error => RED,
        };
        let level = console.paint(style, &format!("{:<5}", line.level.as_str()));
        let at = console.paint(DIM, &instant(line.at_ms));
        console.line(format!("{at}  {level}  {}", line.message))
    }
}
