//! The way between hosts and a deployment, and what becomes of what is sent on it.

use segno_core::time::Millis;
use segno_restate::{
    frame::Frame,
    immutable::{self, Command, NotificationId},
    mutable::{self, Entry},
    version::{Family, ProtocolVersion},
};

/// What becomes of a request or a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Passes,
    /// It arrives a second time. Requests do not.
    Twice,
    /// It arrives after so long, and whatever follows it after it.
    Late(Millis),
    /// The connection breaks instead.
    Breaks,
    /// Neither it nor anything after it arrives, and nobody is told.
    Vanishes,
}

/// A way.
pub trait Line: Send + Sync {
    /// What becomes of a request.
    fn request(&self) -> Fate {
        Fate::Passes
    }

    /// What becomes of a frame. All frames are counted, of all attempts and in both directions, from 0. `is_single`:
    /// whether the protocol forbids that it comes twice, so that [`Fate::Twice`] can be noticed.
    fn frame(&self, number: u64, is_single: bool) -> Fate;

    /// A frame that came twice was taken twice.
    fn taken_twice(&self, number: u64);
}

/// A way on which nothing happens, but that it breaks at one frame.
#[derive(Default)]
pub struct BreaksAt(pub Option<u64>);

impl Line for BreaksAt {
    fn frame(&self, number: u64, _: bool) -> Fate {
        if self.0 == Some(number) { Fate::Breaks } else { Fate::Passes }
    }

    fn taken_twice(&self, _: u64) {}
}

/// Whether a deployment may send this frame once only, whatever it sent before. Of what has no completion, and of
/// entries, nobody can tell whether it is another one.
pub(super) fn is_single_of_deployment(bytes: &[u8], version: ProtocolVersion) -> bool {
    let Some(frame) = Frame::from_bytes(bytes) else { return false };
    match version.family() {
        Family::Immutable => match immutable::Message::decode(&frame, version) {
            Ok(immutable::Message::Command(Command::Output(_)))
            | Ok(immutable::Message::ProposeRunCompletion(_)) => true,
            Ok(immutable::Message::Command(command)) => !command.wanted().is_empty(),
            _ => false,
        },
        Family::Mutable => {
            let message = mutable::Message::decode(&frame, version);
            matches!(message, Ok(mutable::Message::Entry(Entry::Output(_))))
        }
    }
}

/// The same of a host: signals are told apart by nothing.
pub(super) fn is_single_of_host(bytes: &[u8], version: ProtocolVersion) -> bool {
    let Some(frame) = Frame::from_bytes(bytes) else { return false };
    match version.family() {
        Family::Immutable => match immutable::Message::decode(&frame, version) {
            Ok(immutable::Message::Start(_) | immutable::Message::ProposeRunCompletionAck(_)) => {
                true
            }
            Ok(immutable::Message::Notification(told)) => {
                matches!(told.id, NotificationId::Completion(_))
            }
            _ => false,
        },
        Family::Mutable => matches!(
            mutable::Message::decode(&frame, version),
            Ok(mutable::Message::Start(_)
                | mutable::Message::Completion(_)
                | mutable::Message::EntryAck(_))
        ),
    }
}
