//! Durable functions in ordinary async Rust.
//!
//! A **workflow** is an `async fn` that survives the death of its host: its commands and the events
//! it received are in a journal, from which its state is restored. An **activity** is an `async fn`
//! that performs side effects; it is attempted until it succeeds or its policy ends it. Use this
//! package under the name `segno`:
//!
//! ```toml
//! segno = { package = "segno-sdk", path = "…" }
//! ```
//!
//! ```
//! # extern crate segno_sdk as segno;
//! #[segno::workflow]
//! async fn hello(ctx: segno::Context, name: String) -> segno::Result<String> {
//!     ctx.sleep(std::time::Duration::from_secs(60)).await?;
//!     Ok(format!("Hello, {name}!"))
//! }
//!
//! # #[cfg(any())]
//! segno::module!(hello);
//! ```
//!
//! | task | see |
//! |---|---|
//! | issue commands in a workflow: calls, timers, promises, signals, requests | [`Context`] |
//! | perform side effects in an activity | [`ActivityContext`] |
//! | wait for several futures | [`select`], [`join`], [`try_join_all`], and [`Context::timeout`] |
//! | fail, and choose if a retry helps | [`Error`], [`RetryPolicy`] |
//! | send HTTP requests | [`http::Request`] |
//! | keep state by key, with one writer at a time | [`macro@object`], [`State`], [`Context::object`] |
//! | answer queries and updates while a workflow runs | [`Context::share`], [`macro@query`], [`macro@update`] |
//! | undo steps if the whole does not succeed | [`Saga`] |
//! | run a graph of steps on the host | [`Context::graph`]; with the feature `graph`, `#[segno::graph]` |
//! | limit concurrency and rate of executions | the argument `limit(…)` of [`macro@workflow`] |
//! | declare functions and their data | [`macro@workflow`], [`macro@activity`], [`macro@data`], [`module!`] |
//! | run a workflow natively, in virtual time | [`testing::Test`] |
//!
//! The page `sdk.html` of `segno docs` shows every operation with an example.

#![warn(missing_docs)]

// The macros generate paths with `::segno`, also in this crate.
extern crate self as segno;

mod context;

mod blob;
mod call;
mod combine;
mod handle;
mod object;
mod plan;
mod promise;
mod random;
mod run;
mod saga;
mod shared;
mod signals;
mod stream;
mod stream_reader;

mod activity;
mod attempt;
mod attempt_operations;
mod budget;
mod files;
pub mod http;
mod secret;

mod error;
mod finite;
mod log;
mod payload;
mod retry;
mod time;

#[cfg(feature = "graph")]
pub mod graph;

mod function;
mod handler;
mod listed;
mod message;
mod module;

mod execution;
mod exports;
mod invocation;
mod journal;
mod task;
mod update;

#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

#[cfg(all(target_arch = "wasm32", feature = "allocator"))]
mod memory;

#[doc(hidden)]
#[rustfmt::skip] // Generated.
#[allow(
    clippy::allow_attributes_without_reason,
    clippy::undocumented_unsafe_blocks,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "it is generated"
)]
pub mod bindings;
mod host;

pub use activity::ActivityContext;
pub use blob::{Blob, BlobPieces, BlobWriter, Blobs};
pub use budget::{Amount, RemainingBudget, RemainingUnit};
pub use call::{Call, Send};
pub use combine::{
    Either, join, join_all, join3, join4, select, try_join, try_join_all, try_join3, try_join4,
};
pub use context::Context;
pub use error::{Error, Result};
pub use files::{DirectoryEntry, Files};
pub use function::{Body, Defaults, Function, FunctionContext, Item, Returns};
pub use handle::{Handle, Step};
pub use handler::{Answer, Answering, Handler, Query, QueryItem, Update, UpdateItem};
pub use log::Level;
pub use message::Message;
pub use module::Module;
pub use object::{
    Object, ObjectAccess, ObjectFields, ObjectPromise, ObjectRef, State, StateField, StateMap,
};
pub use payload::Payload;
pub use promise::Promise;
pub use random::Random;
pub use retry::RetryPolicy;
pub use run::{Run, RunOutput};
pub use saga::{OnUnknown, Saga, SagaCall, SagaReport, SagaStep, StepReport, Undo};
pub use secret::Secret;
#[cfg(feature = "graph")]
pub use segno_macro::graph;
pub use segno_macro::{activity, data, object, query, update, workflow};
pub use shared::Shared;
pub use signals::{Receive, Signal, Signals};
pub use stream::{AttemptStream, Stream};
pub use stream_reader::StreamReader;
pub use time::Timestamp;

pub use chacha20::rand_core;
pub use schemars::{self, JsonSchema};
pub use serde::{self, Deserialize, Serialize};
pub use serde_json;

/// Used by the macros only, and subject to change.
#[doc(hidden)]
pub mod __private {
    pub use crate::bindings;
    pub use crate::bindings::exports::segno::workflow::functions::Guest;
    pub use crate::bindings::exports::segno::workflow::{
        commits, exposures, handlers, limits, messages, objects, runs,
    };
    pub use crate::bindings::segno::workflow::types;
    pub use crate::exports::{
        describe, describe_commits, describe_exposures, describe_handlers, describe_limits,
        describe_messages, describe_objects, describe_runs, perform, query, resume, start,
        validate,
    };
    pub use crate::function::Entry;
    #[cfg(feature = "graph")]
    pub use crate::graph::{check as check_graph, run as run_graph};
    pub use crate::handler::{HandlerEntry, SharedParameter, workflow_name};
    pub use crate::listed::Listed;
    #[cfg(not(target_arch = "wasm32"))]
    pub use crate::module::no_module;
    pub use crate::module::{bytes, length};
    pub use crate::object::ObjectEntries;
}
