//! The wasm side of the host: components in, polls and outcomes out.
//!
//! This module knows the guest contract (`guest-sdk/wit`) and wasmtime. It does not know the store, leases or tasks:
//! what a workflow asks for is handed to a [`Journal`], which the worker implements.
//!
//! [`Wasm`] is [`Guests`] by wasmtime, [`Gate`] is [`Outbound`] by policy and client:
//!
//! ```ignore
//! let wasm = Wasm::new(WasmConfig { limits, policy, cache_dir, compiler, fair, source })?; // source: a `ComponentSource`
//! let report = wasm.inspect(bytes).await?;                                 // at upload: what it needs and offers
//! let mut instance = wasm.instantiate(digest, None).await?;                      // then `start`, `resume`, `resume`, …
//! ```

pub mod commands;
mod contract;
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
mod trap;
mod turns;
mod wasm;

// What stands behind the imports.
mod imports;
mod lines;
mod link;
mod log_room;
mod wasi;

// Running, and the check before.
mod activity;
mod instance;
mod report;
mod validate;
mod workflow;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use segno_core::{id::Digest, invocation::EngineFacts};

pub use commands::GuestCommand;
pub use compile::{COMMAND as COMPILE_COMMAND, Compiler, compile_into};
pub use contract::*;
pub use error::GuestError;
pub use http::{Gate, HttpClient, HttpLimits};
pub use limits::Limits;
pub use modules::ComponentSource;
pub use nobody::NoGuests;
pub use policy::Policy;
pub use pool::GiveUp;
pub use report::{FunctionReport, How, ImportReport, Kind, ModuleReport, RetryReport};
pub use turns::COMPUTING;
pub use validate::Invalid;
pub use wasm::{Wasm, WasmConfig};

/// What stands behind the imports of a running workflow. Every import is one question.
pub trait Journal: Send {
    /// Answers at once. An error stops the guest: its message becomes the trap's.
    fn ask(&mut self, ask: Ask) -> Result<Answer, Stop>;
}

/// A [`Journal`] as an instance holds it during a poll. Nobody else holds the lock then.
pub type SharedJournal = Arc<Mutex<dyn Journal>>;

/// Why a [`Journal`] stopped its guest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The guest asked for something else than is recorded. The journal keeps the report.
    #[error("the command differs from the recorded one")]
    Divergence,
    /// The guest broke the contract, for example by a command inside a `run`.
    #[error("{0}")]
    Contract(String),
    /// The stored journal cannot be replayed; the guest is not at fault.
    #[error("{0}")]
    Damaged(String),
}

/// What stands behind the imports of a running activity.
#[async_trait]
pub trait ActivityHost: Send + Sync {
    /// Keeps `progress` for the next attempt. True: cancellation was requested.
    async fn heartbeat(&self, progress: Option<Payload>) -> bool;

    /// One HTTP request, through the host's [`Outbound`] under the policy of the activity's module.
    async fn http(&self, request: HttpRequest) -> Result<HttpResponse, Failure>;

    /// Keeps a line with the invocation.
    fn log(&self, level: Level, message: String);
}

/// The way out of the host for HTTP: policy and client.
#[async_trait]
pub trait Outbound: Send + Sync {
    /// Sends one request for the module known as `module`, if its policy allows the address. Nothing is retried.
    ///
    /// # Errors
    /// A failure that the guest is told: what the policy refuses is final (403), what the network does is not.
    async fn send(&self, module: &str, request: HttpRequest) -> Result<HttpResponse, Failure>;

    /// Whether the policy of the module known as `module` allows it to have something sent to `url`.
    ///
    /// # Errors
    /// A failure that the guest is told (403).
    fn allows(&self, module: &str, url: &str) -> Result<(), Failure>;
}

/// Everything that can be run: modules by digest.
#[async_trait]
pub trait Guests: Send + Sync {
    /// What the module offers.
    async fn describe(&self, module: Digest) -> Result<Arc<Vec<FunctionDescription>>, GuestError>;

    /// A fresh instance, linked without I/O. For an execution that began earlier, `facts` are the settings it began
    /// under: it is given the same.
    ///
    /// # Errors
    /// Among others [`GuestError::OtherEngine`]: this host cannot give it the same.
    async fn instantiate(
        &self,
        module: Digest,
        facts: Option<EngineFacts>,
    ) -> Result<Box<dyn Workflow>, GuestError>;

    /// The settings that could change a replay.
    fn engine_facts(&self) -> EngineFacts;

    /// Says who gives up instances that only wait when others find no room.
    fn when_full(&self, _give_up: GiveUp) {}

    /// One attempt of an activity, in an instance of its own, with I/O as far as the policy for `name` allows:
    /// the alias under which the module was called.
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

/// One instance of a workflow: all it knows is in its memory, and its stack is empty between the calls.
#[async_trait]
pub trait Workflow: Send {
    /// Begins `function`; returns when the guest has nothing more to do.
    async fn start(
        &mut self,
        journal: SharedJournal,
        function: &str,
        input: Payload,
        context: Context,
    ) -> Result<(), GuestError>;

    /// Tells the guest of one event; returns when it has nothing more to do.
    async fn resume(&mut self, journal: SharedJournal, event: Event) -> Result<(), GuestError>;

    /// Bytes of memory that this instance keeps, for the budget of warm instances.
    fn footprint(&self) -> usize;

    /// Whether others wait for the room that this instance takes.
    fn is_in_the_way(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
