//! `segno size`.

use clap::Args;
use comfy_table::{Cell, CellAlignment};

use super::{
    CliError, Console, Exit,
    build::other,
    place::Place,
    show::{cut, short_digest, short_target, size},
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
        let mut table = console.new_table(&["KIND", "ROWS", "SIZE"]);
        for part in &report.parts {
            table.add_row([Cell::new(&part.name), right(part.rows), right(size(part.bytes))]);
        }
        console.table(table)?;
        if !report.trees.is_empty() {
            console.line("")?;
            let mut table = console.new_table(&["LARGEST TREES", "PROMISES", "CONTENT", ""]);
            for tree in &report.trees {
                let state = if tree.settled { "" } else { "has not ended" };
                let (promises, bytes) = (right(tree.promises), right(size(tree.bytes)));
                table.add_row([Cell::new(cut(&tree.id, 60)), promises, bytes, Cell::new(state)]);
            }
            console.table(table)?;
        }
        if !report.functions.is_empty() {
            console.line("")?;
            let mut table = console.new_table(&["LARGEST FUNCTIONS", "INVOCATIONS", "CONTENT"]);
            for function in &report.functions {
                let (count, bytes) = (right(function.invocations), right(size(function.bytes)));
                table.add_row([Cell::new(short_target(&function.target)), count, bytes]);
            }
            console.table(table)?;
        }
        if !report.modules.is_empty() {
            console.line("")?;
            let mut table = console.new_table(&["LARGEST MODULES", "NAMES", "SIZE"]);
            for module in &report.modules {
                let names = if module.aliases.is_empty() {
                    "-".to_owned()
                } else {
                    module.aliases.join(", ")
                };
                let digest = Cell::new(short_digest(&module.digest));
                table.add_row([digest, Cell::new(names), right(size(module.bytes))]);
            }
            console.table(table)?;
        }
        Ok(())
    }
}

fn right(content: impl ToString) -> Cell {
    Cell::new(content).set_alignment(CellAlignment::Right)
}
