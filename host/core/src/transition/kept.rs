//! Named promises that are settled before the workflow creates them. The settlement is kept: the
//! promise is created on behalf of the workflow, and the workflow adopts it when it creates it.

use super::draft::DecisionDraft;
use crate::{
    graph,
    id::PromiseId,
    promise::{Inbox, KEPT_MAX, Task, Verdict},
    reply::Refusal,
    value::{Text, Value},
};

impl DecisionDraft<'_> {
    /// Resolves an id: a named promise of an earlier generation belongs to the newest generation.
    pub(super) fn meant_by(&self, id: &PromiseId) -> PromiseId {
        let owned = id.named_by().find(|(owner, _)| self.task(owner).is_some());
        match owned.map(|(owner, name)| (self.newest(&owner), name)) {
            Some((newest, name)) => newest.named(name),
            None => id.clone(),
        }
    }

    /// Keeps the settlement of a promise that does not exist, if a workflow may still create it.
    pub(super) fn settle_early(
        &mut self,
        id: &PromiseId,
        verdict: Verdict,
        value: &Value,
    ) -> Result<bool, Refusal> {
        let owner = self.may_make(id).map(|(task, name)| (task.clone(), Text::from(name)));
        let Some((task, name)) = owner else { return Err(Refusal::NotFound(id.clone())) };
        if task.inbox.kept.len() >= KEPT_MAX {
            return Err(Refusal::Unprocessable(format!(
                "`{}` has {KEPT_MAX} promises that were settled before it made them, which are the most",
                task.id
            )));
        }
        self.make_own(&task, id)?;
        self.settle_with(id, verdict, value)?;
        self.note_kept(&task.id, name);
        Ok(true)
    }

    /// The workflow that may still create a promise with this id, and the promise's name in it.
    fn may_make<'a>(&'a self, id: &'a PromiseId) -> Option<(&'a Task, &'a str)> {
        id.named_by().find_map(|(owner, name)| {
            let task = self.task(&owner).filter(|task| task.module.is_some())?;
            let pending = self.promise(&owner).filter(|promise| promise.is_pending())?;
            (!graph::is_run(pending)).then_some((task, name))
        })
    }

    /// Refuses the creation of a promise that is reserved for a workflow, which would not accept
    /// another creator's promise as its own.
    pub(super) fn is_nobodys(&self, id: &PromiseId) -> Result<(), Refusal> {
        match self.may_make(id) {
            None => Ok(()),
            Some((task, name)) => Err(Refusal::Unprocessable(format!(
                "`{id}` is the promise `{name}` of the workflow `{}`, which makes it itself: settle it, also before that",
                task.id
            ))),
        }
    }

    /// Registers a promise that was settled before its creation.
    pub(super) fn note_kept(&mut self, owner: &PromiseId, name: Text) {
        let Some(task) = self.task(owner).cloned() else { return };
        let mut kept = task.inbox.kept.clone();
        kept.push(name);
        self.put_task(Task { inbox: Inbox { kept, ..task.inbox.clone() }, ..task });
    }
}

/// Registers that the workflow created a promise; if it was settled early, it no longer counts as
/// kept.
pub(super) fn made(task: &mut Task, id: &PromiseId) {
    let owner = task.id.clone();
    task.inbox.kept.retain(|name| owner.named(name) != *id);
}
