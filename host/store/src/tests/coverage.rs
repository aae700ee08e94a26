//! Measures the coverage of scripts: a comparison continues until every kind of command has
//! succeeded, and has been refused if that is possible.

use std::collections::BTreeSet;

/// The kinds of commands seen, each with whether it was refused.
pub(super) type Seen = BTreeSet<(&'static str, bool)>;

/// Every kind of command; true if it can be refused. Commands that the engine issues itself are
/// never refused.
const KINDS: [(&str, bool); 56] = [
    ("budget-charge", true),
    ("budget-set", true),
    ("cancel", true),
    ("deploy", true),
    ("fenced-put", true),
    ("host-release", false),
    ("host-start", false),
    ("invocation-fork", true),
    ("journal-remove", true),
    ("kill", true),
    ("lease-due", false),
    ("limit-due", false),
    ("limit-set", true),
    ("object-write", true),
    ("outbox-ack", true),
    ("outbox-defer", true),
    ("outbox-due", false),
    ("promise-create", true),
    ("promise-due", false),
    ("promise-get", true),
    ("promise-settle", true),
    ("prune", false),
    ("reconcile", false),
    ("register-callback", true),
    ("register-listener", true),
    ("resource-get", false),
    ("resource-lease", true),
    ("retry-due", false),
    ("schedule-backfill", true),
    ("schedule-create", true),
    ("schedule-delete", true),
    ("schedule-due", false),
    ("schedule-pause", true),
    ("schedule-trigger", true),
    ("signal", true),
    ("signal-start", true),
    ("stream-append", true),
    ("stream-create", true),
    ("stream-delete", true),
    ("stream-due", false),
    ("stream-touch", true),
    ("task-acquire", true),
    ("task-begin", true),
    ("task-continue", true),
    ("task-create", true),
    ("task-fence", true),
    ("task-fulfill", true),
    ("task-get", true),
    ("task-halt", true),
    ("task-hand-over", true),
    ("task-heartbeat", false),
    ("task-migrate", true),
    ("task-release", true),
    ("task-suspend", true),
    ("undeploy", true),
    ("update", true),
];

/// The entries of [`KINDS`] that were not seen yet.
pub(super) fn missing(seen: &Seen) -> Vec<(&'static str, bool)> {
    for (name, _) in seen {
        assert!(
            KINDS.iter().any(|(kind, _)| kind == name),
            "`{name}` is missing in the table of kinds"
        );
    }
    let wanted = KINDS.iter().flat_map(|(kind, refused)| {
        std::iter::once((*kind, true)).chain(refused.then_some((*kind, false)))
    });
    wanted.filter(|wanted| !seen.contains(wanted)).collect()
}
