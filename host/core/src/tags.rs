//! Names of tags that have a meaning for the engine, and accessors for them. All other tags are
//! free.

use crate::{limit::PartitionId, time::Timestamp, value::Tags};

/// Address of the function that produces the value. A promise with this tag has a task.
pub const TARGET: &str = "target";
/// `"true"`: the promise has no execution; it resolves at its deadline.
pub const TIMER: &str = "timer";
/// Earliest dispatch of the task, in milliseconds since the Unix epoch.
pub const DELAY: &str = "delay";
/// The invocation that created the promise.
pub const PARENT: &str = "parent";
/// `"true"`: the promise may outlive the invocation that created it.
pub const DETACHED: &str = "detached";
/// Root of the tree that the promise belongs to.
pub const ORIGIN: &str = "origin";
/// The tree in which the promise was created, for clients that distinguish it from the tree it
/// belongs to.
pub const PREFIX: &str = "prefix";
/// Nearest ancestor with a target, or the promise itself.
pub const BRANCH: &str = "branch";
/// The schedule that created the promise.
pub const SCHEDULE: &str = "schedule";
/// Name, within the invocation, of the saga that the promise is a step of.
pub const SAGA: &str = "saga";
/// Index of a step in its saga, from 0.
pub const SEQ: &str = "seq";
/// Address of the function that compensates a step.
pub const COMPENSATE: &str = "compensate";
/// `"compensate"`: a step that ended with an unknown effect is compensated.
pub const UNKNOWN: &str = "unknown";
/// `"true"`: a party outside the engine settles the promise.
pub const EXTERNAL: &str = "external";
/// Prefix of the ids that a tree may act on: that of the access rights of the client that started
/// it. All promises of the tree inherit it. Without this tag, the tree may act on any id.
pub const RIGHTS: &str = "segno:rights";
/// The object whose turn the promise's task needs. Set only by the engine.
pub const TURN: &str = "segno:turn";
/// `"true"`: the promise is the only run of its object's key. Set only by the engine.
pub const RUN: &str = "segno:run";
/// The object that the named promise belongs to ([`crate::id::ObjectId::promise`]).
pub const OBJECT: &str = "segno:object";
/// Partition of the limit that the promise's task is behind ([`crate::limit::PartitionId`]). Set
/// only by the engine.
pub const LIMIT: &str = "segno:limit";
/// Priority behind that limit, if it is not 0. Set only by the engine.
pub const PRIORITY: &str = "segno:priority";
/// Origin of a fork: the invocation whose journal it was copied from ([`crate::fork::ForkOrigin`]). Set
/// only by the engine.
pub const FORK: &str = "segno:fork";
/// The promise that this one replaces: the first generation of an invocation, or the answer of an
/// update that was handed over. It settles together with this one. Set only by the engine.
pub const CONTINUES: &str = "segno:continues";
/// Number of calls between the root of the tree and this execution, from 2 on. Set only by the
/// engine.
pub const DEPTH: &str = "segno:depth";
/// The execution whose kill ends this one, if that is not the root of the tree. Set only by the
/// engine.
pub const SCOPE: &str = "segno:scope";
/// Budget that an execution is created with, as `UNIT=AMOUNT`, several with commas between
/// ([`crate::budget::Costs`]).
pub const BUDGET: &str = "segno:budget";
/// Accounts that an execution draws on, the nearest first, as a JSON list of ids. Set only by the
/// engine.
pub const ACCOUNTS: &str = "segno:accounts";
/// Alias of the module for functions that a graph run names without a module.
pub const MODULE: &str = "segno:module";
/// Marks an execution that begins at most once: a lost claim ends it, since it is unknown whether
/// it took effect. `true`: it ends as a failure; `output`: it ends with a value that says so.
pub const ONCE: &str = "segno:once";
/// The names above, except those that begin with `segno:`. When tags are exchanged with other
/// systems, these names carry a prefix that identifies their owner.
pub const RESERVED: [&str; 14] = [
    TARGET, TIMER, DELAY, PARENT, DETACHED, ORIGIN, PREFIX, BRANCH, SCHEDULE, EXTERNAL, SAGA, SEQ,
    COMPENSATE, UNKNOWN,
];

/// Tags that define the position of a promise in a tree.
pub const LINEAGE: [&str; 4] = [ORIGIN, PREFIX, BRANCH, PARENT];

/// Prefix of labels, which users search invocations by.
pub const LABEL_PREFIX: &str = "label:";

/// Header of a parameter: the call's retry policy as JSON.
pub const RETRY_HEADER: &str = "segno:retry";
/// Label of a call: the time limit of each attempt, in milliseconds. A call option for which the
/// contract's records have no field.
pub const ATTEMPT_TIMEOUT_LABEL: &str = "segno:attempt-timeout-ms";
/// Header of a value: what the execution that produced it cost ([`crate::budget::Costs`]).
pub const COST_HEADER: &str = "segno:cost";
/// Header of a parameter: the time limit of each attempt, in milliseconds.
pub const ATTEMPT_TIMEOUT_HEADER: &str = "segno:attempt-timeout-ms";
/// Header of the value of an object's promise: the command that settled it, as `INVOCATION/INDEX`,
/// so that a repeated command recognises its own settlement.
pub const SETTLED_BY_HEADER: &str = "segno:settled-by";
/// Header of the value of a promise that was killed, instead of being asked to stop.
pub const KILLED_HEADER: &str = "segno:killed";
/// Header of the value of a saga's HTTP step whose server declined (4xx), so that the step had no
/// effect.
pub const DECLINED_HEADER: &str = "segno:declined";
/// Header of the value of a generation, or of an answer, that was handed over: the id of its
/// successor.
pub const CONTINUED_HEADER: &str = "segno:continued";
/// Header of a parameter: the module whose policy and limits apply if the target names none.
pub const MODULE_HEADER: &str = "segno:module";
/// Header of a signal's value: the signal's name.
pub const SIGNAL_HEADER: &str = "segno:signal";

/// Narrows `tags` to rights over ids that begin with `prefix`. Rights that are already narrower
/// stay.
pub fn narrow(tags: &mut Tags, prefix: &str) {
    let narrower = tags.get(RIGHTS).is_some_and(|rights| rights.starts_with(prefix));
    if !narrower {
        tags.insert(RIGHTS.to_owned(), prefix.to_owned());
    }
}

/// Address of the function that produces the value.
pub fn target(tags: &Tags) -> Option<&str> {
    tags.get(TARGET).map(String::as_str)
}

/// True if the promise resolves by itself at its deadline.
pub fn is_timer(tags: &Tags) -> bool {
    is_true(tags, TIMER)
}

/// The object whose turn the task needs. `None` if it needs none.
pub fn turn(tags: &Tags) -> Option<&str> {
    tags.get(TURN).map(String::as_str)
}

/// True if the promise is the only run of its object's key.
pub fn is_run(tags: &Tags) -> bool {
    is_true(tags, RUN)
}

/// The object that the named promise belongs to.
pub fn object(tags: &Tags) -> Option<&str> {
    tags.get(OBJECT).map(String::as_str)
}

/// Partition and priority behind the limit of the task. `None` if it has no limit.
pub fn limit(tags: &Tags) -> Option<(PartitionId, u8)> {
    let partition = tags.get(LIMIT)?;
    let priority = tags.get(PRIORITY).and_then(|priority| priority.parse().ok());
    Some((PartitionId::from(partition.as_str()), priority.unwrap_or_default()))
}

/// The promise that this one replaces, if any.
pub fn continues(tags: &Tags) -> Option<&str> {
    tags.get(CONTINUES).map(String::as_str)
}

/// True if the promise may outlive the invocation that created it.
pub fn is_detached(tags: &Tags) -> bool {
    is_true(tags, DETACHED)
}

/// True if some party is expected to settle the promise: a worker, the clock, or a party outside
/// the engine.
pub fn is_awaitable(tags: &Tags) -> bool {
    tags.contains_key(TARGET) || is_timer(tags) || is_true(tags, EXTERNAL)
}

/// Earliest dispatch of the task. A value that is not a number means no delay.
pub fn delay(tags: &Tags) -> Option<Timestamp> {
    tags.get(DELAY)?.parse().ok().map(Timestamp)
}

fn is_true(tags: &Tags, name: &str) -> bool {
    tags.get(name).is_some_and(|value| value == "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_as_documented() {
        let tags = |name: &str, value: &str| Tags::from([(name.to_owned(), value.to_owned())]);
        assert!(is_timer(&tags(TIMER, "true")));
        assert!(!is_timer(&tags(TIMER, "yes")));
        assert!(is_detached(&tags(DETACHED, "true")));
        assert_eq!(delay(&tags(DELAY, "12")), Some(Timestamp(12)));
        assert_eq!(delay(&tags(DELAY, "soon")), None);
        assert_eq!(target(&tags(TARGET, "poll://x")), Some("poll://x"));
    }

    #[test]
    fn rights_are_narrowed_and_never_widened() {
        for (had, given, has) in [
            (None, "a/", "a/"),
            (Some("a/"), "a/b/", "a/b/"),
            (Some("a/b/"), "a/", "a/b/"),
            (Some("a/"), "a/", "a/"),
            (Some("b/"), "a/", "a/"),
            (Some("a/"), "", "a/"),
        ] {
            let had = had.map(|had: &str| (RIGHTS.to_owned(), had.to_owned()));
            let mut tags: Tags = had.into_iter().collect();
            narrow(&mut tags, given);
            assert_eq!(tags[RIGHTS], has, "{given}");
        }
    }
}
