//! Sagas: steps that are undone when the whole does not come about. What is done next follows from
//! the rows here by [`saga_next`].
//!
//! What is known of a saga are facts, written by the settlement chain together with the settlement
//! they follow from, and never changed. Nothing is inferred: without the fact that a step is to be
//! undone, it is not undone; a step whose effect is unknown stops the saga for a
//! person.

use serde::{Deserialize, Serialize};

pub use segno_saga::{FactKind, SagaNext, StepEnd, StepView, declines, saga_next};

use crate::{
    id::PromiseId,
    promise::{Promise, Settlement, Verdict},
    tags,
    time::Timestamp,
    value::{Tags, Text},
};

/// A step of a saga of an invocation, and what a fact says of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FactKey {
    /// The saga's name within its invocation.
    pub saga: Text,
    /// The step's place in it.
    pub seq: u32,
    /// What is said.
    pub kind: FactKind,
}

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The promise whose settlement it follows from: the step's, or that of its compensation.
    pub promise: PromiseId,
    /// For a registration: the address of the function that undoes the step.
    pub compensate: Option<Text>,
    /// Whether the step ended without saying if it acted.
    pub unknown: bool,
    /// When.
    pub at: Timestamp,
}

/// A step as its promise's tags declare it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTags<'a> {
    /// The saga's name.
    pub saga: &'a str,
    /// The step's place in it.
    pub seq: u32,
    /// What undoes it.
    pub compensate: &'a str,
    /// Whether the step is undone even if its effect is unknown.
    pub unknown: bool,
}

impl<'a> StepTags<'a> {
    /// The step that these tags declare; none if something is missing or cannot be read.
    pub fn of(tags: &'a Tags) -> Option<Self> {
        Some(Self {
            saga: tags.get(tags::SAGA)?,
            seq: tags.get(tags::SEQ)?.parse().ok()?,
            compensate: tags.get(tags::COMPENSATE)?,
            unknown: tags.get(tags::UNKNOWN).is_some_and(|what| what == "compensate"),
        })
    }
}

/// How a step ended, by its promise; it is open while there is none.
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

/// Whether the settlement is the answer of a server that declined an HTTP step.
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
