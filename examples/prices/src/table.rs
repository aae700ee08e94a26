//! A price list in the shops' format: a header line, then one line per article with its name and
//! its price in cents. No other features of CSV are supported.

use std::{collections::BTreeMap, fmt};

const COLUMNS: &str = "article,cents";

/// Prices in cents, by article.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Table(BTreeMap<String, u64>);

impl Table {
    /// Parses the table. Returns it with the number of lines without a price. For a duplicate
    /// article, the lower price counts.
    pub(crate) fn read(text: &str) -> (Self, u64) {
        let mut table = Self::default();
        let mut dropped = 0;
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line == COLUMNS {
                continue;
            }
            match line
                .split_once(',')
                .map(|(article, cents)| (article.trim(), cents.trim().parse()))
            {
                Some((article, Ok(cents))) if !article.is_empty() => table.add(article, cents),
                _ => dropped += 1,
            }
        }
        (table, dropped)
    }

    fn add(&mut self, article: &str, cents: u64) {
        let known = self.0.entry(article.to_owned()).or_insert(cents);
        *known = cents.min(*known);
    }

    /// Adds the prices of another table.
    pub(crate) fn merge(&mut self, other: Self) {
        for (article, cents) in other.0 {
            self.add(&article, cents);
        }
    }

    /// Number of articles.
    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// The article with the lowest price; of several, the first by name.
    pub(crate) fn cheapest(&self) -> Option<(&str, u64)> {
        let cheapest = self.0.iter().min_by_key(|(_, cents)| **cents);
        cheapest.map(|(article, cents)| (article.as_str(), *cents))
    }

    /// The sum of all prices.
    pub(crate) fn total_cents(&self) -> u64 {
        self.0.values().sum()
    }
}

/// Formats the table as it is read.
impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{COLUMNS}")?;
        self.0.iter().try_for_each(|(article, cents)| writeln!(out, "{article},{cents}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_as_it_is_written_and_lines_without_a_price_are_counted() {
        let (table, dropped) =
            Table::read("article,cents\n hat , 1200\n\nglove,\n,5\nhat,1100\nscarf,9\n");
        assert_eq!(
            (table.to_string().as_str(), dropped),
            ("article,cents\nhat,1100\nscarf,9\n", 2)
        );
        assert_eq!(Table::read(&table.to_string()), (table, 0));
    }

    #[test]
    fn of_two_prices_the_lower_one_counts() {
        let (mut table, _) = Table::read("hat,3\nglove,4\n");
        table.merge(Table::read("hat,5\nglove,2\nscarf,2\n").0);
        assert_eq!(table.to_string(), "article,cents\nglove,2\nhat,3\nscarf,2\n");
        assert_eq!((table.cheapest(), table.total_cents()), (Some(("glove", 2)), 7));
        assert_eq!(Table::default().cheapest(), None);
    }
}
