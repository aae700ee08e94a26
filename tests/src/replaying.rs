//! Replays of a journal from each of its positions, which must all be identical.

use std::collections::BTreeMap;

use segno::{
    guest::{Guests, Outcome},
    store::Store,
    values,
};
use segno_core::{
    id::PromiseId,
    invocation::{Outcome as Stored, RecordBody, encode_records},
};

use crate::{rerun::rerun, world::World};

/// Interrupts the finished invocation after each of its records in turn, and compares the journals
/// byte for byte.
///
/// # Panics
/// They differ.
pub async fn reruns_from_every_place(guests: &dyn Guests, world: &World, id: &str) {
    let promise = world.promise(id).await.expect("the invocation is there");
    let journal = world.journal(id).await;
    assert!(
        matches!(journal.last(), Some(last) if matches!(last.body, RecordBody::Finished { .. }))
    );
    let mut own = BTreeMap::new();
    for record in &journal {
        if let RecordBody::Notified { index, outcome: Stored::Own } = &record.body {
            let id = promise.id().command(*index);
            let row = world.memory.read().promise(&id).await.expect("memory answers");
            let row = row.expect("a long outcome has its promise");
            let settlement = row.promise.settlement().expect("a told promise is settled");
            own.insert(id.clone(), values::outcome(settlement));
        }
    }
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
