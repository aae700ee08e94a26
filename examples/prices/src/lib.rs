//! Prices of two shops: two files are cleaned in parallel, merged, and reported.
//!
//! It shows a graph, whose steps run as soon as their dependencies have ended; a step that runs
//! only on a condition; files in directories that the host's policy allows; and large data that
//! stays in files, while steps pass only the paths.

mod table;

use std::time::Duration;

use segno::{
    ActivityContext, Error, Result, RetryPolicy,
    graph::{Graph, Input, Output},
};

use crate::table::Table;

/// The paths of the price lists.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Sources {
    /// The list of the northern shop, such as `/in/north.csv`.
    pub north: String,
    /// The list of the southern shop.
    pub south: String,
}

/// A file with cleaned prices.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    /// The path of the file.
    pub file: String,
    /// Number of articles in it.
    pub articles: u64,
    /// Number of lines dropped so far because they have no price.
    pub dropped: u64,
}

/// The contents of the report.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Number of articles.
    pub articles: u64,
    /// Number of dropped lines.
    pub dropped: u64,
    /// The article with the lowest price, and that price in cents.
    pub cheapest: (String, u64),
    /// The sum of all prices, in cents.
    pub total_cents: u64,
}

/// Cleans both lists, merges them, and reports, unless there is nothing to report.
#[segno::graph]
pub fn prices(graph: &Graph, sources: Input<Sources>) -> Output<Option<Report>> {
    // Retries a busy disk for a while.
    let patiently = RetryPolicy::exponential().initial(Duration::from_secs(1)).max_attempts(10);
    let north = graph
        .call("clean_north", clean, (sources.at("/north"), "/out/north.csv"))
        .retry(patiently.clone());
    let south =
        graph.call("clean_south", clean, (sources.at("/south"), "/out/south.csv")).retry(patiently);
    let merged = graph.call("merge", merge, (north, south)).timeout(Duration::from_secs(600));
    graph.call("report", report, merged).when(merged.at("/articles").above(0_u64))
}

/// Reads a price list and writes the cleaned list to another file.
///
/// A file is replaced atomically, so a retried attempt writes the same again.
#[segno::activity]
pub async fn clean(ctx: ActivityContext, (from, to): (String, String)) -> Result<Prices> {
    let (table, dropped) = Table::read(&ctx.files().read_text(&from)?);
    if dropped > 0 {
        segno::warn!(ctx, "{dropped} lines of {from} have no price");
    }
    ctx.files().write(&to, table.to_string().as_bytes())?;
    Ok(Prices { file: to, articles: table.len(), dropped })
}

/// Merges two lists. For an article in both, the lower price counts.
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

/// Writes the report and returns its contents.
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
