//! The journal of one invocation in a test: it answers commands, keeps them in order, and passes
//! them to the world.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{budgets::TestBudgets, streams::TestStreams};
use crate::{
    bindings::segno::workflow::types as wit,
    function::{Entry, announced},
    journal::{CommandJournal, CommandReceipt, GenerationStart, WorkflowCommand},
    log::Level,
};

/// One line of a journal.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TestRecord {
    Asked(WorkflowCommand),
    Ran(String),
    Told {
        at_ms: u64,
        event: wit::Event,
    },
    /// Numbers of signals that were never received.
    Unread(Vec<u32>),
    Continued(GenerationStart),
    Finished(wit::Outcome),
    /// The end of a generation that has a next one.
    HandedOver,
}

/// State shared by all invocations of one test.
#[derive(Default)]
pub(super) struct TestState {
    pub(super) logs: Vec<(Level, String)>,
    /// Called functions of the crate under test, by name.
    pub(super) learned: BTreeMap<&'static str, Entry>,
    pub(super) streams: TestStreams,
    pub(super) budgets: TestBudgets,
}

/// Work that an invocation passes to the world.
pub(super) enum WorldRequest {
    Command(u32, WorkflowCommand),
    Ran(u32, wit::Outcome),
    Finished(wit::Outcome),
    Continued(GenerationStart),
}

pub(super) struct TestRecorder {
    invocation: String,
    key: Option<String>,
    common: Arc<Mutex<TestState>>,
    state: Mutex<RecorderState>,
}

struct RecorderState {
    now_ms: u64,
    replaying: bool,
    next_index: u32,
    records: Vec<TestRecord>,
    todo: VecDeque<WorldRequest>,
    forgotten: BTreeSet<u32>,
    finished: bool,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TestRecorder {
    pub(super) fn new(
        invocation: &str,
        key: Option<String>,
        now_ms: u64,
        replaying: bool,
        common: &Arc<Mutex<TestState>>,
    ) -> Arc<Self> {
        let state = RecorderState {
            now_ms,
            replaying,
            next_index: 0,
            records: Vec::new(),
            todo: VecDeque::new(),
            forgotten: BTreeSet::new(),
            finished: false,
        };
        Arc::new(Self {
            invocation: invocation.to_owned(),
            key,
            common: common.clone(),
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, RecorderState> {
        lock(&self.state)
    }

    /// Records that `event` is about to be delivered to the workflow.
    pub(super) fn tell(&self, at_ms: u64, event: &wit::Event) {
        let mut state = self.state();
        state.now_ms = at_ms;
        state.records.push(TestRecord::Told { at_ms, event: event.clone() });
    }

    pub(super) fn next_todo(&self) -> Option<WorldRequest> {
        self.state().todo.pop_front()
    }

    pub(super) fn records(&self) -> Vec<TestRecord> {
        self.state().records.clone()
    }

    fn end(&self, record: TestRecord, request: WorldRequest) {
        let mut state = self.state();
        state.finished = true;
        state.records.push(record);
        state.todo.push_back(request);
    }

    /// Number of issued commands.
    pub(super) fn length(&self) -> u32 {
        self.state().next_index
    }

    pub(super) fn is_forgotten(&self, command: u32) -> bool {
        self.state().forgotten.contains(&command)
    }
}

impl RecorderState {
    fn issue(&mut self, record: TestRecord) -> Option<u32> {
        if self.finished {
            return None;
        }
        self.records.push(record);
        let index = self.next_index;
        self.next_index += 1;
        Some(index)
    }
}

impl CommandJournal for TestRecorder {
    fn issue(&self, request: WorkflowCommand) -> CommandReceipt {
        let mut state = self.state();
        let index = state.issue(TestRecord::Asked(request.clone())).unwrap_or(u32::MAX);
        let promise = match &request {
            WorkflowCommand::Promise { name: Some(name), .. } => {
                Some(format!("{}/p/{name}", self.invocation))
            }
            _ => None,
        };
        if index != u32::MAX {
            state.todo.push_back(WorldRequest::Command(index, request));
        }
        CommandReceipt { index, promise }
    }

    fn run(&self, name: &str) -> wit::RunAnswer {
        let mut state = self.state();
        let index = state.issue(TestRecord::Ran(name.to_owned())).unwrap_or(u32::MAX);
        if state.replaying {
            wit::RunAnswer::Recorded(index)
        } else {
            wit::RunAnswer::Execute(index)
        }
    }

    fn run_done(&self, command: u32, outcome: &wit::Outcome) {
        self.state().todo.push_back(WorldRequest::Ran(command, outcome.clone()));
    }

    fn forget(&self, command: u32) {
        self.state().forgotten.insert(command);
    }

    fn now(&self) -> u64 {
        self.state().now_ms
    }

    fn key(&self) -> String {
        self.key.clone().expect("only a function of an object has a key")
    }

    fn log(&self, level: wit::Level, message: &str) {
        if !self.state().replaying {
            lock(&self.common).logs.push((level.into(), message.to_owned()));
        }
    }

    fn finish(&self, outcome: &wit::Outcome) {
        self.end(TestRecord::Finished(outcome.clone()), WorldRequest::Finished(outcome.clone()));
    }

    fn unread(&self, signals: &[u32]) {
        self.state().issue(TestRecord::Unread(signals.to_vec()));
    }

    fn continue_as_new(&self, next: &GenerationStart) {
        self.state().issue(TestRecord::Continued(next.clone()));
        self.end(TestRecord::HandedOver, WorldRequest::Continued(next.clone()));
    }

    fn learn(&self, entry: &dyn Any) {
        let entry = announced(entry);
        lock(&self.common).learned.insert(entry.name, entry);
    }
}
