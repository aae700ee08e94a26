//! A journal that is completely in memory, including its values.

use std::sync::PoisonError;

use async_trait::async_trait;
use segno_core::{id::PromiseId, invocation::Record};
use segno_guest::Outcome;

use super::{JournalSource, NotRead};
use crate::worker::recording::SharedRecorder;

/// Records that include the outcomes of all their commands.
pub struct HeldJournal<'a>(pub &'a [Record]);

#[async_trait]
impl JournalSource for HeldJournal<'_> {
    async fn fill(&self, recorder: &SharedRecorder) -> Result<(), NotRead> {
        let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(from) = recorder.lacks() {
            let rest = self.0.get(from as usize..).unwrap_or_default();
            if recorder.feed(rest.iter().take(PAGE).cloned().collect()) == 0 {
                return Err(NotRead::Short { at: from });
            }
        }
        Ok(())
    }

    async fn outcome(&self, id: &PromiseId) -> Result<Outcome, NotRead> {
        Err(NotRead::NoValue(id.clone()))
    }
}

/// Number of records supplied in one step.
const PAGE: usize = 1_024;
