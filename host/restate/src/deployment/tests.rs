//! An attempt against the runtime's side of the protocol: recorded conversations, notifications,
//! divergences, and refusals.

mod conversations;
mod divergences;
mod refusals;
mod told;

use super::{server::RuntimeServer, *};
use crate::{
    ProtocolVersion::{self, *},
    failure,
    frame::Frame,
    immutable::{
        Call, Command, ErrorBehavior, ErrorMessage, Future, InvocationTarget, Message,
        Notification, NotificationId, NotificationKind, NotificationResult, OneWayCall, Output,
        OutputResult, SignalKey, SignalResult,
    },
    runtime::immutable::CommandAction,
    wire::{
        Failure, FailureMetadata, OperationOutcome, StartMessage, StateEntry, ValueMessage,
        WorkflowTarget,
    },
};

/// A start frame as a server sends it for a plain service.
fn start() -> StartMessage {
    StartMessage {
        id: vec![7; 24].into(),
        debug_id: "inv_1".into(),
        partial_state: true,
        since_last_entry_ms: 1,
        random_seed: 1,
        ..StartMessage::default()
    }
}

/// A start frame for an object with its complete state.
fn object(entries: &[(&'static str, &'static str)]) -> StartMessage {
    let entry = |(key, value): &(&'static str, &'static str)| StateEntry {
        key: (*key).into(),
        value: (*value).into(),
    };
    let state_map = entries.iter().map(entry).collect();
    StartMessage { partial_state: false, key: "k1".into(), state_map, ..start() }
}

fn success(value: &'static str) -> OperationOutcome {
    OperationOutcome::Success(value.into())
}

fn value(value: &'static str) -> NotificationResult {
    NotificationResult::Value(value.into())
}

fn completion(kind: NotificationKind, id: u32, result: NotificationResult) -> Notification {
    Notification::completion(kind, id, result)
}

fn wait(id: u32) -> Future {
    Future::first_of([NotificationId::Completion(id), NotificationId::Signal(1)])
}

/// Compares the sent frames with `(side, type, fields)`.
fn sent(server: &RuntimeServer, expected: &[(char, u16, &[u32])]) {
    let actual: Vec<_> = server
        .trace
        .iter()
        .map(|(side, number, fields)| format!("{side} {number:04x} {fields:?}"))
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(side, number, fields)| format!("{side} {number:04x} {fields:?}"))
        .collect();
    assert_eq!(actual, expected);
}

const START: (char, u16, &[u32]) = ('R', 0x0000, &[1, 2, 3, 5, 8, 9]);
const INPUT: (char, u16, &[u32]) = ('R', 0x0400, &[14]);
const END: (char, u16, &[u32]) = ('S', 0x0003, &[]);

fn other_call(change: impl FnOnce(&mut Call)) -> Call {
    let mut call = Call {
        service_name: "S".into(),
        handler_name: "h".into(),
        parameter: "1".into(),
        key: "k".into(),
        ..Call::default()
    };
    change(&mut call);
    call
}
