//! `segno budget`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use segno_api::model::{
    BudgetAccount, BudgetUnit, BudgetView, SetBudget, unit_amount, unit_number,
};
use segno_client::Client;
use segno_core::budget::Costs;
use serde_json::Number;

use super::{
    CliError, Console, Exit,
    show::plain,
    table::{TextCell, TextColumn, TextTable},
};

/// Show and raise what executions may use of tokens, money and calls
///
/// An execution that is started with `--budget` and everything below it draw on its budget. The
/// host counts `calls`; activities report all other units. When nothing is left of a unit, calls
/// fail with code 402 before they are sent, and the workflow decides what follows.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  segno start agent/chat '\"hello\"' --id chat-1 --budget tokens=100000 --budget usd=2.50
  segno budget show chat-1
  segno budget set chat-1 tokens=150000       # the new limit
  segno budget set chat-1 usd=+1              # one more than now")]
pub(super) struct BudgetArgs {
    #[command(subcommand)]
    what: BudgetCommand,
}

#[derive(Debug, Subcommand)]
enum BudgetCommand {
    Show(BudgetShowArgs),
    Set(BudgetSetArgs),
}

/// Show the budgets that an execution draws on, and those below it
#[derive(Debug, Args)]
struct BudgetShowArgs {
    /// Id of the execution
    id: String,
}

/// Set limits of an execution's budget
#[derive(Debug, Args)]
struct BudgetSetArgs {
    /// Id of the execution
    id: String,
    /// New limit of a unit; with +, so much more than now
    #[arg(required = true, value_name = "UNIT=AMOUNT")]
    limits: Vec<String>,
}

impl BudgetArgs {
    pub(super) async fn run(
        self,
        client: &Client,
        console: &mut Console,
    ) -> Result<Exit, CliError> {
        let (id, view) = match self.what {
            BudgetCommand::Show(BudgetShowArgs { id }) => {
                let view = client.budget(&id).await?;
                (id, view)
            }
            BudgetCommand::Set(BudgetSetArgs { id, limits: asked }) => {
                let (added, set): (Vec<String>, _) =
                    asked.into_iter().partition(|limit| limit.contains("=+"));
                let mut limits = read(&set)?;
                if !added.is_empty() {
                    let added: Vec<String> =
                        added.iter().map(|limit| limit.replacen("=+", "=", 1)).collect();
                    limits.extend(raised(&id, &client.budget(&id).await?, read(&added)?));
                }
                let view = client.set_budget(&id, &SetBudget { limits }).await?;
                (id, view)
            }
        };
        show(&id, &view, console)?;
        Ok(Exit::Done)
    }
}

/// Reads limits, as `UNIT=AMOUNT`.
pub(super) fn read(texts: &[String]) -> Result<BTreeMap<String, Number>, CliError> {
    let mut limits = BTreeMap::new();
    for text in texts {
        let costs: Costs = text.parse().map_err(|error| CliError::Usage(format!("{error}")))?;
        for (unit, amount) in costs.iter() {
            if limits.insert(unit.to_string(), unit_number(amount)).is_some() {
                return Err(CliError::Usage(format!("`{unit}` is named twice")));
            }
        }
    }
    Ok(limits)
}

/// The present limits of these units, each with so much more.
fn raised(id: &str, now: &BudgetView, added: BTreeMap<String, Number>) -> BTreeMap<String, Number> {
    let own = now.accounts.first().filter(|account| account.id == id);
    let limit = |unit: &String| own.and_then(|account| account.units.get(unit));
    let sum = |(unit, more): (String, Number)| {
        let limit = limit(&unit).map(|unit| unit_amount(&unit.limit)).unwrap_or_default();
        (unit, unit_number(limit.plus(unit_amount(&more))))
    };
    added.into_iter().map(sum).collect()
}

fn show(id: &str, view: &BudgetView, console: &mut Console) -> Result<(), CliError> {
    if console.json() {
        return console.document(view);
    }
    let BudgetView { accounts, below } = view;
    if accounts.is_empty() && below.is_empty() {
        console.remark(&format!(
            "`{}` has no budget; an execution gets one when it is started: `segno start … --budget UNIT=AMOUNT`",
            plain(id)
        ));
        return Ok(());
    }
    let mut table = TextTable::new(&[
        TextColumn::id("BUDGET OF"),
        TextColumn::text("UNIT"),
        TextColumn::number("LIMIT"),
        TextColumn::number("SPENT"),
        TextColumn::number("LEFT"),
    ]);
    for BudgetAccount { id, units } in accounts.iter().chain(below) {
        for (unit, BudgetUnit { limit, spent, remaining }) in units {
            let numbers = [limit, spent, remaining].map(ToString::to_string);
            let names = [id.clone(), unit.clone()];
            table.row(names.into_iter().chain(numbers).map(TextCell::from));
        }
    }
    console.table(&table)
}
