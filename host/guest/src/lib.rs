//! The wasm side of the host: runs components, and returns polls and outcomes.
//!
//! This crate knows the guest contract (`guest-sdk/wit`) and wasmtime. Store, leases and tasks are
//! unknown here: each command of a workflow is given to a [`Journal`], which the worker implements.
//!
//! [`Wasm`] implements [`Guests`] with wasmtime, [`Gate`] implements [`Outbound`] with a policy and
//! a client:
//!
//! ```ignore
//! let wasm = Wasm::new(WasmConfig { limits, policy, cache_dir, compiler, fair, counts: false, source })?; // source: a `ComponentSource`
//! let report = wasm.inspect(bytes).await?;                                 // at upload: imports
//! and functions let mut instance = wasm.instantiate(digest, None).await?;                      //
//! then `start`, `resume`, `resume`, …
//! ```

pub mod commands;
mod contract;
mod cost;
mod error;
mod limits;

// What a module may reach.
mod http;
pub mod policy;

// The engine, and modules in it.
mod budget;
mod cache;
mod compile;
mod engine;
mod line;
mod modules;
mod nobody;
mod pool;
mod turns;
mod wasm;

// The implementations of imports.
mod imports;
mod lines;
mod link;
mod log_room;
mod provided;
mod versions;
mod wasi;

// The errors of guests, with their places.
mod backtrace;
pub mod border;
mod panics;
mod platform;
mod trap;

// Calls of guests, and the check of uploads.
mod activity;
mod described;
mod exports;
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
mod text;
mod validate;
mod workflow;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use segno_core::{id::Digest, invocation::EngineFacts};

pub use backtrace::{Backtrace, Frame};
pub use commands::GuestCommand;
pub use compile::{COMMAND as COMPILE_COMMAND, Compiler, compile_into};
pub use contract::*;
pub use cost::Cost;
pub use error::GuestError;
pub use function_limits::FunctionLimits;
pub use handlers::{HandlerDescription, HandlerKind};
pub use http::{Gate, HttpClient, HttpLimits};
pub use invalid::Invalid;
pub use limits::Limits;
pub use messages::{MessageDescription, MessageKind};
pub use modules::ComponentSource;
pub use nobody::NoGuests;
pub use objects::{ObjectAccess, ObjectFunction};
pub use panics::Panic;
pub use policy::{Policy, PolicySource};
pub use pool::GiveUp;
pub use report::{
    Access, FunctionReport, HandlerReport, How, ImportReport, Kind, MessageReport, ModuleReport,
    RetryReport,
};
pub use schemas::{Misfit, SchemaOf, Schemas, misfit_words};
pub use snapshot::{Memory, MemoryChange, SnapshotFiles, SnapshotKey, SnapshotPolicy};
pub use turns::COMPUTING;
pub use wasm::{Wasm, WasmConfig};

/// The implementation of a running workflow's imports. Every import is one question.
pub trait Journal: Send {
    /// Answers at once. An error stops the guest: its message becomes the trap's.
    fn ask(&mut self, ask: Ask) -> Result<Answer, Stop>;
}

/// A [`Journal`] as an instance holds it during a poll, when nothing else holds the lock.
pub type SharedJournal = Arc<Mutex<dyn Journal>>;

/// Why a [`Journal`] stopped its guest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The guest issued another command than is recorded. The journal keeps the report.
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
    /// The attempt begins: its instance is there, and its next step can have an effect. Completes
    /// when that may happen; never, if the attempt has no claim any more.
    async fn begin(&self) {}

    /// Keeps `progress` for the next attempt. True: cancellation was requested.
    async fn heartbeat(&self, progress: Option<Payload>) -> bool;

    /// Sends one HTTP request, through the host's [`Outbound`] under the policy of the activity's
    /// module.
    async fn http(&self, request: HttpRequest) -> Result<HttpResponse, Failure>;

    /// Stores a log line with the invocation.
    fn log(&self, level: Level, message: String);
}

/// Outbound HTTP of the host: policy and client.
#[async_trait]
pub trait Outbound: Send + Sync {
    /// Sends one request for the module known as `module`, if its policy allows the address.
    /// Nothing is retried.
    ///
    /// # Errors
    /// A failure for the guest: a refusal by the policy is final (403), a failure of the network is
    /// not.
    async fn send(&self, module: &str, request: HttpRequest) -> Result<HttpResponse, Failure>;

    /// Whether the policy of the module known as `module` allows requests to `url`.
    ///
    /// # Errors
    /// A failure for the guest (403).
    fn allows(&self, module: &str, url: &str) -> Result<(), Failure>;
}

/// Loads and runs modules, by digest.
#[async_trait]
pub trait Guests: Send + Sync {
    /// The functions that the module describes.
    async fn describe(&self, module: Digest) -> Result<Arc<Vec<FunctionDescription>>, GuestError>;

    /// A fresh instance, linked without I/O. For an execution that began earlier, `facts` are the
    /// settings it began under, which it is given again.
    ///
    /// # Errors
    /// Among others [`GuestError::OtherEngine`]: this host cannot provide the settings.
    async fn instantiate(
        &self,
        module: Digest,
        facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError>;

    /// The settings that could change a replay.
    fn engine_facts(&self) -> EngineFacts;

    /// The limits of instances; none: nothing here runs any.
    fn limits(&self) -> Option<&Limits> {
        None
    }

    /// The same modules, whose instances say what they [cost](Workflow::cost). They run slower.
    ///
    /// # Errors
    /// Nothing is counted here.
    fn counting(&self) -> Result<Arc<dyn Guests>, GuestError> {
        Err(GuestError::Host(
            "these guests are not wasm: their instructions are not counted".into(),
        ))
    }

    /// Where snapshots are kept; none: nowhere.
    fn snapshots(&self) -> Option<&Arc<SnapshotFiles>> {
        None
    }

    /// An instance as [`Guests::instantiate`] gives it, of the same code, that can be
    /// [saved](Workflow::save) and [restored](Workflow::restore).
    ///
    /// # Errors
    /// Among others: the module keeps something where it cannot be read.
    async fn accessible(
        &self,
        _module: Digest,
        _facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError> {
        Err(GuestError::Host("these guests are not wasm: they have no memory to be read".into()))
    }

    /// Sets the function that removes waiting instances when the pool is full.
    fn when_full(&self, _give_up: GiveUp) {}

    /// Number of places of the pool that an instance takes; 1, if it is not known.
    async fn places(&self, _module: Digest) -> usize {
        1
    }

    /// Runs one attempt of an activity, in an instance of its own, with the I/O that the policy
    /// allows for `name`, the alias under which the module was called.
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
    /// Starts `function`; returns when the guest has nothing more to do.
    async fn start(
        &mut self,
        journal: SharedJournal,
        function: &str,
        input: Payload,
        context: Context,
    ) -> Result<(), GuestError>;

    /// Delivers one event to the guest; returns when it has nothing more to do.
    async fn resume(&mut self, journal: SharedJournal, event: Event) -> Result<(), GuestError>;

    /// Answers a query of the workflow, which has to be between two polls; `journal` answers what
    /// the query asks. `None`: the module has no queries.
    async fn query(
        &mut self,
        _journal: SharedJournal,
        _name: &str,
        _input: Payload,
    ) -> Result<Option<Outcome>, GuestError> {
        Ok(None)
    }

    /// Why the workflow refuses an update now, if it does; else as [`Workflow::query`].
    async fn validate(
        &mut self,
        _journal: SharedJournal,
        _name: &str,
        _input: Payload,
    ) -> Result<Option<Option<Failure>>, GuestError> {
        Ok(None)
    }

    /// What the instance keeps now, between two polls. It has to be an
    /// [accessible](Guests::accessible) one.
    ///
    /// # Errors
    /// It is not, or keeps something elsewhere at the moment: an open handle of WASI.
    async fn save(&mut self) -> Result<Memory, GuestError> {
        Err(GuestError::Host("this instance has no memory to be read".into()))
    }

    /// Makes a new instance the one of which `change` was taken: it was started as `function`, with
    /// this seed.
    ///
    /// # Errors
    /// It is not an [accessible](Guests::accessible) one, or cannot become that.
    async fn restore(
        &mut self,
        _function: &str,
        _seed: &[u8],
        _change: &MemoryChange,
    ) -> Result<(), GuestError> {
        Err(GuestError::Host("this instance has no memory to be written".into()))
    }

    /// What the instance used up to now; `None`: nothing is counted.
    fn cost(&self) -> Option<Cost> {
        None
    }

    /// Number of bytes of memory that this instance keeps, for the budget of warm instances.
    fn footprint(&self) -> usize;

    /// Whether other instances wait for the places that this one holds.
    fn is_in_the_way(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
