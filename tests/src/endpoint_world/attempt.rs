//! One attempt: the endpoint on one side, the runtime's side of the protocol on the other.

use bytes::Bytes;
use futures::StreamExt as _;
use segno_core::time::Millis;
use segno_env::Clock as _;
use segno_restate::{
    StartMessage,
    immutable::{ErrorBehavior, Message, Notification},
    runtime::immutable::{CommandAction, ImmutableRuntimeAttempt as Runtime},
    wire::StateEntry,
};

use super::{World, body::Body};

/// Maximum number of attempts in one world. More mean an endless loop.
const ATTEMPTS: usize = 2_000;

/// An attempt in progress.
struct Live {
    id: String,
    runtime: Runtime,
    body: Body,
    is_over: bool,
}

impl Live {
    fn half_close(&mut self) {
        self.runtime.half_close();
        self.body.end();
    }
}

impl World {
    /// Runs one attempt until it ends or its connection breaks.
    pub(super) async fn attempt(&mut self, id: &str) {
        self.attempts += 1;
        assert!(self.attempts < ATTEMPTS, "it goes round in circles at `{id}`");
        let version = self.course.version;
        let it = self.invocations.get_mut(id).expect("it exists");
        it.waits = None;
        // Notifications from before the attempt belong in its journal.
        for notification in it.pending.drain(..) {
            it.journal.push(Message::Notification(notification).encode(version).to_bytes());
        }
        let state = self.state.get(&(it.service.clone(), it.key.clone()));
        let sends_state = self.course.sends_state && !it.key.is_empty();
        let entries = state
            .into_iter()
            .flatten()
            .map(|(key, value)| StateEntry { key: key.clone(), value: value.clone() });
        let start = StartMessage {
            id: id.to_owned().into(),
            debug_id: id.to_owned(),
            state_map: if sends_state { entries.collect() } else { Vec::new() },
            partial_state: !sends_state,
            key: it.key.clone(),
            retry_count: it.failed,
            random_seed: 7,
            ..StartMessage::default()
        };
        let records = it.journal.iter().map(|record| &record[..]);
        let (runtime, first) =
            Runtime::open(version, start, records).expect("the journal is whole");
        let handler = self.endpoint.offer.handler(&it.service, &it.handler);
        let handler = handler.expect("services that are called exist").clone();
        let body = Body::default();
        let attempt = self.endpoint.attempt(&handler, version, body.clone().boxed());
        let mut live = Live { id: id.to_owned(), runtime, body, is_over: false };
        live.body.send(&first);
        if self.course.is_request_response {
            live.half_close();
        }
        let mut attempt = Box::pin(futures::stream::unfold(attempt, async |mut attempt| {
            let bytes = attempt.next().await?;
            Some((bytes, attempt))
        }));
        while !live.is_over {
            tokio::select! {
                biased;
                bytes = attempt.next() => {
                    let Some(bytes) = bytes else {
                        panic!("the attempt at `{id}` ended without a last frame");
                    };
                    if self.received(&mut live, bytes) {
                        return;
                    }
                }
                () = live.body.starved() => {
                    let it = self.invocations.get_mut(id).expect("it exists");
                    match it.pending.pop_front() {
                        Some(notification) => {
                            let bytes = live.runtime.notify(&notification).expect("it was asked for");
                            let record = Message::Notification(notification).encode(version);
                            it.journal.push(record.to_bytes());
                            live.body.send(&bytes);
                        }
                        None if !live.body.has_ended() => live.half_close(),
                        None => panic!("`{id}` neither goes on nor suspends"),
                    }
                }
            }
        }
    }

    /// Handles the output of the endpoint, frame by frame. Returns true if the connection broke.
    fn received(&mut self, live: &mut Live, mut bytes: Bytes) -> bool {
        while !bytes.is_empty() {
            let length = u32::from_be_bytes(bytes[4..8].try_into().expect("four bytes")) as usize;
            let frame = bytes.split_to(8 + length);
            for action in live.runtime.receive(&frame).expect("an endpoint keeps the protocol") {
                self.acted(live, action);
            }
            self.frames += 1;
            if self.course.breaks_after == Some(self.frames) {
                return true;
            }
        }
        false
    }

    fn acted(&mut self, live: &mut Live, action: CommandAction) {
        let id = live.id.clone();
        match action {
            CommandAction::Append { command, record, .. } => {
                let it = self.invocations.get_mut(&id).expect("it exists");
                it.journal.push(record);
                it.failed = 0;
                self.asked(&id, command);
            }
            CommandAction::ProposeRun { completion_id, outcome, .. } => {
                // Stores the result on arrival, and notifies the endpoint.
                let notification = Notification::run(completion_id, outcome);
                let bytes = live.runtime.notify(&notification).expect("it was asked for");
                let record = Message::Notification(notification).encode(self.course.version);
                let it = self.invocations.get_mut(&id).expect("it exists");
                it.journal.push(record.to_bytes());
                live.body.send(&bytes);
            }
            CommandAction::AwaitingOn(_) => {}
            CommandAction::ReadState { .. } => panic!("no endpoint asks for that"),
            CommandAction::Suspend(suspended) => {
                let it = self.invocations.get_mut(&id).expect("it exists");
                it.waits = (!suspended.ready).then_some(suspended.awaiting);
                live.is_over = true;
            }
            CommandAction::Failed(error) => {
                let it = self.invocations.get_mut(&id).expect("it exists");
                it.failed += 1;
                let delay = error.next_retry_delay_ms.unwrap_or(100);
                let delay = Millis(i64::try_from(delay).expect("a short delay"));
                it.retry_at = Some(self.clock.now() + delay);
                let pause = error.behavior == i32::from(ErrorBehavior::Pause) || it.failed > 20;
                it.paused = pause.then(|| error.clone());
                self.failures.push(error);
                live.is_over = true;
            }
            CommandAction::Ended => live.is_over = true,
        }
    }
}
