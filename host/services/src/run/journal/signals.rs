//! Signals and cancellation.

use bytes::Bytes;
use segno_core::{
    command::{FenceAction, FenceOperation},
    id::CommandIndex,
    invocation::RecordBody,
    time::Timestamp,
    value::{Payload, Text},
};
use segno_engine::values::{self, journals};
use segno_restate::{
    immutable::{Notification, NotificationId, NotificationKind, NotificationResult},
    version::ProtocolFamily,
};

use super::{super::wish::cancelled, ServiceJournal, UnansweredCommand};
use crate::deployments::{
    outcome,
    signals::{self, SignalContent},
};

impl ServiceJournal {
    /// Records a signal. Returns the notification for the deployment. `None` if an earlier signal
    /// has completed the same awakeable.
    pub(crate) fn signal(
        &mut self,
        name: Text,
        payload: Payload,
        now: Timestamp,
    ) -> Option<Notification> {
        let notification = self.tell_signal(&name, &payload);
        self.record(RecordBody::Signal { name, payload }, now);
        notification
    }

    /// Delivers a recorded signal to the deployment.
    pub(super) fn tell_signal(&mut self, name: &str, payload: &Payload) -> Option<Notification> {
        self.signals += 1;
        let notification = signal(name, payload);
        if let NotificationId::Signal(index) = notification.id {
            if self.told.contains_key(&index) {
                return None;
            }
            self.told.insert(index, notification.result.clone());
        }
        match (self.version.family(), &notification.id) {
            (ProtocolFamily::Immutable, _) => {
                self.tell(&notification);
                Some(notification)
            }
            // Completes the entry of the awakeable. An entry that does not exist yet completes when
            // it is recorded.
            (ProtocolFamily::Mutable, NotificationId::Signal(place)) => {
                let (index, _) = self.awakeable(*place)?;
                self.open.remove(&index);
                self.tell(&notification);
                Some(notification)
            }
            (ProtocolFamily::Mutable, _) => None,
        }
    }

    /// The open awakeable at this position.
    fn awakeable(&self, place: u32) -> Option<(CommandIndex, &UnansweredCommand)> {
        self.open_as(place).filter(|(_, open)| open.kind == NotificationKind::Signal)
    }

    /// True if the cancellation can be delivered now. In V1 to V3 only an open wait can deliver it.
    pub(crate) fn can_be_cancelled(&self) -> bool {
        !self.cancel_told
            && (self.version.family() == ProtocolFamily::Immutable
                || self.open().any(|(_, open)| is_cancellable(open.kind)))
    }

    /// Records the cancellation. Returns the notifications for the deployment.
    pub(crate) fn cancel(&mut self, now: Timestamp) -> Vec<Notification> {
        self.cancel_told = true;
        self.record(RecordBody::Cancelled, now);
        if self.version.family() == ProtocolFamily::Immutable {
            let notification = Notification::cancel();
            self.tell(&notification);
            return vec![notification];
        }
        let open = self.open().filter(|(_, open)| is_cancellable(open.kind));
        let open: Vec<(CommandIndex, UnansweredCommand)> =
            open.map(|(index, open)| (index, open.clone())).collect();
        let mut told = Vec::new();
        for (index, open) in open {
            if open.wish.is_call()
                && let Some(id) = open.awaits
            {
                self.batch
                    .actions
                    .push(FenceAction { index, act: FenceOperation::CancelLoose { id } });
            }
            told.extend(self.complete(index, cancelled(), now));
        }
        told
    }
}

/// The notification of a signal with this name.
fn signal(name: &str, payload: &Payload) -> Notification {
    let (id, carries) = signals::parse(name);
    let value = || NotificationResult::Value(Bytes::copy_from_slice(payload.as_bytes()));
    let result = match carries {
        SignalContent::Value => value(),
        SignalContent::Nothing => NotificationResult::Void,
        SignalContent::Failure => {
            let value = values::value(&journals::guest_payload(payload));
            NotificationResult::Failure(outcome::told(&values::failure(Some(&value))))
        }
    };
    match id {
        NotificationId::Signal(index) | NotificationId::Completion(index) => {
            Notification::signal(index, result)
        }
        NotificationId::NamedSignal(name) => Notification::named_signal(name, result),
    }
}

/// True if the runtime can deliver a cancellation as the result of such a wait.
fn is_cancellable(kind: NotificationKind) -> bool {
    matches!(
        kind,
        NotificationKind::Sleep
            | NotificationKind::Call
            | NotificationKind::GetPromise
            | NotificationKind::AttachInvocation
            | NotificationKind::Signal
    )
}
