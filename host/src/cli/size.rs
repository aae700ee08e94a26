//! `segno size`.

use clap::Args;

use super::{
    CliError, Console, Exit,
    build::other,
    place::StoreOptions,
    show::{plain, short_digest, short_target, size},
    table::{TextCell, TextColumn, TextTable},
};
use crate::store::SizeReport;

/// Show how the space in a store is used
///
/// By table, and the largest trees (an invocation with all its descendants), functions and modules.
/// Reads the whole database, and may be used while a host runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno size
  segno size --store /var/lib/segno --top 20
  segno size --json | jq '.trees[0]'")]
pub struct SizeArgs {
    #[command(flatten)]
    place: StoreOptions,
    /// Number of trees, functions and modules to name
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: u32,
}

impl SizeArgs {
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
        let columns =
            [TextColumn::text("KIND"), TextColumn::number("ROWS"), TextColumn::number("SIZE")];
        let mut table = TextTable::new(&columns);
        for part in &report.parts {
            table.row([
                TextCell::from(&part.name),
                TextCell::from(part.rows),
                TextCell::from(size(part.bytes)),
            ]);
        }
        console.table(&table)?;
        if !report.trees.is_empty() {
            console.line("")?;
            let mut table = TextTable::new(&[
                TextColumn::id("LARGEST TREES"),
                TextColumn::number("PROMISES"),
                TextColumn::number("CONTENT"),
                TextColumn::whole("").rank(1),
            ]);
            for tree in &report.trees {
                let state = if tree.settled { "" } else { "has not ended" };
                table.row([
                    TextCell::from(plain(&tree.id)),
                    TextCell::from(tree.promises),
                    TextCell::from(size(tree.bytes)),
                    TextCell::from(state),
                ]);
            }
            console.table(&table)?;
        }
        if !report.functions.is_empty() {
            console.line("")?;
            let mut table = TextTable::new(&[
                TextColumn::text("LARGEST FUNCTIONS"),
                TextColumn::number("INVOCATIONS"),
                TextColumn::number("CONTENT"),
            ]);
            for function in &report.functions {
                table.row([
                    TextCell::from(plain(short_target(&function.target))),
                    TextCell::from(function.invocations),
                    TextCell::from(size(function.bytes)),
                ]);
            }
            console.table(&table)?;
        }
        if !report.modules.is_empty() {
            console.line("")?;
            let mut table = TextTable::new(&[
                TextColumn::whole("LARGEST MODULES"),
                TextColumn::text("NAMES"),
                TextColumn::number("SIZE"),
            ]);
            for module in &report.modules {
                let names = if module.aliases.is_empty() {
                    "-".to_owned()
                } else {
                    module.aliases.join(", ")
                };
                table.row([
                    TextCell::from(short_digest(&module.digest)),
                    TextCell::from(names),
                    TextCell::from(size(module.bytes)),
                ]);
            }
            console.table(&table)?;
        }
        Ok(())
    }
}
