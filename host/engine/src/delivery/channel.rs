//! A channel: the transport for some kinds of messages.

use async_trait::async_trait;
use segno_core::{
    promise::{Delivery, OutboxKey, OutboxMessageKind},
    time::Millis,
};

/// The result of one attempt to deliver a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryResult {
    /// The message arrived and is removed from the outbox.
    Done,
    /// The message did not arrive. The next attempt follows when the back-off is over, but not
    /// before `after`.
    Again {
        /// The minimum delay before the next attempt.
        after: Millis,
    },
    /// The message is for this channel, but its receiver listens at another host: the other hosts
    /// are notified.
    Elsewhere,
    /// The message is for another channel.
    NotMine,
}

/// Carries messages of some kinds.
///
/// `Unblock` and `Event` are delivered until the channel answers [`DeliveryResult::Done`], and again
/// after a crash in between, so a receiver may see a message twice. `Execute` is delivered once,
/// whatever the result: the task's retry offers the task again. A message that no channel takes
/// stays in the outbox, at no cost, until a command `OutboxDefer` makes it due.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    /// The channel's name, for logs.
    fn name(&self) -> &'static str;

    /// True if messages of this kind can be for this channel. The outbox is not read for kinds that
    /// no channel takes.
    fn takes(&self, kind: OutboxMessageKind) -> bool;

    /// True if the channel can carry messages now. While no channel for a kind is open, messages of
    /// that kind stay in the outbox. A channel that opens again calls
    /// [`CommitNotifier::wake_outbox`](crate::notifier::CommitNotifier::wake_outbox).
    fn is_open(&self) -> bool {
        true
    }

    /// Called when another host had a message and no receiver for it. If a receiver listens here,
    /// the channel may deliver the message immediately: the message is still owed, or its task is
    /// still waiting, and receivers recognise duplicates.
    fn wanted(&self, _key: &OutboxKey) {}

    /// Carries one message. Many deliveries run concurrently. Events of one invocation are
    /// delivered one after the other. The channel enforces its own limits of time and number. After
    /// [`Config::handover`](segno_core::config::Config), another host may carry the same message.
    async fn deliver(&self, delivery: &Delivery) -> DeliveryResult;
}
