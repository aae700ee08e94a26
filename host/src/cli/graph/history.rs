//! The history of a graph run: its facts, in the order in which they were written.

use segno_api::model::{GraphFact, GraphHistory, GraphHistoryQuery, GraphReset};
use segno_client::Client;

use super::show::{PAGE, color};
use crate::cli::{
    CliError, Console,
    item_table::ItemTable,
    show::plain,
    table::{TextCell, TextColumn},
    time::{instant, length},
};

/// Reads the whole history of the run `id`.
pub(crate) async fn read(id: &str, client: &Client) -> Result<GraphHistory, CliError> {
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
pub(crate) fn table(facts: &[GraphFact], console: &mut Console) -> Result<(), CliError> {
    if facts.is_empty() {
        return console.line("nothing has happened yet, or it happened before histories were kept");
    }
    let table = ItemTable::new()
        .column(TextColumn::whole("TIME"), |fact: &GraphFact| instant(fact.at_ms))
        .column(TextColumn::text("NODE"), |fact| plain(&fact.node))
        .column(TextColumn::number("ATTEMPT"), |fact| fact.attempt + 1)
        .column(TextColumn::whole("STATE"), |fact| {
            TextCell::colored(fact.state.as_str(), color(fact.state))
        })
        .column(TextColumn::text("").rank(1), |fact| match (fact.reset, fact.begins_at_ms) {
            (Some(GraphReset::Cancelled), _) => "the attempt was cancelled".to_owned(),
            (Some(GraphReset::Failed), Some(begins)) if begins > fact.at_ms => {
                format!("the attempt failed; the next after {}", length(begins - fact.at_ms))
            }
            (Some(GraphReset::Failed), _) => "the attempt failed".to_owned(),
            (None, _) => String::new(),
        });
    console.table(&table.rows(facts))
}
