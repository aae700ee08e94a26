//! V1 to V3: a journal of entries, which are completed in place.
//!
//! Reading order: [`entry`], the records; [`kind`], the entries as one type with their table;
//! [`control`], the frames outside the journal; [`message`], all frames as one type, and the
//! completion of entries.

pub mod control;
pub mod entry;
pub mod kind;
pub mod message;

pub use control::{Completion, EntryAck, ErrorMessage, Suspension};
pub use entry::{
    AttachInvocation, Awakeable, Call, CancelInvocation, CancelTarget, ClearAllState, ClearState,
    CompleteAwakeable, CompletePromise, EntryResult, GetCallInvocationId, GetInvocationOutput,
    GetPromise, GetState, GetStateKeys, Input, InvocationTarget, OneWayCall, Output, PeekPromise,
    PromiseCompletion, Run, SetState, Sleep,
};
pub use kind::{CompletionMode, Entry, EntryKind, ResultKind};
pub use message::{Message, complete, frame_type};

#[cfg(test)]
mod tests;
