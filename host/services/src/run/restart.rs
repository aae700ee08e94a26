//! Restart of an invocation of a service from a prefix of another one's journal. The recorded
//! commands are not executed again.

use segno_core::{
    fork::{FORK_RECORDS, Fork},
    id::{CommandIndex, Digest, PromiseId},
    invocation::{Outcome, Record, RecordBody},
    promise::{NewPromise, Promise},
};
use segno_engine::worker::replay::first_records;
use segno_restate::version::ProtocolVersion;
use segno_store::{Store, StoreError};

use super::{
    journal::{ServiceJournal, ServiceJournalError},
    prepare::{called, own_values},
};

/// The first records of a journal, with the results of their commands.
#[derive(Debug)]
pub(crate) struct RestartPrefix {
    /// The original invocation.
    of: PromiseId,
    /// The records, renumbered.
    records: Vec<Record>,
    /// The version of the protocol of the records.
    pub version: ProtocolVersion,
}

/// The reason why no invocation can begin with those records. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RestartRefusal {
    /// The journal was removed, or has no records.
    #[error(
        "`{0}` has no journal any more: it can begin anew from its input only, so leave `from` out"
    )]
    NoJournal(PromiseId),
    /// The journal is too short, or the record is its end.
    #[error("the journal of `{id}` has the entries 0 to {last} before its end, and not {from}")]
    NoSuchEntry {
        id: PromiseId,
        /// The requested entry.
        from: u32,
        /// The last entry that may be requested.
        last: u32,
    },
    /// A command among the records never completed.
    #[error(
        "the entry {entry} of `{id}` (`{name}`) never completed, and what waits for it would wait for ever: \
         begin anew from an entry before it"
    )]
    Open {
        id: PromiseId,
        /// The position of the command.
        entry: u32,
        /// The name of the command.
        name: String,
    },
    /// The records do not fit into one transaction.
    #[error("at most {FORK_RECORDS} records are repeated, and these are {0}")]
    TooMany(usize),
    /// The records are not a journal of a service.
    #[error("the journal of `{0}` is damaged: {1}")]
    Damaged(PromiseId, ServiceJournalError),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl RestartPrefix {
    /// Reads the entries 0 to `from` of the journal of an invocation of a service, and the later
    /// results of their commands.
    ///
    /// # Errors
    /// [`RestartRefusal`].
    pub(crate) async fn read(
        store: &dyn Store,
        promise: &Promise,
        from: u32,
    ) -> Result<Self, RestartRefusal> {
        let id = promise.id();
        let all = first_records(store, id, u32::MAX).await?;
        let is_end = |record: &Record| matches!(record.body, RecordBody::Finished { .. });
        let Some(last) = all.iter().filter(|record| !is_end(record)).count().checked_sub(1) else {
            return Err(RestartRefusal::NoJournal(id.clone()));
        };
        let last = u32::try_from(last).unwrap_or(u32::MAX);
        if from > last {
            return Err(RestartRefusal::NoSuchEntry { id: id.clone(), from, last });
        }
        let mut records: Vec<Record> =
            prefix(&all, from).enumerate().map(|(seq, record)| numbered(seq, record)).collect();
        if records.len() > FORK_RECORDS {
            return Err(RestartRefusal::TooMany(records.len()));
        }
        let own = own_values(store, id, &records).await?;
        for record in &mut records {
            if let RecordBody::Notified { index, outcome: outcome @ Outcome::Own } =
                &mut record.body
                && let Some(value) = own.get(index)
            {
                *outcome = Outcome::Inline(value.clone());
            }
        }
        let journal = ServiceJournal::read(id.clone(), &called(promise), &records, &own)
            .map_err(|unreadable| RestartRefusal::Damaged(id.clone(), unreadable))?;
        if let Some((index, _)) = journal.open().next() {
            return Err(open(id, &records, index));
        }
        Ok(Self { of: id.clone(), records, version: journal.version() })
    }

    /// The invocation that begins with these records, on this deployment.
    pub(crate) fn into_fork(self, new: NewPromise, deployment: Digest) -> Fork {
        let Self { of, records, .. } = self;
        Fork {
            new,
            module: Some(deployment),
            of,
            set: Vec::new(),
            copied: u32::try_from(records.len()).unwrap_or(u32::MAX),
            records,
            kept: Vec::new(),
            streams: Vec::new(),
        }
    }
}

/// The records up to `from`, followed by those that complete their commands.
fn prefix(all: &[Record], from: u32) -> impl Iterator<Item = &Record> {
    let (first, later) = all.split_at((from as usize).saturating_add(1).min(all.len()));
    let commands =
        first.iter().filter(|record| matches!(record.body, RecordBody::Command { .. })).count();
    let completes = move |record: &&Record| match &record.body {
        // Commands are numbered in the order of their records.
        RecordBody::Notified { index, .. } => (index.0 as usize) < commands,
        _ => false,
    };
    first.iter().chain(later.iter().filter(completes))
}

fn numbered(seq: usize, record: &Record) -> Record {
    Record { seq: u32::try_from(seq).unwrap_or(u32::MAX), ..record.clone() }
}

fn open(id: &PromiseId, records: &[Record], index: CommandIndex) -> RestartRefusal {
    let named = records.iter().find_map(|record| match &record.body {
        RecordBody::Command { index: of, kind, name, .. } if *of == index => {
            let name = if name.is_empty() { kind.to_string() } else { name.to_string() };
            Some((record.seq, name))
        }
        _ => None,
    });
    let (entry, name) = named.unwrap_or_default();
    RestartRefusal::Open { id: id.clone(), entry, name }
}
