//! Prices of two shops: two files are cleaned at the same time, merged, and reported.
//!
//! It teaches: a graph, whose steps run as soon as what they need has ended; a step that runs only if
//! there is something to do; files in directories that the host's policy allows; and why what is
//! large stays in files, while from step to step goes where it is.

mod table;

use std::time::Duration;

use segno::{
    ActivityContext, Error, Result, RetryPolicy,
    graph::{Graph, Input, Output},
};

use crate::table::Table;

/// Where the lists of prices are.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Sources {
    /// The list of the shop in the north, such as `/in/north.csv`.
    pub north: String,
    /// The list of the shop in the south.
    pub south: String,
}

/// A file with prices that can be relied on.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// Where it is.
    pub file: String,
    /// How many articles are in it.
    pub articles: u64,
    /// How many lines were left out on the way, since they have no price.
    pub dropped: u64,
}

/// What is in the report.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// How many articles there are.
    pub articles: u64,
    /// How many lines were left out.
    pub dropped: u64,
    /// The article with the lowest price, and the price.
    pub cheapest: (String, u64),
    /// The sum of all prices.
    pub total_cents: u64,
}

/// Cleans both lists, merges them, and reports, unless there is nothing to report.
#[segno::graph]
pub fn prices(graph: &Graph, sources: Input<Sources>) -> Output<Option<Report>> {
    // A disk that is busy is asked again, for a while.
    let patiently = RetryPolicy::exponential().initial(Duration::from_secs(1)).max_attempts(10);
    let north = graph
        .call("clean_north", clean, (sources.at("/north"), "/out/north.csv"))
        .retry(patiently.clone());
    let south =
        graph.call("clean_south", clean, (sources.at("/south"), "/out/south.csv")).retry(patiently);
    let merged = graph.call("merge", merge, (north, south)).timeout(Duration::from_secs(600));
    graph.call("report", report, merged).when(merged.at("/articles").above(0_u64))
}

/// Reads a list of prices, and writes what can be relied on to another file.
///
/// A file is replaced as a whole, so an attempt that is repeated writes the same again.
#[segno::activity]
pub async fn clean(ctx: ActivityContext, (from, to): (String, String)) -> Result<Prices> {
    let (table, dropped) = Table::read(&ctx.files().read_text(&from)?);
    if dropped > 0 {
        segno::warn!(ctx, "{dropped} lines of {from} have no price");
    }
    ctx.files().write(&to, table.to_string().as_bytes())?;
    Ok(Prices { file: to, articles: table.len(), dropped })
}

/// Merges two lists: of an article that both have, the lower price counts.
#[segno::activity]
pub async fn merge(ctx: ActivityContext, (left, right): (Prices, Prices)) -> Result<Prices> {
    let mut table = Table::default();
    for prices in [&left, &right] {
        let (part, _) = Table::read(&ctx.files().read_text(&prices.file)?);
        table.merge(part);
    }
    let file = "/out/prices.csv".to_owned();
    ctx.files().write(&file, table.to_string().as_bytes())?;
    Ok(Prices { file, articles: table.len(), dropped: left.dropped + right.dropped })
}

/// Writes the report, and gives what is in it.
#[segno::activity]
pub async fn report(ctx: ActivityContext, prices: Prices) -> Result<Report> {
    let (table, _) = Table::read(&ctx.files().read_text(&prices.file)?);
    let Some((article, cents)) = table.cheapest() else {
        return Err(Error::terminal(422, format!("there are no prices in {}", prices.file)));
    };
    let report = Report {
        articles: table.len(),
        dropped: prices.dropped,
        cheapest: (article.to_owned(), cents),
        total_cents: table.total_cents(),
    };
    ctx.files().write("/out/report.json", &segno::serde_json::to_vec_pretty(&report)?)?;
    Ok(report)
}

segno::module!(prices, clean, merge, report);

#[cfg(test)]
mod tests;
