//! The journal of one invocation in a test: it answers commands, keeps them in order, and passes
//! them to the world.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    bindings::segno::workflow::types as wit,
    function::{Entry, announced},
    journal::{Issued, Journal, Request},
    log::Level,
};

/// One line of a journal.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Record {
    Asked(Request),
    Ran(String),
    Told { at_ms: u64, event: wit::Event },
    Finished(wit::Outcome),
}

/// State shared by all invocations of one test.
#[derive(Default)]
pub(super) struct Common {
    pub(super) logs: Vec<(Level, String)>,
    /// Called functions of the crate under test, by name.
    pub(super) learned: BTreeMap<&'static str, Entry>,
}

/// Work that an invocation passes to the world.
pub(super) enum Todo {
    Command(u32, Request),
    Ran(u32, wit::Outcome),
    Finished(wit::Outcome),
}

pub(super) struct Recorder {
    invocation: String,
    key: Option<String>,
    common: Arc<Mutex<Common>>,
    state: Mutex<State>,
}

struct State {
    now_ms: u64,
    replaying: bool,
    next_index: u32,
    records: Vec<Record>,
    todo: VecDeque<Todo>,
    forgotten: BTreeSet<u32>,
    finished: bool,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    pub(super) fn new(
        invocation: &str,
        key: Option<String>,
        now_ms: u64,
        replaying: bool,
        common: &Arc<Mutex<Common>>,
    ) -> Arc<Self> {
        let state = State {
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

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Records that `event` is about to be delivered to the workflow.
    pub(super) fn tell(&self, at_ms: u64, event: &wit::Event) {
        let mut state = self.state();
        state.now_ms = at_ms;
        state.records.push(Record::Told { at_ms, event: event.clone() });
    }

    pub(super) fn next_todo(&self) -> Option<Todo> {
        self.state().todo.pop_front()
    }

    pub(super) fn records(&self) -> Vec<Record> {
        self.state().records.clone()
    }

    /// Number of issued commands.
    pub(super) fn length(&self) -> u32 {
        self.state().next_index
    }

    pub(super) fn is_forgotten(&self, command: u32) -> bool {
        self.state().forgotten.contains(&command)
    }
}

impl State {
    fn issue(&mut self, record: Record) -> Option<u32> {
        if self.finished {
            return None;
        }
        self.records.push(record);
        let index = self.next_index;
        self.next_index += 1;
        Some(index)
    }
}

impl Journal for Recorder {
    fn issue(&self, request: Request) -> Issued {
        let mut state = self.state();
        let index = state.issue(Record::Asked(request.clone())).unwrap_or(u32::MAX);
        let promise = match &request {
            Request::Promise { name: Some(name), .. } => {
                Some(format!("{}/p/{name}", self.invocation))
            }
            _ => None,
        };
        if index != u32::MAX {
            state.todo.push_back(Todo::Command(index, request));
        }
        Issued { index, promise }
    }

    fn run(&self, name: &str) -> wit::RunAnswer {
        let mut state = self.state();
        let index = state.issue(Record::Ran(name.to_owned())).unwrap_or(u32::MAX);
        if state.replaying {
            wit::RunAnswer::Recorded(index)
        } else {
            wit::RunAnswer::Execute(index)
        }
    }

    fn run_done(&self, command: u32, outcome: &wit::Outcome) {
        self.state().todo.push_back(Todo::Ran(command, outcome.clone()));
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
        let mut state = self.state();
        state.finished = true;
        state.records.push(Record::Finished(outcome.clone()));
        state.todo.push_back(Todo::Finished(outcome.clone()));
    }

    fn learn(&self, entry: &dyn Any) {
        let entry = announced(entry);
        lock(&self.common).learned.insert(entry.name, entry);
    }
}
