//! The journal of an attempt: number of commands, and progress of their notifications.

use std::collections::{BTreeMap, BTreeSet};

use super::action::CommandAction;
use crate::{
    immutable::{
        Command, Message, Notification, NotificationId, NotificationKind, ProposeRunCompletion,
        frame_type,
    },
    violation::ProtocolViolation,
};

/// Bookkeeping of the journal.
#[derive(Debug, Default)]
pub(super) struct JournalBookkeeping {
    /// Number of commands.
    pub(super) commands: u32,
    /// True if there is an output.
    pub(super) output: bool,
    /// Highest completion id so far.
    last_completion_id: u32,
    asked: BTreeMap<u32, RequestedCompletion>,
}

/// The requester and progress of a completion id.
#[derive(Debug)]
struct RequestedCompletion {
    kind: NotificationKind,
    /// Index of the requesting command.
    index: u32,
    progress: CompletionProgress,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompletionProgress {
    /// No notification has arrived.
    Open,
    /// The deployment proposed the outcome of a run.
    Proposed { requires_ack: bool },
    /// The notification was sent.
    Told,
    /// The notification arrived too late to be sent.
    Untold,
}

/// The ways in which a wait can end.
#[derive(Debug, Default)]
pub(super) struct WaitOutlook {
    /// True if a notification has not been sent yet.
    pub(super) possible: bool,
    /// True if a run has no outcome; only another attempt can execute it.
    pub(super) run: bool,
}

impl JournalBookkeeping {
    /// Adds a command to the journal and returns its index.
    pub(super) fn record(&mut self, command: &Command) -> Result<u32, ProtocolViolation> {
        let index = self.commands;
        let violation = |what| ProtocolViolation::of(frame_type(command.number()), what).at(index);
        if matches!(command, Command::Input(_)) {
            return Err(violation("is written by the runtime alone".to_owned()));
        }
        if self.output {
            return Err(violation("comes after the output".to_owned()));
        }
        let wanted = command.wanted();
        let mut last = self.last_completion_id;
        for (position, one) in wanted.iter().enumerate() {
            let id = one.id;
            if id <= self.last_completion_id {
                let last = self.last_completion_id;
                let what = format!("has the completion id {id}, which must be above {last}");
                return Err(violation(what));
            }
            if wanted[..position].iter().any(|other| other.id == id) {
                return Err(violation(format!("has the completion id {id} twice")));
            }
            last = last.max(id);
        }
        self.last_completion_id = last;
        for one in wanted {
            let asked =
                RequestedCompletion { kind: one.kind, index, progress: CompletionProgress::Open };
            self.asked.insert(one.id, asked);
        }
        self.output = matches!(command, Command::Output(_));
        self.commands += 1;
        Ok(index)
    }

    /// Adds a notification to the journal. Returns the previous progress of its completion id.
    pub(super) fn settle(
        &mut self,
        notification: &Notification,
        closed: bool,
    ) -> Result<CompletionProgress, ProtocolViolation> {
        let NotificationId::Completion(id) = notification.id else {
            return Ok(CompletionProgress::Open);
        };
        let kind = frame_type(notification.kind.number());
        let Some(asked) = self.asked.get_mut(&id) else {
            return Err(ProtocolViolation::of(
                kind,
                format!("no command asked for completion {id}"),
            ));
        };
        let violation = |what| ProtocolViolation::of(kind, what).at(asked.index);
        if asked.kind != notification.kind {
            let expected = asked.kind.name();
            return Err(violation(format!("completion {id} is a {expected}")));
        }
        let before = asked.progress;
        if matches!(before, CompletionProgress::Told | CompletionProgress::Untold) {
            return Err(violation(format!("completion {id} came before")));
        }
        asked.progress = if closed { CompletionProgress::Untold } else { CompletionProgress::Told };
        Ok(before)
    }

    /// Adds a proposed outcome of a run.
    pub(super) fn propose(
        &mut self,
        proposal: ProposeRunCompletion,
        requires_ack: bool,
    ) -> Result<CommandAction, ProtocolViolation> {
        let completion_id = proposal.result_completion_id;
        let outcome = proposal.result.clone().expect("a proposal without a result is not decoded");
        let kind = Message::ProposeRunCompletion(proposal).frame_type();
        let Some(asked) = self.asked.get_mut(&completion_id) else {
            let what = format!("no run has the completion id {completion_id}");
            return Err(ProtocolViolation::of(kind, what));
        };
        let violation = |what| ProtocolViolation::of(kind, what).at(asked.index);
        if asked.kind != NotificationKind::Run {
            return Err(violation(format!("completion {completion_id} is not of a run")));
        }
        if asked.progress != CompletionProgress::Open {
            return Err(violation(format!("the run {completion_id} has its outcome already")));
        }
        asked.progress = CompletionProgress::Proposed { requires_ack };
        Ok(CommandAction::ProposeRun { completion_id, outcome: outcome.into(), requires_ack })
    }

    /// Determines how a wait for these notifications can end.
    ///
    /// # Errors
    /// The fault of the wait, as a clause.
    pub(super) fn hope(&self, leaves: &BTreeSet<NotificationId>) -> Result<WaitOutlook, String> {
        if leaves.is_empty() {
            return Err("waits for nothing".to_owned());
        }
        let mut hope = WaitOutlook::default();
        for leaf in leaves {
            match leaf {
                NotificationId::Signal(0) => return Err("waits for signal 0".to_owned()),
                NotificationId::Signal(_) | NotificationId::NamedSignal(_) => hope.possible = true,
                NotificationId::Completion(id) => {
                    let Some(asked) = self.asked.get(id) else {
                        return Err(format!("waits for {leaf}, which no command asked for"));
                    };
                    hope.possible |= asked.progress != CompletionProgress::Told;
                    hope.run |= asked.kind == NotificationKind::Run
                        && asked.progress == CompletionProgress::Open;
                }
            }
        }
        Ok(hope)
    }
}
