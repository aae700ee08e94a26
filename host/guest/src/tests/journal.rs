//! A journal that answers every request and records the requests.

use std::sync::{Arc, Mutex};

use crate::{
    GuestCommand, GuestJournal, JournalAnswer, JournalCall, RunAnswer, SharedJournal, StopReason,
};

/// Logical time in every poll, in milliseconds.
pub(super) const NOW: u64 = 1_700_000_000_123;

/// Clones share the recorded requests.
#[derive(Clone, Default)]
pub(super) struct Script {
    pub(super) asked: Arc<Mutex<Vec<JournalCall>>>,
    /// The error for every request, if any.
    pub(super) stop: Option<StopReason>,
}

impl Script {
    pub(super) fn shared(&self) -> SharedJournal {
        Arc::new(Mutex::new(self.clone()))
    }

    pub(super) fn asked(&self) -> Vec<JournalCall> {
        self.asked.lock().expect("not poisoned").clone()
    }
}

impl GuestJournal for Script {
    fn ask(&mut self, ask: JournalCall) -> Result<JournalAnswer, StopReason> {
        if let Some(stop) = &self.stop {
            return Err(stop.clone());
        }
        let mut asked = self.asked.lock().expect("not poisoned");
        let index = asked.len() as u32;
        let answer = match &ask {
            JournalCall::Command(GuestCommand::Promise(_)) => {
                JournalAnswer::Promise(index, format!("order-1/{index}"))
            }
            JournalCall::Command(GuestCommand::Run(_)) => {
                JournalAnswer::Run(RunAnswer::Execute(index))
            }
            JournalCall::Now => JournalAnswer::Now(NOW),
            JournalCall::Forget { .. }
            | JournalCall::RunDone { .. }
            | JournalCall::Log { .. }
            | JournalCall::Finish { .. } => JournalAnswer::Done,
            JournalCall::Command(_) => JournalAnswer::Command(index),
        };
        if ask != JournalCall::Now {
            asked.push(ask);
        }
        Ok(answer)
    }
}
