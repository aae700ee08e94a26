//! The first records of a journal, from which a fork begins.

use std::collections::BTreeSet;

use segno_core::{
    fork::{self, FORK_RECORDS, ForkPositionError},
    id::{CommandIndex, PromiseId},
    invocation::{CommandKind, Outcome as Stored, Outline, Record, RecordBody},
    tags,
};
use segno_store::PromiseRow;

use super::{ForkError, GivenOutcome, given::misfit};
use crate::{
    host::Host,
    target,
    values::{self, journals},
    worker::replay::{JournalReadError, ReplayError, first_records, why_not},
};

/// The first records of an invocation's journal, including all outcomes.
#[derive(Debug)]
pub struct ForkPrefix {
    pub row: PromiseRow,
    /// Number of records that the fork begins with.
    pub at: u32,
    /// The first `at` records, followed by results given to commands that were open there.
    pub records: Vec<Record>,
    /// The further records, which answer commands in a dry run. Empty for a fork.
    pub later: Vec<Record>,
    /// The commands whose results were given.
    pub set: BTreeSet<CommandIndex>,
}

impl ForkPrefix {
    /// Reads the first `at` records of the journal of `id`.
    ///
    /// # Errors
    /// [`ForkError::Impossible`], [`ForkError::Replay`].
    pub async fn read(host: &Host, id: &PromiseId, at: u32) -> Result<Self, ForkError> {
        let (row, records) = records(host, id, at, at).await?;
        if let Some(impossible) = fork::impossible(&row.promise, &records) {
            return Err(impossible.into());
        }
        Self::new(host, row, at, records).await
    }

    /// Reads the first `at` records of the journal of `id`, and the further ones for a dry run. The
    /// invocation may have the turn of an object.
    ///
    /// # Errors
    /// [`ForkError::Impossible`], [`ForkError::Replay`].
    pub async fn for_dry_run(host: &Host, id: &PromiseId, at: u32) -> Result<Self, ForkError> {
        let (row, records) = records(host, id, at, FORK_RECORDS as u32).await?;
        if let Some(impossible) = fork::impossible_in_memory(id, &records[..at as usize]) {
            return Err(impossible.into());
        }
        Self::new(host, row, at, records).await
    }

    async fn new(
        host: &Host,
        row: PromiseRow,
        at: u32,
        records: Vec<Record>,
    ) -> Result<Self, ForkError> {
        let id = row.promise.id();
        Outline::of(&records)
            .map_err(|refused| ReplayError::unread(id, JournalReadError::Refused(refused)))?;
        let mut records = with_values(host, id, records).await?;
        let later = records.split_off(at as usize);
        Ok(Self { row, at, records, later, set: BTreeSet::new() })
    }

    /// The execution that the streams of the invocation belong to: its first generation.
    pub fn stream_owner(&self) -> PromiseId {
        let promise = &self.row.promise;
        tags::continues(&promise.spec.tags).map_or_else(|| promise.id().clone(), PromiseId::from)
    }

    /// The kind and the name of a command. `None` if the records do not have it.
    pub fn command(&self, command: u32) -> Option<(CommandKind, &str)> {
        self.records.iter().chain(&self.later).find_map(|record| match &record.body {
            RecordBody::Command { index, kind, name, .. } if index.0 == command => {
                Some((*kind, name.as_str()))
            }
            _ => None,
        })
    }

    /// Replaces the result of a command, or gives one to a command that was open at that position.
    /// In a dry run, a later command may get another result as well.
    ///
    /// # Errors
    /// [`ForkError::NoSuchCommand`], [`ForkError::CannotHave`], [`ForkError::GivenTwice`].
    pub fn give(&mut self, given: &GivenOutcome) -> Result<(), ForkError> {
        let id = self.row.promise.id();
        let Some((kind, name)) = self.command(given.command) else {
            let is_command = |record: &&Record| matches!(record.body, RecordBody::Command { .. });
            let records = self.records.iter().chain(&self.later);
            let commands = records.filter(is_command).count() as u32;
            let (id, records) = (id.clone(), (self.records.len() + self.later.len()) as u32);
            return Err(ForkError::NoSuchCommand { id, command: given.command, commands, records });
        };
        if let Some(why) = misfit(kind, &given.outcome) {
            let (command, name) = (given.command, name.to_owned());
            return Err(ForkError::CannotHave { command, kind, name, why });
        }
        let index = CommandIndex(given.command);
        if !self.set.insert(index) {
            return Err(ForkError::GivenTwice(given.command));
        }
        let outcome = journals::stored(&given.outcome, false);
        let is_early = self.records.iter().any(|record| match &record.body {
            RecordBody::Command { index: of, .. } => *of == index,
            _ => false,
        });
        let early = self.records.len();
        let (before, records) =
            if is_early { (0, &mut self.records) } else { (early, &mut self.later) };
        let told = records.iter_mut().find_map(|record| match &mut record.body {
            RecordBody::Notified { index: of, outcome } if *of == index => Some(outcome),
            _ => None,
        });
        match told {
            Some(known) => *known = outcome,
            None => {
                let at = records.last().map_or(Default::default(), |record| record.at);
                let seq = (before + records.len()) as u32;
                let body = RecordBody::Notified { index, outcome };
                records.push(Record { seq, at, body });
            }
        }
        Ok(())
    }
}

/// The row of `id`, and the first `count` records of its journal, at least `at` of them.
async fn records(
    host: &Host,
    id: &PromiseId,
    at: u32,
    count: u32,
) -> Result<(PromiseRow, Vec<Record>), ForkError> {
    let row = host.store.read().promise(id).await?;
    let row = row.ok_or_else(|| ReplayError::NotFound(id.clone()))?;
    if at as usize > FORK_RECORDS {
        return Err(ForkPositionError::TooMany(at as usize).into());
    }
    let records = first_records(&*host.store, id, count).await?;
    if target::is_service(&row.promise) || (at > 0 && records.is_empty()) {
        return Err(ReplayError::NoJournal(id.clone(), why_not(&row)).into());
    }
    if records.len() < at as usize {
        let (id, records) = (id.clone(), records.len() as u32);
        return Err(ReplayError::NoSuchRecord { id, asked: at, records }.into());
    }
    Ok((row, records))
}

/// The records, with the values that were stored in the promises of their commands only.
async fn with_values(
    host: &Host,
    id: &PromiseId,
    mut records: Vec<Record>,
) -> Result<Vec<Record>, ForkError> {
    let own = |record: &Record| match &record.body {
        RecordBody::Notified { index, outcome: Stored::Own } => Some(id.command(*index)),
        _ => None,
    };
    let ids: Vec<PromiseId> = records.iter().filter_map(own).collect();
    let rows = host.store.read().promises(&ids).await?;
    let mut rows = ids.into_iter().zip(rows);
    for record in &mut records {
        let RecordBody::Notified { outcome: outcome @ Stored::Own, .. } = &mut record.body else {
            continue;
        };
        let Some((promise, row)) = rows.next() else { break };
        let told = row.as_ref().and_then(|row| values::told(&row.promise));
        let told =
            told.ok_or_else(|| ReplayError::unread(id, JournalReadError::NoValue(promise)))?;
        *outcome = journals::stored(&told, false);
    }
    Ok(records)
}
