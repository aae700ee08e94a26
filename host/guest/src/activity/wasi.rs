//! WASI for activities, restricted by the policy.

use std::sync::Arc;

use wasmtime_wasi::{FsPerms, ResourceTable, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{
    Error as HttpError, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
    WasiHttpView, default_hooks,
};

use super::ActivityState;
use crate::{ActivityHost, Failure, Level, lines::LineStream, log_room::LogBudget, policy::Grants};

/// WASI with the directories, the environment and the addresses that the policy allows.
pub(super) struct RealWasi {
    context: WasiCtx,
    table: ResourceTable,
    http: WasiHttpCtx,
    gate: WasiHttpGate,
    pub(super) output: LineStream,
    pub(super) error: LineStream,
}

impl RealWasi {
    /// WASI for one attempt.
    ///
    /// # Errors
    /// A setting or a directory of the policy cannot be read. The author sees why, and another
    /// attempt succeeds once the operator has mended it.
    pub(super) fn new(
        grants: &Arc<Grants>,
        host: &Arc<dyn ActivityHost>,
        room: &LogBudget,
    ) -> Result<Self, Failure> {
        let lines = |level| {
            let host = Arc::clone(host);
            LineStream::new(level, room.clone(), Box::new(move |level, line| host.log(level, line)))
        };
        let (output, error) = (lines(Level::Info), lines(Level::Warn));
        let mut builder = WasiCtx::builder();
        builder.stdout(output.clone()).stderr(error.clone()).allow_tcp(false).allow_udp(false);
        for directory in &grants.dirs {
            let permissions = if directory.write { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
            builder.preopened_dir(&directory.host, &directory.guest, permissions).map_err(
                |error| Failure {
                    code: 500,
                    message: format!(
                        "the directory `{}` in `dirs` of `[{}]` in policy.toml cannot be opened: {error:#}",
                        directory.host.display(),
                        grants.module()
                    ),
                    details: None,
                },
            )?;
        }
        for name in grants.env.keys() {
            builder.env(name, grants.read_env(name)?.expect("a name of `env`"));
        }
        Ok(Self {
            context: builder.build(),
            table: ResourceTable::new(),
            http: WasiHttpCtx::new(),
            gate: WasiHttpGate {
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
struct WasiHttpGate {
    grants: Arc<Grants>,
    host: Arc<dyn ActivityHost>,
    log_room: LogBudget,
}

type SentResponse =
    (http::Response<WasiBody>, Box<dyn Future<Output = Result<(), HttpError>> + Send>);

impl WasiHttpHooks for WasiHttpGate {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        answered: Box<dyn Future<Output = Result<(), HttpError>> + Send>,
    ) -> Box<dyn Future<Output = Result<SentResponse, HttpError>> + Send> {
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
