//! `segno payments`: the payment service of the demo, as a separate process. Hidden from the help.

use segno_demo::payments::{self, PaymentsArgs};

use super::{CliError, Exit};

/// Run the demo's payment service
#[derive(Debug, clap::Args)]
pub(super) struct PaymentServiceArgs {
    #[command(flatten)]
    arguments: PaymentsArgs,
}

impl PaymentServiceArgs {
    pub(super) async fn run(self) -> Result<Exit, CliError> {
        match payments::run(self.arguments).await {
            Ok(()) => Ok(Exit::Done),
            Err(error) => Err(CliError::Other { code: "payments", message: format!("{error:#}") }),
        }
    }
}
