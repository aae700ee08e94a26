//! `segno call`.

use std::time::Duration;

use clap::Args;
use segno_api::model::InvocationOutcome;
use segno_client::Client;

use super::{
    CliError, Console, Exit,
    result::{answer, wait_for},
    start::InvocationArgs,
    time::read_length,
};

/// Start a function, wait for its end and print its output
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno call hello/greet '\"Ada\"'
  segno call shop/order @order.json --id order-1001 --wait 30s
  segno call shop/order @order.json && echo shipped

The exit code says how it ended: 0 resolved, 4 rejected, 5 cancelled, 6 timed out, halted, or still running after --wait or Ctrl-C.")]
pub(super) struct CallArgs {
    #[command(flatten)]
    what: InvocationArgs,
    /// Maximum wait; the invocation continues beyond it
    #[arg(long, value_name = "LENGTH", value_parser = read_length)]
    wait: Option<Duration>,
}

impl CallArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let progress = console.progress("calling");
        // The id is known before the wait begins, so that it can be printed after an interruption.
        let started = client.start(&self.what.request(None)?).await?;
        progress.say(format!("waiting for {}", started.id));
        let interrupted = async { tokio::signal::ctrl_c().await.is_ok() };
        let ended = wait_unless(interrupted, client, &started.id, self.wait).await?;
        drop(progress);
        match ended {
            Some(invocation) => answer(&invocation, console),
            None => Ok(left(&started.id, console)),
        }
    }
}

/// Waits for the end. `None` if the wait was interrupted.
async fn wait_unless(
    interrupted: impl Future<Output = bool>,
    client: &Client,
    id: &str,
    limit: Option<Duration>,
) -> Result<Option<InvocationOutcome>, CliError> {
    let waiting = wait_for(client, id, limit);
    tokio::pin!(waiting);
    tokio::select! {
        biased;
        true = interrupted => Ok(None),
        ended = &mut waiting => ended.map(Some),
    }
}

/// Explains how to return to an invocation that continues.
fn left(id: &str, console: &mut Console) -> Exit {
    console.remark(&format!(
        "`{id}` continues: `segno result {id} --wait 1h` prints its outcome, `segno cancel {id}` ends it"
    ));
    Exit::TimedOut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tests::{WrittenBytes, host};

    #[tokio::test]
    async fn an_interrupted_call_names_what_goes_on() {
        let (world, server) = host().await;
        world.start("order").await.ok();
        let client = Client::new(&server, None).expect("a client");
        let ended = wait_unless(async { true }, &client, "order", None).await.expect("no error");
        assert!(ended.is_none());
        let err = WrittenBytes::default();
        let mut console = Console::plain(Vec::new(), err.clone(), false);
        assert_eq!(left("order", &mut console), Exit::TimedOut);
        assert!(err.text().contains("`order` continues: `segno result order"), "{}", err.text());
        // Without an interruption the wait ends by itself.
        let limit = Some(Duration::ZERO);
        let ended = wait_unless(async { false }, &client, "order", limit).await;
        assert!(ended.expect("no error").is_some());
    }
}
