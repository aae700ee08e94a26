//! The imports of an activity. In workflows these imports refuse.

use std::sync::Arc;

use super::{ActivityState, files::ActivityFiles};
use crate::{
    HttpRequest, HttpResponse, Level, Outcome, Payload,
    bindings::segno::workflow::{activity, configuration, files, journal, types},
    border::is_json,
    contract::{CallOptions, Failure, PromiseOptions, RunAnswer, size},
    trap::{TrapCause, check_size},
};

/// Maximum size of an attempt's progress, in bytes: it is stored with the task and written again
/// with each change of the task.
const PROGRESS_BYTES: usize = 256 << 10;

impl types::Host for ActivityState {}

impl activity::Host for ActivityState {
    async fn heartbeat(&mut self, progress: Option<Payload>) -> wasmtime::Result<bool> {
        self.budget.check_time()?;
        let limit = self.budget.limits().output_bytes.min(PROGRESS_BYTES);
        check_size(progress.as_ref().map_or(0, size), limit, || {
            "progress (store what is larger outside, and report where it is)".into()
        })?;
        if let Some(progress) = &progress {
            is_json(progress, || "progress".into()).map_err(TrapCause::Refused)?;
        }
        self.budget.waited();
        let progress = progress.map(|progress| self.secrets.hide_in(progress));
        Ok(self.host.heartbeat(progress).await)
    }

    async fn http(
        &mut self,
        request: HttpRequest,
    ) -> wasmtime::Result<Result<HttpResponse, Failure>> {
        self.check_request(&request)?;
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

impl configuration::Host for ActivityState {
    fn env(&mut self, name: String) -> wasmtime::Result<Result<String, Failure>> {
        Ok(match self.grants.read_env(&name) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(self.not_set("env", &name, "\"VALUE\"")),
            Err(error) => Err(error.into()),
        })
    }

    fn secret(&mut self, name: String) -> wasmtime::Result<Result<String, Failure>> {
        let value = self.secrets.value(&name).map(str::to_owned);
        Ok(value.ok_or_else(|| self.not_set("secrets", &name, "{ from = \"VARIABLE\" }")))
    }
}

impl files::Host for ActivityState {
    async fn read(
        &mut self,
        path: String,
        offset: u64,
        length: u64,
    ) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
        let length = length.min(self.budget.limits().output_bytes as u64);
        self.in_files(move |files| files.read(&path, offset, length)).await
    }

    async fn write(
        &mut self,
        path: String,
        content: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Failure>> {
        self.check_file(&path, &content)?;
        self.in_files(move |files| files.write(&path, &content)).await
    }

    async fn append(
        &mut self,
        path: String,
        content: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Failure>> {
        self.check_file(&path, &content)?;
        self.in_files(move |files| files.append(&path, &content)).await
    }

    async fn list_directory(
        &mut self,
        path: String,
    ) -> wasmtime::Result<Result<Vec<files::Entry>, Failure>> {
        self.in_files(move |files| files.list(&path)).await
    }

    async fn remove(&mut self, path: String) -> wasmtime::Result<Result<(), Failure>> {
        self.in_files(move |files| files.remove(&path)).await
    }
}

impl ActivityState {
    /// Code 403 is final: another attempt would find the same settings.
    fn not_set(&self, table: &str, name: &str, value: &str) -> Failure {
        let module = self.grants.module();
        let message = format!(
            "`{table}.{name}` is not set for this module: add `{table}.{name} = {value}` to `[{module}]` in policy.toml"
        );
        Failure { code: 403, message, details: None }
    }

    /// Checks that the attempt may send `request`.
    pub(super) fn check_request(&self, request: &HttpRequest) -> wasmtime::Result<()> {
        self.budget.check_time()?;
        let limit = self.budget.limits().output_bytes;
        let size = request.body.as_ref().map_or(0, size);
        check_size(size, limit, || format!("HTTP request to `{}`", request.url))?;
        if let Some(body) = &request.body {
            let place = || format!("body of the HTTP request to `{}`", request.url);
            is_json(body, place).map_err(TrapCause::Refused)?;
        }
        Ok(())
    }

    fn check_file(&self, path: &str, content: &[u8]) -> wasmtime::Result<()> {
        let limit = self.budget.limits().output_bytes;
        check_size(content.len(), limit, || format!("content for `{path}`"))
    }

    /// Runs `work` on a thread that may block.
    async fn in_files<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&ActivityFiles) -> Result<T, Failure> + Send + 'static,
    ) -> wasmtime::Result<Result<T, Failure>> {
        self.budget.check_time()?;
        self.budget.waited();
        let files = ActivityFiles::new(Arc::clone(&self.grants));
        Ok(tokio::task::spawn_blocking(move || work(&files)).await?)
    }
}

/// Declares the functions of `journal`, which refuse in activities.
macro_rules! no_journal {
    ($($function:ident($($type:ty),*) -> $answer:ty;)*) => {
        impl journal::Host for ActivityState {
            $(fn $function(&mut self, $(_: $type),*) -> wasmtime::Result<$answer> {
                Err(for_workflows(&format!(
                    "journal.{}",
                    stringify!($function).replace('_', "-")
                )))
            })*
        }
    };
}

no_journal! {
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

/// The refusal of a contract function that only workflows may call.
pub(crate) fn for_workflows(function: &str) -> wasmtime::Error {
    TrapCause::Refused(format!(
        "`segno:workflow/{function}` is for workflows, and this is an activity: return a value to the workflow, and let the workflow continue from there"
    ))
    .into()
}
