//! The runtime of one invocation: the stored journal, and the notifications still to come.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{
    deployment::{DeploymentAttempt, server::RuntimeServer},
    id::AwakeableId,
    immutable::{
        Command, EagerState, Future, Notification, NotificationId, NotificationKind,
        NotificationResult,
    },
    runtime::immutable::CommandAction,
    wire::{OperationOutcome, StartMessage, StateEntry, StateKeys, ValueMessage, Void},
};

/// The invocation in the runtime: its outstanding notifications, and its state.
pub(super) struct SimulatedInvocation {
    pub(super) server: RuntimeServer,
    pub(super) pending: Vec<Notification>,
    pub(super) state: BTreeMap<Bytes, Bytes>,
    /// True if the runtime sends the state with the start.
    pub(super) eager: bool,
    /// The stored outcomes of runs, by completion id.
    pub(super) runs: BTreeMap<u32, OperationOutcome>,
    pub(super) ended: bool,
    /// The wait that ended the attempt, and if it was ready for another attempt.
    pub(super) suspended: Option<(Future, bool)>,
}

impl SimulatedInvocation {
    pub(super) fn act(&mut self, action: &CommandAction) {
        match action {
            CommandAction::Append { command, .. } => self.asked(command),
            CommandAction::ProposeRun { completion_id, outcome, .. } => {
                self.pending.push(Notification::run(*completion_id, outcome.clone()));
            }
            CommandAction::Suspend(suspended) => {
                self.suspended = Some((suspended.awaiting.clone(), suspended.ready));
            }
            CommandAction::Ended => self.ended = true,
            CommandAction::AwaitingOn(_) => {}
            CommandAction::ReadState { .. } | CommandAction::Failed(_) => panic!("{action:?}"),
        }
    }

    fn asked(&mut self, command: &Command) {
        match command {
            Command::SetState(set) => {
                let value = set.value.clone().unwrap().content;
                self.state.insert(set.key.clone(), value);
            }
            Command::ClearState(clear) => drop(self.state.remove(&clear.key)),
            Command::ClearAllState(_) => self.state.clear(),
            // An eager read must match the runtime's state.
            Command::GetEagerState(get) => {
                let content = self.state.get(&get.key).cloned();
                let expected = match content {
                    Some(content) => EagerState::Value(ValueMessage { content }),
                    None => EagerState::Void(Void {}),
                };
                assert_eq!(get.result, Some(expected));
            }
            Command::GetEagerStateKeys(get) => {
                let keys = self.state.keys().cloned().collect();
                assert_eq!(get.value, Some(StateKeys { keys }));
            }
            Command::CompleteAwakeable(complete) => {
                let id: AwakeableId = complete.awakeable_id.parse().unwrap();
                if id.index > 0 {
                    let value = NotificationResult::Value(complete.name.clone().into());
                    self.pending.push(Notification::signal(id.index, value));
                }
            }
            _ => {}
        }
        for wanted in command.wanted() {
            let value = || NotificationResult::Value(command.entry_name().to_owned().into());
            let result = match wanted.kind {
                NotificationKind::Run => continue,
                NotificationKind::LazyState => {
                    let Command::GetLazyState(get) = command else { panic!("{command:?}") };
                    self.state
                        .get(&get.key)
                        .cloned()
                        .map_or(NotificationResult::Void, NotificationResult::Value)
                }
                NotificationKind::LazyStateKeys => {
                    NotificationResult::StateKeys(self.state.keys().cloned().collect())
                }
                NotificationKind::Sleep => NotificationResult::Void,
                NotificationKind::CallInvocationId => {
                    NotificationResult::InvocationId(command.entry_name().to_owned())
                }
                _ => value(),
            };
            self.pending.push(Notification::completion(wanted.kind, wanted.id, result));
        }
    }

    /// Stores one outstanding notification. Returns it with the bytes to send.
    pub(super) fn store(&mut self, which: usize) -> (Notification, Bytes) {
        let notification = self.pending.remove(which % self.pending.len());
        if let (NotificationKind::Run, NotificationId::Completion(id)) =
            (notification.kind, &notification.id)
        {
            let NotificationResult::Value(value) = notification.result.clone() else {
                panic!("runs succeed");
            };
            let before = self.runs.insert(*id, OperationOutcome::Success(value));
            assert_eq!(before, None, "a run has one outcome");
        }
        let bytes = self.server.store(notification.clone());
        (notification, bytes)
    }

    pub(super) fn again(&mut self) -> DeploymentAttempt {
        // A proposal that was not stored is lost with its attempt.
        self.pending.retain(|notification| notification.kind != NotificationKind::Run);
        let entries = self
            .state
            .iter()
            .map(|(key, value)| StateEntry { key: key.clone(), value: value.clone() });
        let state_map = if self.eager { entries.collect() } else { Vec::new() };
        let start = std::mem::take(&mut self.server.start);
        self.server.start = StartMessage { state_map, partial_state: !self.eager, ..start };
        self.server.again()
    }
}
