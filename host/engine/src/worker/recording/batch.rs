//! The records and actions that polls added since the last commit.

use segno_core::{
    command::{FenceAction, FenceOperation},
    id::PromiseId,
    invocation::{LogLine, Record},
};

/// The data of one commit.
#[derive(Debug, Default)]
pub struct CommitBatch {
    /// Records to append to the journal.
    pub records: Vec<Record>,
    /// Log lines to store with the records.
    pub logs: Vec<LogLine>,
    /// Actions to execute in the same transaction.
    pub actions: Vec<FenceAction>,
    /// Number of bytes that the guest supplied for the batch.
    pub bytes: usize,
}

/// Number of records at which a batch is full and must be committed.
const RECORDS: usize = 4096;
/// Number of bytes at which a batch is full and must be committed. One call may supply more.
/// Several calls together exceed it by little more than one call.
const BYTES: usize = 4 << 20;

impl CommitBatch {
    /// True if the batch must be committed before more is added.
    pub fn is_full(&self) -> bool {
        self.records.len() >= RECORDS || self.bytes >= BYTES
    }

    /// True if the batch must be committed now. Log lines alone wait for the next records or for
    /// the end of the claim, unless the batch is full. A commit with log lines only, sent again
    /// after an unknown outcome, would store them twice.
    pub fn is_pressing(&self) -> bool {
        !self.records.is_empty() || !self.actions.is_empty() || self.is_full()
    }

    /// True if the last record may come after the actions, in the same transaction. An event enters
    /// the outbox, and state is written, only together with the record of the command.
    pub fn is_divisible(&self) -> bool {
        let with_record = |action: &FenceAction| {
            matches!(
                action.act,
                FenceOperation::Publish { .. }
                    | FenceOperation::State(_)
                    | FenceOperation::Stream(_)
            )
        };
        self.records.len() > 1 && !self.actions.iter().any(with_record)
    }

    /// True if a part of the batch leaves the invocation, other than outcomes that it received.
    pub fn acts(&self) -> bool {
        !self.actions.iter().all(|action| action.act.stores_outcome())
    }

    /// True if the batch is not divisible, and creates a promise that is not awaited or stores an
    /// outcome. A refusal of the batch would then not refuse a suspension in the same
    /// transaction.
    pub fn stands_alone(&self, awaits: &[PromiseId]) -> bool {
        let unawaited = |action: &FenceAction| match &action.act {
            FenceOperation::Create { new, .. } => !awaits.contains(&new.id),
            act => act.stores_outcome(),
        };
        !self.is_divisible() && self.actions.iter().any(unawaited)
    }

    /// True if the batch has signals to other invocations.
    pub fn sends_signals(&self) -> bool {
        self.actions.iter().any(|action| matches!(action.act, FenceOperation::Signal { .. }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use segno_core::{id::PromiseId, time::Timestamp};
    use segno_guest::{GuestJournal as _, JournalCall, Level, Payload, commands::PublishCommand};

    use super::*;
    use crate::worker::{commands::InvocationFacts, recording::Recorder};

    #[test]
    fn a_batch_is_full_of_what_was_logged_or_handed_over() {
        let log = JournalCall::Log { level: Level::Info, message: "a".repeat(BYTES / 2) };
        let payload = Payload::Json("1".repeat(BYTES / 2));
        for ask in [log, PublishCommand { topic: "t".into(), payload }.into()] {
            let identity = InvocationFacts {
                id: PromiseId::from("order-1"),
                made_at: Timestamp(1),
                module: "orders".into(),
                object: None,
                functions: Arc::default(),
                outbound: None,
            };
            let mut recorder = Recorder::begin(identity, Timestamp(1));
            recorder.ask(ask.clone()).expect("it is answered");
            assert!(!recorder.batch().is_full());
            recorder.ask(ask).expect("it is answered");
            assert!(recorder.batch().is_full());
            recorder.take_batch();
            assert!(!recorder.batch().is_full(), "the next batch begins empty");
        }
    }
}
