//! The result of an unwinding.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;

/// The steps that an unwinding undid, and those that it could not undo. Each list begins with the
/// last step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SagaReport {
    /// The saga's name.
    pub saga: String,
    /// The steps that were undone.
    pub undone: Vec<StepReport>,
    /// The steps that could not be undone: the unwinding stopped there.
    pub failed: Vec<StepReport>,
    /// Steps with an unknown effect that no operator has resolved yet. The unwinding stopped there.
    pub unclear: Vec<StepReport>,
    /// Steps before the one at which the unwinding stopped: they acted and are not undone.
    pub left: Vec<StepReport>,
}

/// A step in a [`SagaReport`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Number of the step in its saga, from 0.
    pub seq: u32,
    /// The function that was called, or the request.
    pub step: String,
    /// The function that undoes the step.
    pub compensate: String,
    /// The reason that the step could not be undone. `None` unless undoing failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The details of an error that unwound sagas.
#[derive(Serialize, Deserialize)]
struct UnwoundDetails {
    sagas: Vec<SagaReport>,
    /// The error's own details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

impl SagaReport {
    /// The reports in an error that left sagas, the last saga first.
    pub fn of(error: &Error) -> Vec<Self> {
        error.details::<UnwoundDetails>().map(|details| details.sagas).unwrap_or_default()
    }

    /// Adds this report to `error`.
    pub(super) fn added_to(self, error: Error) -> Error {
        let (mut sagas, details) = match error.details::<UnwoundDetails>() {
            Some(UnwoundDetails { sagas, details }) => (sagas, details),
            None => (Vec::new(), error.details::<Value>()),
        };
        let message = format!("{}; {self}", error.message());
        sagas.push(self);
        Error::with_code(error.code(), message).with_details(&UnwoundDetails { sagas, details })
    }
}

/// Formats a summary, for example ``saga `trip`: `book_hotel`, `book_flight` undone``.
impl fmt::Display for SagaReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |steps: &[StepReport]| -> String {
            let names: Vec<String> = steps.iter().map(|step| format!("`{}`", step.step)).collect();
            names.join(", ")
        };
        write!(formatter, "saga `{}`: ", self.saga)?;
        match self.undone.is_empty() {
            true => formatter.write_str("nothing undone")?,
            false => write!(formatter, "{} undone", names(&self.undone))?,
        }
        for step in &self.failed {
            let error = step.error.as_deref().unwrap_or("an unknown reason");
            write!(formatter, ", `{}` could not be undone: {error}", step.step)?;
        }
        if !self.unclear.is_empty() {
            write!(formatter, ", unclear whether {} acted", names(&self.unclear))?;
        }
        if !self.left.is_empty() {
            write!(formatter, ", {} not undone", names(&self.left))?;
        }
        Ok(())
    }
}
