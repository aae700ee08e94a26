//! The state of one running invocation: unanswered commands and unread events. It knows futures
//! only by their wakers.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use chacha20::{ChaCha12Rng, rand_core::SeedableRng};

use crate::{
    bindings::segno::workflow::types as wit,
    error::Error,
    journal::{CommandJournal, CommandReceipt, GenerationStart, WorkflowCommand},
    saga::InvocationSagas,
    shared::SharedSlot,
};

/// The state of the invocation, shared by its context and by all futures that wait on it.
pub(crate) struct CurrentInvocation {
    pub(crate) facts: wit::Context,
    pub(crate) journal: Arc<dyn CommandJournal>,
    seed: [u8; 32],
    state: Mutex<CurrentState>,
    sagas: Mutex<InvocationSagas>,
    /// The value that the workflow shares with its queries and updates.
    slot: Mutex<Option<SharedSlot>>,
}

struct CurrentState {
    /// Commands with a handle.
    open: BTreeMap<u32, CommandWait>,
    /// Futures that wait for a signal or a change of the shared value, in the order in which they
    /// began to wait.
    listeners: BTreeMap<u64, EventListener>,
    next_listener: u64,
    /// Unread signals, with their numbers among all received ones.
    signals: VecDeque<(u32, wit::Signal)>,
    /// Number of signals and updates received.
    heard: u32,
    /// Names of the streams that were closed.
    closed_streams: BTreeSet<String>,
    /// The next generation, used if the workflow ends with the error that continues as new.
    next: Option<GenerationStart>,
    updates: UnansweredUpdates,
    random: ChaCha12Rng,
    running: Option<RunningClosure>,
    cancelled: bool,
    finished: bool,
}

#[derive(Default)]
struct CommandWait {
    waker: Option<Waker>,
    outcome: Option<wit::Outcome>,
}

#[derive(Default)]
struct EventListener {
    waker: Option<Waker>,
    cancelled: bool,
}

/// Updates that were accepted.
#[derive(Default)]
struct UnansweredUpdates {
    unanswered: usize,
    /// True while the handler of an update is polled.
    is_polled: bool,
    /// Futures that wait until all are answered.
    wakers: Vec<Waker>,
}

/// A `run` closure in execution.
struct RunningClosure {
    name: String,
    random: ChaCha12Rng,
    /// Handles dropped by the closure; the host is notified when the closure has ended.
    forgotten: Vec<u32>,
}

impl CurrentInvocation {
    pub(crate) fn new(facts: wit::Context, journal: Arc<dyn CommandJournal>) -> Arc<Self> {
        let mut seed = [0; 32];
        for (place, byte) in seed.iter_mut().zip(&facts.seed) {
            *place = *byte;
        }
        let state = CurrentState {
            open: BTreeMap::new(),
            listeners: BTreeMap::new(),
            next_listener: 0,
            signals: VecDeque::new(),
            heard: 0,
            closed_streams: BTreeSet::new(),
            next: None,
            updates: UnansweredUpdates::default(),
            random: ChaCha12Rng::from_seed(seed),
            running: None,
            cancelled: false,
            finished: false,
        };
        Arc::new(Self {
            facts,
            journal,
            seed,
            state: Mutex::new(state),
            sagas: Mutex::default(),
            slot: Mutex::default(),
        })
    }

    pub(crate) fn sagas(&self) -> MutexGuard<'_, InvocationSagas> {
        self.sagas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn slot(&self) -> MutexGuard<'_, Option<SharedSlot>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a stream as closed. Returns false if it was closed before.
    pub(crate) fn close_stream(&self, name: &str) -> bool {
        self.state().closed_streams.insert(name.to_owned())
    }

    pub(crate) fn is_stream_closed(&self, name: &str) -> bool {
        self.state().closed_streams.contains(name)
    }

    fn state(&self) -> MutexGuard<'_, CurrentState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses `what` while a closure runs: closures may only compute.
    pub(crate) fn refuse_inside_run(&self, what: impl FnOnce() -> String) {
        let running = self.state().running.as_ref().map(|running| running.name.clone());
        if let Some(name) = running {
            let what = what();
            panic!(
                "{what} inside the closure of run `{name}`: a closure only computes; make this step outside of it"
            );
        }
    }

    /// Issues a command; its answer is kept until it is read or the handle is dropped.
    pub(crate) fn issue(&self, mut request: WorkflowCommand) -> CommandReceipt {
        self.refuse_inside_run(|| request.describe());
        let step = request.step().map(|step| {
            self.sagas().place(step);
            step.clone()
        });
        let issued = self.journal.issue(request);
        if let Some(step) = step {
            self.sagas().issued(issued.index, step);
        }
        self.state().open.insert(issued.index, CommandWait::default());
        issued
    }

    /// Issues a command that is complete with its record and has no answer.
    pub(crate) fn write(&self, request: WorkflowCommand) {
        self.refuse_inside_run(|| request.describe());
        self.journal.issue(request);
    }

    /// Issues a `run`: executes `closure` unless its result is recorded. Returns the command's
    /// index.
    pub(crate) fn run(&self, name: &str, closure: impl FnOnce() -> wit::Outcome) -> u32 {
        self.refuse_inside_run(|| format!("run `{name}`"));
        let index = match self.journal.run(name) {
            wit::RunAnswer::Recorded(index) => index,
            wit::RunAnswer::Execute(index) => {
                let mut random = ChaCha12Rng::from_seed(self.seed);
                random.set_stream(u64::from(index) + 1);
                self.state().running =
                    Some(RunningClosure { name: name.to_owned(), random, forgotten: Vec::new() });
                let outcome = closure();
                let running = self.state().running.take();
                self.journal.run_done(index, &outcome);
                for command in running.into_iter().flat_map(|running| running.forgotten) {
                    self.journal.forget(command);
                }
                index
            }
        };
        self.state().open.insert(index, CommandWait::default());
        index
    }

    /// Polls the answer of an issued command. After `Ready`, the command is forgotten here.
    pub(crate) fn poll_command(&self, index: u32, waker: &Waker) -> Poll<wit::Outcome> {
        let mut state = self.state();
        let wait = state.open.get_mut(&index).expect("a handle exists only for an open command");
        match wait.outcome.take() {
            Some(outcome) => {
                state.open.remove(&index);
                Poll::Ready(outcome)
            }
            None => {
                wait.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    /// Notes that the handle of this command was dropped.
    pub(crate) fn let_go(&self, index: u32) {
        let mut state = self.state();
        let Some(wait) = state.open.remove(&index) else { return };
        if wait.outcome.is_some() || state.finished {
            return;
        }
        match &mut state.running {
            Some(running) => running.forgotten.push(index),
            None => {
                drop(state);
                self.forget(index);
            }
        }
    }

    /// Tells the host that no future awaits this command. Commands of a saga are excluded: it needs
    /// the outcomes of its steps.
    fn forget(&self, index: u32) {
        if !self.sagas().has(index) {
            self.journal.forget(index);
        }
    }

    pub(crate) fn add_listener(&self) -> u64 {
        let mut state = self.state();
        let key = state.next_listener;
        state.next_listener += 1;
        state.listeners.insert(key, EventListener::default());
        key
    }

    pub(crate) fn remove_listener(&self, key: u64) {
        self.state().listeners.remove(&key);
    }

    /// Polls for the oldest unread signal, with this name if one is given.
    pub(crate) fn poll_signal(
        &self,
        key: u64,
        name: Option<&str>,
        waker: &Waker,
    ) -> Poll<Result<wit::Signal, Error>> {
        let mut state = self.state();
        let fits = |(_, signal): &(u32, wit::Signal)| name.is_none_or(|name| signal.name == name);
        let place = state.signals.iter().position(fits);
        let taken = place.and_then(|place| state.signals.remove(place));
        let listener =
            state.listeners.get_mut(&key).expect("a listener is removed only when it is dropped");
        if std::mem::take(&mut listener.cancelled) {
            if let Some(signal) = taken {
                state.signals.push_front(signal);
            }
            return Poll::Ready(Err(Error::invocation_cancelled()));
        }
        match taken {
            Some((_, signal)) => {
                listener.waker = None;
                Poll::Ready(Ok(signal))
            }
            None => {
                listener.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    /// Polls a condition that is evaluated again at every change of the shared value.
    pub(crate) fn poll_condition(
        &self,
        key: u64,
        holds: bool,
        waker: &Waker,
    ) -> Poll<Result<(), Error>> {
        let mut state = self.state();
        let listener =
            state.listeners.get_mut(&key).expect("a listener is removed only when it is dropped");
        if std::mem::take(&mut listener.cancelled) {
            return Poll::Ready(Err(Error::invocation_cancelled()));
        }
        match holds {
            true => {
                listener.waker = None;
                Poll::Ready(Ok(()))
            }
            false => {
                listener.waker = Some(waker.clone());
                Poll::Pending
            }
        }
    }

    /// Notes that an update was accepted.
    pub(crate) fn update_accepted(&self) {
        self.state().updates.unanswered += 1;
    }

    /// The number of the signal or update that was just received.
    pub(crate) fn heard(&self) -> u32 {
        let mut state = self.state();
        state.heard += 1;
        state.heard - 1
    }

    /// Notes the next generation, and returns the error that ends the workflow.
    pub(crate) fn continue_as_new(&self, next: GenerationStart) -> Error {
        self.refuse_inside_run(|| "continue as new".to_owned());
        let input = next.input.clone();
        self.state().next = Some(next);
        Error::continued(input)
    }

    /// Returns true if the workflow ends with the error that continues as new.
    pub(crate) fn continues(&self, outcome: &wit::Outcome) -> bool {
        let is_marked =
            matches!(outcome, wit::Outcome::Failure(failure) if Error::continues(failure));
        is_marked && self.state().next.is_some()
    }

    /// Notes that an update was answered, and wakes the futures that wait for all answers.
    pub(crate) fn update_answered(&self) {
        let mut state = self.state();
        state.updates.unanswered -= 1;
        if state.updates.unanswered == 0 {
            let wakers = std::mem::take(&mut state.updates.wakers);
            drop(state);
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// Sets the flag that the handler of an update is polled from now on.
    pub(crate) fn polls_update(&self, is_polled: bool) {
        self.state().updates.is_polled = is_polled;
    }

    /// Ready when every accepted update has been answered.
    pub(crate) fn poll_updates_done(&self, waker: &Waker) -> Poll<()> {
        let mut state = self.state();
        let is_own = state.updates.is_polled;
        if !is_own && state.updates.unanswered == 0 {
            return Poll::Ready(());
        }
        if !is_own {
            state.updates.wakers.push(waker.clone());
            return Poll::Pending;
        }
        drop(state);
        panic!("an update cannot wait for `updates_done`: it would wait for itself");
    }

    /// Draws from the generator of the running closure, or else from that of the invocation.
    pub(crate) fn with_random<T>(&self, draw: impl FnOnce(&mut ChaCha12Rng) -> T) -> T {
        let mut state = self.state();
        match &mut state.running {
            Some(running) => draw(&mut running.random),
            None => draw(&mut state.random),
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.state().cancelled
    }

    /// Accepts an event and wakes the futures that wait for it.
    pub(crate) fn tell(&self, event: wit::Event) {
        match event {
            wit::Event::Completed(completion) => self.complete(completion),
            wit::Event::Signal(signal) => self.deliver(signal),
            wit::Event::Cancelled => self.cancel(),
        }
    }

    fn complete(&self, completion: wit::Completion) {
        let unwinding = self.sagas().complete(&completion);
        unwinding.into_iter().for_each(Waker::wake);
        let mut state = self.state();
        // A command whose handle was dropped, or failed by a cancellation, is not open.
        let Some(wait) = state.open.get_mut(&completion.command) else { return };
        if wait.outcome.is_some() {
            return;
        }
        wait.outcome = Some(completion.outcome);
        let waker = wait.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    fn deliver(&self, signal: wit::Signal) {
        let number = self.heard();
        self.state().signals.push_back((number, signal));
        self.wake_listeners();
    }

    /// Wakes the futures that wait for a signal or a change of the shared value, so that they check
    /// again.
    pub(crate) fn wake_listeners(&self) {
        let mut state = self.state();
        let wakers: Vec<Waker> =
            state.listeners.values_mut().filter_map(|listener| listener.waker.take()).collect();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Fails every await that is currently pending: polled and without an answer. Later awaits are
    /// not affected.
    fn cancel(&self) {
        let mut state = self.state();
        state.cancelled = true;
        let mut wakers = Vec::new();
        let mut forgotten = Vec::new();
        for (index, wait) in &mut state.open {
            if let Some(waker) = wait.waker.take() {
                wait.outcome =
                    Some(wit::Outcome::Failure(Error::invocation_cancelled().into_failure()));
                forgotten.push(*index);
                wakers.push(waker);
            }
        }
        for listener in state.listeners.values_mut() {
            if let Some(waker) = listener.waker.take() {
                listener.cancelled = true;
                wakers.push(waker);
            }
        }
        drop(state);
        forgotten.into_iter().for_each(|index| self.forget(index));
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Reports the outcome; handles dropped from now on are not reported.
    pub(crate) fn finish(&self, outcome: &wit::Outcome) {
        let continues = self.continues(outcome);
        let mut state = self.state();
        state.finished = true;
        let mut unread: Vec<u32> = state.signals.iter().map(|(number, _)| *number).collect();
        let next = state.next.take().filter(|_| continues);
        drop(state);
        unread.sort_unstable();
        if !unread.is_empty() {
            self.journal.unread(&unread);
        }
        match next {
            Some(next) => self.journal.continue_as_new(&next),
            None => self.journal.finish(outcome),
        }
    }
}
