//! Facts of sagas, written together with the settlement they follow from.

use super::draft::DecisionDraft;
use crate::{
    effect::Metric,
    id::PromiseId,
    promise::{Promise, Verdict},
    saga::{Fact, FactKey, FactKind, StepEnd, StepTags, step_end},
    value::Text,
};

impl DecisionDraft<'_> {
    /// Appends the fact that follows from a settlement, if the promise is a step of a saga or a
    /// compensation. The first fact of each kind is kept.
    pub(super) fn note_fact(&mut self, promise: &Promise) {
        let Some(invocation) = promise.spec.made_by.clone() else { return };
        let Some(settlement) = promise.settlement() else { return };
        let fact = |compensate: Option<&str>, unknown| Fact {
            promise: promise.id().clone(),
            compensate: compensate.map(Text::from),
            unknown,
            at: settlement.settled_at,
        };
        let acted = settlement.verdict == Verdict::Resolved;
        if let Some((saga, seq)) = promise.id().compensates(&invocation) {
            let key = |kind| FactKey { saga: saga.clone(), seq, kind };
            let ended = [FactKind::Completed, FactKind::Failed].map(key);
            let is_known = |key: &FactKey| self.has_fact(&invocation, key);
            if is_known(&key(FactKind::Registered)) && !ended.iter().any(is_known) {
                let [completed, failed] = ended;
                if !acted {
                    self.count(Metric::CompensationFailed);
                }
                let key = if acted { completed } else { failed };
                self.delta.facts.insert((invocation, key), fact(None, false));
            }
        } else if let Some(step) = StepTags::of(&promise.spec.tags) {
            let unknown = matches!(settlement.verdict, Verdict::TimedOut | Verdict::Canceled);
            let kind = FactKind::Registered;
            let key = FactKey { saga: Text::from(step.saga), seq: step.seq, kind };
            let acted = step_end(Some(promise)) == StepEnd::Acted;
            if (acted || (unknown && step.unknown)) && !self.has_fact(&invocation, &key) {
                let fact = fact(Some(step.compensate), unknown);
                self.delta.facts.insert((invocation, key), fact);
            }
        }
    }

    fn has_fact(&self, invocation: &PromiseId, key: &FactKey) -> bool {
        self.delta.facts.contains_key(&(invocation.clone(), key.clone()))
            || self.view.fact(invocation, key).is_some()
    }
}
