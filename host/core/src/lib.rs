//! The rules of Segno as pure functions. All decisions are made here; making them durable is the
//! host's job. No async, clock, SQL, wasm or I/O.
//!
//! The single entry point is [`transition()`]: it takes a view of the rows, a command and the time,
//! and returns a reply, the rows to write and hints. [`footprint()`] determines the rows to load
//! for it.
//!
//! Recommended reading order:
//! - [`id`], [`time`], [`value`], [`address`], [`tags`]: the basic types; [`json`]: validation of
//!   JSON;
//! - [`promise`]: promises, tasks, leases, callbacks, the outbox;
//! - [`object`]: keys whose executions take turns, and their state;
//! - [`budget`]: how much an execution and everything below it may use;
//! - [`limit`]: bounds on concurrent executions of a function, and on their start rate;
//! - [`stream`]: append-only sequences that executions write while they run;
//! - [`saga`]: facts about steps that may have to be compensated, and the next action;
//! - [`keyed_request`]: comparison of two requests under one key;
//! - [`invocation`]: the journal, its encoding, its replay;
//! - [`command`], [`reply`], [`delta`], [`effect`], [`config`]: inputs and outputs;
//! - [`view`], [`footprint`](mod@footprint), [`unreadable`]: the loaded rows, the rows that a
//!   command needs, and rows that cannot be read;
//! - [`transition`](mod@transition): the rules, one file per family of commands;
//! - [`fair_share`]: shared capacity;
//! - [`shard`]: the parts of a store of several databases;
//! - [`model`], [`snapshot`], [`invariants`]: whole stores in memory and as rows, and their
//!   invariants.

#![forbid(unsafe_code)]

pub mod address;
pub mod id;
pub mod json;
pub mod tags;
pub mod time;
pub mod value;

pub mod budget;
pub mod fork;
pub mod graph;
pub mod invocation;
pub mod keyed_request;
pub mod limit;
pub mod object;
pub mod promise;
pub mod saga;
pub mod source_module;
pub mod stream;
pub mod tree;
pub mod update;

pub mod command;
pub mod config;
pub mod delta;
pub mod effect;
pub mod fair_share;
pub mod reply;

pub mod footprint;
pub mod invariants;
pub mod model;
pub mod shard;
pub mod snapshot;
pub mod transition;
pub mod unreadable;
pub mod view;

pub use footprint::{footprint, rests_on, widen};
pub use transition::{Decision, transition};

#[cfg(test)]
mod scripts;
#[cfg(test)]
mod world;
