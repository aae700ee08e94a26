//! Sagas: steps that are compensated if the saga as a whole fails. [`saga_next`] derives the next
//! action from the rows.
//!
//! The state of a saga is a set of immutable facts. The settlement chain writes each fact together
//! with the settlement it follows from. Nothing is inferred: a step is compensated only if a fact
//! says so, and a step whose effect is unknown stops the saga until an operator decides.

use serde::{Deserialize, Serialize};

pub use segno_saga::{FactKind, SagaNext, StepEnd, StepOutcome, declines, saga_next};

use crate::{
    id::PromiseId,
    promise::{Promise, Settlement, Verdict},
    tags,
    time::Timestamp,
    value::{Tags, Text},
};

/// Key of a fact: a step of a saga of an invocation, and the kind of fact.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FactKey {
    /// Name of the saga within its invocation.
    pub saga: Text,
    /// Index of the step in the saga.
    pub seq: u32,
    pub kind: FactKind,
}

/// A fact about a step of a saga.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The promise whose settlement the fact follows from: the step's, or that of its compensation.
    pub promise: PromiseId,
    /// For a registration: address of the function that compensates the step.
    pub compensate: Option<Text>,
    /// True if the step ended and it is unknown whether it took effect.
    pub unknown: bool,
    pub at: Timestamp,
}

/// A step as declared by the tags of its promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTags<'a> {
    pub saga: &'a str,
    /// Index of the step in the saga.
    pub seq: u32,
    /// Address of the function that compensates it.
    pub compensate: &'a str,
    /// True if the step is compensated even if its effect is unknown.
    pub unknown: bool,
}

impl<'a> StepTags<'a> {
    /// The step that these tags declare. `None` if a tag is missing or malformed.
    pub fn of(tags: &'a Tags) -> Option<Self> {
        Some(Self {
            saga: tags.get(tags::SAGA)?,
            seq: tags.get(tags::SEQ)?.parse().ok()?,
            compensate: tags.get(tags::COMPENSATE)?,
            unknown: tags.get(tags::UNKNOWN).is_some_and(|what| what == "compensate"),
        })
    }
}

/// Outcome of a step, from its promise. The step is open while there is no promise.
pub fn step_end(promise: Option<&Promise>) -> StepEnd {
    let Some(promise) = promise else { return StepEnd::Open };
    let Some(settlement) = promise.settlement() else { return StepEnd::Open };
    match settlement.verdict {
        Verdict::Resolved if !is_declined(settlement) => StepEnd::Acted,
        Verdict::Resolved => match StepTags::of(&promise.spec.tags) {
            Some(step) if step.unknown => StepEnd::Acted,
            _ => StepEnd::Failed,
        },
        Verdict::Rejected => StepEnd::Failed,
        Verdict::Canceled | Verdict::TimedOut => StepEnd::Unknown,
    }
}

/// True if the settlement is the response of a server that declined an HTTP step.
fn is_declined(settlement: &Settlement) -> bool {
    let value = settlement.value.as_ref();
    value.is_some_and(|value| value.headers.contains_key(tags::DECLINED_HEADER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_that_lack_something_declare_no_step() {
        let all = [("saga", "order"), ("seq", "2"), ("compensate", "wasm://shop/undo")];
        let tags = |pairs: &[(&str, &str)]| -> Tags {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let full = tags(&all);
        let step = StepTags::of(&full).expect("a step");
        assert_eq!((step.saga, step.seq, step.unknown), ("order", 2, false));
        for missing in 0..3 {
            let mut fewer = all.to_vec();
            fewer.remove(missing);
            assert_eq!(StepTags::of(&tags(&fewer)), None);
        }
        assert_eq!(StepTags::of(&tags(&[("saga", "s"), ("seq", "-1"), ("compensate", "x")])), None);
    }
}
