//! `segno recovery`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use segno_core::config::Config;
use serde_json::json;

use super::{
    CliError, Console, Exit,
    build::other,
    table::{Cell, Column, Table},
    time::length,
};
use crate::recovery::{policy, retention::Retention};

/// Describe the automatic repairs of a host
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno recovery policy
  segno recovery policy --retention retention.toml
  segno recovery policy --json | jq '.classes[] | {class, action}'")]
pub struct Recovery {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print the duties, the action for each kind of damage, and the retention rules
    Policy {
        /// Retention rules to show (default: retention.toml in ./segno-data)
        #[arg(long, value_name = "FILE")]
        retention: Option<PathBuf>,
    },
}

impl Recovery {
    pub(super) fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let What::Policy { retention } = self.what;
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
        let mut table = Table::new(&[
            Column::whole("DUTY"),
            Column::number("LOOKS EVERY"),
            Column::number("REST").rank(1),
            Column::number("PAGE").rank(2),
            Column::prose("PURPOSE"),
        ]);
        for duty in &policy.duties {
            let pause = duty.round_pause_ms.map_or_else(|| "-".to_owned(), length);
            table.row([
                Cell::from(duty.duty),
                Cell::from(length(duty.period_ms)),
                Cell::from(pause),
                Cell::from(duty.page),
                Cell::from(duty.purpose),
            ]);
        }
        console.table(&table)?;
        console.line("")?;
        let mut table = Table::new(&[
            Column::prose("DAMAGE"),
            Column::prose("SEEN BY"),
            Column::prose("WHAT IS DONE"),
        ]);
        for class in &policy.classes {
            table.row([class.class, class.detection, class.action.words()].map(Cell::from));
        }
        console.table(&table)?;
        console.line("")?;
        let mut table = Table::new(&[Column::prose("WHAT HAS ENDED"), Column::prose("IS KEPT")]);
        for (what, keep) in rules.lines() {
            table.row([what, keep.to_string()].map(Cell::from));
        }
        console.table(&table)?;
        Ok(Exit::Done)
    }
}
