//! Tests of the rules, one file per family of commands, for refusals as well as for effects. Each
//! command also passes all checks of [`crate::world`].

mod begin;
mod budgets;
mod cost;
mod edges;
mod fence;
mod forks;
mod graphs;
mod journals;
mod limits;
mod migrate;
mod objects;
mod own_initiative;
mod promises;
mod prune;
mod reconcile;
mod resources;
mod runs;
mod sagas;
mod schedules;
mod streams;
mod succession;
mod tasks;
mod trees;
mod unreadable;
mod updates;
mod workers;
