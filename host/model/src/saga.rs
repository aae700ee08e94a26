//! Sagas: their steps, and what is undone.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{FailureView, InvocationState};

/// How a saga stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SagaState {
    /// It goes on: nothing is undone.
    Forward,
    /// The invocation has ended, and nothing was undone.
    Kept,
    /// Steps are being undone.
    Unwinding,
    /// Everything that acted is undone.
    Undone,
    /// A step could not be undone; what lies before it stays.
    Failed,
    /// Nobody knows whether a step acted: a person says it (`next_seq`).
    Unclear,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SagaStepState {
    /// It has not.
    Open,
    /// It acted.
    Acted,
    /// With a failure of its own: it did not act.
    Failed,
    /// By its deadline or a cancellation: nobody knows whether it acted.
    Unknown,
}

/// Whether a step is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UndoState {
    /// It is tried.
    Pending,
    /// It is undone.
    Completed,
    /// It cannot be undone.
    Failed,
}

/// The undoing of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UndoView {
    /// The invocation that undoes it.
    pub id: String,
    /// How it stands.
    pub state: UndoState,
    /// Why the step could not be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// A step of a saga.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SagaStepView {
    /// Its place in the saga, from 0.
    pub seq: u32,
    /// Its promise.
    pub id: String,
    /// The function that was called; none for a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The address of the function that undoes it.
    pub compensate: String,
    /// How it ended; after a person said so, what was said.
    pub state: SagaStepState,
    /// Whether it is recorded that it is to be undone if the saga is unwound.
    pub registered: bool,
    /// The promise by which a person says whether it acted, while nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Its undoing, if that was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<UndoView>,
}

/// A saga of an invocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SagaView {
    /// Its name within the invocation.
    pub name: String,
    /// How it stands.
    pub state: SagaState,
    /// The step that is undone now, could not be undone, or is unclear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_seq: Option<u32>,
    /// Its steps, in their order.
    pub steps: Vec<SagaStepView>,
}

/// The sagas of an invocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SagaPage {
    /// The invocation.
    pub id: String,
    /// The state in which it ended, if it has: nothing is undone any more then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<InvocationState>,
    /// Whether it was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub killed: bool,
    /// Its sagas, by name.
    pub items: Vec<SagaView>,
    /// Whether it has more children than were looked at, so that steps may be missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}
