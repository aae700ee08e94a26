//! Questions to workflows: queries, and validations of updates.
//!
//! **The instance** that answers is never the one that runs the workflow, but a *shadow*: an
//! instance that replayed the journal without effects. Therefore the execution may be running on
//! this host, suspended, halted or ended. A question cannot harm it, whatever it does to the
//! shadow's memory, and it sees committed state only. A shadow is kept for the next question, which
//! then costs one call plus the replay of the records appended since.
//!
//! **If the code fails** before the end of the journal (it diverges, or traps, which is why the
//! execution was halted), the shadow stops before the event at which it fails.

mod listener;
mod replica;
mod shadow;
mod shadows;

pub use shadows::QueryReplicas;

use segno_core::id::{Digest, PromiseId};
use segno_guest::{GuestError, Outcome, Payload};
use segno_store::StoreError;

use self::replica::QueryReplica;
use super::ReplayError;
use crate::host::Host;

/// A question to a workflow.
#[derive(Debug, Clone)]
pub struct Question {
    /// True to validate an update, false for a query.
    pub validates: bool,
    /// The name of the query or update.
    pub name: String,
    pub input: Payload,
}

/// The answer to a question.
#[derive(Debug, Clone)]
pub struct QuestionAnswer {
    /// The answer of the workflow. For a validation, a success means that the workflow takes the
    /// update.
    pub outcome: Outcome,
    /// The number of records that the workflow had seen.
    pub records: u32,
    /// The number of records in the journal, or the number that was requested.
    pub of: u32,
    /// The number of signals that the workflow had seen.
    pub signals: u32,
    /// The module that answered.
    pub module: Digest,
}

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The journal cannot be replayed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The module was made for a version of the contract without queries and updates, or does not
    /// export them.
    #[error("the module {0} has no queries and no updates")]
    NoHandlers(Digest),
    /// The code trapped while answering, did what a query may not do, or took too long.
    #[error("{0}")]
    Guest(#[from] GuestError),
}

impl From<StoreError> for AskError {
    fn from(error: StoreError) -> Self {
        Self::Replay(error.into())
    }
}

/// Asks the workflow `id` in its current state, or in its state after the first `at` records of its
/// journal.
///
/// # Errors
/// [`AskError`]. A failure that the workflow returns is not an error but its answer.
pub async fn ask(
    host: &Host,
    id: &PromiseId,
    question: Question,
    at: Option<u32>,
) -> Result<QuestionAnswer, AskError> {
    if at.is_some() {
        return QueryReplica::new(host, id, at).await?.answer(question).await;
    }
    // Concurrent questions to the same workflow wait for its shadow, instead of building another.
    let _turn = host.shadows.turn(id).await;
    let mut shadow = match host.shadows.take(id) {
        Some(shadow) => shadow.now(host, id).await?,
        None => QueryReplica::new(host, id, None).await?,
    };
    let answered = shadow.answer(question).await?;
    host.shadows.keep(id, shadow);
    Ok(answered)
}
