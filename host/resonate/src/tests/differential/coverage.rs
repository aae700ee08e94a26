//! Coverage of scripts: the outcomes that every operation must have reached, successes and
//! refusals.

use std::collections::BTreeSet;

use super::model::ModelAnswer;

/// An outcome of an operation: its kind, its status, and the name of the outcome.
pub(super) type OutcomeKey = (&'static str, u16, &'static str);

/// The outcomes that scripts have reached.
#[derive(Default)]
pub(super) struct ReachedOutcomes(BTreeSet<OutcomeKey>);

impl ReachedOutcomes {
    pub(super) fn note(&mut self, kind: &'static str, answer: &ModelAnswer) {
        self.0.insert(match answer {
            Ok(yes) => (kind, yes.status, yes.how),
            Err(no) => (kind, no.status, no.why),
        });
    }

    /// Returns the documented outcomes that were not reached.
    pub(super) fn missing(&self, strict: bool) -> BTreeSet<OutcomeKey> {
        documented(strict).difference(&self.0).copied().collect()
    }

    /// Returns the reached outcomes that are not documented.
    pub(super) fn strange(&self, strict: bool) -> BTreeSet<OutcomeKey> {
        self.0.difference(&documented(strict)).copied().collect()
    }
}

/// The configuration in which an outcome is possible.
#[derive(Clone, Copy, PartialEq)]
enum OutcomeScope {
    Everywhere,
    /// Only under strict Resonate rules.
    Strict,
    /// Only without strict Resonate rules.
    Wide,
}

fn documented(strict: bool) -> BTreeSet<OutcomeKey> {
    let open = |place: OutcomeScope| match place {
        OutcomeScope::Everywhere => true,
        OutcomeScope::Strict => strict,
        OutcomeScope::Wide => !strict,
    };
    let rows = WAYS.iter().filter(|(_, _, _, place)| open(*place));
    rows.flat_map(|(kind, status, ways, _)| ways.iter().map(|way| (*kind, *status, *way))).collect()
}

use OutcomeScope::{Everywhere, Strict, Wide};

/// Every operation, every status, and the names of the outcomes with it.
const WAYS: &[(&str, u16, &[&str], OutcomeScope)] = &[
    ("promise.create", 200, &["made", "existed", "born-resolved", "born-timed-out"], Everywhere),
    (
        "promise.create",
        400,
        &["shape", "id", "timeout", "target", "delay", "delay-late", "delay-alone", "header"],
        Everywhere,
    ),
    ("promise.create", 400, &["name"], Everywhere),
    ("promise.create", 400, &["timer", "lineage"], Strict),
    ("promise.create", 422, &["no-module"], Everywhere),
    ("promise.get", 200, &["found"], Everywhere),
    ("promise.get", 400, &["shape", "id"], Everywhere),
    ("promise.get", 404, &["not-found"], Everywhere),
    (
        "promise.settle",
        200,
        &["resolved", "rejected", "rejected_canceled", "was-settled"],
        Everywhere,
    ),
    ("promise.settle", 400, &["shape", "id", "state", "header"], Everywhere),
    ("promise.settle", 404, &["not-found"], Everywhere),
    ("promise.register_callback", 200, &["registered", "was-settled"], Everywhere),
    ("promise.register_callback", 400, &["shape", "id", "itself"], Everywhere),
    ("promise.register_callback", 400, &["tree"], Strict),
    ("promise.register_callback", 404, &["not-found"], Everywhere),
    ("promise.register_callback", 422, &["no-awaiter"], Everywhere),
    ("promise.register_callback", 422, &["not-external"], Strict),
    ("promise.register_listener", 200, &["registered", "was-settled"], Everywhere),
    ("promise.register_listener", 400, &["shape", "id", "address"], Everywhere),
    ("promise.register_listener", 404, &["not-found"], Everywhere),
    ("promise.register_listener", 422, &["not-external"], Strict),
    ("promise.search", 200, &["page", "last-page"], Everywhere),
    ("promise.search", 400, &["shape", "limit", "state"], Everywhere),
    ("promise.forget", 400, &["unknown"], Everywhere),
    ("task.get", 200, &["found"], Everywhere),
    ("task.get", 400, &["shape", "id"], Everywhere),
    ("task.get", 404, &["not-found"], Everywhere),
    ("task.create", 200, &["made", "taken", "was-fulfilled", "born-timed-out"], Everywhere),
    (
        "task.create",
        400,
        &["shape", "id", "timeout", "target", "delay", "delay-late", "delay-alone", "header"],
        Everywhere,
    ),
    ("task.create", 400, &["pid", "ttl", "action", "no-target", "delayed", "timer"], Everywhere),
    ("task.create", 400, &["name"], Everywhere),
    ("task.create", 400, &["lineage"], Strict),
    ("task.create", 409, &["not-holder", "wrong-state", "hosted"], Everywhere),
    ("task.create", 422, &["no-task"], Everywhere),
    ("task.acquire", 200, &["taken", "taken-with-steps"], Everywhere),
    ("task.acquire", 400, &["shape", "id", "pid", "ttl"], Everywhere),
    ("task.acquire", 404, &["not-found"], Everywhere),
    (
        "task.acquire",
        409,
        &["stale-version", "wrong-state", "promise-settled", "hosted"],
        Everywhere,
    ),
    ("task.release", 200, &["done"], Everywhere),
    ("task.release", 400, &["shape", "id"], Everywhere),
    ("task.release", 404, &["not-found"], Everywhere),
    ("task.release", 409, &["stale-version", "wrong-state", "promise-settled"], Everywhere),
    ("task.suspend", 200, &["suspended"], Everywhere),
    ("task.suspend", 300, &["ready"], Everywhere),
    (
        "task.suspend",
        400,
        &["shape", "id", "no-actions", "action", "stranger", "twice"],
        Everywhere,
    ),
    ("task.suspend", 400, &["tree"], Strict),
    ("task.suspend", 404, &["not-found"], Everywhere),
    ("task.suspend", 409, &["stale-version", "wrong-state", "promise-settled"], Everywhere),
    ("task.suspend", 422, &["no-awaited"], Everywhere),
    ("task.suspend", 422, &["not-external"], Strict),
    ("task.fulfill", 200, &["done"], Everywhere),
    ("task.fulfill", 200, &["repeated"], Wide),
    ("task.fulfill", 400, &["shape", "id", "action", "stranger", "state", "header"], Everywhere),
    ("task.fulfill", 404, &["not-found"], Everywhere),
    ("task.fulfill", 409, &["stale-version", "wrong-state", "promise-settled"], Everywhere),
    ("task.fence", 200, &["made", "existed", "born-resolved", "born-timed-out"], Everywhere),
    ("task.fence", 200, &["resolved", "rejected", "rejected_canceled", "was-settled"], Everywhere),
    ("task.fence", 200, &["not-found", "no-module", "name"], Everywhere),
    ("task.fence", 200, &["timer", "lineage"], Strict),
    ("task.fence", 400, &["shape", "id", "action", "itself", "state", "header"], Everywhere),
    ("task.fence", 400, &["timeout", "target", "delay", "delay-late", "delay-alone"], Everywhere),
    ("task.fence", 404, &["not-found"], Everywhere),
    ("task.fence", 409, &["stale-version", "wrong-state", "promise-settled"], Everywhere),
    ("task.heartbeat", 200, &["named", "all"], Everywhere),
    ("task.heartbeat", 400, &["shape", "id", "pid"], Everywhere),
    ("task.halt", 200, &["done", "was-halted"], Everywhere),
    ("task.halt", 400, &["shape", "id"], Everywhere),
    ("task.halt", 404, &["not-found"], Everywhere),
    ("task.halt", 409, &["wrong-state"], Everywhere),
    ("task.continue", 200, &["done"], Everywhere),
    ("task.continue", 400, &["shape", "id"], Everywhere),
    ("task.continue", 404, &["not-found"], Everywhere),
    ("task.continue", 409, &["wrong-state"], Everywhere),
    ("task.search", 200, &["page", "last-page"], Everywhere),
    ("task.search", 400, &["shape", "limit", "state"], Everywhere),
    ("schedule.create", 200, &["made", "existed"], Everywhere),
    (
        "schedule.create",
        400,
        &["shape", "id", "cron", "timeout", "no-target", "target", "timer", "header"],
        Everywhere,
    ),
    ("schedule.create", 400, &["name"], Everywhere),
    ("schedule.create", 400, &["lineage"], Strict),
    ("schedule.create", 422, &["never", "no-module"], Everywhere),
    ("schedule.get", 200, &["found"], Everywhere),
    ("schedule.get", 400, &["shape", "id"], Everywhere),
    ("schedule.get", 404, &["not-found"], Everywhere),
    ("schedule.delete", 200, &["done"], Everywhere),
    ("schedule.delete", 400, &["shape", "id"], Everywhere),
    ("schedule.delete", 404, &["not-found"], Everywhere),
    ("schedule.search", 200, &["page", "last-page"], Everywhere),
    ("schedule.search", 400, &["shape", "limit"], Everywhere),
    ("debug.tick", 200, &["done"], Everywhere),
    ("debug.tick", 400, &["shape", "time"], Everywhere),
    ("debug.start", 200, &["done"], Everywhere),
    ("debug.stop", 200, &["done"], Everywhere),
    ("debug.snap", 200, &["done"], Everywhere),
    ("debug.reset", 200, &["done"], Everywhere),
];
