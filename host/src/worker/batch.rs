//! What polls added since the last commit.

use segno_core::{
    command::FenceAction,
    invocation::{LogLine, Record},
};

/// To be committed together.
#[derive(Debug, Default)]
pub struct Batch {
    /// To be appended.
    pub records: Vec<Record>,
    /// To be kept beside them.
    pub logs: Vec<LogLine>,
    /// To be done in the same transaction.
    pub actions: Vec<FenceAction>,
    /// Bytes that the guest handed over for it.
    pub bytes: usize,
}

/// A batch is committed once it has so many records, even if more could be added.
const RECORDS: usize = 4096;
/// The same for its bytes. One call may hand over more, and several calls together then little more than that.
const BYTES: usize = 4 << 20;

impl Batch {
    /// Whether it is large enough to be committed before more is added.
    pub fn is_full(&self) -> bool {
        self.records.len() >= RECORDS || self.bytes >= BYTES
    }

    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.logs.is_empty() && self.actions.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use segno_core::{id::PromiseId, time::Timestamp};

    use super::*;
    use crate::{
        guest::{Ask, Journal as _, Level, Payload},
        worker::recorder::{Identity, Recorder},
    };

    #[test]
    fn a_batch_is_full_of_what_was_logged_or_handed_over() {
        let log = Ask::Log { level: Level::Info, message: "a".repeat(BYTES / 2) };
        let payload = Payload::Json("1".repeat(BYTES / 2));
        for ask in [log, Ask::Publish { topic: "t".into(), payload }] {
            let identity = Identity {
                id: PromiseId::from("order-1"),
                module: "orders".into(),
                functions: Arc::default(),
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
