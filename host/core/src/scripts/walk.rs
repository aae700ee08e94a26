//! Long random scripts, and a check that they reach every kind of reply.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{SeenReplies, alphabet::wide_alphabet, few_attempts, take};
use crate::{
    config::{Config, VersionRule},
    world::CheckedStore,
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn long_random_scripts_keep_the_rules(
        choices in proptest::collection::vec(any::<u32>(), 1..250),
        rule in prop_oneof![Just(VersionRule::EveryHandover), Just(VersionRule::AcquireOnly)],
        limited in any::<bool>(),
    ) {
        let mut world = CheckedStore::new();
        world.config = Config { version_rule: rule, ..if limited { few_attempts() } else { Config::default() } };
        let mut seen = SeenReplies::new();
        for choice in choices {
            let mut steps = wide_alphabet(&world, &["a", "b", "c", "a/0"]);
            let step = steps.swap_remove(choice as usize % steps.len());
            take(&mut world, &step, &mut seen);
        }
    }
}

const COMMANDS: &[&str] = &[
    "promise-get",
    "promise-create",
    "promise-settle",
    "register-callback",
    "register-listener",
    "task-get",
    "task-create",
    "task-begin",
    "invocation-fork",
    "task-acquire",
    "task-heartbeat",
    "task-fence",
    "task-suspend",
    "update",
    "task-fulfill",
    "task-release",
    "task-halt",
    "task-continue",
    "task-migrate",
    "cancel",
    "kill",
    "signal",
    "deploy",
    "undeploy",
    "journal-remove",
    "resource-get",
    "resource-lease",
    "fenced-put",
    "object-write",
    "limit-set",
    "limit-due",
    "schedule-create",
    "schedule-delete",
    "schedule-pause",
    "schedule-backfill",
    "schedule-trigger",
    "schedule-due",
    "promise-due",
    "lease-due",
    "retry-due",
    "outbox-due",
    "outbox-ack",
    "outbox-defer",
    "worker-heartbeat",
    "worker-gone",
    "host-start",
    "host-release",
    "reconcile",
    "prune",
    "signal-start",
    "task-hand-over",
];

/// Commands that are never refused: reads, and those that only check for due work.
const NEVER_REFUSED: &[&str] = &[
    "resource-get",
    "limit-due",
    "schedule-due",
    "promise-due",
    "lease-due",
    "retry-due",
    "outbox-due",
    "outbox-defer",
    "worker-heartbeat",
    "worker-gone",
    "host-start",
    "host-release",
    "reconcile",
];

/// A long deterministic walk, which checks that the scripts reach every kind of reply.
#[test]
fn a_long_walk_meets_every_kind_of_answer() {
    let mut seen = SeenReplies::new();
    let mut random = 1_u64;
    for walk in 0..300 {
        let mut world = CheckedStore::new();
        world.config = if walk % 2 == 0 { few_attempts() } else { Config::default() };
        for _ in 0..200 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let mut steps = wide_alphabet(&world, &["a", "b", "a/0"]);
            let step = steps.swap_remove((random >> 33) as usize % steps.len());
            take(&mut world, &step, &mut seen);
        }
    }
    for name in COMMANDS {
        let answers = seen.iter().filter(|(seen, _)| seen == name).map(|(_, kind)| kind.as_str());
        let (done, refused): (Vec<&str>, Vec<&str>) =
            answers.partition(|kind| matches!(*kind, "done" | "suspended" | "ready" | "parked"));
        assert!(!done.is_empty(), "`{name}` never succeeded");
        let never = NEVER_REFUSED.contains(name);
        assert_eq!(refused.is_empty(), never, "`{name}` was refused: {refused:?}");
    }
    let names: BTreeSet<&str> = seen.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, COMMANDS.iter().copied().collect(), "every command is in the list");
    for wanted in [
        ("promise-create", "unprocessable"),
        ("register-callback", "unprocessable"),
        ("task-create", "not-holder"),
        ("task-create", "wrong-state"),
        ("invocation-fork", "key-reused"),
        ("invocation-fork", "bad-request"),
        ("task-acquire", "stale-version"),
        ("task-acquire", "wrong-state"),
        ("task-acquire", "promise-settled"),
        ("task-fence", "id-taken"),
        ("task-fence", "journal-mismatch"),
        ("task-fence", "done"),
        ("task-suspend", "ready"),
        ("task-suspend", "suspended"),
        ("task-suspend", "unprocessable"),
        ("task-fulfill", "done"),
        ("task-fulfill", "stale-version"),
        ("task-continue", "done"),
        ("signal", "promise-settled"),
        ("signal", "done"),
        ("signal-start", "done"),
        ("task-hand-over", "done"),
        ("task-hand-over", "unprocessable"),
        ("signal", "key-reused"),
        ("update", "done"),
        ("update", "key-reused"),
        ("update", "unprocessable"),
        ("outbox-due", "done"),
        ("resource-lease", "done"),
        ("resource-lease", "resource-busy"),
        ("resource-lease", "bad-request"),
        ("fenced-put", "done"),
        ("fenced-put", "stale-token"),
        ("task-acquire", "parked"),
        ("object-write", "done"),
        ("object-write", "object-busy"),
        ("object-write", "bad-request"),
        ("task-heartbeat", "superseded"),
        ("schedule-create", "done"),
        ("schedule-delete", "done"),
        ("schedule-delete", "not-found"),
        ("schedule-pause", "done"),
        ("schedule-due", "done"),
        ("schedule-trigger", "done"),
        ("schedule-trigger", "not-found"),
        ("schedule-trigger", "schedule-overlaps"),
        ("schedule-backfill", "done"),
        ("schedule-backfill", "bad-request"),
        ("undeploy", "done"),
        ("journal-remove", "done"),
        ("journal-remove", "wrong-state"),
        ("undeploy", "not-found"),
        ("prune", "done"),
        ("prune", "kept"),
    ] {
        assert!(
            seen.contains(&(wanted.0, wanted.1.to_owned())),
            "{wanted:?} was never met: {seen:?}"
        );
    }
}
