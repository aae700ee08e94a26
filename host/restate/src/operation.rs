//! Operations of an invocation as one type per family: their kinds with type numbers and names, and
//! their messages.

/// Declares kinds of frames, each with its type number and its name.
macro_rules! kinds {
    ($(#[$about:meta])* $visibility:vis enum $kinds:ident {
        $($(#[$one:meta])* $kind:ident = $number:literal, $name:expr;)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $visibility enum $kinds {
            $($(#[$one])* $kind,)*
        }

        impl $kinds {
            /// All kinds, by ascending type number.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Type number in the frame header.
            pub const fn number(self) -> u16 {
                match self {
                    $(Self::$kind => $number,)*
                }
            }

            /// Name of the kind.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// Returns the kind with this type number.
            pub fn from_number(number: u16) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| kind.number() == number)
            }
        }
    };
}

/// Declares the operations of a family, and their kinds. Each has a message with a `name`.
macro_rules! operations {
    ($(#[$about:meta])* $visibility:vis enum $operation:ident,
     $(#[$about_kinds:meta])* $kinds_visibility:vis enum $kinds:ident {
        $($(#[$one:meta])* $kind:ident = $number:literal;)*
    }) => {
        $crate::operation::kinds! {
            $(#[$about_kinds])* $kinds_visibility enum $kinds {
                $($(#[$one])* $kind = $number, stringify!($kind);)*
            }
        }

        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        $visibility enum $operation {
            $($(#[$one])* $kind($kind),)*
            /// An operation defined by an SDK.
            Custom($crate::custom::Custom),
        }

        impl $operation {
            /// Returns the kind; `None` for an operation defined by an SDK.
            pub fn kind(&self) -> Option<$kinds> {
                match self {
                    $(Self::$kind(_) => Some($kinds::$kind),)*
                    Self::Custom(_) => None,
                }
            }

            /// Returns the type number in the frame header.
            pub fn number(&self) -> u16 {
                match self {
                    $(Self::$kind(_) => $number,)*
                    Self::Custom(custom) => custom.number,
                }
            }

            /// Returns the name given by the handler, for display.
            pub fn entry_name(&self) -> &str {
                match self {
                    $(Self::$kind(message) => &message.name,)*
                    Self::Custom(custom) => &custom.name,
                }
            }

            /// Decodes a message without checking its content.
            fn decode_unchecked(kind: $kinds, payload: bytes::Bytes) -> Result<Self, String> {
                match kind {
                    $($kinds::$kind => prost::Message::decode(payload).map(Self::$kind),)*
                }
                .map_err(|error| format!("cannot be decoded: {error}"))
            }

            pub(crate) fn payload(&self) -> bytes::Bytes {
                match self {
                    $(Self::$kind(message) => prost::Message::encode_to_vec(message).into(),)*
                    Self::Custom(custom) => custom.payload.clone(),
                }
            }
        }

        $(
            impl From<$kind> for $operation {
                fn from(message: $kind) -> Self {
                    Self::$kind(message)
                }
            }
        )*
    };
}

pub(crate) use {kinds, operations};
