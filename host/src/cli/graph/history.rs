//! The history of a graph run: its facts, in the order in which they were written.

use super::show::{PAGE, color};
use crate::{
    api::model::{GraphFact, GraphHistory, GraphHistoryQuery, GraphReset},
    cli::{
        CliError, Console,
        show::plain,
        table::{TextCell, TextColumn, TextTable},
        time::{instant, length},
    },
    client::Client,
};

/// Reads the whole history of the run `id`.
pub async fn read(id: &str, client: &Client) -> Result<GraphHistory, CliError> {
    let mut history = client.graph_history(id, &page(None)).await?;
    while let Some(after) = history.next.take() {
        let page = client.graph_history(id, &page(Some(after))).await?;
        history.facts.extend(page.facts);
        history.next = page.next;
    }
    Ok(history)
}

fn page(after: Option<u64>) -> GraphHistoryQuery {
    GraphHistoryQuery { after, limit: Some(PAGE) }
}

/// Prints facts as a table.
pub fn table(facts: &[GraphFact], console: &mut Console) -> Result<(), CliError> {
    if facts.is_empty() {
        return console.line("nothing has happened yet, or it happened before histories were kept");
    }
    let mut table = TextTable::new(&[
        TextColumn::whole("TIME"),
        TextColumn::text("NODE"),
        TextColumn::number("ATTEMPT"),
        TextColumn::whole("STATE"),
        TextColumn::text("").rank(1),
    ]);
    for fact in facts {
        let why = match (fact.reset, fact.begins_at_ms) {
            (Some(GraphReset::Cancelled), _) => "the attempt was cancelled".to_owned(),
            (Some(GraphReset::Failed), Some(begins)) if begins > fact.at_ms => {
                format!("the attempt failed; the next after {}", length(begins - fact.at_ms))
            }
            (Some(GraphReset::Failed), _) => "the attempt failed".to_owned(),
            (None, _) => String::new(),
        };
        table.row([
            TextCell::from(instant(fact.at_ms)),
            TextCell::from(plain(&fact.node)),
            TextCell::from(fact.attempt + 1),
            TextCell::colored(fact.state.as_str(), color(fact.state)),
            TextCell::from(why),
        ]);
    }
    console.table(&table)
}
