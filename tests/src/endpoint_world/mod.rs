//! A runtime of services for one test. It keeps journals, calls an endpoint through the runtime's
//! side of the protocol, and breaks attempts off where the test says. Time is virtual, and every
//! run is deterministic.
//!
//! In the order a newcomer should read:
//! - [`Course`]: the conditions under which attempts run;
//! - `served`: the endpoint, and the service that its component calls; `clock`: the time;
//! - [`Act`]: actions of a person while every invocation waits;
//! - `invocation`: the runtime's state of an invocation, and the condition for its next attempt;
//! - `attempt`: one attempt, and the `body` of its request, which carries the notifications;
//! - `commands`: the runtime's handling of commands; `promises`: the promises of workflows;
//! - `seen`, `values`: the observations of a test.

mod act;
mod attempt;
mod body;
mod clock;
mod commands;
mod course;
mod invocation;
mod promises;
mod seen;
mod served;
mod values;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use segno_core::time::Timestamp;
use segno_endpoint::Endpoint;
use segno_env::Env;
use segno_guest::{Failure, HttpRequest, HttpResponse};
use segno_restate::{immutable::ErrorMessage, wire::OperationOutcome};
use serde_json::Value as Json;

pub use self::{
    act::Act,
    course::Course,
    values::{answer, body, failure, success},
};
use self::{
    clock::VirtualClock,
    invocation::Invocation,
    promises::{Place, Promises},
    served::Service,
};

/// A deterministic runtime of services, with one endpoint.
pub struct World {
    endpoint: Arc<Endpoint>,
    clock: Arc<VirtualClock>,
    course: Course,
    frames: usize,
    attempts: usize,
    invocations: BTreeMap<String, Invocation>,
    order: Vec<String>,
    state: BTreeMap<Place, BTreeMap<Bytes, Bytes>>,
    promises: Promises,
    timers: BTreeSet<(Timestamp, String, u32)>,
    /// Errors of all failed attempts.
    pub failures: Vec<ErrorMessage>,
}

impl World {
    /// Creates a world that serves the component of one module.
    ///
    /// # Panics
    /// If the component has no services.
    pub async fn new(
        module: &str,
        component: &Arc<[u8]>,
        course: Course,
        answers: impl Fn(&HttpRequest) -> Result<HttpResponse, Failure> + Send + Sync + 'static,
    ) -> Self {
        let clock = VirtualClock::new(course);
        let outbound = Arc::new(Service(Box::new(answers)));
        let endpoint = served::served(module, component, &clock, outbound).await;
        Self::of(endpoint, clock, course)
    }

    fn of(endpoint: Endpoint, clock: Arc<VirtualClock>, course: Course) -> Self {
        Self {
            endpoint: Arc::new(endpoint),
            clock,
            course,
            frames: 0,
            attempts: 0,
            invocations: BTreeMap::new(),
            order: Vec::new(),
            state: BTreeMap::new(),
            promises: Promises::default(),
            timers: BTreeSet::new(),
            failures: Vec::new(),
        }
    }

    /// Serves another component at the same address. Later attempts use it.
    ///
    /// # Panics
    /// If the component has no services.
    pub async fn replace(&mut self, component: &Arc<[u8]>) {
        let of = self.endpoint.clone();
        let outbound = of.outbound.clone();
        let other = served::served(&of.offer.module, component, &self.clock, outbound).await;
        self.endpoint = Arc::new(other);
    }

    /// Creates a world with the same engine for another course. Compiled code is reused.
    pub fn again(&self, course: Course) -> Self {
        let clock = VirtualClock::new(course);
        let env = Env { clock: clock.clone(), ..Env::system() };
        let of = &self.endpoint;
        let endpoint = Endpoint {
            guests: of.guests.clone(),
            outbound: of.outbound.clone(),
            env,
            offer: of.offer.clone(),
            digest: of.digest,
            draining: of.draining.clone(),
        };
        Self::of(endpoint, clock, course)
    }

    /// Begins an invocation and runs until it ends. Whenever every invocation waits, performs the
    /// next of `acts`. After the last act, only time passes.
    ///
    /// # Panics
    /// If the invocation loops, is paused, or waits for something that never arrives.
    pub async fn run(
        &mut self,
        id: &str,
        target: (&str, &str, &str),
        input: Json,
        acts: &[Act],
    ) -> OperationOutcome {
        let outcome = self.try_run(id, target, input, acts).await;
        outcome.unwrap_or_else(|error| panic!("`{id}` is paused: {error:?}"))
    }

    /// Does the same for an invocation that may be paused.
    ///
    /// # Errors
    /// The error with which the invocation is paused.
    ///
    /// # Panics
    /// If the invocation loops, or waits for something that never arrives.
    pub async fn try_run(
        &mut self,
        id: &str,
        (service, key, handler): (&str, &str, &str),
        input: Json,
        acts: &[Act],
    ) -> Result<OperationOutcome, ErrorMessage> {
        self.start(id, (service, key, handler), input).await;
        let mut acts: VecDeque<Act> = acts.iter().cloned().collect();
        loop {
            self.settle_down().await;
            let invocation = &self.invocations[id];
            if let Some(outcome) = &invocation.outcome
                && acts.is_empty()
            {
                return Ok(outcome.clone());
            }
            if let Some(error) = &invocation.paused {
                return Err(error.clone());
            }
            let is_early = match acts.front() {
                Some(Act::Resolve(of, name, _) | Act::Reject(of, name)) => {
                    self.awakeable(of, name).is_none()
                }
                _ => false,
            };
            match is_early {
                true => self.act(Act::Tick),
                false => self.act(acts.pop_front().unwrap_or(Act::Tick)),
            }
        }
    }

    /// Begins an invocation, and runs until every invocation waits.
    pub async fn start(&mut self, id: &str, target: (&str, &str, &str), input: Json) {
        let (service, key, handler) = target;
        self.call(id, service, key, handler, input.to_string().into(), Vec::new());
        self.settle_down().await;
    }

    /// Performs an act, and runs until every invocation waits.
    pub async fn then(&mut self, act: Act) {
        self.act(act);
        self.settle_down().await;
    }

    async fn settle_down(&mut self) {
        while let Some(next) = self.runnable() {
            self.attempt(&next).await;
        }
    }
}
