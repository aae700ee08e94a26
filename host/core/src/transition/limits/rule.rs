//! Rules of limits, set by operators or declared by modules.

use super::{super::draft::DecisionDraft, admit::RoundTrigger, declared};
use crate::{
    id::{Digest, fits},
    limit::{AdmissionRule, LimitName},
    reply::{Refusal, Reply},
    value::Text,
};

pub(crate) fn set(
    draft: &mut DecisionDraft<'_>,
    name: &LimitName,
    rule: Option<&AdmissionRule>,
) -> Result<Reply, Refusal> {
    if name.parts().is_none() {
        let message = format!("`{name}` is not the name of a limit: use MODULE/FUNCTION");
        return Err(Refusal::BadRequest(message));
    }
    fits("the name of the limit", name.as_str())?;
    rule.map_or(Ok(()), AdmissionRule::check).map_err(|error| {
        Refusal::Unprocessable(format!("`{name}` cannot be limited like this: {error}"))
    })?;
    let mut limit = draft.limit(name).cloned().unwrap_or_else(|| declared(draft.view, name, None));
    if limit.set.as_ref() != rule {
        limit.set = rule.cloned();
        limit.rule_changed(draft.now);
        draft.put_limit(name, limit);
    }
    Ok(Reply::Done)
}

pub(crate) fn due(draft: &mut DecisionDraft<'_>, name: &LimitName) -> Result<Reply, Refusal> {
    let due_at = draft.limit(name).and_then(|limit| limit.due_at);
    if let Some(due_at) = due_at.filter(|due_at| *due_at <= draft.now) {
        draft.admit(name, &RoundTrigger::due(due_at));
    }
    Ok(Reply::Done)
}

impl DecisionDraft<'_> {
    /// Applies the limits that a module declares from its deployment on, until the alias refers to
    /// another module or to none. They also apply to executions that already wait.
    pub(in super::super) fn declare_limits(
        &mut self,
        alias: &Text,
        before: Option<&Digest>,
        module: Option<&Digest>,
    ) {
        let facts = |module: Option<&Digest>| module.and_then(|it| self.view.module_facts(it));
        let declares = facts(module).map(|facts| facts.limits.clone()).unwrap_or_default();
        let declared = facts(before).into_iter().flat_map(|facts| facts.limits.keys().cloned());
        let functions: Vec<Text> = declared.chain(declares.keys().cloned()).collect();
        for function in functions {
            let name = LimitName::of(alias, &function);
            let Some(mut limit) = self.limit(&name).cloned() else { continue };
            let rule = declares.get(&function);
            if limit.declared.as_ref() != rule {
                limit.declared = rule.cloned();
                limit.rule_changed(self.now);
                self.put_limit(&name, limit);
            }
        }
    }
}
