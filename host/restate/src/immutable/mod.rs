//! V5 to V8: an append-only journal of commands and notifications.
//!
//! Reading order: [`command`] and [`notification`], the records; [`kind`], the commands as one type
//! with their table; [`future`], waits; [`control`], the frames outside the journal; [`message`],
//! all frames as one type.

pub mod command;
pub mod control;
pub mod future;
pub mod kind;
pub mod message;
pub mod notification;

pub use command::*;
pub use control::*;
pub use future::{Combinator, Future, NotificationOutcome};
pub use kind::{Command, CommandKind, RequestedNotification};
pub use message::{Message, frame_type};
pub use notification::{
    CANCEL_SIGNAL, FIRST_AWAKEABLE_SIGNAL, Notification, NotificationId, NotificationKind,
    NotificationResult, ResultKind,
};

#[cfg(test)]
mod tests;
