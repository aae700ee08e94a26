//! A journal that answers every request and records the requests.

use std::sync::{Arc, Mutex};

use crate::{Answer, Ask, GuestCommand, Journal, RunAnswer, SharedJournal, Stop};

/// Logical time in every poll, in milliseconds.
pub(super) const NOW: u64 = 1_700_000_000_123;

/// Clones share the recorded requests.
#[derive(Clone, Default)]
pub(super) struct Script {
    pub(super) asked: Arc<Mutex<Vec<Ask>>>,
    /// The error for every request, if any.
    pub(super) stop: Option<Stop>,
}

impl Script {
    pub(super) fn shared(&self) -> SharedJournal {
        Arc::new(Mutex::new(self.clone()))
    }

    pub(super) fn asked(&self) -> Vec<Ask> {
        self.asked.lock().expect("not poisoned").clone()
    }
}

impl Journal for Script {
    fn ask(&mut self, ask: Ask) -> Result<Answer, Stop> {
        if let Some(stop) = &self.stop {
            return Err(stop.clone());
        }
        let mut asked = self.asked.lock().expect("not poisoned");
        let index = asked.len() as u32;
        let answer = match &ask {
            Ask::Command(GuestCommand::Promise(_)) => {
                Answer::Promise(index, format!("order-1/{index}"))
            }
            Ask::Command(GuestCommand::Run(_)) => Answer::Run(RunAnswer::Execute(index)),
            Ask::Now => Answer::Now(NOW),
            Ask::Forget { .. } | Ask::RunDone { .. } | Ask::Log { .. } | Ask::Finish { .. } => {
                Answer::Done
            }
            Ask::Command(_) => Answer::Command(index),
        };
        if ask != Ask::Now {
            asked.push(ask);
        }
        Ok(answer)
    }
}
