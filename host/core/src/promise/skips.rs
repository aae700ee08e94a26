//! Occurrences that a schedule left out: how many, when the last was, and why.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{time::Timestamp, value::Text};

/// The most characters of an explanation that are kept.
const LONGEST: usize = 500;

/// Why an occurrence was left out. The names are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// What the schedule made last had not ended.
    Overlap,
    /// More occurrences were missed than are made up for.
    Missed,
    /// The execution could not be made: its module is not deployed, its input has no key for a limit,
    /// and so on.
    Refused,
}

impl SkipReason {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::Overlap, Self::Missed, Self::Refused];

    /// The stored name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Overlap => "overlap",
            Self::Missed => "missed",
            Self::Refused => "refused",
        }
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Occurrences that were left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// The last of them.
    pub at: Timestamp,
    /// What was in its way.
    pub detail: Text,
}

/// What a schedule left out since reasons are kept, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Skips(pub BTreeMap<SkipReason, Skipped>);

impl Skips {
    /// Whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many were left out.
    pub fn count(&self) -> u64 {
        self.0.values().fold(0, |count, skipped| count.saturating_add(skipped.count))
    }

    /// The last that was left out, and why.
    pub fn last(&self) -> Option<(SkipReason, &Skipped)> {
        let last = self.0.iter().max_by_key(|(_, skipped)| skipped.at);
        last.map(|(reason, skipped)| (*reason, skipped))
    }

    /// Counts occurrences, the last of them at this instant.
    pub(crate) fn add(&mut self, reason: SkipReason, count: u64, at: Timestamp, detail: &str) {
        let detail = Text::from(detail.chars().take(LONGEST).collect::<String>().as_str());
        let row = self.0.entry(reason).or_insert(Skipped { count: 0, at, detail: detail.clone() });
        row.count = row.count.saturating_add(count);
        (row.at, row.detail) = (at, detail);
    }
}
