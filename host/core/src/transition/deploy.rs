//! Aliases. An execution keeps the module it began with, so moving or removing an alias affects
//! only later executions.

use super::draft::DecisionDraft;
use crate::{
    address::service_of_alias,
    id::{Digest, PromiseId, fits},
    reply::{Conflict, Refusal, Reply},
    value::Text,
};

pub(super) fn deploy(
    draft: &mut DecisionDraft<'_>,
    alias: &Text,
    module: &Digest,
) -> Result<Reply, Refusal> {
    let name = service_of_alias(alias).unwrap_or(alias);
    if name.is_empty() || name.contains(['/', ':', ' ', '?', '#']) {
        let message = format!(
            "`{alias}` cannot name a module: it must not be empty or contain / : ? # or a space"
        );
        return Err(Refusal::BadRequest(message));
    }
    if !draft.view.has_module(module) {
        return Err(Refusal::Unprocessable(format!(
            "the module `{module}` was never uploaded; upload it first"
        )));
    }
    if draft.view.alias(alias).is_none() {
        fits("the name of the module", alias)?;
    }
    let before = draft.view.alias(alias);
    if before != Some(*module) {
        draft.delta.aliases.insert(alias.clone(), *module);
        draft.declare_limits(alias, before.as_ref(), Some(module));
    }
    Ok(Reply::Done)
}

/// Removes an alias, so that it starts no more executions. Refused if it refers to another module
/// than the caller saw.
pub(super) fn undeploy(
    draft: &mut DecisionDraft<'_>,
    alias: &Text,
    module: &Digest,
) -> Result<Reply, Refusal> {
    let current = draft
        .view
        .alias(alias)
        .ok_or_else(|| Refusal::NotFound(PromiseId::from(alias.as_str())))?;
    if current != *module {
        return Err(Conflict::AliasMoved { alias: alias.clone(), given: *module, current }.into());
    }
    draft.delta.dropped_aliases.insert(alias.clone(), current);
    draft.declare_limits(alias, Some(&current), None);
    Ok(Reply::Done)
}
