//! `segno modules`.

use clap::Args;
use segno_api::model::{
    Function, Import, ImportStatus, Message, Module, ModuleDescription, ObjectAccess,
};
use segno_client::Client;
use segno_core::address::service_of_alias;

use super::{
    CliError, Console, Exit,
    console::{BOLD, CYAN},
    limit_words::limit_words,
    show::{short_digest, size},
    table::{TextCell, TextColumn, TextTable},
    time::{now_ms, relative},
};

/// The export of a runtime, which loads the sources of other modules.
const LOADER: &str = "segno:workflow/loader@";

/// Maximum number of a module's functions named in the list; with more, one name less and a count
/// of the rest.
const LISTED_FUNCTIONS: usize = 6;

/// List modules, or describe one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno modules
  segno modules shop
  segno modules shop --json | jq '.functions[] | {name, input_schema}'")]
pub(super) struct ModulesArgs {
    /// Name or digest of the module to describe
    name: Option<String>,
}

impl ModulesArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        match self.name {
            Some(name) => describe(&client.module(&name).await?, console)?,
            None => list(client, console).await?,
        }
        Ok(Exit::Done)
    }
}

async fn list(client: &Client, console: &mut Console) -> Result<(), CliError> {
    let modules = client.modules().await?;
    if console.json() {
        return console.document(&modules);
    }
    if modules.modules.is_empty() {
        console.remark("no modules; upload one with `segno deploy`");
        return Ok(());
    }
    let now = now_ms();
    let mut table = TextTable::new(&[
        TextColumn::text("NAME"),
        TextColumn::whole("DIGEST").rank(2),
        TextColumn::number("SIZE").rank(3),
        TextColumn::text("FUNCTIONS"),
        TextColumn::number("RUNNING"),
        TextColumn::whole("UPLOADED").rank(1),
    ]);
    for module in &modules.modules {
        // The services of a deployment, by name.
        let services: Vec<&str> =
            module.aliases.iter().filter_map(|alias| service_of_alias(alias)).collect();
        let functions = match services.is_empty() {
            true => listed(&module.description),
            false => format!("{} handlers", module.description.functions.len()),
        };
        let names = match (services.is_empty(), module.aliases.is_empty()) {
            (false, _) => format!("{} (Restate)", services.join(", ")),
            (true, true) => "-".to_owned(),
            (true, false) => module.aliases.join(", "),
        };
        table.row([
            TextCell::from(names),
            TextCell::from(short_digest(&module.digest)),
            TextCell::from(size(module.size)),
            TextCell::from(functions),
            TextCell::from(module.in_use),
            TextCell::from(relative(module.created_at_ms, now)),
        ]);
    }
    console.table(&table)
}

/// The names of a module's functions; all of them if there are few.
fn listed(module: &ModuleDescription) -> String {
    let functions = &module.functions;
    // Source modules have the exports of their runtime, and functions.
    let loads = module.exports.iter().any(|export| export.starts_with(LOADER));
    if functions.is_empty() && loads {
        return "(runtime of source modules)".to_owned();
    }
    let name = |function: &Function| function.name.clone();
    match functions.len() {
        0..=LISTED_FUNCTIONS => functions.iter().map(name).collect::<Vec<_>>().join(", "),
        all => {
            let first: Vec<String> = functions[..LISTED_FUNCTIONS - 1].iter().map(name).collect();
            format!("{} and {} more", first.join(", "), all + 1 - LISTED_FUNCTIONS)
        }
    }
}

fn describe(module: &Module, console: &mut Console) -> Result<(), CliError> {
    if console.json() {
        return console.document(module);
    }
    let names =
        if module.aliases.is_empty() { "(no name)".to_owned() } else { module.aliases.join(", ") };
    let names = console.paint(CYAN, &names);
    let head = format!("{names}  {}  {}", module.digest, size(module.size));
    console.paragraph("", &head, 2)?;
    console.line(format!(
        "uploaded {}, {} unfinished executions",
        relative(module.created_at_ms, now_ms()),
        module.in_use
    ))?;
    console.line("")?;
    contents(&module.description, console)
}

/// Prints functions, schemas and imports.
pub(super) fn contents(module: &ModuleDescription, console: &mut Console) -> Result<(), CliError> {
    let table = function_table(module);
    console.table(&table)?;
    for function in &module.functions {
        for (what, schema) in
            [("input", &function.input_schema), ("output", &function.output_schema)]
        {
            if let Some(schema) = schema {
                let head = console.paint(BOLD, &format!("{} of {}", what, function.name));
                console.line(format!("\n{head}\n{schema:#}"))?;
            }
        }
        for handler in &function.handlers {
            let of = format!("{} {} of {}", handler.kind.as_str(), handler.name, function.name);
            for (what, schema) in
                [("input", &handler.input_schema), ("output", &handler.output_schema)]
            {
                if let Some(schema) = schema {
                    let head = console.paint(BOLD, &format!("{what} of {of}"));
                    console.line(format!("\n{head}\n{schema:#}"))?;
                }
            }
        }
        for Message { kind, name, schema } in &function.messages {
            let head = format!("{} {name} of {}", kind.as_str(), function.name);
            console.line(format!("\n{}\n{schema:#}", console.paint(BOLD, &head)))?;
        }
    }
    if !module.imports.is_empty() {
        console.line("")?;
        let columns =
            [TextColumn::text("IMPORT"), TextColumn::whole("STATUS"), TextColumn::prose("")];
        let mut table = TextTable::new(&columns);
        for import in &module.imports {
            let status = match import.status {
                ImportStatus::Provided => "provided",
                ImportStatus::Deterministic => "deterministic",
                ImportStatus::Refused => "refused in workflows",
            };
            let note = import.note.as_deref().unwrap_or_default();
            table.row([import.name.as_str(), status, note].map(TextCell::from));
        }
        console.table(&table)?;
    }
    if let Some(why) = &module.no_snapshots {
        console
            .line(format!("\nlong executions are replayed as a whole, without snapshots: {why}"))?;
    }
    Ok(())
}

/// The functions of a module with their limits, queries and updates, as a table.
pub(super) fn function_table(module: &ModuleDescription) -> TextTable {
    let columns =
        [TextColumn::text("FUNCTION"), TextColumn::whole("KIND"), TextColumn::prose("SUMMARY")];
    let mut table = TextTable::new(&columns);
    for function in &module.functions {
        table.row([
            TextCell::from(&function.name),
            TextCell::from(kind_of(function)),
            TextCell::from(words(&function.summary)),
        ]);
        if let Some(limit) = &function.limit {
            table.row(["", "limit", &limit_words(limit)].map(TextCell::from));
        }
        if function.commits_each {
            table.row(["", "commit", "each result by itself"].map(TextCell::from));
        }
        for protocol in &function.expose {
            table.row(["", "offered", protocol].map(TextCell::from));
        }
        for handler in &function.handlers {
            table.row([
                TextCell::from(format!("  {}", handler.name)),
                TextCell::from(handler.kind.as_str()),
                TextCell::from(words(&handler.summary)),
            ]);
        }
    }
    table
}

fn words(summary: &Option<String>) -> String {
    summary.as_deref().unwrap_or("-").replace('\n', " ")
}

/// `workflow` or `activity`; for a function of an object, its access to the state, or that it runs
/// once per key.
fn kind_of(function: &Function) -> &'static str {
    match function.access {
        Some(ObjectAccess::Exclusive) if function.runs_once => "once a key",
        Some(ObjectAccess::Exclusive) => "exclusive",
        Some(ObjectAccess::Shared) => "shared",
        None => function.kind.as_str(),
    }
}

/// The imports that fail when a workflow calls them.
pub(super) fn refused_imports(module: &ModuleDescription) -> impl Iterator<Item = &Import> {
    module.imports.iter().filter(|import| import.status == ImportStatus::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_no_module_without_functions() {
        let exporting = |name: &str| ModuleDescription {
            exports: vec![name.to_owned()],
            ..ModuleDescription::default()
        };
        assert_eq!(listed(&exporting("segno:workflow/functions@0.2.0")), "");
        let runtime = exporting("segno:workflow/loader@0.2.0");
        assert_eq!(listed(&runtime), "(runtime of source modules)");
        let order = serde_json::json!({ "name": "order", "kind": "workflow", "signals": false });
        let functions = vec![serde_json::from_value(order).expect("it is one")];
        assert_eq!(listed(&ModuleDescription { functions, ..runtime }), "order");
    }
}
