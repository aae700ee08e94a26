//! Invariants of limits.

use std::collections::BTreeMap;

use super::{Predicate, Violations, each, step::CheckedStep, unless};
use crate::{
    fork,
    id::PromiseId,
    limit::{
        AdmissionBounds, AdmissionCapacity, AdmissionRule, LimitName, LimitPosition,
        LimitPositionState, PartitionId, PartitionReadiness, TokenBucket,
    },
    promise::{OutboxKey, OutboxMessage, Promise, TaskStatus},
    snapshot::Snapshot,
    tags,
    time::Timestamp,
};

/// Name of the predicate that relates all rows of a store.
pub const COUNTED: &str = "a_limit_counts_those_who_are_there";

pub(super) const PREDICATES: &[Predicate] = &[
    (COUNTED, a_limit_counts_those_who_are_there),
    ("only_the_admitted_begin", only_the_admitted_begin),
    ("who_settles_leaves_the_limit", who_settles_leaves_the_limit),
    ("nobody_waits_while_there_is_room", nobody_waits_while_there_is_room),
];

/// Counts of a lane, a partition or a limit: executions present, and executions that have left
/// while a message that reports it is pending.
#[derive(Debug, Default, PartialEq, Eq)]
struct LimitCounts {
    running: u64,
    waiting: u64,
}

/// Limits and their partitions count every execution that was admitted or waits, until its
/// departure has been reported.
fn a_limit_counts_those_who_are_there(rows: &Snapshot) -> Violations {
    let mut lanes: BTreeMap<(PartitionId, Option<u8>), LimitCounts> = BTreeMap::new();
    let mut count = |place: &LimitPosition, admitted: bool| {
        let partition = &place.partition;
        let whole = lanes.entry((partition.clone(), None)).or_default();
        match admitted {
            true => whole.running += 1,
            false => {
                whole.waiting += 1;
                let lane = lanes.entry((partition.clone(), Some(place.priority))).or_default();
                lane.waiting += 1;
            }
        }
    };
    for (id, place) in &rows.places {
        match place.state {
            LimitPositionState::Waiting => count(place, false),
            LimitPositionState::Admitted => count(place, true),
            LimitPositionState::Expected => {}
            LimitPositionState::Left => {
                let key = OutboxKey::LeaveLimit(id.clone(), place.partition.limit());
                if let Some(OutboxMessage::LeaveLimit { admitted }) =
                    rows.outbox.get(&key).map(|row| &row.message)
                {
                    count(place, *admitted);
                }
            }
        }
    }
    let mut counted: BTreeMap<(PartitionId, Option<u8>), LimitCounts> = BTreeMap::new();
    let mut of_limits: BTreeMap<LimitName, LimitCounts> = BTreeMap::new();
    for (id, partition) in &rows.partitions {
        let (running, waiting) = (partition.running, partition.waiting());
        counted.insert((id.clone(), None), LimitCounts { running, waiting });
        for (priority, lane) in partition.lanes.iter().filter(|(_, lane)| lane.waiting > 0) {
            let lane = LimitCounts { running: 0, waiting: lane.waiting };
            counted.insert((id.clone(), Some(*priority)), lane);
        }
        let sum = of_limits.entry(id.limit()).or_default();
        sum.running += running;
        sum.waiting += waiting;
    }
    let nobody = |counts: &LimitCounts| *counts == LimitCounts::default();
    counted.retain(|_, counts| !nobody(counts));
    lanes.retain(|_, counts| !nobody(counts));
    let mut found = Violations::new();
    for key in counted.keys().chain(lanes.keys()) {
        if counted.get(key) != lanes.get(key) {
            let said = format!(
                "`{}` ({:?}) counts {:?}, and there are {:?}",
                key.0,
                key.1,
                counted.get(key),
                lanes.get(key)
            );
            found.push((Vec::new(), said));
        }
    }
    for (name, limit) in &rows.limits {
        let counts = LimitCounts { running: limit.running, waiting: limit.waiting };
        let sum = of_limits.remove(name).unwrap_or_default();
        if counts != sum {
            found.push((Vec::new(), format!("`{name}` counts {counts:?}, its keys {sum:?}")));
        }
    }
    found.extend(of_limits.into_iter().filter(|(_, counts)| !nobody(counts)).map(
        |(name, counts)| {
            (Vec::new(), format!("`{name}` has no row, and its keys count {counts:?}"))
        },
    ));
    found
}

/// Of the pending executions behind a limit, only admitted ones have begun.
fn only_the_admitted_begin(rows: &Snapshot) -> Violations {
    each(&rows.promises, |id, promise| {
        tags::limit(&promise.spec.tags).filter(|_| promise.is_pending())?;
        let acquired = rows.tasks.get(id).is_some_and(|task| task.status() == TaskStatus::Acquired);
        let born_with = fork::born_with(promise);
        let begun =
            acquired || rows.journals.get(id).is_some_and(|journal| journal.head.len > born_with);
        let place = rows.places.get(id).map(|place| place.state);
        unless(!begun || place == Some(LimitPositionState::Admitted), || {
            format!("it has begun, and behind its limit it is {place:?}")
        })
    })
}

/// An execution that is counted, or will be, is pending: on settlement it leaves the limit.
fn who_settles_leaves_the_limit(rows: &Snapshot) -> Violations {
    each(&rows.places, |id, place| {
        if place.state == LimitPositionState::Left {
            return None;
        }
        let pending = rows.promises.get(id).is_some_and(Promise::is_pending);
        unless(pending, || format!("{:?}, and it is not pending", place.state))
    })
}

/// If an execution waits although there is capacity, or time alone will free capacity, then the
/// limit has a due time or a message is pending.
fn nobody_waits_while_there_is_room(rows: &Snapshot) -> Violations {
    let open = AdmissionRule::default();
    let rule = |name: &LimitName| rows.limits.get(name).and_then(|it| it.rule()).unwrap_or(&open);
    let owed = |partition: &PartitionId, name: &LimitName| {
        rows.outbox.keys().any(|key| match key {
            OutboxKey::LeaveLimit(id, of) => {
                let place = rows.places.get(id);
                of == name && place.is_some_and(|place| place.partition == *partition)
            }
            _ => false,
        })
    };
    let found = rows.places.iter().filter_map(|(id, place)| {
        if place.state != LimitPositionState::Waiting {
            return None;
        }
        let name = place.partition.limit();
        let (limit, partition) = (rows.limits.get(&name)?, rows.partitions.get(&place.partition)?);
        let rule = rule(&name);
        // Evaluated at an instant when all tokens are available.
        let never = Timestamp::NEVER;
        let of_key = rule.of_key().room(partition.running, partition.bucket, never);
        let of_all = limit.room(&rule.total, never);
        let waits = of_key == AdmissionCapacity::Full || of_all == AdmissionCapacity::Full;
        let found = partition.standing != PartitionReadiness::Rest || limit.sweep.is_some();
        let is_seen = (found && limit.due_at.is_some()) || owed(&place.partition, &name);
        unless(waits || is_seen, || {
            format!(
                "it waits although `{}` has room, and no check of the limit is due",
                place.partition
            )
        })
        .map(|detail| (vec![id.clone()], detail))
    });
    found.collect()
}

/// A step admits no more executions than capacity allows, per partition and in total, and each
/// admission takes a token of every rate.
pub(super) fn admissions_are_within_bounds(step: &CheckedStep<'_>) -> Violations {
    let mut admitted: BTreeMap<PartitionId, u64> = BTreeMap::new();
    for (id, place) in &step.after.places {
        let before = step.before.places.get(id).map(|place| place.state);
        let now = place.state == LimitPositionState::Admitted
            && before != Some(LimitPositionState::Admitted);
        // An execution that was born settled never was behind the limit.
        if now {
            *admitted.entry(place.partition.clone()).or_default() += 1;
        }
    }
    let mut of_limits: BTreeMap<LimitName, u64> = BTreeMap::new();
    let mut found = Violations::new();
    for (id, number) in &admitted {
        *of_limits.entry(id.limit()).or_default() += number;
        let rule = rule_of(step, &id.limit());
        let before = step.before.partitions.get(id).cloned().unwrap_or_default();
        let after = step.after.partitions.get(id).cloned().unwrap_or_default();
        found.extend(beyond(
            step,
            &rule.of_key(),
            *number,
            after.running,
            (before.bucket, after.bucket),
            id,
        ));
    }
    for (name, number) in of_limits {
        let rule = rule_of(step, &name);
        let before = step.before.limits.get(&name).cloned().unwrap_or_default();
        let after = step.after.limits.get(&name).cloned().unwrap_or_default();
        found.extend(beyond(
            step,
            &rule.total,
            number,
            after.running,
            (before.bucket, after.bucket),
            &name,
        ));
    }
    found
}

fn rule_of(step: &CheckedStep<'_>, name: &LimitName) -> AdmissionRule {
    step.after.limits.get(name).and_then(|limit| limit.rule().cloned()).unwrap_or_default()
}

fn beyond(
    step: &CheckedStep<'_>,
    bounds: &AdmissionBounds,
    admitted: u64,
    running: u64,
    (before, after): (TokenBucket, TokenBucket),
    what: &impl std::fmt::Display,
) -> Violations {
    let mut found = Violations::new();
    if let Some(most) = bounds.concurrency.filter(|most| running > u64::from(*most)) {
        found.push((
            Vec::new(),
            format!("`{what}` runs {running} of {most}, {admitted} of them now"),
        ));
    }
    let Some(rate) = bounds.rate else { return found };
    let tokens = u64::from(before.tokens(rate, step.now));
    let paid = (0..admitted).fold(before, |bucket, _| bucket.take(rate, step.now));
    if admitted > tokens || after != paid {
        found.push((
            Vec::new(),
            format!("`{what}` admits {admitted} with {tokens} tokens, and has {after:?}"),
        ));
    }
    found
}

/// Executions that wait in a lane are admitted in order of arrival.
pub(super) fn admissions_go_in_order(step: &CheckedStep<'_>) -> Violations {
    let waited = |id: &PromiseId| {
        let place = step.before.places.get(id)?;
        (place.state == LimitPositionState::Waiting).then_some(place)
    };
    let still =
        step.after.places.iter().filter(|(id, place)| {
            place.state == LimitPositionState::Waiting && waited(id).is_some()
        });
    let mut first: BTreeMap<(&PartitionId, u8), (u64, &PromiseId)> = BTreeMap::new();
    for (id, place) in still {
        let least = first.entry((&place.partition, place.priority)).or_insert((place.seq, id));
        *least = (*least).min((place.seq, id));
    }
    let late = step.after.places.iter().filter_map(|(id, place)| {
        let (seq, before) = first.get(&(&place.partition, place.priority))?;
        let waited_or_came = waited(id).map_or(u64::MAX, |place| place.seq);
        let overtakes = place.state == LimitPositionState::Admitted
            && step.before.places.get(id).map(|it| it.state) != Some(LimitPositionState::Admitted)
            && waited_or_came > *seq;
        overtakes.then(|| (vec![id.clone(), (*before).clone()], "it overtook".to_owned()))
    });
    late.collect()
}
