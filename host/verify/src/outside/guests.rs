//! Guests whose activities and children wait for the explorer.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use segno_core::{id::Digest, invocation::EngineFacts};
use segno_guest::{
    ActivityContext, ActivityHost, Context, Event, EvictionCallback, Failure, FunctionDescription,
    GuestError, Guests, Outcome, Payload, SharedJournal, Workflow,
};
use serde_json::Value as Json;

use super::{
    AttemptScope, ExternalWork, ExternalWorld, ROOT, ReleaseMode, WITHIN, failure, json_of,
    place_of,
};
use crate::{
    effect::ExternalEffect, schedule::RelativeId, script::ScriptedOutcome, setup::AttemptKey,
};

/// The modules as one life of a host sees them.
pub(crate) struct GuardedGuests {
    pub outside: Arc<ExternalWorld>,
    pub life: u64,
}

#[async_trait]
impl Guests for GuardedGuests {
    async fn describe(&self, module: Digest) -> Result<Arc<Vec<FunctionDescription>>, GuestError> {
        self.outside.setup.wasm.describe(module).await
    }

    async fn instantiate(
        &self,
        module: Digest,
        facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError> {
        let inner = self.outside.setup.wasm.instantiate(module, facts).await?;
        Ok(Box::new(GuardedWorkflow { inner, outside: self.outside.clone(), life: self.life }))
    }

    fn engine_facts(&self) -> EngineFacts {
        self.outside.setup.wasm.engine_facts()
    }

    fn when_full(&self, give_up: EvictionCallback) {
        self.outside.setup.wasm.when_full(give_up);
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
        let outside = &self.outside;
        let place = place_of(&context.invocation);
        let given = json_of(&input);
        let scripted = outside.setup.script.of_function(function, &given, &place, context.attempt);
        let after_ms = scripted.map_or(0, |outcome| outcome.after_ms);
        let work = ExternalWork::Activity(function.to_owned());
        let (order, done) = outside.wait(&place, work, self.life, after_ms).await;
        let key = Some(context.idempotency_key.clone());
        let attempted = AttemptKey {
            function: function.to_owned(),
            input: given.to_string(),
            id: context.invocation.clone(),
            attempt: context.attempt,
        };
        let known = outside.setup.memo.get(&attempted);
        let (outcome, requests) = match (scripted, known) {
            (Some(scripted), _) => (outcome_of(scripted), Vec::new()),
            // A repeated attempt in the same run is really performed: it may issue other requests.
            (None, Some(known)) if !self.has_run(&place, function) => known,
            (None, _) => {
                let within = Arc::new(AttemptScope {
                    function: function.to_owned(),
                    place: place.clone(),
                    attempt: context.attempt,
                    requests: Mutex::default(),
                });
                let doing =
                    outside.setup.wasm.perform(module, name, function, input, context, host);
                let outcome = WITHIN.scope(within.clone(), doing).await;
                let requests = std::mem::take(
                    &mut *within.requests.lock().unwrap_or_else(PoisonError::into_inner),
                );
                match outcome {
                    Ok(outcome) => {
                        let kept = outside.setup.memo.keep(attempted, outcome, requests.clone());
                        (kept, requests)
                    }
                    Err(error) => {
                        let _ = done.send(());
                        return Err(error);
                    }
                }
            }
        };
        let succeeded = matches!(outcome, Outcome::Success(_));
        {
            let mut state = outside.lock();
            state.effects.extend(requests);
            let (what, within) = (function.to_owned(), None);
            state.effects.push(ExternalEffect {
                what,
                input: given,
                key,
                place,
                within,
                succeeded,
            });
        }
        let _ = done.send(());
        match order {
            ReleaseMode::Finish => Ok(outcome),
            ReleaseMode::Lose => std::future::pending().await,
        }
    }
}

impl GuardedGuests {
    fn has_run(&self, place: &RelativeId, function: &str) -> bool {
        let state = self.outside.lock();
        state.effects.iter().any(|effect| effect.place == *place && effect.what == function)
    }
}

/// A workflow whose children wait for the explorer before they begin.
struct GuardedWorkflow {
    inner: Box<dyn Workflow>,
    outside: Arc<ExternalWorld>,
    life: u64,
}

#[async_trait]
impl Workflow for GuardedWorkflow {
    async fn start(
        &mut self,
        journal: SharedJournal,
        function: &str,
        input: Payload,
        context: Context,
    ) -> Result<(), GuestError> {
        let begun = self.outside.lock().begun.contains(&context.invocation);
        if context.invocation != ROOT && !begun {
            let place = place_of(&context.invocation);
            let work = ExternalWork::Child(function.to_owned());
            let (_, done) = self.outside.wait(&place, work, self.life, 0).await;
            self.outside.lock().begun.insert(context.invocation.clone());
            let _ = done.send(());
        }
        self.inner.start(journal, function, input, context).await
    }

    async fn resume(&mut self, journal: SharedJournal, event: Event) -> Result<(), GuestError> {
        self.inner.resume(journal, event).await
    }

    async fn query(
        &mut self,
        journal: SharedJournal,
        name: &str,
        input: Payload,
    ) -> Result<Option<Outcome>, GuestError> {
        self.inner.query(journal, name, input).await
    }

    async fn validate(
        &mut self,
        journal: SharedJournal,
        name: &str,
        input: Payload,
    ) -> Result<Option<Option<Failure>>, GuestError> {
        self.inner.validate(journal, name, input).await
    }

    fn footprint(&self) -> usize {
        self.inner.footprint()
    }

    fn is_in_the_way(&self) -> bool {
        self.inner.is_in_the_way()
    }
}

fn outcome_of(scripted: &ScriptedOutcome) -> Outcome {
    if let Some(recorded) = &scripted.recorded {
        return recorded.clone();
    }
    match scripted.fails {
        Some(code) => Outcome::Failure(failure(code, scripted)),
        None => {
            let value = scripted.value.clone().unwrap_or(Json::Null);
            Outcome::Success(Payload::Json(value.to_string()))
        }
    }
}
