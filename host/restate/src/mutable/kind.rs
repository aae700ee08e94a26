//! Kinds of entries: type numbers, and allowed results.

use std::fmt;

use bytes::Bytes;
use prost::Message as _;

use super::entry::*;
use crate::{operation::operations, version::ProtocolVersion, wire::StateKeys};

/// Kind of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// No value.
    Empty,
    Value,
    Failure,
}

impl fmt::Display for ResultKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Empty => "empty result",
            Self::Value => "value",
            Self::Failure => "failure",
        })
    }
}

impl EntryResult {
    /// Returns the kind of the result.
    pub fn kind(&self) -> ResultKind {
        match self {
            Self::Empty(_) => ResultKind::Empty,
            Self::Value(_) => ResultKind::Value,
            Self::Failure(_) => ResultKind::Failure,
        }
    }
}

macro_rules! entries {
    ($($(#[$about:meta])* $kind:ident = $number:literal, $completes:ident, [$($result:ident)*];)*) => {
        operations! {
            /// An entry.
            pub enum Entry,
            /// Kind of an entry.
            pub enum EntryKind { $($(#[$about])* $kind = $number;)* }
        }

        impl EntryKind {
            /// When an entry of this kind gets its result.
            pub const fn completes(self) -> CompletionMode {
                match self {
                    $(Self::$kind => CompletionMode::$completes,)*
                }
            }

            /// Allowed kinds of results; empty if the kind has none.
            pub const fn allowed(self) -> &'static [ResultKind] {
                match self {
                    $(Self::$kind => &[$(ResultKind::$result,)*],)*
                }
            }
        }

        impl Entry {
            /// Returns the result, if present.
            pub fn result(&self) -> Option<&EntryResult> {
                match self {
                    $(Self::$kind(entry) => entry.result.as_ref(),)*
                    Self::Custom(_) => None,
                }
            }
        }
    };
}

/// When an entry gets its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompletionMode {
    /// The entry has no result.
    Never,
    /// The deployment writes the entry with its result.
    Written,
    /// The runtime completes the entry, unless the deployment wrote it with its result.
    Later,
}

// These numbers are stored, so they must not change.
entries! {
    /// The input of the invocation.
    Input = 0x0400, Written, [Value];
    /// The outcome of the invocation.
    Output = 0x0401, Written, [Value Failure];
    /// A read of a state key.
    GetState = 0x0800, Later, [Empty Value Failure];
    /// A write of a state key.
    SetState = 0x0801, Never, [];
    /// A removal of a state key.
    ClearState = 0x0802, Never, [];
    /// The removal of all state.
    ClearAllState = 0x0803, Never, [];
    /// A read of the state's keys.
    GetStateKeys = 0x0804, Later, [Value Failure];
    /// A wait for a promise.
    GetPromise = 0x0808, Later, [Value Failure];
    /// A read of a promise without waiting.
    PeekPromise = 0x0809, Later, [Empty Value Failure];
    /// The completion of a promise.
    CompletePromise = 0x080A, Later, [Empty Failure];
    Sleep = 0x0C00, Later, [Empty Failure];
    Call = 0x0C01, Later, [Value Failure];
    /// A call without awaiting the result.
    OneWayCall = 0x0C02, Never, [];
    /// A wait for completion by another party.
    Awakeable = 0x0C03, Later, [Value Failure];
    /// The completion of an awakeable.
    CompleteAwakeable = 0x0C04, Written, [Value Failure];
    /// An action whose outcome is journaled.
    Run = 0x0C05, Written, [Value Failure];
    /// The cancellation of another invocation. From V3.
    CancelInvocation = 0x0C06, Never, [];
    /// A request for the invocation id of a callee. From V3.
    GetCallInvocationId = 0x0C07, Later, [Value Failure];
    /// A wait for another invocation's result. From V3.
    AttachInvocation = 0x0C08, Later, [Value Failure];
    /// A read of another invocation's result without waiting. From V3.
    GetInvocationOutput = 0x0C09, Later, [Empty Value Failure];
}

impl EntryKind {
    /// Returns the first version that has this kind.
    pub const fn since(self) -> ProtocolVersion {
        match self {
            Self::CancelInvocation
            | Self::GetCallInvocationId
            | Self::AttachInvocation
            | Self::GetInvocationOutput => ProtocolVersion::V3,
            _ => ProtocolVersion::V1,
        }
    }

    /// Returns true if the runtime may be unable to execute the entry, because it refers to
    /// something that may not exist. The runtime then does not store the entry.
    pub const fn is_fallible(self) -> bool {
        matches!(
            self,
            Self::Call
                | Self::OneWayCall
                | Self::CompleteAwakeable
                | Self::CancelInvocation
                | Self::GetCallInvocationId
                | Self::AttachInvocation
                | Self::GetInvocationOutput
        )
    }

    /// Returns the rule that a result of this kind violates, as a clause; `None` if it is valid.
    pub(crate) fn fault(self, result: &EntryResult) -> Option<String> {
        let kind = result.kind();
        if !self.allowed().contains(&kind) {
            let article = if kind == ResultKind::Empty { "an" } else { "a" };
            return Some(format!("must not have {article} {kind}"));
        }
        let EntryResult::Value(value) = result else { return None };
        match self {
            Self::GetStateKeys if StateKeys::decode(value.clone()).is_err() => {
                Some("has a value that is no list of keys".into())
            }
            Self::GetCallInvocationId if std::str::from_utf8(value).is_err() => {
                Some("has a value that is no text".into())
            }
            _ => None,
        }
    }
}

impl Entry {
    /// Decodes an entry and checks its content. `completed` is the flag in the header.
    pub(crate) fn decode(kind: EntryKind, payload: Bytes, completed: bool) -> Result<Self, String> {
        let entry = Self::decode_unchecked(kind, payload)?;
        entry.fault(completed).map_or(Ok(entry), Err)
    }

    /// Returns the rule that the entry's content violates, as a clause; `None` if it is valid.
    /// Checks the result and the required fields. `completed` is the flag in the header.
    fn fault(&self, completed: bool) -> Option<String> {
        let kind = self.kind()?;
        let result = self.result();
        if let Some(fault) = result.and_then(|result| kind.fault(result)) {
            return Some(fault);
        }
        match (kind.completes(), completed, result) {
            (CompletionMode::Later, true, None) => {
                return Some("is completed without a result".into());
            }
            (CompletionMode::Later, false, Some(_)) => {
                return Some("has a result and is not completed".into());
            }
            // SDKs of V1 omit the value if a run returned none.
            (CompletionMode::Written, _, None)
                if !matches!(kind, EntryKind::Input | EntryKind::Run) =>
            {
                return Some("has no result".into());
            }
            _ => {}
        }
        let missing = match self {
            Self::CompletePromise(it) if it.completion.is_none() => "value or failure",
            Self::CancelInvocation(it) if it.target.is_none() => "target",
            Self::AttachInvocation(it) if it.target.is_none() => "target",
            Self::GetInvocationOutput(it) if it.target.is_none() => "target",
            _ => return None,
        };
        Some(format!("has no {missing}"))
    }

    /// Removes the fields that `version` does not have.
    pub(crate) fn trim(&mut self, version: ProtocolVersion) {
        if version >= ProtocolVersion::V3 {
            return;
        }
        match self {
            Self::Call(call) => call.idempotency_key = None,
            Self::OneWayCall(call) => call.idempotency_key = None,
            _ => {}
        }
    }
}
