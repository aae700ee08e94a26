//! The filter of listings, for all commands that select invocations.

use clap::{Args, builder::PossibleValuesParser};
use segno_api::model::{InvocationQuery, InvocationState};

use super::{input::read_label, time::read_since};

/// The options that select invocations.
#[derive(Debug, Args)]
pub(super) struct FilterOptions {
    /// State of the invocations
    #[arg(long, value_name = "STATE", value_parser = state_parser())]
    pub(super) state: Option<String>,
    /// Label of the invocations
    #[arg(long, value_name = "NAME=VALUE", value_parser = read_label)]
    label: Option<(String, String)>,
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
    /// The query for the invocations that match all options.
    pub(super) fn query(self) -> InvocationQuery {
        InvocationQuery {
            state: self.state,
            error: self.error,
            prefix: self.prefix,
            label: self.label.map(|(name, value)| format!("{name}={value}")),
            since_at_ms: self.since,
            until_at_ms: self.until,
            ..InvocationQuery::default()
        }
    }
}
