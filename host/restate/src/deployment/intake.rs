//! Incoming frames of an attempt: start, replayed journal, notifications.

use super::{
    attempt::{AttemptPhase, DeploymentAttempt},
    state::KnownState,
};
use crate::{
    immutable::{Command, ErrorMessage, Message, Notification, NotificationId, frame_type},
    violation::ProtocolViolation,
};

impl DeploymentAttempt {
    /// Takes a piece of the request. Ignores input after the end of the attempt.
    ///
    /// # Errors
    /// A [`ProtocolViolation`]. The attempt is then over, and the output reports the violation.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), ProtocolViolation> {
        if self.phase == AttemptPhase::Closed {
            return Ok(());
        }
        self.decoder.feed(bytes);
        loop {
            let frame = self.decoder.next_frame().map_err(|refused| {
                ProtocolViolation::of(frame_type(refused.number), refused.to_string())
            });
            let taken = match frame {
                Ok(None) => return Ok(()),
                Ok(Some(frame)) => Message::decode(&frame, self.version)
                    .and_then(|message| self.take_message(message)),
                Err(violation) => Err(violation),
            };
            if let Err(violation) = taken {
                self.fail(ErrorMessage::new(violation.code, violation.to_string()));
                return Err(violation);
            }
        }
    }

    /// Handles the end of the request's body.
    ///
    /// # Errors
    /// A [`ProtocolViolation`] if the journal is incomplete, or a frame is cut off. The attempt is then
    /// over, and the output reports the violation.
    pub fn end_of_input(&mut self) -> Result<(), ProtocolViolation> {
        self.input_ended = true;
        let pending = self.decoder.pending();
        let what = match self.phase {
            AttemptPhase::Closed => return Ok(()),
            AttemptPhase::Start => "the request ended without a start".to_owned(),
            AttemptPhase::Journal(missing) => {
                format!("the request ended with {missing} frames of the journal missing")
            }
            AttemptPhase::Ready if pending > 0 => {
                format!("the request was cut off {pending} bytes into a frame")
            }
            AttemptPhase::Ready => return Ok(()),
        };
        let violation = ProtocolViolation::new(what);
        self.fail(ErrorMessage::new(violation.code, violation.to_string()));
        Err(violation)
    }

    fn take_message(&mut self, message: Message) -> Result<(), ProtocolViolation> {
        let kind = message.frame_type();
        let violation = |what: String| Err(ProtocolViolation::of(kind, what));
        match (self.phase, message) {
            (AttemptPhase::Closed, _) => Ok(()),
            (AttemptPhase::Start, Message::Start(start)) if start.known_entries == 0 => {
                drop(start);
                violation("announces a journal without an input".into())
            }
            (AttemptPhase::Start, Message::Start(start)) => {
                self.state = KnownState::new(start.partial_state, &start.state_map);
                self.phase = AttemptPhase::Journal(start.known_entries);
                self.start = start;
                Ok(())
            }
            (AttemptPhase::Start, _) => violation("comes before the start".into()),
            (AttemptPhase::Journal(missing), message) => {
                match message {
                    Message::Command(Command::Input(input)) if self.next_index == 0 => {
                        self.input = input;
                        self.next_index = 1;
                    }
                    Message::Command(Command::Input(_)) => {
                        return violation("is a second input".into());
                    }
                    Message::Command(_) if self.next_index == 0 => {
                        return violation("comes before the input".into());
                    }
                    Message::Command(command) => {
                        let wanted = command.wanted().into_iter();
                        self.known.extend(wanted.map(|wanted| (wanted.id, wanted.kind)));
                        self.recorded.push_back(command);
                    }
                    Message::Notification(notification) => {
                        self.take_notification(notification)?;
                    }
                    _ => {
                        let what = format!("comes with {missing} frames of the journal missing");
                        return violation(what);
                    }
                }
                let missing = missing - 1;
                self.phase =
                    if missing == 0 { AttemptPhase::Ready } else { AttemptPhase::Journal(missing) };
                if missing == 0 && self.next_index == 0 {
                    return violation("ends a journal without an input".into());
                }
                Ok(())
            }
            (AttemptPhase::Ready, Message::Notification(notification)) => {
                self.take_notification(notification)
            }
            (AttemptPhase::Ready, Message::ProposeRunCompletionAck(ack)) => {
                let completion_id = ack.completion_id;
                let Some(outcome) = self.proposals.remove(&completion_id) else {
                    let what = format!("no outcome was proposed for completion {completion_id}");
                    return violation(what);
                };
                self.take_notification(Notification::run(completion_id, outcome))
            }
            (AttemptPhase::Ready, _) => violation("comes after the journal".into()),
        }
    }

    /// Queues a notification for the handler.
    fn take_notification(&mut self, notification: Notification) -> Result<(), ProtocolViolation> {
        if let NotificationId::Completion(id) = notification.id {
            let kind = frame_type(notification.kind.number());
            match self.known.get(&id) {
                None => {
                    let what = format!("no command asked for completion {id}");
                    return Err(ProtocolViolation::of(kind, what));
                }
                Some(known) if *known != notification.kind => {
                    let what = format!("completion {id} is a {}", known.name());
                    return Err(ProtocolViolation::of(kind, what));
                }
                Some(_) => {}
            }
            if !self.came.insert(id) {
                return Err(ProtocolViolation::of(kind, format!("completion {id} came before")));
            }
            // The notification contains the outcome, so the copy kept for an acknowledgement is not
            // needed.
            self.proposals.remove(&id);
            self.runs.remove(&id);
        }
        self.notifications.push_back(notification);
        Ok(())
    }
}
