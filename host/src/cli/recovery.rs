//! `segno recovery`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use segno_core::config::Config;
use segno_engine::recovery::{DutyRow, policy, retention::Retention};
use serde_json::json;

use super::{
    CliError, Console, Exit,
    build::other,
    item_table::ItemTable,
    table::{TextCell, TextColumn, TextTable},
    time::length,
};

/// Describe the automatic repairs of a host
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno recovery policy
  segno recovery policy --retention retention.toml
  segno recovery policy --json | jq '.classes[] | {class, action}'")]
pub(super) struct RecoveryArgs {
    #[command(subcommand)]
    what: RecoveryCommand,
}

#[derive(Debug, Subcommand)]
enum RecoveryCommand {
    /// Print the duties, the action for each kind of damage, and the retention rules
    Policy {
        /// Retention rules to show (default: retention.toml in ./segno-data)
        #[arg(long, value_name = "FILE")]
        retention: Option<PathBuf>,
    },
}

impl RecoveryArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let RecoveryCommand::Policy { retention } = self.what;
        if let Some(missing) = retention.as_ref().filter(|path| !path.exists()) {
            let message = format!("there are no retention rules `{}`", missing.display());
            return Err(CliError::Usage(message));
        }
        let file = retention.unwrap_or_else(|| PathBuf::from("segno-data/retention.toml"));
        let rules = Retention::load(&file).map_err(|error| other("invalid-retention", &error))?;
        let policy = policy(&Config::default());
        if console.json() {
            console.document(&json!({
                "duties": policy.duties,
                "classes": policy.classes,
                "retention": rules,
            }))?;
            return Ok(Exit::Done);
        }
        let duties = ItemTable::new()
            .column(TextColumn::whole("DUTY"), |duty: &DutyRow| duty.duty)
            .column(TextColumn::number("LOOKS EVERY"), |duty| length(duty.period_ms))
            .column(TextColumn::number("REST").rank(1), |duty| {
                duty.round_pause_ms.map_or_else(|| "-".to_owned(), length)
            })
            .column(TextColumn::number("PAGE").rank(2), |duty| duty.page)
            .column(TextColumn::prose("PURPOSE"), |duty| duty.purpose);
        console.table(&duties.rows(&policy.duties))?;
        console.line("")?;
        let mut table = TextTable::new(&[
            TextColumn::prose("DAMAGE"),
            TextColumn::prose("SEEN BY"),
            TextColumn::prose("WHAT IS DONE"),
        ]);
        for class in &policy.classes {
            table.row([class.class, class.detection, class.action.words()].map(TextCell::from));
        }
        console.table(&table)?;
        console.line("")?;
        let mut table =
            TextTable::new(&[TextColumn::prose("WHAT HAS ENDED"), TextColumn::prose("IS KEPT")]);
        for (what, keep) in rules.lines() {
            table.row([what, keep.to_string()].map(TextCell::from));
        }
        console.table(&table)?;
        Ok(Exit::Done)
    }
}
