//! `segno object`.

use std::str::FromStr;

use clap::{Args, Subcommand};
use segno_api::model::{
    ChangeState, FailureView, ObjectItem, ObjectPromiseView, ObjectQuery, ObjectView,
};
use segno_client::Client;
use serde_json::Value;

use super::{
    CliError, Console, Exit,
    console::{CYAN, DIM},
    input::read_json,
    item_table::ItemTable,
    pages::PageOptions,
    settle::PromiseStatus,
    show::{facts, plain, promise_style, size, value},
    table::TextColumn,
    text,
};

/// List objects, and read or change their state and promises
///
/// The functions of an object write its state, one execution at a time. A change from here is
/// refused while an execution of the object has not ended. A promise of an object can be settled at
/// any time, once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno object list cart/
  segno object get cart/Cart@ada
  segno object get cart/Cart@ada total
  segno object set cart/Cart@ada total 12
  segno object clear cart/Cart@ada total
  segno object clear cart/Cart@ada --all
  segno object promise resolve web/Signup@ada confirmed true
  segno call cart/Cart@ada/add '\"hat\"'       # calls a function of it")]
pub(super) struct ObjectArgs {
    #[command(subcommand)]
    what: ObjectCommand,
}

#[derive(Debug, Subcommand)]
enum ObjectCommand {
    List(ObjectListArgs),
    Get(ObjectGetArgs),
    Set(ObjectSetArgs),
    Clear(ObjectClearArgs),
    Promise(ObjectPromiseArgs),
}

/// List objects that have state, or a stored execution
#[derive(Debug, Args)]
struct ObjectListArgs {
    /// Only names with this prefix
    #[arg(value_name = "PREFIX")]
    prefix: Option<String>,
    #[command(flatten)]
    pages: PageOptions,
}

/// Show the state of an object, its promises and queue, or print one value
#[derive(Debug, Args)]
struct ObjectGetArgs {
    /// Object: MODULE/OBJECT@KEY
    #[arg(value_name = "OBJECT")]
    object: ObjectAddress,
    /// Name in its state: the field, or FIELD/KEY
    name: Option<String>,
}

/// Set a value in the state of an object
#[derive(Debug, Args)]
struct ObjectSetArgs {
    /// Object: MODULE/OBJECT@KEY
    #[arg(value_name = "OBJECT")]
    object: ObjectAddress,
    /// Name in its state: the field, or FIELD/KEY
    name: String,
    /// Value: JSON, @FILE, or - for standard input
    #[arg(value_name = "JSON")]
    value: String,
}

/// Remove values from the state of an object
#[derive(Debug, Args)]
struct ObjectClearArgs {
    /// Object: MODULE/OBJECT@KEY
    #[arg(value_name = "OBJECT")]
    object: ObjectAddress,
    /// Names in its state
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,
    /// Remove all names, and the promises and streams of the object
    #[arg(long, conflicts_with = "names")]
    all: bool,
}

/// Show and settle promises of an object
///
/// A promise of an object has a name, and belongs to no execution. It may be settled before any
/// execution waits for it, and stays when those that waited have ended. It settles once: a later
/// attempt changes nothing and prints the first outcome.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno object promise get web/Signup@ada confirmed
  segno object promise resolve web/Signup@ada confirmed true
  segno object promise reject web/Signup@ada confirmed 'no such address' --code 422")]
struct ObjectPromiseArgs {
    #[command(subcommand)]
    what: ObjectPromiseCommand,
}

#[derive(Debug, Subcommand)]
enum ObjectPromiseCommand {
    /// Show a promise: its outcome, and the executions that wait for it
    Get(ObjectPromiseName),
    Resolve(ObjectResolveArgs),
    Reject(ObjectRejectArgs),
}

#[derive(Debug, Args)]
struct ObjectPromiseName {
    /// Object: MODULE/OBJECT@KEY
    #[arg(value_name = "OBJECT")]
    object: ObjectAddress,
    /// Name of the promise: the field
    name: String,
}

/// Settle a promise of an object with a value
#[derive(Debug, Args)]
struct ObjectResolveArgs {
    #[command(flatten)]
    which: ObjectPromiseName,
    /// Value: JSON, @FILE, or - for standard input (default: null)
    #[arg(value_name = "JSON")]
    value: Option<String>,
}

/// Settle a promise of an object with a failure
#[derive(Debug, Args)]
struct ObjectRejectArgs {
    #[command(flatten)]
    which: ObjectPromiseName,
    /// Message of the failure
    #[arg(value_name = "MESSAGE", default_value = "rejected from outside")]
    message: String,
    /// Code of the failure; 400 to 599 have the meaning that they have in HTTP
    #[arg(long, value_name = "N", default_value_t = 400)]
    code: u32,
    /// Further data for programs: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON")]
    details: Option<String>,
}

/// The name of an object.
#[derive(Debug, Clone)]
struct ObjectAddress {
    module: String,
    object: String,
    key: String,
}

impl FromStr for ObjectAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = || {
            let (module, rest) = text.strip_prefix("wasm://").unwrap_or(text).split_once('/')?;
            let (object, key) = rest.split_once('@')?;
            let is_whole = !module.is_empty() && !object.is_empty() && !key.is_empty();
            is_whole.then(|| Self { module: module.into(), object: object.into(), key: key.into() })
        };
        parts().ok_or_else(|| "write MODULE/OBJECT@KEY, such as cart/Cart@ada".to_owned())
    }
}

impl ObjectAddress {
    fn parts(&self) -> [&str; 3] {
        [&self.module, &self.object, &self.key]
    }
}

impl ObjectArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        match self.what {
            ObjectCommand::List(list) => list.run(client, console).await?,
            ObjectCommand::Get(ObjectGetArgs { object, name: None }) => {
                show(&client.object(object.parts(), None).await?, console)?;
            }
            ObjectCommand::Get(ObjectGetArgs { object, name: Some(name) }) => {
                return one(&client.object(object.parts(), Some(&name)).await?, &name, console);
            }
            ObjectCommand::Set(ObjectSetArgs { object, name, value }) => {
                let set = [(name, read_json(&value)?)].into();
                let change = ChangeState { set, ..ChangeState::default() };
                show(&client.change_object(object.parts(), &change).await?, console)?;
            }
            ObjectCommand::Clear(ObjectClearArgs { object, names, all }) => {
                let change = ChangeState { clear_all: all, clear: names, ..ChangeState::default() };
                show(&client.change_object(object.parts(), &change).await?, console)?;
            }
            ObjectCommand::Promise(promise) => promise.run(client, console).await?,
        }
        Ok(Exit::Done)
    }
}

impl ObjectPromiseArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let view = match self.what {
            ObjectPromiseCommand::Get(ObjectPromiseName { object, name }) => {
                client.object_promise(object.parts(), &name).await?
            }
            ObjectPromiseCommand::Resolve(ObjectResolveArgs {
                which: ObjectPromiseName { object, name },
                value,
            }) => {
                let value = value.as_deref().map_or(Ok(Value::Null), read_json)?;
                client.resolve_object_promise(object.parts(), &name, value).await?
            }
            ObjectPromiseCommand::Reject(ObjectRejectArgs {
                which: ObjectPromiseName { object, name },
                message,
                code,
                details,
            }) => {
                let details = details.as_deref().map(read_json).transpose()?;
                let failure = FailureView { code, message, details };
                client.reject_object_promise(object.parts(), &name, failure).await?
            }
        };
        if console.json() {
            return console.document(&view);
        }
        let ObjectPromiseView { id, state, value, failure, changed, awaited_by, .. } = &view;
        PromiseStatus { id, state: *state, value: value.as_ref(), failure: failure.as_ref() }
            .print(*changed, console)?;
        facts(awaited_by.iter().map(|by| ("waits", plain(by))).collect(), console)
    }
}

impl ObjectListArgs {
    async fn run(self, client: &Client, console: &mut Console) -> Result<(), CliError> {
        let prefix = self.prefix;
        let ask = async |after, limit, partial| {
            let query = ObjectQuery { prefix: prefix.clone(), partial, after, limit: Some(limit) };
            client.objects(&query).await
        };
        let found = self.pages.read_present(ask).await?;
        let none = match &prefix {
            Some(prefix) => format!("no object's name begins with `{prefix}`"),
            None => "no objects; calling a function of one makes it".to_owned(),
        };
        let table = ItemTable::new()
            .column(TextColumn::id("OBJECT"), |item: &ObjectItem| plain(&item.object))
            .column(TextColumn::number("NAMES"), |item| item.names)
            .column(TextColumn::number("SIZE"), |item| size(item.bytes))
            .column(TextColumn::text("WHOSE TURN"), |item| {
                item.holder.as_deref().map_or("-".to_owned(), plain)
            });
        let is_printed = table.print_rows(&none, &found, console)?;
        if let Some(next) = found.next.as_ref().filter(|_| is_printed) {
            console.remark(&format!("more follow: --after '{next}', or --all"));
        }
        Ok(())
    }
}

/// Prints one value as JSON.
fn one(view: &ObjectView, name: &str, console: &mut Console) -> Result<Exit, CliError> {
    match view.state.get(name) {
        Some(value) => {
            console.document(value)?;
            Ok(Exit::Done)
        }
        None => {
            console.remark(&format!("`{}` has no `{name}`", view.object));
            Ok(Exit::NotFound)
        }
    }
}

fn show(view: &ObjectView, console: &mut Console) -> Result<(), CliError> {
    if console.json() {
        return console.document(view);
    }
    let name = console.paint(CYAN, &plain(&view.object));
    console.line(match view.names.len() {
        0 => format!("{name}  {}", console.paint(DIM, "no state")),
        1 => format!("{name}  1 name in its state"),
        names => format!("{name}  {names} names in its state"),
    })?;
    let mut lines = Vec::new();
    lines.extend(view.holder.as_ref().map(|holder| ("turn", plain(holder))));
    lines.extend(view.last.as_ref().map(|last| ("last", plain(last))));
    lines.extend(view.run.as_ref().map(|run| ("run", plain(run))));
    facts(lines, console)?;
    for (name, bytes) in &view.names {
        let name = plain(name);
        let shown = match view.state.get(&name) {
            Some(shown) => {
                let shown = value(shown, console);
                console.fit(&shown, text::width(&name) + 6)
            }
            None => console.paint(DIM, &size(*bytes)),
        };
        console.line(format!("  {name}  {shown}"))?;
    }
    for (name, state) in &view.promises {
        let state = console.paint(promise_style(*state), state.as_str());
        console.line(format!("  {}  promise, {state}", plain(name)))?;
    }
    Ok(())
}
