//! Replays a journal from each of its positions. All replays must be identical.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    id::PromiseId,
    invocation::{Outcome as Stored, Record, RecordBody, encode_records},
};
use segno_engine::values;
use segno_guest::{Guests, Outcome};
use segno_store::Store;

use crate::{
    rerun::{NewEngine, NotResumed, rerun, rerun_in_new_engine},
    world::World,
};

/// Interrupts the finished invocation after each of its records in turn, and compares the journals
/// byte for byte.
///
/// # Panics
/// If they differ.
pub async fn reruns_from_every_place(guests: &dyn Guests, world: &World, id: &str) {
    let promise = world.promise(id).await.expect("the invocation is there");
    let journal = world.journal(id).await;
    assert!(
        matches!(journal.last(), Some(last) if matches!(last.body, RecordBody::Finished { .. }))
    );
    let own = own_values(world, promise.id(), &journal).await;
    let own = |id: &PromiseId| -> Outcome { own[id].clone() };
    let expected = encode_records(&journal);
    for cut in 0..=journal.len() {
        let again = rerun(guests, &promise, &journal, cut, &own)
            .await
            .unwrap_or_else(|error| panic!("`{id}` after {cut} records: {error}"));
        assert_eq!(again, journal, "`{id}` after {cut} records");
        assert_eq!(encode_records(&again), expected, "`{id}` after {cut} records");
    }
}

/// Snapshots of executions, one after each record at which the guest waits.
#[derive(Debug, Default)]
pub struct SnapshotTally {
    /// Number of snapshots from which an execution continued.
    pub resumed: usize,
    /// Reasons why other snapshots could not be made.
    pub refused: BTreeSet<String>,
}

impl SnapshotTally {
    /// Takes a snapshot after each record at which the invocation waits, lets an instance of `new`
    /// continue from it, and compares the journals byte for byte. The invocation may have ended or
    /// not.
    ///
    /// # Panics
    /// If the journals differ.
    pub async fn add(&mut self, guests: &dyn Guests, new: &dyn Guests, world: &World, id: &str) {
        let promise = world.promise(id).await.expect("the invocation is there");
        let journal = world.journal(id).await;
        let Some(Record { body: RecordBody::Started { module, engine, .. }, .. }) = journal.first()
        else {
            return;
        };
        let base = match guests.accessible(*module, Some(*engine)).await {
            Ok(mut instance) => instance.save().await,
            Err(error) => Err(error),
        };
        let base = match base {
            Ok(base) => base,
            Err(error) => {
                self.refused.insert(error.to_string());
                return;
            }
        };
        let new = NewEngine { guests: new, base: &base };
        let own = own_values(world, promise.id(), &journal).await;
        let own = |id: &PromiseId| -> Outcome { own[id].clone() };
        let expected = encode_records(&journal);
        let waits = |cut: &usize| journal.get(*cut).is_none_or(|next| next.body.is_event());
        let has_ended =
            journal.last().is_some_and(|last| matches!(last.body, RecordBody::Finished { .. }));
        let most = if has_ended { journal.len() - 1 } else { journal.len() };
        for cut in (1..=most).filter(waits) {
            match rerun_in_new_engine(guests, new, &promise, &journal, cut, &own).await {
                Ok(again) => {
                    assert_eq!(again, journal, "`{id}` after {cut} records");
                    assert_eq!(encode_records(&again), expected, "`{id}` after {cut} records");
                    self.resumed += 1;
                }
                Err(NotResumed::Busy) => {}
                Err(NotResumed::Refused(error)) => drop(self.refused.insert(error.to_string())),
                Err(NotResumed::Wrong(error)) => panic!("`{id}` after {cut} records: {error:#}"),
            }
        }
    }
}

/// Values of a journal that are stored in promises.
async fn own_values(
    world: &World,
    invocation: &PromiseId,
    journal: &[Record],
) -> BTreeMap<PromiseId, Outcome> {
    let mut own = BTreeMap::new();
    for record in journal {
        if let RecordBody::Notified { index, outcome: Stored::Own } = &record.body {
            let id = invocation.command(*index);
            let row = world.memory.read().promise(&id).await.expect("memory answers");
            let row = row.expect("a long outcome has its promise");
            let settlement = row.promise.settlement().expect("a told promise is settled");
            own.insert(id.clone(), values::outcome(settlement));
        }
    }
    own
}
