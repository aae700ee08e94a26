//! Skipped occurrences of a schedule: their number, the last one, and the reasons.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{time::Timestamp, value::Text};

/// Maximum number of characters kept of an explanation.
const LONGEST: usize = 500;

/// Reason why an occurrence was skipped. The names are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// The previous promise of the schedule was still pending.
    Overlap,
    /// More occurrences were missed than are caught up.
    Missed,
    /// The execution could not be created: for example, its module is not deployed, or its input
    /// lacks the key for a limit.
    Refused,
}

impl SkipReason {
    pub const ALL: [Self; 3] = [Self::Overlap, Self::Missed, Self::Refused];

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

/// Occurrences skipped for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedOccurrences {
    pub count: u64,
    /// The last skipped occurrence.
    pub at: Timestamp,
    /// Details of the reason.
    pub detail: Text,
}

/// Skipped occurrences by reason, recorded since reasons are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Skips(pub BTreeMap<SkipReason, SkippedOccurrences>);

impl Skips {
    /// True if nothing was skipped.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Total number of skipped occurrences.
    pub fn count(&self) -> u64 {
        self.0.values().fold(0, |count, skipped| count.saturating_add(skipped.count))
    }

    /// The last skipped occurrence and its reason.
    pub fn last(&self) -> Option<(SkipReason, &SkippedOccurrences)> {
        let last = self.0.iter().max_by_key(|(_, skipped)| skipped.at);
        last.map(|(reason, skipped)| (*reason, skipped))
    }

    /// Adds skipped occurrences, the last of them at this instant.
    pub(crate) fn add(&mut self, reason: SkipReason, count: u64, at: Timestamp, detail: &str) {
        let detail = Text::from(detail.chars().take(LONGEST).collect::<String>().as_str());
        let row = self.0.entry(reason).or_insert(SkippedOccurrences {
            count: 0,
            at,
            detail: detail.clone(),
        });
        row.count = row.count.saturating_add(count);
        (row.at, row.detail) = (at, detail);
    }
}
