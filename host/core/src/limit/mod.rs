//! Limits: how many executions of a function may run, and how fast they begin.
//!
//! **Admission.** An execution of a limited function begins when it is *admitted*, once: it is counted
//! then, and until it settles, also while it is suspended, waits for a retry or is halted. An
//! execution that is not admitted at once waits in the order of arrival. What is counted is counted in the transaction
//! that offers the execution, so no claim on it can come before.
//!
//! **Partitions.** A limit may take a key from the input (`customer.id`); executions with one value of
//! it are a partition, with bounds of its own. Partitions take turns, weighted if their keys have
//! weights, so that a long line of one does not hold up the others. What all of them share, `total`,
//! bounds their sum.
//!
//! **Lanes.** Within a partition those of one priority wait in a lane. Strictly, a higher priority goes
//! first in the whole limit; weighted, it has more turns.
//!
//! In the order of reading: [`Rule`] (what is limited), [`Bucket`] (tokens), [`Limit`],
//! [`Partition`], [`Place`] (the rows), [`plan`] (who is next), [`key_of`] (what the input says).

mod bucket;
mod input;
mod partition;
mod place;
mod plan;
mod row;
mod rule;

pub use self::{
    bucket::Bucket,
    input::{InputError, key_of, priority_of},
    partition::{Lane, Partition, Standing},
    place::{LimitName, PartitionId, Place, PlaceState},
    plan::{Pick, Round, plan},
    row::{Limit, Sweep},
    rule::{
        Bounds, Debounce, HIGHEST_PRIORITY, Order, Priority, Rate, Room, Rule, RuleError, Singleton,
    },
};
