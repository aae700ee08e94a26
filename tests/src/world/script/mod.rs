//! Guests without wasm: workflows and activities as ordinary async Rust in this process, driven
//! poll by poll through the same traits as components. In a few lines, a test defines the commands
//! of a guest, and sees the events that it receives.

mod activity;
mod script_context;

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context as TaskContext, Poll, Waker},
};

use async_trait::async_trait;
use segno_core::{
    address::{self, ObjectFunctionPath},
    id::Digest,
    invocation::EngineFacts,
};
use segno_guest::{
    ActivityContext, ActivityHost, Context, Event, Failure, FunctionDescription, FunctionKind,
    GuestError, Guests, Outcome, Payload, RetryOptions, SharedJournal, Workflow,
};

pub use activity::Attempt;
pub use script_context::{Failed, Result, ScriptContext, options};

type Flow = Pin<Box<dyn Future<Output = Result> + Send>>;
type Begin = Arc<dyn Fn(ScriptContext) -> Flow + Send + Sync>;
type Handle = Arc<dyn Fn(&ScriptContext, &str, &str) -> Result + Send + Sync>;
type Perform = Arc<
    dyn Fn(
            Attempt,
        )
            -> Pin<Box<dyn Future<Output = std::result::Result<Outcome, GuestError>> + Send>>
        + Send
        + Sync,
>;

/// One module: its functions, and the results of their runs.
#[derive(Default)]
pub struct Script {
    descriptions: Vec<FunctionDescription>,
    workflows: BTreeMap<String, Begin>,
    activities: BTreeMap<String, Perform>,
    handlers: Handlers,
    instances: AtomicU64,
    told: Arc<Mutex<Vec<Event>>>,
    unknown: bool,
}

/// Handlers of queries and updates. Each gets the context, the name, and the input as JSON text.
#[derive(Clone, Default)]
struct Handlers {
    query: Option<Handle>,
    validate: Option<Handle>,
}

impl Script {
    /// Sets the handler of queries.
    pub fn queries(
        mut self,
        query: impl Fn(&ScriptContext, &str, &str) -> Result + Send + Sync + 'static,
    ) -> Self {
        self.handlers.query = Some(Arc::new(query));
        self
    }

    /// Sets the validator of updates.
    pub fn validates(
        mut self,
        validate: impl Fn(&ScriptContext, &str, &str) -> Result + Send + Sync + 'static,
    ) -> Self {
        self.handlers.validate = Some(Arc::new(validate));
        self
    }

    /// Adds a workflow.
    pub fn workflow<F>(
        mut self,
        name: &str,
        flow: impl Fn(ScriptContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result> + Send + 'static,
    {
        self.descriptions.push(description(name, FunctionKind::Workflow));
        self.workflows.insert(name.into(), Arc::new(move |ctx| Box::pin(flow(ctx))));
        self
    }

    /// Adds an activity. `perform` runs one attempt.
    pub fn activity<F>(
        mut self,
        name: &str,
        perform: impl Fn(Attempt) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = std::result::Result<Outcome, GuestError>> + Send + 'static,
    {
        self.descriptions.push(description(name, FunctionKind::Activity));
        self.activities.insert(name.into(), Arc::new(move |attempt| Box::pin(perform(attempt))));
        self
    }

    /// Declares that the function added last receives signals.
    pub fn signals(mut self) -> Self {
        self.last().signals = true;
        self
    }

    /// Sets the default retry policy of the function added last.
    pub fn retry(mut self, retry: RetryOptions) -> Self {
        self.last().retry = Some(retry);
        self
    }

    /// Sets the default timeout of the function added last.
    pub fn timeout_ms(mut self, timeout: u64) -> Self {
        self.last().timeout_ms = Some(timeout);
        self
    }

    /// Sets the JSON schema for the input of the function added last.
    pub fn takes(mut self, schema: &str) -> Self {
        self.last().input_schema = Some(schema.into());
        self
    }

    /// Has each result of the function added last committed before the guest receives it.
    pub fn commits_each(mut self) -> Self {
        self.last().commits_each = true;
        self
    }

    /// Makes the module impossible to find.
    pub fn lost(mut self) -> Self {
        self.unknown = true;
        self
    }

    /// Number of instances created so far. Each instance but the first of an invocation is a
    /// replay.
    pub fn instances(&self) -> u64 {
        self.instances.load(Ordering::Relaxed)
    }

    /// Events that all instances received, in order.
    pub fn told(&self) -> Vec<Event> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn last(&mut self) -> &mut FunctionDescription {
        self.descriptions.last_mut().expect("a function was added before")
    }
}

fn description(name: &str, kind: FunctionKind) -> FunctionDescription {
    FunctionDescription {
        name: name.into(),
        kind,
        summary: None,
        input_schema: None,
        output_schema: None,
        signals: false,
        timeout_ms: None,
        retry: None,
        commits_each: false,
    }
}

#[async_trait]
impl Guests for Script {
    async fn describe(
        &self,
        module: Digest,
    ) -> std::result::Result<Arc<Vec<FunctionDescription>>, GuestError> {
        if self.unknown {
            return Err(GuestError::NoSuchModule(module));
        }
        Ok(Arc::new(self.descriptions.clone()))
    }

    async fn instantiate(
        &self,
        _module: Digest,
        _facts: Option<EngineFacts>,
    ) -> std::result::Result<Box<dyn Workflow>, GuestError> {
        self.instances.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Instance {
            workflows: self.workflows.clone(),
            handlers: self.handlers.clone(),
            told: self.told.clone(),
            running: None,
        }))
    }

    fn engine_facts(&self) -> EngineFacts {
        EngineFacts::default()
    }

    async fn perform(
        &self,
        _module: Digest,
        name: &str,
        function: &str,
        input: Payload,
        context: ActivityContext,
        host: Arc<dyn ActivityHost>,
    ) -> std::result::Result<Outcome, GuestError> {
        let perform = &self.activities[function];
        host.begin().await;
        perform(Attempt { module: name.to_owned(), input, context, host }).await
    }
}

struct Instance {
    workflows: BTreeMap<String, Begin>,
    handlers: Handlers,
    told: Arc<Mutex<Vec<Event>>>,
    running: Option<(ScriptContext, Flow)>,
}

impl Instance {
    async fn poll(&mut self, journal: SharedJournal) -> std::result::Result<(), GuestError> {
        let (ctx, flow) = self.running.as_mut().expect("`start` comes before `resume`");
        ctx.open(journal);
        let polled = flow.as_mut().poll(&mut TaskContext::from_waker(Waker::noop()));
        if let Poll::Ready(outcome) = polled {
            ctx.finish(outcome);
        }
        let closed = ctx.close();
        if closed.hangs {
            std::future::pending::<()>().await;
        }
        match closed.error {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Instance {
    fn ask(
        &self,
        handle: &Handle,
        journal: SharedJournal,
        name: &str,
        input: Payload,
    ) -> std::result::Result<Result, GuestError> {
        let (ctx, _) = self.running.as_ref().expect("`start` comes before questions");
        let Payload::Json(input) = input else { panic!("the input is JSON") };
        ctx.open(journal);
        let answer = handle(ctx, name, &input);
        ctx.close().error.map_or(Ok(answer), Err)
    }
}

#[async_trait]
impl Workflow for Instance {
    async fn start(
        &mut self,
        journal: SharedJournal,
        function: &str,
        input: Payload,
        context: Context,
    ) -> std::result::Result<(), GuestError> {
        let key = ObjectFunctionPath::parse(function).map(|keyed| keyed.key.to_owned());
        let ctx = ScriptContext::new(input, context, key);
        let flow = self.workflows[&*address::function_of(function)](ctx.clone());
        self.running = Some((ctx, flow));
        self.poll(journal).await
    }

    async fn resume(
        &mut self,
        journal: SharedJournal,
        event: Event,
    ) -> std::result::Result<(), GuestError> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        self.running.as_ref().expect("`start` comes before `resume`").0.tell(event);
        self.poll(journal).await
    }

    async fn query(
        &mut self,
        journal: SharedJournal,
        name: &str,
        input: Payload,
    ) -> std::result::Result<Option<Outcome>, GuestError> {
        let Some(query) = &self.handlers.query else { return Ok(None) };
        Ok(Some(script_context::told(self.ask(query, journal, name, input)?)))
    }

    async fn validate(
        &mut self,
        journal: SharedJournal,
        name: &str,
        input: Payload,
    ) -> std::result::Result<Option<Option<Failure>>, GuestError> {
        let Some(validate) = &self.handlers.validate else { return Ok(None) };
        let refused = self.ask(validate, journal, name, input)?.err();
        let failure = |(code, message)| Failure { code, message, details: None };
        Ok(Some(refused.map(failure)))
    }

    fn footprint(&self) -> usize {
        1 << 16
    }
}
