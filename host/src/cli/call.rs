//! `segno call`.

use std::time::Duration;

use clap::Args;

use super::{
    CliError, Console, Exit,
    result::{POLL, answer, wait_for},
    start::What,
    time::read_length,
};
use crate::client::Client;

/// Start a function, wait for its end and print its output
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno call hello/greet '\"Ada\"'
  segno call shop/order @order.json --id order-1001 --wait 30s
  segno call shop/order @order.json && echo shipped

The exit code says how it ended: 0 resolved, 4 rejected, 5 cancelled, 6 timed out, halted, or still running after --wait.")]
pub struct Call {
    #[command(flatten)]
    what: What,
    /// Maximum wait; the invocation continues beyond it
    #[arg(long, value_name = "LENGTH", value_parser = read_length)]
    wait: Option<Duration>,
}

impl Call {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let first = self.wait.map_or(POLL, |limit| limit.min(POLL));
        let progress = console.progress("calling");
        let started = client.start(&self.what.request(Some(first))?).await?;
        progress.say(format!("waiting for {}", started.id));
        let invocation = if started.invocation.state.is_settled() {
            started.invocation
        } else {
            let rest = self.wait.map(|limit| limit.saturating_sub(first));
            wait_for(client, &started.id, rest).await?
        };
        drop(progress);
        if let Some(warning) = &started.warning {
            console.warn(warning);
        }
        answer(&invocation, console)
    }
}
