//! The imports of a running workflow: each is one request to its [`GuestJournal`](super::GuestJournal).

use wasmtime::Store;
use wasmtime_wasi::{WasiCtxView, WasiView};

use super::{
    CallOptions, GuestCommand, HttpRequest, HttpResponse, JournalAnswer, JournalCall, Level,
    Outcome, Payload, PromiseOptions, SharedJournal, StopReason,
    bindings::segno::workflow::{activity, configuration, files, http_bodies, journal, types},
    budget::ComputeBudget,
    command_place::CommandPlace,
    commands::{
        CallCommand, CancelCommand, HttpCommand, PromiseCommand, PublishCommand, RunCommand,
        SendCommand, SettleCommand, SleepCommand,
    },
    contract::{Failure, RunAnswer, outcome_size, size},
    cost,
    imports::{INSTEAD_OF_CONFIGURATION, INSTEAD_OF_FILES, INSTEAD_OF_SECRETS},
    loaded::LoadedModule,
    state::OwnObject,
    trap::{TrapCause, check_size},
    wasi::DeterministicWasi,
};

const INSTEAD_OF_BODIES: &str =
    "use `ctx.http` (`segno:workflow/journal.http`), or read the body in an activity";

/// The data of a workflow instance's store.
pub(super) struct WorkflowState {
    /// `None` outside `start` and `resume`.
    pub(super) journal: Option<SharedJournal>,
    /// Set for a function of an object, from its start on.
    pub(super) object: Option<OwnObject>,
    pub(super) budget: ComputeBudget,
    pub(super) command_place: CommandPlace,
    /// Set for components that import WASI.
    pub(super) wasi: Option<Box<DeterministicWasi>>,
}

impl WorkflowState {
    /// Creates the store for an instance of a module with this budget, and with WASI if the module
    /// imports that. `counts` is true if instructions are counted.
    pub(super) fn store(budget: ComputeBudget, counts: bool, loaded: &LoadedModule) -> Store<Self> {
        let wasi = loaded.wasi.then(|| Box::new(DeterministicWasi::new(budget.log_room())));
        let fuel = budget.crossing_fuel();
        let command_place = CommandPlace::new(loaded.image.is_some());
        let state = Self { journal: None, object: None, budget, command_place, wasi };
        let mut store = Store::new(loaded.component.engine(), state);
        store.set_hostcall_fuel(fuel);
        if counts {
            cost::begin(&mut store);
        }
        store.limiter(|state| &mut state.budget);
        store.epoch_deadline_callback(|mut context| context.data_mut().budget.tick());
        store.set_epoch_deadline(1);
        store
    }

    /// Logical time for the clocks of WASI; 0 before `start`.
    pub(super) fn logical_ms(&self) -> wasmtime::Result<u64> {
        if self.journal.is_none() {
            return Ok(0);
        }
        match self.ask(JournalCall::Now)? {
            JournalAnswer::Now(now) => Ok(now),
            other => Err(mismatch("logical time", &other)),
        }
    }

    /// The last output on standard error in this call.
    pub(super) fn last_words(&self) -> String {
        self.wasi.as_ref().map(|wasi| wasi.last_words()).unwrap_or_default()
    }

    fn ask(&self, ask: JournalCall) -> wasmtime::Result<JournalAnswer> {
        self.answer(ask)?.map_err(|stop| TrapCause::Stopped(stop).into())
    }

    fn answer(&self, ask: JournalCall) -> wasmtime::Result<Result<JournalAnswer, StopReason>> {
        self.budget.check_time()?;
        if let Some(stop) = self.command_place.stop() {
            return Ok(Err(stop.clone()));
        }
        let Some(journal) = &self.journal else {
            let message = "the functions of `segno:workflow/journal` may be called during `start` and `resume` only";
            return Err(TrapCause::Refused(message.into()).into());
        };
        let mut journal = journal.lock().expect("a journal does not panic");
        Ok(journal.ask(ask))
    }

    pub(super) fn command(&mut self, command: impl Into<GuestCommand>) -> wasmtime::Result<u32> {
        match self.hand_over(JournalCall::Command(command.into()))? {
            JournalAnswer::Command(index) => Ok(index),
            other => Err(mismatch("a command's index", &other)),
        }
    }

    /// Issues a command that stays in memory until it is committed. Refused if this call has issued
    /// too much.
    fn hand_over(&mut self, ask: JournalCall) -> wasmtime::Result<JournalAnswer> {
        self.budget.hand_over(ask.size())?;
        let question = self.command_place.question(&ask);
        match (self.answer(ask)?, question) {
            (Err(stop), Some(question)) if self.command_place.stop().is_none() => {
                self.command_place.put_off(stop);
                Ok(question)
            }
            (answer, _) => answer.map_err(|stop| TrapCause::Stopped(stop).into()),
        }
    }

    /// Refuses a payload above the limit; `what` is evaluated only then.
    pub(super) fn check(&self, size: usize, what: impl FnOnce() -> String) -> wasmtime::Result<()> {
        check_size(size, self.budget.limits().output_bytes, what)
    }
}

fn mismatch(wanted: &str, answer: &JournalAnswer) -> wasmtime::Error {
    wasmtime::format_err!("the host answered {answer:?} where {wanted} was due")
}

impl WasiView for WorkflowState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        self.wasi.as_mut().expect("WASI is linked for components that import it").view()
    }
}

impl types::Host for WorkflowState {}

impl journal::Host for WorkflowState {
    fn call(
        &mut self,
        function: String,
        input: Payload,
        options: CallOptions,
    ) -> wasmtime::Result<u32> {
        self.check(size(&input), || format!("input of `{function}`"))?;
        self.command(CallCommand { function, input, options })
    }

    fn send(
        &mut self,
        function: String,
        input: Payload,
        options: CallOptions,
    ) -> wasmtime::Result<u32> {
        self.check(size(&input), || format!("input of `{function}`"))?;
        self.command(SendCommand(CallCommand { function, input, options }))
    }

    fn sleep_until(&mut self, time_ms: u64) -> wasmtime::Result<u32> {
        self.command(SleepCommand { until_ms: time_ms })
    }

    fn promise(
        &mut self,
        name: Option<String>,
        options: PromiseOptions,
    ) -> wasmtime::Result<(u32, String)> {
        match self.hand_over(PromiseCommand { name, options }.into())? {
            JournalAnswer::Promise(index, id) => Ok((index, id)),
            other => Err(mismatch("a promise", &other)),
        }
    }

    fn settle(&mut self, promise_id: String, outcome: Outcome) -> wasmtime::Result<u32> {
        self.check(outcome_size(&outcome), || format!("outcome for promise `{promise_id}`"))?;
        self.command(SettleCommand { promise_id, outcome })
    }

    fn http(&mut self, request: HttpRequest, options: CallOptions) -> wasmtime::Result<u32> {
        let size = request.body.as_ref().map_or(0, size);
        self.check(size, || format!("HTTP request to `{}`", request.url))?;
        self.command(HttpCommand { request, options })
    }

    fn cancel(&mut self, command: u32) -> wasmtime::Result<u32> {
        self.command(CancelCommand { command })
    }

    fn forget(&mut self, command: u32) -> wasmtime::Result<()> {
        self.ask(JournalCall::Forget { command }).map(drop)
    }

    fn publish(&mut self, topic: String, payload: Payload) -> wasmtime::Result<u32> {
        self.check(size(&payload), || format!("event on topic `{topic}`"))?;
        self.command(PublishCommand { topic, payload })
    }

    fn run(&mut self, name: String) -> wasmtime::Result<RunAnswer> {
        match self.hand_over(RunCommand { name }.into())? {
            JournalAnswer::Run(answer) => {
                if let (RunAnswer::Execute(index), Some(wasi)) = (&answer, &mut self.wasi) {
                    wasi.begin_run(*index);
                }
                Ok(answer)
            }
            other => Err(mismatch("the answer of `run`", &other)),
        }
    }

    fn run_done(&mut self, command: u32, outcome: Outcome) -> wasmtime::Result<()> {
        self.check(outcome_size(&outcome), || format!("result of the `run` with index {command}"))?;
        if let Some(wasi) = &mut self.wasi {
            wasi.end_run();
        }
        self.hand_over(JournalCall::RunDone { command, outcome }).map(drop)
    }

    fn now(&mut self) -> wasmtime::Result<u64> {
        match self.ask(JournalCall::Now)? {
            JournalAnswer::Now(now) => Ok(now),
            other => Err(mismatch("logical time", &other)),
        }
    }

    fn log(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        if let Some(stop) = self.command_place.stop().cloned() {
            self.command_place.read(&message);
            return Err(TrapCause::Stopped(stop).into());
        }
        let admitted = self.budget.log_room().admit(level, message);
        // Outside of an execution, only a panic in `describe` is logged.
        match admitted.filter(|_| self.journal.is_some()) {
            Some((level, message)) => self.ask(JournalCall::Log { level, message }).map(drop),
            None => Ok(()),
        }
    }

    fn finish(&mut self, outcome: Outcome) -> wasmtime::Result<()> {
        self.check(outcome_size(&outcome), || "result".into())?;
        self.hand_over(JournalCall::Finish { outcome }).map(drop)
    }
}

impl activity::Host for WorkflowState {
    async fn heartbeat(&mut self, _progress: Option<Payload>) -> wasmtime::Result<bool> {
        Err(for_activities("activity.heartbeat", "a workflow needs no heartbeat"))
    }

    async fn http(
        &mut self,
        _request: HttpRequest,
    ) -> wasmtime::Result<Result<HttpResponse, Failure>> {
        Err(for_activities("activity.http", "use `ctx.http` (`segno:workflow/journal.http`)"))
    }

    async fn log(&mut self, _level: Level, _message: String) -> wasmtime::Result<()> {
        Err(for_activities("activity.log", "use `ctx.log` (`segno:workflow/journal.log`)"))
    }
}

impl http_bodies::Host for WorkflowState {
    async fn open(
        &mut self,
        _request: HttpRequest,
    ) -> wasmtime::Result<Result<http_bodies::ResponseHead, Failure>> {
        Err(for_activities("http-bodies.open", INSTEAD_OF_BODIES))
    }

    async fn read(&mut self, _: u32, _: u32) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
        Err(for_activities("http-bodies.read", INSTEAD_OF_BODIES))
    }

    async fn close(&mut self, _response: u32) -> wasmtime::Result<()> {
        Err(for_activities("http-bodies.close", INSTEAD_OF_BODIES))
    }
}

impl configuration::Host for WorkflowState {
    fn env(&mut self, _name: String) -> wasmtime::Result<Result<String, Failure>> {
        Err(for_activities("configuration.env", INSTEAD_OF_CONFIGURATION))
    }

    fn secret(&mut self, _name: String) -> wasmtime::Result<Result<String, Failure>> {
        Err(for_activities("configuration.secret", INSTEAD_OF_SECRETS))
    }
}

/// Declares the functions of `files`, which refuse in workflows.
macro_rules! no_files {
    ($($function:ident($($type:ty),*) -> $answer:ty;)*) => {
        impl files::Host for WorkflowState {
            $(async fn $function(
                &mut self,
                $(_: $type),*
            ) -> wasmtime::Result<Result<$answer, Failure>> {
                let name = format!("files.{}", stringify!($function).replace('_', "-"));
                Err(for_activities(&name, INSTEAD_OF_FILES))
            })*
        }
    };
}

no_files! {
    read(String, u64, u64) -> Vec<u8>;
    write(String, Vec<u8>) -> ();
    append(String, Vec<u8>) -> ();
    list_directory(String) -> Vec<files::Entry>;
    remove(String) -> ();
}

pub(super) fn for_activities(function: &str, instead: &str) -> wasmtime::Error {
    TrapCause::Refused(format!(
        "`segno:workflow/{function}` is for activities, and this is a workflow: {instead}"
    ))
    .into()
}
