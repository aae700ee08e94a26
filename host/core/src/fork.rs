//! Forks. A fork is a new invocation that begins with the first records of another one's journal
//! and continues independently. The recorded operations are not repeated.
//!
//! The records contain the outcomes of commands, so nothing else of the other invocation is needed.
//! Commands that were open at the fork are open again: the host that runs the new invocation finds
//! their promises missing, and creates them under its own ids, just as after a crash between a
//! record and its action.

use serde::{Deserialize, Serialize};

use crate::{
    id::{CommandIndex, Digest, PromiseId, StreamId},
    invocation::{CommandKind, Outcome, Record, RecordBody},
    promise::{NewPromise, Promise, Verdict},
    tags, update,
    value::{Payload, Tags, Text, Value},
};

/// Maximum number of records that a fork begins with, since they are written in one transaction.
pub const FORK_RECORDS: usize = 50_000;

/// An invocation that begins with records of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The new invocation; it must have a target.
    pub new: NewPromise,
    /// The module that the fork runs, which has been verified to replay the records. `None`: the
    /// module that its target refers to now.
    pub module: Option<Digest>,
    /// The invocation that the records were copied from.
    pub of: PromiseId,
    /// Commands whose recorded results were replaced.
    pub set: Vec<CommandIndex>,
    /// The records, rewritten for the new invocation: the first is `Started`, the last is not
    /// `Finished`.
    pub records: Vec<Record>,
    /// Number of records that the original has. The rest are results of commands that were open
    /// there.
    pub copied: u32,
    /// Settled promises of the copied commands that the invocation may refer to again, or that the
    /// records take values from.
    pub kept: Vec<KeptPromise>,
    /// The streams of the original invocation.
    pub streams: Vec<ForkedStream>,
}

/// A stream of the original invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkedStream {
    pub id: StreamId,
    /// The appends of the copied records, in order: the number of the record, and the number of
    /// positions. Stored data has the length of the journal after its commit only, and a fork may
    /// begin in the middle of a commit.
    pub appends: Vec<(u32, u64)>,
}

/// A settled promise of the original invocation, under its id in the fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPromise {
    /// The promise's id, below that of the new invocation.
    pub id: PromiseId,
    /// Saga tags and labels. The target is omitted, since the value is not computed again.
    pub tags: Tags,
    pub verdict: Verdict,
    /// The value; `None` after a deadline.
    pub value: Option<Value>,
}

/// Origin of a forked invocation, stored in its tag [`tags::FORK`]:
/// `{"of":"order-1","records":7,"set":[3]}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkOrigin {
    /// The invocation that the fork was copied from.
    pub of: String,
    /// Number of copied records.
    pub records: u32,
    /// The commands whose results were replaced, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<u32>,
}

/// Error: a position at which no fork can begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForkPositionError {
    /// No record precedes it.
    #[error("a fork needs at least one record: `segno restart {0}` starts from the beginning")]
    AtTheStart(PromiseId),
    /// The invocation has ended there.
    #[error(
        "`{id}` had ended with {records} records, and nothing is left to do: fork it with at most {} records",
        .records.saturating_sub(1)
    )]
    AfterTheEnd { id: PromiseId, records: usize },
    /// The records do not fit into one transaction.
    #[error("a fork begins with at most {FORK_RECORDS} records, and {0} are too many")]
    TooMany(usize),
    /// The invocation has the turn of an object.
    #[error(
        "`{id}` holds the object `{object}`, whose state may have changed since: it cannot be forked"
    )]
    HoldsTurn { id: PromiseId, object: String },
    /// An update was delivered but not yet answered.
    #[error(
        "record {seq} delivers the update `{name}`, which `{id}` had not answered: a fork cannot answer its sender"
    )]
    InUpdate {
        id: PromiseId,
        /// Sequence number of the record that delivered the update.
        seq: u32,
        /// Name of the update.
        name: String,
    },
}

impl Fork {
    /// The origin of the new invocation, for its tag.
    pub fn forked(&self) -> ForkOrigin {
        ForkOrigin {
            of: self.of.to_string(),
            records: u32::try_from(self.records.len()).unwrap_or(u32::MAX),
            set: self.set.iter().map(|index| index.0).collect(),
        }
    }

    /// The signals in the records, in order: name and value.
    pub fn signals(&self) -> impl Iterator<Item = (&Text, Value)> {
        self.records.iter().filter_map(|record| match &record.body {
            RecordBody::Signal { name, payload } => Some((name, Value::of(payload.as_bytes()))),
            _ => None,
        })
    }

    /// The commands of the original invocation that the records complete.
    pub(crate) fn completed(&self) -> impl Iterator<Item = PromiseId> {
        self.records.iter().filter_map(|record| match &record.body {
            RecordBody::Notified { index, .. } => Some(self.of.command(*index)),
            _ => None,
        })
    }

    /// The promises that the fork creates beside the invocation's own. All of them are settled.
    pub fn promises(&self) -> impl Iterator<Item = PromiseId> {
        let signals = (0..).zip(self.signals()).map(|(n, _)| self.new.id.signal(n));
        self.kept.iter().map(|kept| kept.id.clone()).chain(signals)
    }

    /// A reason to refuse this fork regardless of the stored rows, if there is one.
    pub(crate) fn flaw(&self) -> Option<String> {
        let id = &self.new.id;
        if tags::target(&self.new.tags).is_none() || tags::is_timer(&self.new.tags) {
            return Some(format!("`{id}` has no task: only executions of functions can be forked"));
        }
        if let Some(place) = impossible_among(&self.of, &self.records) {
            return Some(place.to_string());
        }
        if let Some(stray) = self.kept.iter().find(|kept| !kept.id.is_minted_by(id)) {
            return Some(format!(
                "`{}` does not lie below `{id}`, and cannot be kept for it",
                stray.id
            ));
        }
        let refers = self.records.iter().find_map(|record| match &record.body {
            RecordBody::Notified { index, outcome: Outcome::Own } => Some(id.command(*index)),
            _ => None,
        });
        refers.filter(|id| self.kept.iter().all(|kept| kept.id != *id)).map(|missing| {
            format!("the records refer to the value of `{missing}`, which is not kept")
        })
    }
}

impl ForkOrigin {
    /// The origin in these tags. `None` if the invocation is not a fork.
    pub fn of(tags: &Tags) -> Option<Self> {
        serde_json::from_str(tags.get(tags::FORK)?).ok()
    }

    /// Value of the tag.
    pub fn to_tag(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are JSON")
    }
}

/// Number of records that an invocation was created with, before its first run. Zero if it is not a
/// fork.
pub fn born_with(promise: &Promise) -> u32 {
    ForkOrigin::of(&promise.spec.tags).map_or(0, |forked| forked.records)
}

/// Reason why a fork of `promise`'s invocation cannot begin with these first records of its
/// journal. `None` if it can.
pub fn impossible(promise: &Promise, records: &[Record]) -> Option<ForkPositionError> {
    let id = promise.id();
    if let Some(object) = tags::turn(&promise.spec.tags) {
        return Some(ForkPositionError::HoldsTurn { id: id.clone(), object: object.to_owned() });
    }
    impossible_in_memory(id, records)
}

/// Reason why the invocation `id` cannot be run forward in memory from these first records. `None`
/// if it can. The state of an object does not matter there, because nothing is stored.
pub fn impossible_in_memory(id: &PromiseId, records: &[Record]) -> Option<ForkPositionError> {
    impossible_among(id, records).or_else(|| open_update(id, records))
}

fn impossible_among(id: &PromiseId, records: &[Record]) -> Option<ForkPositionError> {
    let count = records.len();
    match records.last().map(|record| &record.body) {
        None => Some(ForkPositionError::AtTheStart(id.clone())),
        Some(RecordBody::Finished { .. }) => {
            Some(ForkPositionError::AfterTheEnd { id: id.clone(), records: count })
        }
        Some(_) => (count > FORK_RECORDS).then_some(ForkPositionError::TooMany(count)),
    }
}

/// The first update that the records deliver but do not answer.
fn open_update(id: &PromiseId, records: &[Record]) -> Option<ForkPositionError> {
    let answers = |promise: &str| {
        records.iter().any(|record| match &record.body {
            RecordBody::Command { kind: CommandKind::Settle, name, .. } => name.as_str() == promise,
            _ => false,
        })
    };
    let mut n = 0;
    records.iter().find_map(|record| {
        let RecordBody::Signal { name, payload } = &record.body else { return None };
        let answer = answer_in(payload).unwrap_or_else(|| id.answer(n).to_string());
        n += 1;
        let name = name.strip_prefix(update::SIGNAL)?;
        let (id, name) = (id.clone(), name.to_owned());
        (!answers(&answer)).then_some(ForkPositionError::InUpdate { id, seq: record.seq, name })
    })
}

/// The answer promise that the signal of an update names.
fn answer_in(payload: &Payload) -> Option<String> {
    #[derive(Deserialize)]
    struct UpdateAddressee {
        promise: String,
    }
    serde_json::from_slice::<UpdateAddressee>(payload.as_bytes()).ok().map(|told| told.promise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{invocation::CommandRequest, time::Timestamp, world};

    fn record(seq: u32, body: RecordBody) -> Record {
        Record { seq, at: Timestamp(1_000), body }
    }

    fn told(seq: u32, answer: &str) -> Record {
        let payload = Payload::Json(Text::from(format!(r#"{{"promise":"{answer}","input":1}}"#)));
        record(seq, RecordBody::Signal { name: update::signal_name("add"), payload })
    }

    fn answered(seq: u32, index: u32, answer: &str) -> Record {
        let body = RecordBody::Command {
            index: CommandIndex(index),
            kind: CommandKind::Settle,
            name: Text::from(answer),
            request: CommandRequest::of(&[]),
        };
        record(seq, body)
    }

    #[test]
    fn an_update_is_open_until_it_is_answered() {
        let id = PromiseId::from("w");
        let records = [
            world::started(),
            told(1, "w/a/0"),
            told(2, "old/a/1"),
            answered(3, 0, "w/a/0"),
            answered(4, 1, "old/a/1"),
        ];
        let open = |count: usize| match open_update(&id, &records[..count]) {
            Some(ForkPositionError::InUpdate { seq, name, .. }) => Some((seq, name)),
            _ => None,
        };
        let add = |seq| Some((seq, "add".to_owned()));
        assert_eq!([1, 2, 3, 4, 5].map(open), [None, add(1), add(1), add(2), None]);
    }

    #[test]
    fn the_tag_says_where_a_fork_comes_from() {
        let forked = ForkOrigin { of: "a \"b\"".to_owned(), records: 7, set: vec![3] };
        let tags = Tags::from([(tags::FORK.to_owned(), forked.to_tag())]);
        assert_eq!(ForkOrigin::of(&tags), Some(forked));
        let plain = ForkOrigin { of: "a".to_owned(), records: 1, set: vec![] };
        // Stored format: later versions must read what this version writes.
        assert_eq!(plain.to_tag(), r#"{"of":"a","records":1}"#);
        assert_eq!(ForkOrigin::of(&Tags::new()), None);
    }
}
