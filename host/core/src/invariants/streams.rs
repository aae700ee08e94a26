//! Invariants of streams.

use std::collections::BTreeMap;

use super::{Predicate, Violations};
use crate::{
    id::{PromiseId, StreamId},
    snapshot::Snapshot,
    stream::StreamChunk,
};

pub(super) const PREDICATES: &[Predicate] = &[
    ("a_stream_has_its_data", a_stream_has_its_data),
    ("a_stream_belongs_to_an_execution_that_exists", a_stream_belongs_to_an_execution_that_exists),
    ("a_source_counts_its_forks", a_source_counts_its_forks),
];

/// The data of a stream has no gap, and its row says how much there is.
fn a_stream_has_its_data(rows: &Snapshot) -> Violations {
    let mut chunks: BTreeMap<&StreamId, Vec<&StreamChunk>> = BTreeMap::new();
    for ((stream, _), chunk) in &rows.stream_chunks {
        chunks.entry(stream).or_default().push(chunk);
    }
    let mut found = Violations::new();
    for stream in rows.streams.values() {
        let chunks = chunks.remove(&stream.id).unwrap_or_default();
        let mut end = 0;
        for chunk in &chunks {
            if chunk.position != end {
                found.push(of(&stream.id, format!("data at {} follows {end}", chunk.position)));
            }
            end = chunk.end();
        }
        let bytes: u64 = chunks.iter().map(|chunk| chunk.data.len() as u64).sum();
        if !stream.deleted && (end, bytes) != (stream.tail, stream.bytes) {
            let detail = format!("{end}, {bytes} bytes: {} and {}", stream.tail, stream.bytes);
            found.push(of(&stream.id, detail));
        }
        if stream.deleted && !chunks.is_empty() {
            found.push(of(&stream.id, "it was deleted and has data".to_owned()));
        }
    }
    found.extend(chunks.into_keys().map(|stream| of(stream, "data of no stream".to_owned())));
    found
}

fn a_stream_belongs_to_an_execution_that_exists(rows: &Snapshot) -> Violations {
    let lost = rows
        .streams
        .keys()
        .filter(|stream| stream.owner().is_some_and(|owner| !rows.promises.contains_key(&owner)));
    lost.map(|stream| of(stream, "its execution does not exist".to_owned())).collect()
}

/// A source counts at least the forks that exist. It counts more if forks went with their
/// executions.
fn a_source_counts_its_forks(rows: &Snapshot) -> Violations {
    let mut forks: BTreeMap<&StreamId, u32> = BTreeMap::new();
    let origins = rows.streams.values().filter_map(|stream| stream.origin.as_ref());
    for origin in origins {
        *forks.entry(&origin.source).or_default() += 1;
    }
    let few = forks.into_iter().filter(|(source, count)| {
        rows.streams.get(source).is_some_and(|row| row.forks < *count && row.owner_is_none())
    });
    few.map(|(source, count)| of(source, format!("{count} forks exist"))).collect()
}

fn of(stream: &StreamId, detail: String) -> (Vec<PromiseId>, String) {
    (stream.owner().into_iter().collect(), format!("`{stream}`: {detail}"))
}
