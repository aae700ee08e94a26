//! The results of commands, both as records and as frames for the deployment.

use std::collections::BTreeMap;

use segno_core::{
    id::{CommandIndex, PromiseId},
    invocation::{Outcome, RecordBody, StepResult},
    time::Timestamp,
    value::Payload,
};
use segno_engine::values::journals;
use segno_restate::{
    frame::Frame,
    immutable::{
        Message, Notification, NotificationId, NotificationKind, NotificationOutcome,
        NotificationResult,
    },
    mutable,
    version::ProtocolFamily,
};

use super::{
    super::wish::entry_result,
    ServiceJournal, UnansweredCommand,
    asked::{StoredRequest, place},
};
use crate::deployments::outcome;

impl ServiceJournal {
    /// Records the result of an open command. Returns the notification for the deployment.
    pub(crate) fn complete(
        &mut self,
        index: CommandIndex,
        result: NotificationResult,
        now: Timestamp,
    ) -> Option<Notification> {
        let open = self.open.remove(&index)?;
        self.note_callee(index, &open, &result);
        let stored = outcome::stored(&result);
        let is_own = open.awaits.as_ref() == Some(&self.id.command(index));
        let outcome = match is_own && is_long(&stored) {
            true => Outcome::Own,
            false => Outcome::Inline(stored),
        };
        self.record(RecordBody::Notified { index, outcome }, now);
        let notification = Notification::completion(open.kind, open.completion, result);
        self.tell(&notification).then_some(notification)
    }

    /// Keeps the callee of a one-way call, since later commands may refer to it by its position.
    pub(super) fn note_callee(
        &mut self,
        index: CommandIndex,
        open: &UnansweredCommand,
        told: &NotificationResult,
    ) {
        if let (true, NotificationResult::InvocationId(id)) = (open.wish.is_one_way(), told) {
            self.callees.insert(place(index), PromiseId::from(id.as_str()));
        }
    }

    /// Records a result that the deployment itself provided.
    pub(crate) fn answered(
        &mut self,
        index: CommandIndex,
        result: &NotificationResult,
        now: Timestamp,
    ) {
        let outcome = Outcome::Inline(outcome::stored(result));
        self.record(RecordBody::Notified { index, outcome }, now);
    }

    /// Adds a command: returns its immediate notifications, and keeps it open for the others.
    pub(super) fn asked(&mut self, index: CommandIndex, asked: StoredRequest) -> Vec<Notification> {
        let StoredRequest { frame, wish, awaits } = asked;
        self.frames.push(frame);
        if let Some(callee) = &awaits {
            self.callees.insert(place(index), callee.clone());
        }
        let mut told = Vec::new();
        for wanted in wish.wanted() {
            let (kind, completion) = (wanted.kind, wanted.id);
            if wish.is_call() && kind == NotificationKind::CallInvocationId {
                let id = awaits.as_ref().map(ToString::to_string).unwrap_or_default();
                let result = NotificationResult::InvocationId(id);
                let notification = Notification::completion(kind, completion, result);
                told.extend(self.tell(&notification).then_some(notification));
                continue;
            }
            let early = self.told.get(&completion).filter(|_| kind == NotificationKind::Signal);
            if let Some(result) = early.cloned() {
                let notification = Notification::signal(completion, result);
                self.tell(&notification);
                told.push(notification);
                continue;
            }
            let open =
                UnansweredCommand { kind, completion, awaits: awaits.clone(), wish: wish.clone() };
            self.open.insert(index, open);
        }
        told
    }

    /// The received notifications, with success or failure. Results of commands count whenever they
    /// arrived, signals only after this number of frames.
    pub(crate) fn came(
        &self,
        signals_after: usize,
    ) -> BTreeMap<NotificationId, NotificationOutcome> {
        let frames = self.frames.iter().enumerate();
        let notifications = frames.filter_map(|(place, bytes)| {
            let frame = Frame::from_bytes(bytes)?;
            match Message::decode(&frame, self.version).ok()? {
                Message::Notification(told) => Some((place, told)),
                _ => None,
            }
        });
        let came = notifications.filter(|(place, told)| {
            *place >= signals_after || matches!(told.id, NotificationId::Completion(_))
        });
        came.map(|(_, told)| {
            let settled = if told.is_failure() {
                NotificationOutcome::Failed
            } else {
                NotificationOutcome::Succeeded
            };
            (told.id, settled)
        })
        .collect()
    }

    /// Adds a notification to the frames. Returns false if the deployment cannot receive it.
    pub(super) fn tell(&mut self, notification: &Notification) -> bool {
        if self.version.family() == ProtocolFamily::Immutable {
            let message = Message::Notification(notification.clone());
            self.frames.push(message.encode(self.version).to_bytes());
            return true;
        }
        let (NotificationId::Completion(place) | NotificationId::Signal(place)) = notification.id
        else {
            return false;
        };
        // The id of a callee has an entry of its own in V1 to V3.
        let Some(known) = self.frames.get_mut(place as usize).filter(|_| place > 0) else {
            return false;
        };
        let result = entry_result(&notification.result);
        let completed = Frame::from_bytes(known)
            .and_then(|frame| mutable::message::complete(&frame, &result, self.version).ok());
        if let Some(completed) = &completed {
            *known = completed.to_bytes();
        }
        completed.is_some()
    }
}

fn is_long(result: &StepResult) -> bool {
    let of = |payload: &Payload| payload.as_bytes().len();
    let length = match result {
        StepResult::Empty => 0,
        StepResult::Value(value) => of(value),
        StepResult::Failure { message, details, .. } => {
            message.len() + details.as_ref().map_or(0, of)
        }
    };
    length > journals::INLINE_LIMIT
}
