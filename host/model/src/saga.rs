//! Sagas: steps and compensations.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{FailureView, InvocationState};

/// State of a saga.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SagaState {
    /// Running; no step is being undone.
    Forward,
    /// The invocation has ended, and no step was undone.
    Kept,
    /// Steps are being undone.
    Unwinding,
    /// All steps that took effect are undone.
    Undone,
    /// A step could not be undone; the steps before it are kept.
    Failed,
    /// It is unknown if a step took effect: an operator has to answer (`next_seq`).
    Unclear,
}

/// State of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SagaStepState {
    /// Has not ended.
    Open,
    /// Took effect.
    Acted,
    /// Ended with its own failure: it did not take effect.
    Failed,
    /// Ended by its deadline or a cancellation: it is unknown if it took effect.
    Unknown,
}

/// State of a compensation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UndoState {
    /// Being attempted.
    Pending,
    /// Succeeded: the step is undone.
    Completed,
    /// Failed: the step cannot be undone.
    Failed,
}

/// The compensation of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UndoView {
    /// Id of the invocation that undoes the step.
    pub id: String,
    /// State of the compensation.
    pub state: UndoState,
    /// Why the step could not be undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
}

/// A step of a saga.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SagaStepView {
    /// Position in the saga, from 0.
    pub seq: u32,
    /// Id of the step's promise.
    pub id: String,
    /// The called function; absent for an HTTP request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Address of the function that undoes the step.
    pub compensate: String,
    /// State of the step. If an operator answered for it, the answer.
    pub state: SagaStepState,
    /// True if the journal records that an unwinding saga undoes this step.
    pub registered: bool,
    /// Id of the promise by which an operator says if the step took effect, until one has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The compensation, if it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<UndoView>,
}

/// A saga of an invocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SagaView {
    /// Name of the saga within the invocation.
    pub name: String,
    /// State of the saga.
    pub state: SagaState,
    /// Position of the step that is being undone, could not be undone, or is unclear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_seq: Option<u32>,
    /// The steps, in order.
    pub steps: Vec<SagaStepView>,
}

/// The sagas of an invocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SagaPage {
    /// Id of the invocation.
    pub id: String,
    /// State in which the invocation ended, if it has. After the end no further step is undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<InvocationState>,
    /// True if the invocation was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub killed: bool,
    /// The sagas, by name.
    pub items: Vec<SagaView>,
    /// True if the invocation has more children than were examined, so that steps may be missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}
