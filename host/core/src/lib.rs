//! The rules of Segno, pure: what happens is decided here, whether it lasts is the host's job. No
//! async, clock, SQL, wasm or I/O.
//!
//! The one door is [`transition()`]: a view of the rows, a command and the time go in; a reply, the
//! rows to write and hints come out. What to load for it, [`footprint()`] says.
//!
//! In the order a newcomer should read:
//! - [`id`], [`time`], [`value`], [`address`], [`tags`]: the words; [`json`]: what is JSON;
//! - [`promise`]: promises, tasks, leases, callbacks, the outbox;
//! - [`object`]: keys whose executions take turns, and their state;
//! - [`limit`]: how many executions of a function may run, and how fast they begin;
//! - [`saga`]: what is known of steps that may have to be undone, and what is done next;
//! - [`keyed_request`]: whether two requests under one key are the same;
//! - [`invocation`]: the journal, its bytes, its replay;
//! - [`command`], [`reply`], [`delta`], [`effect`], [`config`]: what goes in and out;
//! - [`view`], [`footprint`](mod@footprint), [`unreadable`]: the rows that were loaded, which of them
//!   a command needs, and which of them cannot be read;
//! - [`transition`](mod@transition): the rules, one file a family of commands.
//! - [`fair_share`]: room that several take from;
//! - [`model`], [`snapshot`], [`invariants`]: whole stores in memory and as rows, and what is always true of them.

pub mod address;
pub mod id;
pub mod json;
pub mod tags;
pub mod time;
pub mod value;

pub mod fork;
pub mod graph;
pub mod invocation;
pub mod keyed_request;
pub mod limit;
pub mod object;
pub mod promise;
pub mod saga;
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
