//! A runtime of services for one test: it keeps journals, calls an endpoint through the runtime's side of the
//! protocol, and breaks attempts off where the test says. Its time is virtual, and nothing in it is left to
//! chance.
//!
//! In the order a newcomer should read:
//! - [`Course`]: how the attempts of a world go;
//! - `served`: the endpoint, and the service that its component reaches; `clock`: the time;
//! - [`Act`]: what a person does while everything waits;
//! - `invocation`: what the runtime keeps of an invocation, and when it goes on;
//! - `attempt`: one attempt, in the `body` of whose request the endpoint is told things;
//! - `commands`: what the runtime does when it is asked for something; `promises`: those of workflows;
//! - `seen`, `values`: what a test sees of it.

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
use segno::{
    endpoint::Endpoint,
    guest::{Failure, HttpRequest, HttpResponse},
    runtime::Env,
};
use segno_core::time::Timestamp;
use segno_restate::{immutable::ErrorMessage, wire::Outcome};
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

/// The runtime.
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
    /// Every failed attempt.
    pub failures: Vec<ErrorMessage>,
}

impl World {
    /// A world with the component of one module.
    ///
    /// # Panics
    /// The component makes no services.
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

    /// Serves another component at the same address: attempts go on with that.
    ///
    /// # Panics
    /// The component makes no services.
    pub async fn replace(&mut self, component: &Arc<[u8]>) {
        let of = self.endpoint.clone();
        let outbound = of.outbound.clone();
        let other = served::served(&of.offer.module, component, &self.clock, outbound).await;
        self.endpoint = Arc::new(other);
    }

    /// The same engine for another course: what was compiled stays.
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

    /// Begins an invocation and lets everything go on until it has ended; what is done meanwhile, whenever everything
    /// waits, is `acts`. Afterwards time passes.
    ///
    /// # Panics
    /// It goes round in circles, is paused, or waits for what does not come.
    pub async fn run(
        &mut self,
        id: &str,
        target: (&str, &str, &str),
        input: Json,
        acts: &[Act],
    ) -> Outcome {
        let outcome = self.try_run(id, target, input, acts).await;
        outcome.unwrap_or_else(|error| panic!("`{id}` is paused: {error:?}"))
    }

    /// The same for one that may be paused.
    ///
    /// # Errors
    /// The error with which it is.
    ///
    /// # Panics
    /// It goes round in circles, or waits for what does not come.
    pub async fn try_run(
        &mut self,
        id: &str,
        (service, key, handler): (&str, &str, &str),
        input: Json,
        acts: &[Act],
    ) -> Result<Outcome, ErrorMessage> {
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

    /// Begins an invocation, and lets everything go on until it waits.
    pub async fn start(&mut self, id: &str, target: (&str, &str, &str), input: Json) {
        let (service, key, handler) = target;
        self.call(id, service, key, handler, input.to_string().into(), Vec::new());
        self.settle_down().await;
    }

    /// Does something, and lets everything go on until it waits.
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
