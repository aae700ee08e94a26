//! Visits to a hall that admits a few visitors at a time, across all flows.

use segno_api::model::{InvocationOutcome, InvocationState};

use super::{Flow, Kind};
use crate::chaos::{
    ledger::Ledger,
    oracle::{self, Span},
    outside::Hopeless,
};

/// Keys of the limit, and the maximum number of concurrent executions for each key and in all.
const GROUPS: [&str; 3] = ["red", "green", "blue"];
const OF_GROUP: usize = 2;
const IN_ALL: usize = 4;

impl Flow<'_> {
    pub(super) async fn hall(&self) -> Result<Vec<InvocationOutcome>, Hopeless> {
        let mut ids = Vec::new();
        for number in 0..self.outside.draw(2, 5) {
            let id = format!("{}.{number}", self.id);
            let group = GROUPS[self.outside.draw(0, GROUPS.len() as u64 - 1) as usize];
            let mut visit = self.place(&format!("{id}@{group}"));
            visit["group"] = group.into();
            visit["takes_ms"] = self.outside.draw(0, 150).into();
            self.start(&id, "visit", visit).await?;
            ids.push(id);
        }
        let mut ends = Vec::new();
        for id in ids {
            let end = self.end(&id).await?;
            if end.state != InvocationState::Resolved {
                self.complain(&format!("a visit is {}: {:?}", end.state, end.failure));
            }
            ends.push(end);
        }
        Ok(ends)
    }
}

/// Checks that the hall never held more visits than its limits allow.
///
/// # Errors
/// A description of the violation.
pub fn room_was_kept(ledger: &Ledger) -> oracle::Verdict {
    let span = |name: String| {
        let effects = ledger.effects(&name);
        let receipt = |step| effects.get(&step).and_then(|seen| seen.receipt);
        let key = name.rsplit('@').next().unwrap_or_default().to_owned();
        Some(Span { key, began: receipt(0)?, ended: receipt(1), name })
    };
    let visits = ledger.flows(&format!("{}-", Kind::Hall.name()));
    let spans: Vec<Span> = visits.into_iter().filter_map(span).collect();
    oracle::room(&spans, OF_GROUP, IN_ALL)
}
