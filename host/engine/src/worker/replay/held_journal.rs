//! A journal that is completely in memory, including its values.

use std::sync::PoisonError;

use async_trait::async_trait;
use segno_core::{id::PromiseId, invocation::Record};
use segno_guest::Outcome;

use super::{JournalReadError, JournalSource};
use crate::worker::recording::SharedRecorder;

/// Records that include the outcomes of all their commands.
pub struct CompleteJournal<'a>(pub &'a [Record]);

#[async_trait]
impl JournalSource for CompleteJournal<'_> {
    async fn fill(&self, recorder: &SharedRecorder) -> Result<(), JournalReadError> {
        let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(from) = recorder.lacks() {
            let rest = self.0.get(from as usize..).unwrap_or_default();
            if recorder.feed(rest.iter().take(PAGE).cloned().collect()) == 0 {
                return Err(JournalReadError::Short { at: from });
            }
        }
        Ok(())
    }

    async fn outcome(&self, id: &PromiseId) -> Result<Outcome, JournalReadError> {
        Err(JournalReadError::NoValue(id.clone()))
    }
}

/// Number of records supplied in one step.
const PAGE: usize = 1_024;
