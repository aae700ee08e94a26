//! Limits on the number of concurrent executions of a function, and on their start rate.
//!
//! **Admission.** An execution of a limited function begins when it is *admitted*, exactly once.
//! From then on it counts until it settles, even while it is suspended, waits for a retry or is
//! halted. An execution that is not admitted immediately waits in order of arrival. Counting
//! happens in the transaction that offers the execution, so no claim can precede it.
//!
//! **Partitions.** A limit may take a key from the input (`customer.id`). Executions with the same
//! key form a partition, which has its own bounds. Partitions take turns, weighted if their keys
//! have weights, so a long queue in one does not block the others. `total` bounds the sum over all
//! partitions.
//!
//! **Lanes.** Within a partition, executions of one priority wait in a lane. With strict
//! priorities, a higher one goes first across the whole limit; with weighted ones, it gets more
//! turns.
//!
//! Reading order: [`AdmissionRule`] (the configuration), [`TokenBucket`] (tokens), [`Limit`], [`Partition`],
//! [`LimitPosition`] (the rows), [`mod@plan`] (selection of the next execution), [`key_of`] (extraction from
//! the input).

mod bucket;
mod input;
mod partition;
mod place;
mod plan;
mod row;
mod rule;

pub use self::{
    bucket::TokenBucket,
    input::{LimitInputError, key_of, priority_of},
    partition::{Lane, Partition, PartitionReadiness},
    place::{LimitName, LimitPosition, LimitPositionState, PartitionId},
    plan::{AdmissionPick, AdmissionRound, plan},
    row::{Limit, Sweep},
    rule::{
        AdmissionBounds, AdmissionCapacity, AdmissionRate, AdmissionRule, AdmissionRuleError,
        DebounceRule, HIGHEST_PRIORITY, PriorityOrder, PriorityRule, SingletonPolicy,
    },
};
