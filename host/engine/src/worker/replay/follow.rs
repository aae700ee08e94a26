//! Other code beside live executions: whenever a journal grew, it is replayed on the candidate,
//! without effects.
//!
//! What began on the old code goes on there; the candidate is asked, after the fact, whether it would
//! have done the same. So a difference is found at the first commit that has it.

use std::collections::BTreeMap;

use segno_core::id::{Digest, PromiseId};
use segno_store::{InvocationFilter, InvocationRow, StoreError};

use super::{Checked, Verdict, check};
use crate::host::Host;

/// The states of executions in flight.
const IN_FLIGHT: [&str; 4] = ["pending", "acquired", "suspended", "halted"];
/// Executions in flight that are followed: the newest of each state.
const FOLLOWED: usize = 20_000;
/// The newest executions, which are looked at whatever their state: some begin and end between two
/// looks.
const NEWEST: u32 = 200;
/// Executions that are listed at once.
const LISTED: u32 = 1_000;

/// Follows the executions of one module with the code of another.
pub struct Follower {
    alias: String,
    candidate: Digest,
    processors: usize,
    seen: BTreeMap<PromiseId, Seen>,
    compared: u64,
}

/// An execution at the last look.
#[derive(Debug, Clone, Copy)]
struct Seen {
    records: u32,
    in_flight: bool,
}

impl Follower {
    /// Follows what is called by the name `alias`, on half of the `processors`.
    pub fn new(alias: String, candidate: Digest, processors: usize) -> Self {
        Self { alias, candidate, processors, seen: BTreeMap::new(), compared: 0 }
    }

    /// Executions that were looked at so far.
    pub fn executions(&self) -> usize {
        self.seen.len()
    }

    /// Records that were compared so far, each once.
    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// Replays the executions whose journals grew since the last look, and the new ones. Answers
    /// what was found of them.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn look(&mut self, host: &Host) -> Result<Vec<Checked>, StoreError> {
        let grown = self.grown(host).await?;
        let checked = check(host, grown, self.candidate, self.processors).await?;
        for Checked { row, verdict } in &checked {
            let records = match verdict {
                Verdict::Same(report) => report.records,
                _ => row.journal_len,
            };
            let seen = Seen { records, in_flight: row.promise.is_pending() };
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
        // What was in flight and is not any more has ended since.
        let ended =
            self.seen.iter().filter(|(id, seen)| seen.in_flight && !found.contains_key(*id));
        let ended: Vec<_> = ended.map(|(id, seen)| (id.clone(), seen.records)).collect();
        for (id, records) in ended {
            let Some(row) = host.store.read().promise(&id).await? else { continue };
            let Some(task) = row.task else { continue };
            // Its end is a record at the least.
            let row = InvocationRow {
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
