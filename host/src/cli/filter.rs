//! The filter of listings, for all commands that select invocations.

use clap::{Args, builder::PossibleValuesParser};
use segno_api::model::{InvocationPage, InvocationQuery, InvocationState, RerunFilter};

use super::{input::read_label, time::read_since};

/// The options that select invocations.
#[derive(Debug, Args)]
pub(super) struct FilterOptions {
    /// State of the invocations
    #[arg(long, value_name = "STATE", value_parser = state_parser())]
    pub(super) state: Option<String>,
    /// Label of the invocations; if repeated, they have all of them
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = read_label)]
    labels: Vec<(String, String)>,
    /// Only those whose failure, last error or halt reason contains this text
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Prefix of ids
    #[arg(long, value_name = "TEXT")]
    pub(super) prefix: Option<String>,
    /// Only those created since then: an instant in UTC, or a length of time before now
    #[arg(long, value_name = "WHEN", value_parser = read_since)]
    since: Option<i64>,
    /// Only those created before then
    #[arg(long, value_name = "WHEN", value_parser = read_since)]
    until: Option<i64>,
}

fn state_parser() -> PossibleValuesParser {
    InvocationState::ALL.map(InvocationState::as_str).into()
}

impl FilterOptions {
    /// The query for the invocations that match all options, except for labels after the first:
    /// the host compares one.
    pub(super) fn query(&self) -> InvocationQuery {
        let label = self.labels.first();
        InvocationQuery {
            state: self.state.clone(),
            error: self.error.clone(),
            prefix: self.prefix.clone(),
            label: label.map(|(name, value)| format!("{name}={value}")),
            since_at_ms: self.since,
            until_at_ms: self.until,
            ..InvocationQuery::default()
        }
    }

    /// The filter of executions that are run again. All labels are compared by the host.
    pub(super) fn rerun(self) -> RerunFilter {
        let labels = self.labels.iter().map(|(name, value)| format!("{name}={value}"));
        RerunFilter {
            function: None,
            labels: labels.collect(),
            state: self.state,
            error: self.error,
            prefix: self.prefix,
            since_at_ms: self.since,
            until_at_ms: self.until,
        }
    }

    /// Returns true if the query does not contain the whole filter.
    pub(super) fn is_beyond_query(&self) -> bool {
        self.labels.len() > 1
    }

    /// Removes the invocations that do not have all labels from a page.
    pub(super) fn retain(&self, page: &mut InvocationPage) {
        page.items.retain(|item| {
            self.labels.iter().all(|(name, value)| item.labels.get(name) == Some(value))
        });
    }
}
