//! Follows live executions with other code: whenever a journal has grown, it is replayed on the
//! candidate, without effects.
//!
//! Executions continue on the old code. The candidate is checked afterwards against the recorded
//! behaviour, so a difference is found at the first commit that has it.

use std::collections::BTreeMap;

use segno_core::id::{Digest, PromiseId};
use segno_store::{InvocationFilter, InvocationRow, StoreError};

use super::{CandidateVerdict, CheckedInvocation, check};
use crate::host::Host;

/// The states of executions in flight.
const IN_FLIGHT: [&str; 4] = ["pending", "acquired", "suspended", "halted"];
/// Maximum number of followed executions in flight: the newest of each state.
const FOLLOWED: usize = 20_000;
/// Number of newest executions that are checked whatever their state, since some begin and end
/// between two checks.
const NEWEST: u32 = 200;
/// Maximum number of executions in one page of a list.
const LISTED: u32 = 1_000;

/// Follows the executions of one module with the code of another.
pub struct Follower {
    alias: String,
    candidate: Digest,
    processors: usize,
    seen: BTreeMap<PromiseId, SeenExecution>,
    compared: u64,
}

/// An execution at the last check.
#[derive(Debug, Clone, Copy)]
struct SeenExecution {
    records: u32,
    in_flight: bool,
}

impl Follower {
    /// Follows the executions called through `alias`, on half of the `processors`.
    pub fn new(alias: String, candidate: Digest, processors: usize) -> Self {
        Self { alias, candidate, processors, seen: BTreeMap::new(), compared: 0 }
    }

    /// Number of executions checked so far.
    pub fn executions(&self) -> usize {
        self.seen.len()
    }

    /// Number of records compared so far, each counted once.
    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// Replays new executions and those whose journals have grown since the last check. Returns the
    /// verdicts.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn look(&mut self, host: &Host) -> Result<Vec<CheckedInvocation>, StoreError> {
        let grown = self.grown(host).await?;
        let checked = check(host, grown, self.candidate, self.processors).await?;
        for CheckedInvocation { row, verdict } in &checked {
            let records = match verdict {
                CandidateVerdict::Same(report) => report.records,
                _ => row.journal_len,
            };
            let seen = SeenExecution { records, in_flight: row.promise.is_pending() };
            let before = self.seen.insert(row.promise.id().clone(), seen);
            let before = before.map_or(0, |seen| seen.records);
            self.compared += u64::from(records.saturating_sub(before));
        }
        Ok(checked)
    }

    async fn grown(&self, host: &Host) -> Result<Vec<InvocationRow>, StoreError> {
        let mut found: BTreeMap<PromiseId, InvocationRow> = BTreeMap::new();
        for state in IN_FLIGHT {
            let state = Some(state.to_owned());
            let filter = InvocationFilter { state, limit: LISTED, ..self.filter() };
            self.list(host, filter, &mut found).await?;
        }
        let newest = InvocationFilter { limit: NEWEST, ..self.filter() };
        let newest = host.store.read().list(&newest).await?.items;
        found.extend(newest.into_iter().map(|row| (row.promise.id().clone(), row)));
        // An execution that was in flight and is no longer listed has ended.
        let ended =
            self.seen.iter().filter(|(id, seen)| seen.in_flight && !found.contains_key(*id));
        let ended: Vec<_> = ended.map(|(id, seen)| (id.clone(), seen.records)).collect();
        for (id, records) in ended {
            let Some(row) = host.store.read().promise(&id).await? else { continue };
            let Some(task) = row.task else { continue };
            // The end adds at least one record.
            let row = InvocationRow {
                number: 0,
                promise: row.promise,
                task,
                journal_len: records.saturating_add(1),
            };
            found.insert(id, row);
        }
        let grew = |row: &InvocationRow| {
            self.seen.get(row.promise.id()).is_none_or(|seen| row.journal_len > seen.records)
        };
        Ok(found.into_values().filter(grew).collect())
    }

    fn filter(&self) -> InvocationFilter {
        InvocationFilter { module: Some(self.alias.clone()), ..InvocationFilter::default() }
    }

    async fn list(
        &self,
        host: &Host,
        mut filter: InvocationFilter,
        found: &mut BTreeMap<PromiseId, InvocationRow>,
    ) -> Result<(), StoreError> {
        while found.len() < FOLLOWED {
            let page = host.store.read().list(&filter).await?;
            found.extend(page.items.into_iter().map(|row| (row.promise.id().clone(), row)));
            filter.after = page.next;
            if filter.after.is_none() {
                break;
            }
        }
        Ok(())
    }
}
