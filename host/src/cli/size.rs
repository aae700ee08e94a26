//! `segno size`.

use clap::Args;

use super::{
    CliError, Console, Exit,
    build::other,
    place::Place,
    show::{plain, short_digest, short_target, size},
    table::{Cell, Column, Table},
};
use crate::store::SizeReport;

/// Show what takes space in a store
///
/// By table, and the largest trees (an invocation with all its descendants), functions and modules.
/// Reads the whole database, and may be used while a host runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno size
  segno size --store /var/lib/segno --top 20
  segno size --json | jq '.trees[0]'")]
pub struct Size {
    #[command(flatten)]
    place: Place,
    /// Number of trees, functions and modules to name
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: u32,
}

impl Size {
    pub(super) async fn run(self, console: &mut Console) -> Result<Exit, CliError> {
        let look = self.place.look().await?;
        let report = {
            let _progress = console.progress("measuring");
            look.scan().size(self.top).await
        };
        look.close().await;
        let report = report.map_err(|error| other("store", &error))?;
        if console.json() {
            console.document(&report)?;
        } else {
            self.tell(&report, console)?;
        }
        Ok(Exit::Done)
    }

    fn tell(&self, report: &SizeReport, console: &mut Console) -> Result<(), CliError> {
        let free = match report.free_bytes {
            0 => String::new(),
            free => format!(", {} of it free for what comes next", size(free)),
        };
        console.line(format!("{}: {}{free}\n", self.place.name(), size(report.bytes)))?;
        let columns = [Column::text("KIND"), Column::number("ROWS"), Column::number("SIZE")];
        let mut table = Table::new(&columns);
        for part in &report.parts {
            table.row([
                Cell::from(&part.name),
                Cell::from(part.rows),
                Cell::from(size(part.bytes)),
            ]);
        }
        console.table(&table)?;
        if !report.trees.is_empty() {
            console.line("")?;
            let mut table = Table::new(&[
                Column::id("LARGEST TREES"),
                Column::number("PROMISES"),
                Column::number("CONTENT"),
                Column::whole("").rank(1),
            ]);
            for tree in &report.trees {
                let state = if tree.settled { "" } else { "has not ended" };
                table.row([
                    Cell::from(plain(&tree.id)),
                    Cell::from(tree.promises),
                    Cell::from(size(tree.bytes)),
                    Cell::from(state),
                ]);
            }
            console.table(&table)?;
        }
        if !report.functions.is_empty() {
            console.line("")?;
            let mut table = Table::new(&[
                Column::text("LARGEST FUNCTIONS"),
                Column::number("INVOCATIONS"),
                Column::number("CONTENT"),
            ]);
            for function in &report.functions {
                table.row([
                    Cell::from(plain(short_target(&function.target))),
                    Cell::from(function.invocations),
                    Cell::from(size(function.bytes)),
                ]);
            }
            console.table(&table)?;
        }
        if !report.modules.is_empty() {
            console.line("")?;
            let mut table = Table::new(&[
                Column::whole("LARGEST MODULES"),
                Column::text("NAMES"),
                Column::number("SIZE"),
            ]);
            for module in &report.modules {
                let names = if module.aliases.is_empty() {
                    "-".to_owned()
                } else {
                    module.aliases.join(", ")
                };
                table.row([
                    Cell::from(short_digest(&module.digest)),
                    Cell::from(names),
                    Cell::from(size(module.bytes)),
                ]);
            }
            console.table(&table)?;
        }
        Ok(())
    }
}
