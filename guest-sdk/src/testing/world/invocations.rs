//! Invocations of workflows: their start, their events and their commands.

use std::sync::Arc;

use chacha20::{
    ChaCha12Rng,
    rand_core::{Rng, SeedableRng},
};

use super::{TestAction, TestWorld, null, objects::InvocationObject};
use crate::{
    bindings::segno::workflow::types as wit,
    execution::WorkflowExecution,
    function::Entry,
    handler::Handlers,
    payload::Payload,
    testing::recorder::{TestRecorder, WorldRequest},
};

pub(super) struct TestInvocation {
    pub(super) entry: Entry,
    pub(super) input: Payload,
    pub(super) facts: wit::Context,
    pub(super) recorder: Arc<TestRecorder>,
    pub(super) execution: WorkflowExecution,
    pub(super) object: Option<InvocationObject>,
    /// The command that awaits the result.
    pub(super) parent: Option<(String, u32)>,
    pub(super) outcome: Option<wit::Outcome>,
}

impl TestInvocation {
    /// The name of its function in journals.
    pub(super) fn name(&self) -> String {
        let name = self.entry.name;
        match (&self.object, name.split_once('/')) {
            (Some(object), Some((_, method))) => object.name_of(method),
            _ => name.to_owned(),
        }
    }
}

impl TestWorld<'_> {
    pub(super) fn begin(
        &mut self,
        id: String,
        entry: Entry,
        input: Payload,
        parent: Option<(String, u32)>,
    ) {
        self.begin_of(id, entry, input, parent, None);
    }

    pub(super) fn begin_of(
        &mut self,
        id: String,
        entry: Entry,
        input: Payload,
        parent: Option<(String, u32)>,
        object: Option<InvocationObject>,
    ) {
        // Each invocation has its own generator, seeded from its id.
        let name = id
            .bytes()
            .fold(self.seed, |seed, byte| seed.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
        let mut seed = vec![0; 32];
        ChaCha12Rng::seed_from_u64(name).fill_bytes(&mut seed);
        let parent_id = parent.as_ref().map(|(parent, _)| parent.clone());
        let facts = wit::Context {
            invocation: id.clone(),
            parent: parent_id,
            started_at_ms: self.now_ms,
            seed,
        };
        let key = object.as_ref().map(|object| object.key.clone());
        let recorder = TestRecorder::new(&id, key, self.now_ms, false, &self.common);
        let handlers = match &self.module {
            Some(module) => Handlers::of(module, entry.name),
            None => Handlers::new(entry.name, Vec::new()),
        };
        let (begun, journal) = (facts.clone(), recorder.clone());
        let execution =
            WorkflowExecution::start(Some(&entry), entry.name, &input, handlers, begun, journal);
        let running = TestInvocation {
            entry,
            input,
            facts,
            recorder,
            execution,
            object,
            parent,
            outcome: None,
        };
        self.invocations.insert(id.clone(), running);
        self.attend(&id);
    }

    pub(super) fn tell(&mut self, id: &str, event: wit::Event) {
        let now_ms = self.now_ms;
        let Some(running) = self.invocations.get_mut(id) else { return };
        if running.outcome.is_some() {
            return;
        }
        running.recorder.tell(now_ms, &event);
        running.execution.resume(event);
        self.attend(id);
    }

    /// Executes the commands that the invocation issued since the last call.
    pub(super) fn attend(&mut self, id: &str) {
        let recorder = self.invocations[id].recorder.clone();
        while let Some(todo) = recorder.next_todo() {
            match todo {
                WorldRequest::Command(command, request) => {
                    if !request.is_write() {
                        self.open(id, command, request.describe());
                    }
                    self.commands.push((self.now_ms, request.clone()));
                    self.perform(id, command, request);
                }
                WorldRequest::Ran(command, outcome) => {
                    self.open(id, command, "run".to_owned());
                    self.answer(self.now_ms, id, command, outcome);
                }
                WorldRequest::Finished(outcome) => {
                    let running =
                        self.invocations.get_mut(id).expect("only a known invocation is attended");
                    running.outcome = Some(outcome.clone());
                    let parent = running.parent.clone();
                    #[cfg(feature = "graph")]
                    self.stop_graphs_of(id);
                    self.stop_calls_of(id);
                    if let Some((parent, command)) = parent {
                        self.answer(self.now_ms, &parent, command, outcome);
                    }
                    self.leave(id);
                }
                WorldRequest::Continued(next) => {
                    let running =
                        self.invocations.get_mut(id).expect("only a known invocation is attended");
                    running.outcome = Some(null());
                    #[cfg(feature = "graph")]
                    self.stop_graphs_of(id);
                    self.stop_calls_of(id);
                    self.continue_as_new(id, next);
                }
            }
        }
    }

    /// Asks the workflows to stop that this one called and that have not ended.
    pub(super) fn stop_calls_of(&mut self, id: &str) {
        let is_called = |invocation: &TestInvocation| {
            invocation.outcome.is_none()
                && invocation.parent.as_ref().is_some_and(|(parent, _)| parent == id)
        };
        let called: Vec<String> = self
            .invocations
            .iter()
            .filter(|(_, invocation)| is_called(invocation))
            .map(|(id, _)| id.clone())
            .collect();
        for invocation in called {
            let event = wit::Event::Cancelled;
            self.decide(self.now_ms, TestAction::Tell { invocation, event });
        }
    }
}
