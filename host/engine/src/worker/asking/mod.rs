//! Asks workflows: a query, or whether an update is valid.
//!
//! **Who is asked** is never the instance that runs the workflow, but a shadow of it: an instance
//! that replayed the journal without effects. So it does not matter whether the execution runs on
//! this host, is suspended, halted, or has ended; a question does no harm to it, whatever it does to
//! the shadow's memory; and what a question sees is what was committed. A shadow is kept for the
//! next question, which then costs a call and the records that were appended meanwhile.
//!
//! **Where the code fails** before the end of the journal (it diverges from it, or traps, which is
//! why the execution was halted), the shadow stands before the event at which it does.

mod listener;
mod shadow;
mod shadows;

pub use shadows::Shadows;

use segno_core::id::{Digest, PromiseId};
use segno_guest::{GuestError, Outcome, Payload};
use segno_store::StoreError;

use self::shadow::Shadow;
use super::ReplayError;
use crate::host::Host;

/// What a workflow is asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// Whether it is asked if it takes an update; else it is a query.
    pub validates: bool,
    /// The name of the query or update.
    pub name: String,
    /// The input.
    pub input: Payload,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answered {
    /// What the workflow answered. To a question whether it takes an update: a success if it does.
    pub outcome: Outcome,
    /// How many records the workflow had seen.
    pub records: u32,
    /// How many records the journal had, or how many were asked for.
    pub of: u32,
    /// How many signals it had seen.
    pub signals: u32,
    /// The module that answered.
    pub module: Digest,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is nothing that could be asked.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The module was made for a version of the contract without queries and updates, or does not
    /// export them.
    #[error("the module {0} has no queries and no updates")]
    NoHandlers(Digest),
    /// The code trapped while it answered, did what a query may not do, or took too long.
    #[error("{0}")]
    Guest(#[from] GuestError),
}

impl From<StoreError> for AskError {
    fn from(error: StoreError) -> Self {
        Self::Replay(error.into())
    }
}

/// Asks the workflow `id` as it is now, or as it was when its journal had `at` records.
///
/// # Errors
/// [`AskError`]; that the workflow answers with a failure is no error, but its answer.
pub async fn ask(
    host: &Host,
    id: &PromiseId,
    question: Question,
    at: Option<u32>,
) -> Result<Answered, AskError> {
    if at.is_some() {
        return Shadow::new(host, id, at).await?.answer(question).await;
    }
    // Who asks about the same workflow meanwhile finds its shadow, instead of making another.
    let _turn = host.shadows.turn(id).await;
    let mut shadow = match host.shadows.take(id) {
        Some(shadow) => shadow.now(host, id).await?,
        None => Shadow::new(host, id, None).await?,
    };
    let answered = shadow.answer(question).await?;
    host.shadows.keep(id, shadow);
    Ok(answered)
}
