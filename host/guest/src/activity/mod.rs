//! One attempt of an activity: a fresh instance, with the I/O that the policy allows.
//!
//! Dropping the future of [`perform`] cancels the attempt and removes its instance, whatever it was
//! doing.

mod blobs;
mod costs;
mod files;
mod http_bodies;
mod imports;
mod state;
mod streams;
mod undecided;
mod wasi;

use std::sync::Arc;

use segno_core::id::Digest;
use wasmtime::Store;

use self::{http_bodies::OpenResponses, undecided::UndecidedEnds, wasi::RealWasi};
pub(super) use self::{imports::for_workflows, state::ActivityState};
use super::{
    ActivityContext, ActivityHost, Failure, FunctionKind, GuestError, Outcome, Payload,
    border::outcome_is_json,
    contract::outcome_size,
    cost,
    described::known,
    exports::LinkedComponent,
    loaded::LoadedModule,
    policy::Secrets,
    trap::{TrapCause, check_size, explain},
    wasm::Wasm,
};

/// Runs one attempt of `function` of `module`.
pub(super) async fn perform(
    wasm: &Wasm,
    module: Digest,
    name: &str,
    function: &str,
    input: Payload,
    context: ActivityContext,
    host: Arc<dyn ActivityHost>,
) -> Result<Outcome, GuestError> {
    let loaded = wasm.loaded(module).await?;
    known(&wasm.described(&loaded).await?.functions, FunctionKind::Activity, function)?;
    let grants = Arc::new(wasm.config.policy.get().grants(name));
    let linked = loaded.activity(!grants.dirs.is_empty()).await?.clone();
    let secrets = match grants.read_secrets() {
        Ok(secrets) => Arc::new(secrets),
        Err(not_readable) => return Ok(Outcome::Failure(not_readable.into())),
    };
    let budget = wasm.budget(module);
    budget.log_room().hide(Arc::clone(&secrets));
    let wasi = match loaded.wasi {
        true => match RealWasi::new(&grants, &host, budget.log_room()) {
            Ok(wasi) => Some(Box::new(wasi)),
            Err(failure) => return Ok(Outcome::Failure(failure)),
        },
        false => None,
    };
    let places = wasm.engine.pool().room(&loaded.share).await;
    let fuel = budget.crossing_fuel();
    let (responses, undecided) = (OpenResponses::default(), UndecidedEnds::default());
    let state = ActivityState { host, budget, grants, secrets, responses, undecided, wasi };
    let mut store = Store::new(loaded.component.engine(), state);
    store.set_hostcall_fuel(fuel);
    if wasm.engine.counts() {
        cost::begin(&mut store);
    }
    store.limiter(|state| &mut state.budget);
    store.epoch_deadline_callback(|mut context| context.data_mut().budget.tick());
    store.set_epoch_deadline(1);
    let running = wasm.engine.running();
    let turn = store.data().budget.turn();
    let attempt = AttemptCall { store, loaded, function: function.to_owned(), input, context };
    turn.taking(async move {
        // Declared before the store, which is dropped first: the next instance then finds the
        // places free.
        let (_places, _running) = (places, running);
        attempt.perform(linked).await
    })
    .await
}

/// A call with everything that it needs, so that it can move between threads.
struct AttemptCall {
    store: Store<ActivityState>,
    loaded: Arc<LoadedModule>,
    function: String,
    input: Payload,
    context: ActivityContext,
}

impl AttemptCall {
    async fn perform(
        mut self,
        linked: LinkedComponent<ActivityState>,
    ) -> Result<Outcome, GuestError> {
        let answer = self.call(linked).await;
        let state = self.store.data_mut();
        // After a trap, too: the guest has appended it.
        let answer = match (state.append_undecided(None).await, answer) {
            (Err(failure), Ok(Outcome::Success(_))) => Ok(Outcome::Failure(failure)),
            (_, answer) => answer,
        };
        state.budget.end_call();
        let said = match &state.wasi {
            Some(wasi) => {
                wasi.output.flush();
                wasi.error.flush();
                wasi.error.last_words()
            }
            None => String::new(),
        };
        let last_words = state.secrets.hide(&said).into_owned();
        answer.map_err(|error| explain(&error, &state.budget, FunctionKind::Activity, last_words))
    }

    async fn call(&mut self, linked: LinkedComponent<ActivityState>) -> wasmtime::Result<Outcome> {
        let Self { store, loaded, function, input, context } = self;
        let exports = linked.instantiate(store, loaded.image.as_ref()).await?;
        if let Some(image) = &loaded.image {
            let interpreter = exports.interpreter(loaded.lines.as_ref());
            store.data_mut().budget.begin_with(image.memory_bytes(), interpreter)?;
        }
        store.data().host.clone().begin().await;
        let (input, context) = (input.clone(), context.clone());
        let outcome = exports.perform(store, function.clone(), input, context).await?;
        store.data().budget.check_time()?;
        let limit = store.data().budget.limits().output_bytes;
        check_size(outcome_size(&outcome), limit, || format!("result of `{function}`"))?;
        outcome_is_json(&outcome, || format!("result of `{function}`"))
            .map_err(TrapCause::Refused)?;
        Ok(store.data().secrets.keep_out_of(outcome, function))
    }
}

impl Secrets {
    /// `payload` with each secret's value replaced by `{secret:NAME}`.
    fn hide_in(&self, payload: Payload) -> Payload {
        match payload {
            Payload::Json(text) => Payload::Json(self.hide(&text).into_owned()),
            Payload::Bytes(bytes) => Payload::Bytes(self.hide_bytes(bytes)),
        }
    }

    /// `outcome` in the form that may be stored: secret values are hidden in failures, and a result
    /// that contains one is replaced by a final failure.
    fn keep_out_of(&self, outcome: Outcome, function: &str) -> Outcome {
        match outcome {
            Outcome::Success(payload) => match self.found_in(bytes_of(&payload)) {
                None => Outcome::Success(payload),
                Some(name) => Outcome::Failure(Failure {
                    code: 422,
                    message: format!(
                        "the result of `{function}` contains the secret `{name}`, and results are stored: return something else"
                    ),
                    details: None,
                }),
            },
            Outcome::Failure(failure) => Outcome::Failure(Failure {
                code: failure.code,
                message: self.hide(&failure.message).into_owned(),
                details: failure.details.map(|details| self.hide_in(details)),
            }),
        }
    }
}

fn bytes_of(payload: &Payload) -> &[u8] {
    match payload {
        Payload::Json(text) => text.as_bytes(),
        Payload::Bytes(bytes) => bytes,
    }
}
