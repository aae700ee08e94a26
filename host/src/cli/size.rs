//! `segno size`.

use clap::Args;
use segno_store::{FunctionSize, ModuleSize, PartSize, SizeReport, TreeSize};

use super::{
    CliError, Console, Exit,
    build::other,
    item_table::ItemTable,
    place::StoreOptions,
    show::{plain, short_digest, short_target, size},
    table::TextColumn,
};

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
pub(super) struct SizeArgs {
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
        let parts = ItemTable::new()
            .column(TextColumn::text("KIND"), |part: &PartSize| part.name.clone())
            .column(TextColumn::number("ROWS"), |part| part.rows)
            .column(TextColumn::number("SIZE"), |part| size(part.bytes));
        console.table(&parts.rows(&report.parts))?;
        let trees =
            ItemTable::new()
                .column(TextColumn::id("LARGEST TREES"), |tree: &TreeSize| plain(&tree.id))
                .column(TextColumn::number("PROMISES"), |tree| tree.promises)
                .column(TextColumn::number("CONTENT"), |tree| size(tree.bytes))
                .column(TextColumn::whole("").rank(1), |tree| {
                    if tree.settled { "" } else { "has not ended" }
                });
        largest(&trees, &report.trees, console)?;
        let functions = ItemTable::new()
            .column(TextColumn::text("LARGEST FUNCTIONS"), |function: &FunctionSize| {
                plain(short_target(&function.target))
            })
            .column(TextColumn::number("INVOCATIONS"), |function| function.invocations)
            .column(TextColumn::number("CONTENT"), |function| size(function.bytes));
        largest(&functions, &report.functions, console)?;
        let modules = ItemTable::new()
            .column(TextColumn::whole("LARGEST MODULES"), |module: &ModuleSize| {
                short_digest(&module.digest).to_owned()
            })
            .column(TextColumn::text("NAMES"), |module| match module.aliases.is_empty() {
                true => "-".to_owned(),
                false => module.aliases.join(", "),
            })
            .column(TextColumn::number("SIZE"), |module| size(module.bytes));
        largest(&modules, &report.modules, console)
    }
}

fn largest<I>(
    table: &ItemTable<'_, I>,
    items: &[I],
    console: &mut Console,
) -> Result<(), CliError> {
    if items.is_empty() {
        return Ok(());
    }
    console.line("")?;
    console.table(&table.rows(items))
}
