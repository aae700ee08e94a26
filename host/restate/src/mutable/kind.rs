//! The kinds of entries: their numbers, and what results they can have.

use std::fmt;

use bytes::Bytes;
use prost::Message as _;

use super::entry::*;
use crate::{custom::Custom, version::ProtocolVersion, wire::StateKeys};

/// What a result can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResultKind {
    /// No value.
    Empty,
    /// Bytes.
    Value,
    /// A failure.
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
    /// Which of the three it is.
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
        /// One entry.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Entry {
            $($(#[$about])* $kind($kind),)*
            /// One of an SDK's own.
            Custom(Custom),
        }

        /// The kind of an entry.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EntryKind {
            $($(#[$about])* $kind,)*
        }

        impl EntryKind {
            /// All of them, the lowest number first.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The type in the header.
            pub const fn number(self) -> u16 {
                match self {
                    $(Self::$kind => $number,)*
                }
            }

            /// What it is called.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($kind),)*
                }
            }

            /// How it comes to its result.
            pub const fn completes(self) -> Completes {
                match self {
                    $(Self::$kind => Completes::$completes,)*
                }
            }

            /// What its result may be; nothing when it has none.
            pub const fn allowed(self) -> &'static [ResultKind] {
                match self {
                    $(Self::$kind => &[$(ResultKind::$result,)*],)*
                }
            }
        }

        impl Entry {
            /// Its kind, unless it is an SDK's own.
            pub fn kind(&self) -> Option<EntryKind> {
                match self {
                    $(Self::$kind(_) => Some(EntryKind::$kind),)*
                    Self::Custom(_) => None,
                }
            }

            /// The name that it was given, for people.
            pub fn entry_name(&self) -> &str {
                match self {
                    $(Self::$kind(entry) => &entry.name,)*
                    Self::Custom(custom) => &custom.name,
                }
            }

            /// Its result, if it has one.
            pub fn result(&self) -> Option<&EntryResult> {
                match self {
                    $(Self::$kind(entry) => entry.result.as_ref(),)*
                    Self::Custom(_) => None,
                }
            }

            pub(crate) fn decode(kind: EntryKind, payload: Bytes) -> Result<Self, String> {
                let entry = match kind {
                    $(EntryKind::$kind => $kind::decode(payload).map(Self::$kind),)*
                };
                entry.map_err(|error| format!("cannot be decoded: {error}"))
            }

            pub(crate) fn payload(&self) -> Bytes {
                match self {
                    $(Self::$kind(entry) => entry.encode_to_vec().into(),)*
                    Self::Custom(custom) => custom.payload.clone(),
                }
            }
        }

        $(
            impl From<$kind> for Entry {
                fn from(entry: $kind) -> Self {
                    Self::$kind(entry)
                }
            }
        )*
    };
}

/// How an entry comes to its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completes {
    /// It has none.
    Never,
    /// It is written with it.
    Written,
    /// The runtime completes it, unless the deployment wrote it with its result.
    Later,
}

// Stored: these numbers outlive the code.
entries! {
    /// What the invocation was called with.
    Input = 0x0400, Written, [Value];
    /// How it ended.
    Output = 0x0401, Written, [Value Failure];
    /// A read of state.
    GetState = 0x0800, Later, [Empty Value Failure];
    /// A write of state.
    SetState = 0x0801, Never, [];
    /// A removal of state.
    ClearState = 0x0802, Never, [];
    /// The removal of all state.
    ClearAllState = 0x0803, Never, [];
    /// A read of the keys of state.
    GetStateKeys = 0x0804, Later, [Value Failure];
    /// A wait for a promise.
    GetPromise = 0x0808, Later, [Value Failure];
    /// A look at a promise.
    PeekPromise = 0x0809, Later, [Empty Value Failure];
    /// A promise's completion.
    CompletePromise = 0x080A, Later, [Empty Failure];
    /// A sleep.
    Sleep = 0x0C00, Later, [Empty Failure];
    /// A call.
    Call = 0x0C01, Later, [Value Failure];
    /// A call without a result.
    OneWayCall = 0x0C02, Never, [];
    /// A wait for another to complete it.
    Awakeable = 0x0C03, Later, [Value Failure];
    /// An awakeable's completion.
    CompleteAwakeable = 0x0C04, Written, [Value Failure];
    /// Something that was done once.
    Run = 0x0C05, Written, [Value Failure];
    /// The wish that another stops. From V3.
    CancelInvocation = 0x0C06, Never, [];
    /// A look at whom a call began. From V3.
    GetCallInvocationId = 0x0C07, Later, [Value Failure];
    /// A wait for another invocation. From V3.
    AttachInvocation = 0x0C08, Later, [Value Failure];
    /// A look at another invocation. From V3.
    GetInvocationOutput = 0x0C09, Later, [Empty Value Failure];
}

impl EntryKind {
    /// The one with this type.
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.number() == number)
    }

    /// The first version that has it.
    pub const fn since(self) -> ProtocolVersion {
        match self {
            Self::CancelInvocation
            | Self::GetCallInvocationId
            | Self::AttachInvocation
            | Self::GetInvocationOutput => ProtocolVersion::V3,
            _ => ProtocolVersion::V1,
        }
    }

    /// Whether the runtime may find that it cannot be done, and then does not store it: it names
    /// something that may not be there.
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

    /// Which rule a result of this kind breaks, as a clause.
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
    /// The type in the header.
    pub fn number(&self) -> u16 {
        match self {
            Self::Custom(custom) => custom.number,
            known => known.kind().expect("only custom entries have no kind").number(),
        }
    }

    /// Which rule its content breaks, as a clause: its result, and the parts that it needs.
    /// `completed` is what its header says.
    pub(crate) fn fault(&self, completed: bool) -> Option<String> {
        let kind = self.kind()?;
        let result = self.result();
        if let Some(fault) = result.and_then(|result| kind.fault(result)) {
            return Some(fault);
        }
        match (kind.completes(), completed, result) {
            (Completes::Later, true, None) => return Some("is completed without a result".into()),
            (Completes::Later, false, Some(_)) => {
                return Some("has a result and is not completed".into());
            }
            // SDKs of V1 leave the value out where a run gave none.
            (Completes::Written, _, None) if !matches!(kind, EntryKind::Input | EntryKind::Run) => {
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

    /// Takes away the fields that `version` does not have.
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
