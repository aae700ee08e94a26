//! Violations of the protocol.

use std::fmt;

use crate::failure;

/// The type of a frame, with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameType {
    /// Type number in the frame header.
    pub number: u16,
    /// Name of the type; `unknown` if the number is not defined.
    pub name: &'static str,
}

impl fmt::Display for FrameType {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} (0x{:04x})", self.name, self.number)
    }
}

/// A violation of the protocol: frame, index, and rule. The attempt is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ProtocolViolation {
    /// The code to report, one of [`failure`].
    pub code: u16,
    /// The offending frame, if any.
    pub frame: Option<FrameType>,
    /// Index of its command or entry in the journal, if any.
    pub index: Option<u32>,
    /// The violation, as a clause.
    pub what: String,
}

impl ProtocolViolation {
    /// Creates a violation without a frame or an index.
    pub fn new(what: impl Into<String>) -> Self {
        Self { code: failure::PROTOCOL_VIOLATION, frame: None, index: None, what: what.into() }
    }

    /// Creates a violation by this frame.
    pub fn of(frame: FrameType, what: impl Into<String>) -> Self {
        Self { frame: Some(frame), ..Self::new(what) }
    }

    /// Adds the index in the journal.
    pub fn at(self, index: u32) -> Self {
        Self { index: Some(index), ..self }
    }

    /// Replaces the code.
    pub fn with_code(self, code: u16) -> Self {
        Self { code, ..self }
    }
}

impl fmt::Display for ProtocolViolation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(frame) = &self.frame {
            write!(out, "{frame}")?;
        }
        if let Some(index) = self.index {
            write!(out, "{}at index {index}", if self.frame.is_some() { " " } else { "" })?;
        }
        if self.frame.is_some() || self.index.is_some() {
            out.write_str(": ")?;
        }
        out.write_str(&self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_names_its_frame_and_its_place() {
        let frame = FrameType { number: 0x0401, name: "Output" };
        let whole = ProtocolViolation::of(frame, "a second one").at(7);
        assert_eq!(whole.to_string(), "Output (0x0401) at index 7: a second one");
        assert_eq!(ProtocolViolation::of(frame, "late").to_string(), "Output (0x0401): late");
        assert_eq!(ProtocolViolation::new("late").at(1).to_string(), "at index 1: late");
        assert_eq!(ProtocolViolation::new("late").to_string(), "late");
        assert_eq!(whole.code, 571);
    }
}
