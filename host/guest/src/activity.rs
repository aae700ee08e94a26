//! One attempt of an activity: an instance of its own, with the I/O that the policy allows.
//!
//! Dropping the future of [`perform`] cancels the attempt and removes its instance, whatever it was
//! doing.

use std::sync::Arc;

use segno_core::id::Digest;
use wasmtime::Store;
use wasmtime_wasi::{FsPerms, ResourceTable, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{
    Error as HttpError, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
    WasiHttpView, default_hooks,
};

use super::{
    ActivityContext, ActivityHost, FunctionKind, GuestError, HttpRequest, HttpResponse, Level,
    Outcome, Payload,
    bindings::{
        ModulePre,
        segno::workflow::{activity, journal, types},
    },
    budget::Budget,
    contract::{CallOptions, Failure, PromiseOptions, RunAnswer, outcome_size, size},
    instance::known,
    lines::Lines,
    log_room::LogRoom,
    policy::{Grants, Variable},
    trap::{Halt, explain},
    wasm::Wasm,
    workflow::check_size,
};

/// The data of an activity instance's store.
pub(super) struct ActivityState {
    host: Arc<dyn ActivityHost>,
    budget: Budget,
    wasi: Option<Box<RealWasi>>,
}

/// Runs `function` of `module` once.
pub(super) async fn perform(
    wasm: &Wasm,
    module: Digest,
    name: &str,
    function: &str,
    input: Payload,
    context: ActivityContext,
    host: Arc<dyn ActivityHost>,
) -> Result<Outcome, GuestError> {
    let loaded = wasm.modules.get(module).await?;
    known(&wasm.functions(&loaded).await?, FunctionKind::Activity, function)?;
    let grants = Arc::new(wasm.policy.grants(name));
    let linked = loaded.activity(&wasm.engine, !grants.dirs.is_empty()).await?.clone();
    let budget = wasm.budget();
    let wasi = match loaded.wasi {
        true => Some(Box::new(RealWasi::new(&grants, &host, budget.log_room())?)),
        false => None,
    };
    let places = wasm.engine.pool().room(&loaded.share).await;
    let fuel = budget.crossing_fuel();
    let mut store = Store::new(wasm.engine.wasmtime(), ActivityState { host, budget, wasi });
    store.set_hostcall_fuel(fuel);
    store.limiter(|state| &mut state.budget);
    store.epoch_deadline_callback(|mut context| context.data_mut().budget.tick());
    store.set_epoch_deadline(1);
    let running = wasm.engine.running();
    let turn = store.data().budget.turn();
    let attempt = Attempt { store, function: function.to_owned(), input, context };
    turn.taking(async move {
        // Declared before the store, which is dropped first: the next instance then finds the
        // places free.
        let (_places, _running) = (places, running);
        attempt.perform(linked).await
    })
    .await
}

/// A call with everything that it needs, so that any thread may continue it.
struct Attempt {
    store: Store<ActivityState>,
    function: String,
    input: Payload,
    context: ActivityContext,
}

impl Attempt {
    async fn perform(mut self, linked: ModulePre<ActivityState>) -> Result<Outcome, GuestError> {
        let answer = self.call(linked).await;
        let state = self.store.data_mut();
        state.budget.end_call();
        let last_words = match &state.wasi {
            Some(wasi) => {
                wasi.output.flush();
                wasi.error.flush();
                wasi.error.last_words()
            }
            None => String::new(),
        };
        answer.map_err(|error| explain(&error, &state.budget, FunctionKind::Activity, last_words))
    }

    async fn call(&mut self, linked: ModulePre<ActivityState>) -> wasmtime::Result<Outcome> {
        let Self { store, function, input, context } = self;
        let instance = linked.instantiate_async(&mut *store).await?;
        let functions = instance.segno_workflow_functions();
        let outcome = functions.call_perform(&mut *store, function, input, context).await?;
        let limit = store.data().budget.limits().output_bytes;
        check_size(outcome_size(&outcome), limit, || format!("result of `{function}`"))?;
        Ok(outcome)
    }
}

impl types::Host for ActivityState {}

impl activity::Host for ActivityState {
    async fn heartbeat(&mut self, progress: Option<Payload>) -> wasmtime::Result<bool> {
        let limit = self.budget.limits().output_bytes;
        check_size(progress.as_ref().map_or(0, size), limit, || "progress".into())?;
        self.budget.waited();
        Ok(self.host.heartbeat(progress).await)
    }

    async fn http(
        &mut self,
        request: HttpRequest,
    ) -> wasmtime::Result<Result<HttpResponse, Failure>> {
        let limit = self.budget.limits().output_bytes;
        let size = request.body.as_ref().map_or(0, size);
        check_size(size, limit, || format!("HTTP request to `{}`", request.url))?;
        self.budget.waited();
        Ok(self.host.http(request).await)
    }

    async fn log(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        if let Some((level, message)) = self.budget.log_room().admit(level, message) {
            self.host.log(level, message);
        }
        Ok(())
    }
}

/// Declares the functions of `journal`, which refuse in activities.
macro_rules! for_workflows {
    ($($function:ident($($type:ty),*) -> $answer:ty;)*) => {
        impl journal::Host for ActivityState {
            $(fn $function(&mut self, $(_: $type),*) -> wasmtime::Result<$answer> {
                let name = stringify!($function).replace('_', "-");
                Err(Halt::Refused(format!(
                    "`segno:workflow/journal.{name}` is for workflows, and this is an activity: return a value to the workflow, and let it go on from there"
                )).into())
            })*
        }
    };
}

for_workflows! {
    call(String, Payload, CallOptions) -> u32;
    send(String, Payload, CallOptions) -> u32;
    sleep_until(u64) -> u32;
    promise(Option<String>, PromiseOptions) -> (u32, String);
    settle(String, Outcome) -> u32;
    http(HttpRequest, CallOptions) -> u32;
    cancel(u32) -> u32;
    forget(u32) -> ();
    publish(String, Payload) -> u32;
    run(String) -> RunAnswer;
    run_done(u32, Outcome) -> ();
    now() -> u64;
    log(Level, String) -> ();
    finish(Outcome) -> ();
}

/// WASI with the directories, the environment and the addresses that the policy allows.
struct RealWasi {
    context: WasiCtx,
    table: ResourceTable,
    http: WasiHttpCtx,
    gate: Gate,
    output: Lines,
    error: Lines,
}

impl RealWasi {
    fn new(
        grants: &Arc<Grants>,
        host: &Arc<dyn ActivityHost>,
        room: &LogRoom,
    ) -> Result<Self, GuestError> {
        let lines = |level| {
            let host = Arc::clone(host);
            Lines::new(level, room.clone(), Box::new(move |level, line| host.log(level, line)))
        };
        let (output, error) = (lines(Level::Info), lines(Level::Warn));
        let mut builder = WasiCtx::builder();
        builder.stdout(output.clone()).stderr(error.clone()).allow_tcp(false).allow_udp(false);
        for directory in &grants.dirs {
            let permissions = if directory.write { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
            builder.preopened_dir(&directory.host, &directory.guest, permissions).map_err(
                |error| {
                    GuestError::Host(format!(
                        "the directory `{}` in `dirs` of `[{}]` in policy.toml cannot be opened: {error:#}",
                        directory.host.display(),
                        grants.module()
                    ))
                },
            )?;
        }
        for (name, variable) in &grants.env {
            let value = match variable {
                Variable::Value(value) => value.clone(),
                Variable::Host { from } => std::env::var(from).map_err(|_| {
                    GuestError::Host(format!(
                        "`env.{name}` of `[{}]` in policy.toml is taken from `{from}`, which is not set in the host's environment",
                        grants.module()
                    ))
                })?,
            };
            builder.env(name, value);
        }
        Ok(Self {
            context: builder.build(),
            table: ResourceTable::new(),
            http: WasiHttpCtx::new(),
            gate: Gate {
                grants: Arc::clone(grants),
                host: Arc::clone(host),
                log_room: room.clone(),
            },
            output,
            error,
        })
    }
}

impl ActivityState {
    fn real_wasi(&mut self) -> &mut RealWasi {
        self.budget.waited();
        self.wasi.as_mut().expect("WASI is linked for components that import it")
    }
}

impl WasiView for ActivityState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let wasi = self.real_wasi();
        WasiCtxView { ctx: &mut wasi.context, table: &mut wasi.table }
    }
}

impl WasiHttpView for ActivityState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        let wasi = self.real_wasi();
        WasiHttpCtxView { ctx: &mut wasi.http, table: &mut wasi.table, hooks: &mut wasi.gate }
    }
}

/// Passes only allowed requests of `wasi:http`.
struct Gate {
    grants: Arc<Grants>,
    host: Arc<dyn ActivityHost>,
    log_room: LogRoom,
}

type Sent = (http::Response<WasiBody>, Box<dyn Future<Output = Result<(), HttpError>> + Send>);

impl WasiHttpHooks for Gate {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        answered: Box<dyn Future<Output = Result<(), HttpError>> + Send>,
    ) -> Box<dyn Future<Output = Result<Sent, HttpError>> + Send> {
        if let Err(refused) = self.grants.allows_http(&request.uri().to_string()) {
            if let Some((level, line)) = self.log_room.admit(Level::Warn, refused.to_string()) {
                self.host.log(level, line);
            }
            let denied = HttpError::InternalError(Some(refused.to_string()));
            return Box::new(async move { Err(denied) });
        }
        default_hooks().send_request(request, options, answered)
    }
}
