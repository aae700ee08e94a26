//! Creation of an invocation together with its first run: one transaction instead of two.

use super::{create::PromiseCreator, decide, draft::DecisionDraft, tasks::described};
use crate::{
    command::{ClaimRequest, Command},
    id::{Claim, Digest},
    promise::{Lease, NewPromise},
    reply::{Refusal, Reply},
    time::Timestamp,
};

/// Executes [`Command::TaskBegin`].
pub(super) fn begin(
    draft: &mut DecisionDraft<'_>,
    new: &NewPromise,
    request: &ClaimRequest,
    module: Digest,
    at: Timestamp,
    claim: &Claim,
    first: &[Command],
) -> Result<Reply, Refusal> {
    Lease::check(request.ttl).map_err(Refusal::BadRequest)?;
    if let Some(stray) = first.iter().find(|command| claim_of(command) != Some(claim)) {
        return Err(Refusal::BadRequest(format!(
            "`{}` does nothing under the first claim on `{}`, and cannot be a part of its beginning",
            stray.name(),
            new.id
        )));
    }
    draft.touch(&new.id);
    let mark = draft.mark();
    let begun = begin_held(draft, new, request, module, at, claim, first);
    if begun.is_err() {
        draft.go_back(mark);
    }
    begun
}

fn begin_held(
    draft: &mut DecisionDraft<'_>,
    new: &NewPromise,
    request: &ClaimRequest,
    module: Digest,
    at: Timestamp,
    claim: &Claim,
    first: &[Command],
) -> Result<Reply, Refusal> {
    let created = draft.make_held(new, PromiseCreator::Starter(at), request)?;
    // Held by this same attempt, including the case that the reply to an earlier try was lost and
    // is given again.
    let held = draft.held_version(&new.id, Some(request));
    let runs = draft.task(&new.id).and_then(|task| task.module);
    let replies = match held == Some(claim.version) && runs == Some(module) {
        true => Some(first.iter().map(|command| decide(draft, command)).collect::<Result<_, _>>()?),
        false => None,
    };
    let created = created || held.is_some();
    let task = Box::new(described(draft, &new.id, created)?);
    Ok(Reply::Begun { task, first: replies })
}

/// The claim of a command that may be part of a beginning. `None` for other commands.
fn claim_of(command: &Command) -> Option<&Claim> {
    match command {
        Command::TaskFence { claim, .. }
        | Command::TaskSuspend { claim, .. }
        | Command::TaskFulfill { claim, .. }
        | Command::TaskHandOver { claim, .. } => Some(claim),
        _ => None,
    }
}
