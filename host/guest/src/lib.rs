//! The wasm side of the host: runs components, and returns polls and outcomes.
//!
//! This crate knows the guest contract (`guest-sdk/wit`) and wasmtime. It does not know the store,
//! leases or tasks: each command of a workflow goes to a [`GuestJournal`], which the worker implements.
//!
//! [`Wasm`] implements [`Guests`] with wasmtime, [`HttpGate`] implements [`Outbound`] with a policy and
//! a client:
//!
//! ```ignore
//! let wasm = Wasm::new(WasmConfig { limits, policy, cache_dir, compiler, fair, counts: false, ahead: None, source })?; // source: a `ComponentSource`
//! let report = wasm.inspect(bytes).await?;                                 // at upload: imports
//! and functions let mut instance = wasm.instantiate(digest, None).await?;                      //
//! then `start`, `resume`, `resume`, …
//! ```

pub mod commands;
mod contract;
mod cost;
mod error;
mod limits;

// The I/O that a module may use.
mod http;
mod http_body;
mod idle_modules;
pub mod policy;

// The engine, and modules in it.
mod budget;
mod cache;
mod compile;
mod engine;
mod line;
mod loaded;
mod loading;
mod loading_error;
mod mapped;
mod modules;
mod nobody;
mod pool;
mod program_pages;
mod turns;
mod wasm;
mod wasm_config;

// The implementations of imports.
mod imports;
mod lines;
mod link;
mod log_room;
mod provided;
mod ready;
mod versions;
mod wasi;

// The errors of guests, with their places.
mod backtrace;
pub mod border;
mod command_place;
mod interpreter;
mod panics;
mod platform;
mod trap;

// Calls of guests, and the check of uploads.
mod activity;
mod blobs;
mod described;
mod exports;
mod exposures;
mod function_description;
mod function_limits;
mod function_reports;
mod handlers;
mod instance;
mod invalid;
mod messages;
mod object_promises;
mod objects;
mod report;
mod sagas;
mod schemas;
mod signals;
mod snapshot;
mod state;
mod streams;
mod text;
mod validate;
mod workflow;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use segno_core::{id::Digest, invocation::EngineFacts};

pub use backtrace::{Backtrace, BacktraceFrame};
pub use blobs::{ActivityBlobs, no_blobs};
pub use commands::GuestCommand;
pub use compile::{COMMAND as COMPILE_COMMAND, Compiler, compile_into};
pub use contract::*;
pub use cost::Cost;
pub use error::GuestError;
pub use function_description::FunctionDescription;
pub use function_limits::FunctionLimits;
pub use handlers::{HandlerDescription, HandlerKind};
pub use http::{HttpClient, HttpGate, HttpLimits};
pub use http_body::{OpenedResponse, ResponseBody};
pub use invalid::InvalidComponent;
pub use limits::Limits;
pub use loading_error::LoadingError;
pub use messages::{MessageDescription, NamedMessageKind};
pub use modules::ComponentSource;
pub use nobody::NoGuests;
pub use objects::{ObjectAccess, ObjectFunction};
pub use panics::Panic;
pub use policy::{Policy, PolicySource};
pub use pool::EvictionCallback;
pub use program_pages::release_program_pages;
pub use report::{
    AccessReport, FunctionReport, FunctionReportKind, HandlerReport, ImportReport, ImportTreatment,
    MessageReport, ModuleReport, RetryReport,
};
pub use schemas::{SchemaMismatch, SchemaSubject, Schemas, misfit_words};
pub use snapshot::{Memory, MemoryChange, SnapshotFiles, SnapshotKey, SnapshotPolicy};
pub use turns::COMPUTING;
pub use wasm::{Wasm, WasmEngine};
pub use wasm_config::WasmConfig;

/// The implementation of a running workflow's imports. Every import is one [`JournalCall`].
pub trait GuestJournal: Send {
    /// Answers without waiting. An error stops the guest, and its message becomes the trap's
    /// message.
    fn ask(&mut self, ask: JournalCall) -> Result<JournalAnswer, StopReason>;
}

/// A [`GuestJournal`] as an instance holds it during a poll; nothing else holds the lock then.
pub type SharedJournal = Arc<Mutex<dyn GuestJournal>>;

/// The reason that a [`GuestJournal`] stopped its guest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// The guest issued another command than the recorded one. The journal keeps the report.
    #[error("the command differs from the recorded one")]
    Divergence,
    /// The guest broke the contract, for example by a command inside a `run`.
    #[error("{0}")]
    Contract(String),
    /// The stored journal cannot be replayed; the guest is not at fault.
    #[error("{0}")]
    Damaged(String),
}

/// The implementation of a running activity's imports.
#[async_trait]
pub trait ActivityHost: Send + Sync {
    /// Marks the begin of the attempt: the instance exists, and its next step can have an effect.
    /// Completes when the attempt may continue; never completes if it has lost its claim.
    async fn begin(&self) {}

    /// Stores `progress` for the next attempt. Returns true if cancellation was requested.
    async fn heartbeat(&self, progress: Option<Payload>) -> bool;

    /// Sends one HTTP request, through the host's [`Outbound`] under the policy of the activity's
    /// module.
    async fn http(&self, request: HttpRequest) -> Result<HttpResponse, Failure>;

    /// Adds to what the attempt costs. A runtime without budgets ignores it.
    ///
    /// # Errors
    /// A failure for the guest.
    fn report_cost(&self, _unit: &str, _millionths: u64) -> Result<(), Failure> {
        Ok(())
    }

    /// Sends one HTTP request as [`http`](Self::http). Returns when the status and the headers have
    /// arrived.
    ///
    /// # Errors
    /// A failure for the guest.
    async fn http_open(&self, request: HttpRequest) -> Result<OpenedResponse, Failure> {
        self.http(request).await.map(OpenedResponse::from)
    }

    /// Returns the number of positions of a stream that this call has appended and the store has.
    ///
    /// # Errors
    /// A failure for the guest.
    async fn stream_kept(&self, name: &str) -> Result<u64, Failure> {
        Err(no_streams(name))
    }

    /// Appends to a stream, now or within a moment. Waits while too much is gathered.
    ///
    /// # Errors
    /// A failure for the guest, possibly of an earlier item.
    async fn stream_append(
        &self,
        name: &str,
        _content_type: &str,
        _item: Payload,
    ) -> Result<(), Failure> {
        Err(no_streams(name))
    }

    /// The blobs of the attempt. `None` where there is no place for them.
    fn blobs(&self) -> Option<&dyn ActivityBlobs> {
        None
    }

    /// Stores a log line with the invocation.
    fn log(&self, level: Level, message: String);
}

/// The failure where another runtime keeps the journal.
fn no_streams(name: &str) -> Failure {
    let message = format!("the stream `{name}` cannot be written: this runtime has no streams");
    Failure { code: 422, message, details: None }
}

/// Outbound HTTP of the host: policy and client.
#[async_trait]
pub trait Outbound: Send + Sync {
    /// Sends one request for the module with the alias `module`, if its policy allows the address.
    /// Never retries.
    ///
    /// # Errors
    /// A failure for the guest: a refusal by the policy is final (403), a failure of the network is
    /// not.
    async fn send(&self, module: &str, request: HttpRequest) -> Result<HttpResponse, Failure>;

    /// Sends one request as [`send`](Self::send). Returns when the status and the headers have
    /// arrived.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    async fn open(&self, module: &str, request: HttpRequest) -> Result<OpenedResponse, Failure> {
        self.send(module, request).await.map(OpenedResponse::from)
    }

    /// Checks that the policy of the module with the alias `module` allows requests to `url`.
    ///
    /// # Errors
    /// A failure for the guest (403).
    fn allows(&self, module: &str, url: &str) -> Result<(), Failure>;
}

/// Loads and runs modules, identified by digest.
#[async_trait]
pub trait Guests: Send + Sync {
    async fn describe(&self, module: Digest) -> Result<Arc<Vec<FunctionDescription>>, GuestError>;

    /// Creates a fresh instance, linked without I/O. For an execution that began earlier, `facts`
    /// are the engine settings of its start, which are applied again.
    ///
    /// # Errors
    /// Among others [`GuestError::OtherEngine`], if this host cannot provide the settings.
    async fn instantiate(
        &self,
        module: Digest,
        facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError>;

    /// The engine settings that could change a replay.
    fn engine_facts(&self) -> EngineFacts;

    /// The limits of instances. `None` if this implementation runs no instances.
    fn limits(&self) -> Option<&Limits> {
        None
    }

    /// The same modules with instances that report their [cost](Workflow::cost). They run slower.
    ///
    /// # Errors
    /// This implementation cannot count.
    fn counting(&self) -> Result<Arc<dyn Guests>, GuestError> {
        Err(GuestError::Host(
            "these guests are not wasm: their instructions are not counted".into(),
        ))
    }

    /// The store of snapshots. `None` if snapshots are not kept.
    fn snapshots(&self) -> Option<&Arc<SnapshotFiles>> {
        None
    }

    /// Creates an instance like [`Guests::instantiate`], of the same code, that can be
    /// [saved](Workflow::save) and [restored](Workflow::restore).
    ///
    /// # Errors
    /// Among others, an error if the module keeps state where it cannot be read.
    async fn accessible(
        &self,
        _module: Digest,
        _facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError> {
        Err(GuestError::Host("these guests are not wasm: they have no memory to be read".into()))
    }

    /// Sets the callback that removes waiting instances when the pool is full.
    fn when_full(&self, _give_up: EvictionCallback) {}

    /// Number of pool places that an instance takes; 1 if it is not known.
    async fn places(&self, _module: Digest) -> usize {
        1
    }

    /// Runs one attempt of an activity, in a fresh instance, with the I/O that the policy allows
    /// for `name`, the alias under which the module was called.
    async fn perform(
        &self,
        module: Digest,
        name: &str,
        function: &str,
        input: Payload,
        context: ActivityContext,
        host: Arc<dyn ActivityHost>,
    ) -> Result<Outcome, GuestError>;
}

/// One instance of a workflow: all its state is in its memory, and its stack is empty between
/// calls.
#[async_trait]
pub trait Workflow: Send {
    /// Starts `function` and returns when the guest has nothing more to do.
    async fn start(
        &mut self,
        journal: SharedJournal,
        function: &str,
        input: Payload,
        context: Context,
    ) -> Result<(), GuestError>;

    /// Delivers one event to the guest and returns when it has nothing more to do.
    async fn resume(&mut self, journal: SharedJournal, event: Event) -> Result<(), GuestError>;

    /// Answers a query of the workflow, between two polls. `journal` serves the imports that the
    /// query calls. `None` if the module has no queries.
    async fn query(
        &mut self,
        _journal: SharedJournal,
        _name: &str,
        _input: Payload,
    ) -> Result<Option<Outcome>, GuestError> {
        Ok(None)
    }

    /// Validates an update against the workflow's current state: the reason of a refusal, if the
    /// workflow refuses it. Otherwise like [`Workflow::query`].
    async fn validate(
        &mut self,
        _journal: SharedJournal,
        _name: &str,
        _input: Payload,
    ) -> Result<Option<Option<Failure>>, GuestError> {
        Ok(None)
    }

    /// Reads the state that the instance keeps between two polls. The instance must be an
    /// [accessible](Guests::accessible) one.
    ///
    /// # Errors
    /// The instance is not accessible, or currently keeps state elsewhere, such as an open WASI
    /// handle.
    async fn save(&mut self) -> Result<Memory, GuestError> {
        Err(GuestError::Host("this instance has no memory to be read".into()))
    }

    /// Turns a new instance into the one from which `change` was taken, which was started as
    /// `function` with this seed.
    ///
    /// # Errors
    /// The instance is not an [accessible](Guests::accessible) one, or the change does not fit.
    async fn restore(
        &mut self,
        _function: &str,
        _seed: &[u8],
        _change: &MemoryChange,
    ) -> Result<(), GuestError> {
        Err(GuestError::Host("this instance has no memory to be written".into()))
    }

    /// Resources that the instance has used so far. `None` if nothing is counted.
    fn cost(&self) -> Option<Cost> {
        None
    }

    /// Memory that this instance keeps, in bytes, for the budget of warm instances.
    fn footprint(&self) -> usize;

    /// Returns true if other instances wait for the places that this one holds.
    fn is_in_the_way(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
