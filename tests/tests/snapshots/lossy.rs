//! Guests whose snapshots lose something.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use async_trait::async_trait;
use segno_core::{id::Digest, invocation::EngineFacts};
use segno_guest::{
    ActivityContext, ActivityHost, Context, Event, FunctionDescription, GuestError, Guests, Memory,
    MemoryChange, Outcome, Payload, SharedJournal, SnapshotFiles, Wasm, Workflow,
};

use super::engine::Engine;

/// Guests whose snapshots lose something.
pub(super) struct Lossy {
    guests: Arc<Wasm>,
    lost: Lost,
    /// Number of restores.
    restored: Arc<AtomicU32>,
}

/// The part of a snapshot that is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// Everything that is restored.
    Written,
    /// The memory read from a restored instance.
    Read,
    /// Access to the memory.
    Access,
    /// A loss that only shows when the workflow continues, after the verification.
    Later,
}

impl Lossy {
    pub(super) fn new(engine: &Engine, lost: Lost) -> Self {
        Self { guests: engine.wasm.clone(), lost, restored: Arc::default() }
    }
}

struct LossyWorkflow {
    workflow: Box<dyn Workflow>,
    lost: Lost,
    /// Memory at the first read.
    base: Option<Memory>,
    restored: AtomicBool,
    restores: Arc<AtomicU32>,
    fails: bool,
}

#[async_trait]
impl Guests for Lossy {
    async fn describe(&self, module: Digest) -> Result<Arc<Vec<FunctionDescription>>, GuestError> {
        self.guests.describe(module).await
    }

    async fn instantiate(
        &self,
        module: Digest,
        facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError> {
        self.guests.instantiate(module, facts).await
    }

    fn engine_facts(&self) -> EngineFacts {
        self.guests.engine_facts()
    }

    fn snapshots(&self) -> Option<&Arc<SnapshotFiles>> {
        self.guests.snapshots()
    }

    async fn accessible(
        &self,
        module: Digest,
        facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError> {
        let lost = self.lost;
        if lost == Lost::Access {
            return Err(GuestError::Host("it hides what it keeps".to_owned()));
        }
        let workflow = self.guests.accessible(module, facts).await?;
        let (base, restored) = (None, AtomicBool::new(false));
        let (restores, fails) = (self.restored.clone(), false);
        Ok(Box::new(LossyWorkflow { workflow, lost, base, restored, restores, fails }))
    }

    async fn perform(
        &self,
        module: Digest,
        name: &str,
        function: &str,
        input: Payload,
        context: ActivityContext,
        host: Arc<dyn ActivityHost>,
    ) -> Result<Outcome, GuestError> {
        self.guests.perform(module, name, function, input, context, host).await
    }
}

#[async_trait]
impl Workflow for LossyWorkflow {
    async fn start(
        &mut self,
        journal: SharedJournal,
        function: &str,
        input: Payload,
        context: Context,
    ) -> Result<(), GuestError> {
        self.workflow.start(journal, function, input, context).await
    }

    async fn resume(&mut self, journal: SharedJournal, event: Event) -> Result<(), GuestError> {
        if self.fails {
            let message = "it reads what is not there".to_owned();
            return Err(GuestError::Trap { message, last_words: String::new(), backtrace: None });
        }
        self.workflow.resume(journal, event).await
    }

    async fn save(&mut self) -> Result<Memory, GuestError> {
        match (self.restored.load(Ordering::Relaxed), &self.base) {
            (true, Some(base)) => Ok(base.clone()),
            _ => self.workflow.save().await,
        }
    }

    async fn restore(
        &mut self,
        function: &str,
        seed: &[u8],
        change: &MemoryChange,
    ) -> Result<(), GuestError> {
        // The first restore is the verification.
        self.fails = self.restores.fetch_add(1, Ordering::Relaxed) > 0 && self.lost == Lost::Later;
        let base = self.workflow.save().await?;
        let nothing = base.since(&base);
        self.base = Some(base);
        self.restored.store(self.lost == Lost::Read, Ordering::Relaxed);
        let change = if self.lost == Lost::Written { &nothing } else { change };
        self.workflow.restore(function, seed, change).await
    }

    fn footprint(&self) -> usize {
        self.workflow.footprint()
    }
}
