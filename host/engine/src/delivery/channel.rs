//! A way out for messages.

use async_trait::async_trait;
use segno_core::{
    promise::{Delivery, MessageKind, OutboxKey},
    time::Millis,
};

/// What came of handing a message over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivered {
    /// It arrived: the message is done with.
    Done,
    /// It did not arrive: again when its back-off is over, and not before this long.
    Again {
        /// The least wait.
        after: Millis,
    },
    /// It is for this channel, and whoever takes it does not listen at this host: others are told.
    Elsewhere,
    /// It is not for this channel.
    NotMine,
}

/// Carries messages of some kinds.
///
/// `Unblock` and `Event` are handed over until the channel says [`Delivered::Done`], and again after a crash in
/// between, so a receiver can see one twice. `Execute` is handed over once, whatever comes of it: the task's retry
/// offers it again. What no channel wants lies in the outbox, at no cost, until a command `OutboxDefer` offers it.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    /// Its name, for logs.
    fn name(&self) -> &'static str;

    /// Whether messages of this kind can be for it. The outbox is not even looked through for kinds that nobody takes.
    fn takes(&self, kind: MessageKind) -> bool;

    /// Whether it can carry anything at present. While no channel for a kind can, messages of that kind are left alone.
    /// Whoever opens again says so with [`CommitNotifier::wake_outbox`](crate::notifier::CommitNotifier::wake_outbox).
    fn is_open(&self) -> bool {
        true
    }

    /// Hears that a message found nobody at another host. If somebody listens here, it may be handed over at once: it is
    /// still owed, or its task still waits, and receivers know duplicates.
    fn wanted(&self, _key: &OutboxKey) {}

    /// Carries one message. Many are carried at once, events of one invocation one after the other; the channel sees to
    /// its own limits in time and number. After [`Config::handover`](segno_core::config::Config) another host may carry
    /// the same message.
    async fn deliver(&self, delivery: &Delivery) -> Delivered;
}
