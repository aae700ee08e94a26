//! Observations of a world.

use std::collections::BTreeSet;

use segno_env::Clock as _;
use segno_restate::{
    frame::Frame,
    immutable::{Command, ErrorMessage, Message, Notification, NotificationId, NotificationResult},
    wire::OperationOutcome,
};
use serde_json::Value as Json;

use super::{World, clock::BEGIN};

impl World {
    /// True if the connection broke as the course demanded.
    pub fn broke(&self) -> bool {
        self.course.breaks_after.is_some_and(|at| self.frames >= at)
    }

    /// Time since the start, in milliseconds.
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.clock.now().0 - BEGIN).expect("time goes forward")
    }

    /// Number of attempts so far.
    pub fn attempts(&self) -> usize {
        self.attempts
    }

    /// Ids of all invocations of a handler, in the order of the calls.
    pub fn called(&self, handler: &str) -> Vec<&str> {
        let of = |id: &&String| self.invocations[*id].handler == handler;
        self.order.iter().filter(of).map(String::as_str).collect()
    }

    /// Outcome of an invocation. `None` if it has not ended.
    pub fn outcome(&self, id: &str) -> Option<&OperationOutcome> {
        self.invocations[id].outcome.as_ref()
    }

    /// Error with which an invocation was paused. `None` if it was not.
    pub fn paused(&self, id: &str) -> Option<&ErrorMessage> {
        self.invocations[id].paused.as_ref()
    }

    /// Value in the state of an object. `None` if there is none.
    ///
    /// # Panics
    /// If the value is not JSON.
    pub fn state(&self, service: &str, key: &str, name: &str) -> Option<Json> {
        let of = self.state.get(&(service.to_owned(), key.to_owned()))?;
        Some(serde_json::from_slice(of.get(name.as_bytes())?).expect("JSON"))
    }

    /// Times that the journal of an invocation records.
    pub fn times(&self, id: &str) -> Vec<i64> {
        let messages = || self.invocations[id].journal.iter().map(|record| self.message(record));
        let runs: BTreeSet<u32> = messages()
            .filter_map(|message| match message {
                Message::Command(Command::Run(run)) if run.name == "segno:time" => {
                    Some(run.result_completion_id)
                }
                _ => None,
            })
            .collect();
        let kept = messages().filter_map(|message| match message {
            Message::Notification(Notification {
                id: NotificationId::Completion(id),
                result: NotificationResult::Value(value),
                ..
            }) if runs.contains(&id) => serde_json::from_slice(&value).ok(),
            _ => None,
        });
        kept.collect()
    }

    /// Types and names of an invocation's commands.
    pub fn commands(&self, id: &str) -> Vec<(u16, String)> {
        let journal = &self.invocations[id].journal;
        let decoded = journal.iter().filter_map(|record| self.decoded(record));
        decoded.map(|command| (command.number(), command.entry_name().to_owned())).collect()
    }

    /// Id of the promise with this name, as the journal records it.
    pub(super) fn awakeable(&self, id: &str, name: &str) -> Option<String> {
        let messages = || self.invocations[id].journal.iter().map(|record| self.message(record));
        let name = format!("segno:promise/{name}");
        let run = messages().find_map(|message| match message {
            Message::Command(Command::Run(run)) if run.name == name => {
                Some(run.result_completion_id)
            }
            _ => None,
        })?;
        let kept = messages().find_map(|message| match message {
            Message::Notification(Notification {
                id: NotificationId::Completion(id),
                result: NotificationResult::Value(value),
                ..
            }) if id == run => Some(value),
            _ => None,
        });
        Some(serde_json::from_slice(&kept?).expect("it is a text"))
    }

    fn message(&self, record: &[u8]) -> Message {
        let frame = Frame::from_bytes(record).expect("a frame");
        Message::decode(&frame, self.course.version).expect("a message")
    }

    fn decoded(&self, record: &[u8]) -> Option<Command> {
        match self.message(record) {
            Message::Command(command) => Some(command),
            _ => None,
        }
    }
}
