//! Appending records under a claim: new ones, or repetitions of stored ones.

use super::draft::DecisionDraft;
use crate::{
    delta::JournalAppend,
    id::PromiseId,
    invocation::{AppendRefusal, CommandKind, LogLine, Record, RecordBody},
    promise::{CancelState, Task},
    reply::{JournalMismatch, Refusal},
};

/// Relation of a batch of records to the stored journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchStatus {
    /// There are no records.
    Empty,
    /// Already stored: the reply to an earlier attempt was lost.
    Stored,
    /// New; it was appended.
    Appended,
}

impl DecisionDraft<'_> {
    /// Appends records and their log lines, and returns the relation of the batch to the journal.
    ///
    /// # Errors
    /// [`Refusal::JournalMismatch`]: the records do not continue the journal; nothing is appended.
    pub(super) fn append(
        &mut self,
        invocation: &PromiseId,
        records: &[Record],
        logs: &[LogLine],
    ) -> Result<BatchStatus, Refusal> {
        let mismatch = |reason| Refusal::JournalMismatch { invocation: invocation.clone(), reason };
        let before = self.head(invocation);
        let batch = match records.first() {
            None => BatchStatus::Empty,
            Some(first) if first.seq < before.len => {
                self.compare(invocation, records).map_err(mismatch)?;
                return Ok(BatchStatus::Stored);
            }
            Some(_) => {
                let after = records
                    .iter()
                    .try_fold(before, |head, record| head.after(record))
                    .map_err(|refused: AppendRefusal| mismatch(refused.into()))?;
                let records = records.to_vec();
                self.delta.appends.push(JournalAppend {
                    invocation: invocation.clone(),
                    before,
                    after,
                    records,
                });
                BatchStatus::Appended
            }
        };
        self.delta.logs.extend(logs.iter().map(|line| (invocation.clone(), line.clone())));
        Ok(batch)
    }

    fn compare(&self, invocation: &PromiseId, records: &[Record]) -> Result<(), JournalMismatch> {
        let tail = self.view.tail(invocation);
        let from = tail.first().map_or(0, |record| record.seq);
        for record in records {
            let stored = record.seq.checked_sub(from).and_then(|place| tail.get(place as usize));
            if stored != Some(record) {
                return Err(JournalMismatch::Differs { seq: record.seq });
            }
        }
        Ok(())
    }
}

/// True if the task has a stop request and neither its journal nor these records contain the
/// notification.
pub(super) fn is_untold(task: &Task, records: &[Record]) -> bool {
    task.cancel == CancelState::Requested && !records.iter().any(tells_to_stop)
}

fn tells_to_stop(record: &Record) -> bool {
    matches!(record.body, RecordBody::Cancelled)
}

/// Updates the task after its journal grew: clears failure counts and the note, and registers
/// signals and a stop notification in the records.
pub(super) fn progressed(task: &mut Task, batch: BatchStatus, records: &[Record]) {
    if batch == BatchStatus::Appended {
        task.attempt = 0;
        task.losses = 0;
        task.note = None;
        for record in records {
            match &record.body {
                RecordBody::Cancelled => task.cancel = CancelState::Delivered,
                RecordBody::Signal { .. } => {
                    task.inbox.heard = task.inbox.heard.map(|heard| heard.saturating_add(1));
                }
                RecordBody::Command { kind: CommandKind::Unread, name, .. } => {
                    task.inbox.unread = name.parse().unwrap_or(u32::MAX);
                }
                RecordBody::Started { .. }
                | RecordBody::Command { .. }
                | RecordBody::Notified { .. }
                | RecordBody::Finished { .. } => {}
            }
        }
    }
}
