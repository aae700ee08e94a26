//! Tag names the engine gives a meaning to, and the few questions it asks of tags. All other tags
//! are free.

use crate::{limit::PartitionId, time::Timestamp, value::Tags};

/// The address of the function that produces the value; its presence gives the promise a task.
pub const TARGET: &str = "target";
/// `"true"`: nothing executes the promise; it resolves at its deadline.
pub const TIMER: &str = "timer";
/// Milliseconds since the Unix epoch before which the task is not dispatched.
pub const DELAY: &str = "delay";
/// The invocation that made the promise.
pub const PARENT: &str = "parent";
/// `"true"`: the promise outlives the invocation that made it.
pub const DETACHED: &str = "detached";
/// The root of the tree the promise belongs to.
pub const ORIGIN: &str = "origin";
/// The tree the promise was made in, for clients that tell it from the one it belongs to.
pub const PREFIX: &str = "prefix";
/// The nearest ancestor-or-self with a target.
pub const BRANCH: &str = "branch";
/// The schedule that made the promise.
pub const SCHEDULE: &str = "schedule";
/// The saga, by its name within the invocation, of which the promise is a step.
pub const SAGA: &str = "saga";
/// The place of a step in its saga, from 0.
pub const SEQ: &str = "seq";
/// The address of the function that undoes a step.
pub const COMPENSATE: &str = "compensate";
/// `"compensate"`: a step that ended without saying whether it acted is to be undone.
pub const UNKNOWN: &str = "unknown";
/// `"true"`: a party outside of the engine settles the promise.
pub const EXTERNAL: &str = "external";
/// The beginning that ids must have which a tree may act on: that of the rights of who started it.
/// All that the tree makes inherits it. Without one the tree may act on any id.
pub const RIGHTS: &str = "segno:rights";
/// The object whose turn the promise's task needs; the engine alone sets it.
pub const TURN: &str = "segno:turn";
/// `"true"`: the promise is the one run of the key of its object; the engine alone sets it.
pub const RUN: &str = "segno:run";
/// The object that knows the promise by a name ([`crate::id::ObjectId::promise`]).
pub const OBJECT: &str = "segno:object";
/// The key of the limit that the promise's task is behind ([`crate::limit::PartitionId`]); the engine
/// alone sets it.
pub const LIMIT: &str = "segno:limit";
/// The priority behind that limit, if it is not 0; the engine alone sets it.
pub const PRIORITY: &str = "segno:priority";
/// The invocation whose journal the promise's own began with ([`crate::fork::Forked`]); the engine
/// alone sets it.
pub const FORK: &str = "segno:fork";
/// The promise whose place this one takes: the first generation of an invocation, or the answer of an
/// update that was handed on. It settles with this one. The engine alone sets it.
pub const CONTINUES: &str = "segno:continues";
/// The number of calls between the root of the tree and this execution, from 2 on; the engine alone
/// sets it.
pub const DEPTH: &str = "segno:depth";
/// The execution whose kill ends this one, where that is not the root of the tree; the engine alone
/// sets it.
pub const SCOPE: &str = "segno:scope";
/// The alias of the module whose functions a graph run names without a module.
pub const MODULE: &str = "segno:module";
/// The mark of what is begun once only: a claim that is lost ends it, for nobody knows whether it
/// acted. `true`: as a failure; `output`: as a value that says so.
pub const ONCE: &str = "segno:once";
/// The names above but those that begin with `segno:`: where tags are exchanged with others, these carry a prefix that
/// says whose they are.
pub const RESERVED: [&str; 14] = [
    TARGET, TIMER, DELAY, PARENT, DETACHED, ORIGIN, PREFIX, BRANCH, SCHEDULE, EXTERNAL, SAGA, SEQ,
    COMPENSATE, UNKNOWN,
];

/// The tags that say where a promise stands in a tree.
pub const LINEAGE: [&str; 4] = [ORIGIN, PREFIX, BRANCH, PARENT];

/// The prefix of labels, by which people find an invocation again.
pub const LABEL_PREFIX: &str = "label:";

/// The header of a parameter that carries the call's retry policy as JSON.
pub const RETRY_HEADER: &str = "segno:retry";
/// The label of a call that limits each of its attempts, in milliseconds: an option of the contract
/// that its records have no field for.
pub const ATTEMPT_TIMEOUT_LABEL: &str = "segno:attempt-timeout-ms";
/// The header of a parameter with the same.
pub const ATTEMPT_TIMEOUT_HEADER: &str = "segno:attempt-timeout-ms";
/// The header of the value of an object's promise that says which command settled it, as
/// `INVOCATION/INDEX`: one that is repeated knows its own.
pub const SETTLED_BY_HEADER: &str = "segno:settled-by";
/// The header of the value of a promise that was killed, whose function was not asked.
pub const KILLED_HEADER: &str = "segno:killed";
/// The header of the value of a saga's HTTP step whose server declined (4xx): it did not act.
pub const DECLINED_HEADER: &str = "segno:declined";
/// The header of the value of a generation, or of an answer, that handed over: the id of what goes on in its
/// place.
pub const CONTINUED_HEADER: &str = "segno:continued";
/// The header of a parameter that names the module whose policy and limits apply, where the target
/// names none.
pub const MODULE_HEADER: &str = "segno:module";
/// The header of a signal's value that carries the signal's name.
pub const SIGNAL_HEADER: &str = "segno:signal";

/// Narrows `tags` to rights over ids that begin with `prefix`; rights that are narrower already
/// stay.
pub fn narrow(tags: &mut Tags, prefix: &str) {
    let narrower = tags.get(RIGHTS).is_some_and(|rights| rights.starts_with(prefix));
    if !narrower {
        tags.insert(RIGHTS.to_owned(), prefix.to_owned());
    }
}

/// The address of the function that produces the value.
pub fn target(tags: &Tags) -> Option<&str> {
    tags.get(TARGET).map(String::as_str)
}

/// Whether the promise resolves by itself at its deadline.
pub fn is_timer(tags: &Tags) -> bool {
    is_true(tags, TIMER)
}

/// The object whose turn the task needs, if it needs one.
pub fn turn(tags: &Tags) -> Option<&str> {
    tags.get(TURN).map(String::as_str)
}

/// Whether it is the one run of the key of its object.
pub fn is_run(tags: &Tags) -> bool {
    is_true(tags, RUN)
}

/// The object that knows the promise by a name.
pub fn object(tags: &Tags) -> Option<&str> {
    tags.get(OBJECT).map(String::as_str)
}

/// The key of the limit that the task is behind, and its priority, if it is behind one.
pub fn limit(tags: &Tags) -> Option<(PartitionId, u8)> {
    let partition = tags.get(LIMIT)?;
    let priority = tags.get(PRIORITY).and_then(|priority| priority.parse().ok());
    Some((PartitionId::from(partition.as_str()), priority.unwrap_or_default()))
}

/// The promise whose place it takes, if it takes one's place.
pub fn continues(tags: &Tags) -> Option<&str> {
    tags.get(CONTINUES).map(String::as_str)
}

/// Whether the promise outlives the invocation that made it.
pub fn is_detached(tags: &Tags) -> bool {
    is_true(tags, DETACHED)
}

/// Whether a party is to settle the promise: a worker, the clock, or one outside of the engine.
pub fn is_awaitable(tags: &Tags) -> bool {
    tags.contains_key(TARGET) || is_timer(tags) || is_true(tags, EXTERNAL)
}

/// When the task may first be dispatched; a value that is not a number is no delay.
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
