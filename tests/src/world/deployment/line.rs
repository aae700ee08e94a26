//! The connection between hosts and a deployment, and the fate of the frames sent over it.

use segno_core::time::Millis;
use segno_restate::{
    frame::Frame,
    immutable::{self, Command, NotificationId},
    mutable::{self, Entry},
    version::{ProtocolFamily, ProtocolVersion},
};

/// Fate of a request or a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The frame arrives.
    Passes,
    /// The frame arrives a second time. Not for requests.
    Twice,
    /// The frame arrives after this delay, and later frames arrive after it.
    Late(Millis),
    /// The connection breaks instead.
    Breaks,
    /// Neither this frame nor any later one arrives, and neither side gets an error.
    Vanishes,
}

/// Connection to a deployment.
pub trait Line: Send + Sync {
    /// Fate of a request.
    fn request(&self) -> Fate {
        Fate::Passes
    }

    /// Fate of a frame. Frames are counted from 0, over all attempts and in both directions.
    /// `is_single` is true if the protocol forbids a repetition of the frame, so that
    /// [`Fate::Twice`] is detectable.
    fn frame(&self, number: u64, is_single: bool) -> Fate;

    /// Records that the receiver accepted a repeated frame.
    fn taken_twice(&self, number: u64);
}

/// A connection without faults, except that it may break at one frame.
#[derive(Default)]
pub struct BreaksAt(pub Option<u64>);

impl Line for BreaksAt {
    fn frame(&self, number: u64, _: bool) -> Fate {
        if self.0 == Some(number) { Fate::Breaks } else { Fate::Passes }
    }

    fn taken_twice(&self, _: u64) {}
}

/// True if a deployment may send this frame only once, whatever it sent before. A command without a
/// completion, or an entry, cannot be told from a new one.
pub(super) fn is_single_of_deployment(bytes: &[u8], version: ProtocolVersion) -> bool {
    let Some(frame) = Frame::from_bytes(bytes) else { return false };
    match version.family() {
        ProtocolFamily::Immutable => match immutable::Message::decode(&frame, version) {
            Ok(immutable::Message::Command(Command::Output(_)))
            | Ok(immutable::Message::ProposeRunCompletion(_)) => true,
            Ok(immutable::Message::Command(command)) => !command.wanted().is_empty(),
            _ => false,
        },
        ProtocolFamily::Mutable => {
            let message = mutable::Message::decode(&frame, version);
            matches!(message, Ok(mutable::Message::Entry(Entry::Output(_))))
        }
    }
}

/// The same for a frame of a host. Signals cannot be told apart.
pub(super) fn is_single_of_host(bytes: &[u8], version: ProtocolVersion) -> bool {
    let Some(frame) = Frame::from_bytes(bytes) else { return false };
    match version.family() {
        ProtocolFamily::Immutable => match immutable::Message::decode(&frame, version) {
            Ok(immutable::Message::Start(_) | immutable::Message::ProposeRunCompletionAck(_)) => {
                true
            }
            Ok(immutable::Message::Notification(told)) => {
                matches!(told.id, NotificationId::Completion(_))
            }
            _ => false,
        },
        ProtocolFamily::Mutable => matches!(
            mutable::Message::decode(&frame, version),
            Ok(mutable::Message::Start(_)
                | mutable::Message::Completion(_)
                | mutable::Message::EntryAck(_))
        ),
    }
}
