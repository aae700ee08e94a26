//! Defects outside the core and the stores: in the mapping of the Resonate protocol, and in the
//! replays of hosts.

use super::table::Mutation;

/// Runs random operations against a host in memory and a second mapping.
const DIFFERENTIAL: &str = "operations_are_answered_as_the_model_says";

/// Defects in the Resonate front end's mapping of operations.
pub(super) const RESONATE: &[Mutation] = &[
    Mutation {
        what: "a reserved name of a client's tag is taken for the engine's",
        file: "values.rs",
        says: "None if tags::RESERVED.contains(&name) => format!(\"{PREFIX}{name}\"),",
        would_say: "None if false => format!(\"{PREFIX}{name}\"),",
        tests: "values",
        killer: "reserved_tags_change_their_names_and_no_other_tag_is_mistaken_for_one",
    },
    Mutation {
        what: "text that is no base64 comes back as base64",
        file: "values.rs",
        says: "                form.push('t');\n",
        would_say: "",
        tests: "values",
        killer: "what_was_sent_comes_back_letter_by_letter",
    },
    Mutation {
        what: "a cancelled promise looks rejected",
        file: "wire.rs",
        says: "Verdict::Canceled => \"rejected_canceled\",",
        would_say: "Verdict::Canceled => \"rejected\",",
        tests: DIFFERENTIAL,
        killer: "operations_are_answered_as_the_model_says",
    },
    Mutation {
        what: "a settled promise does not say when",
        file: "wire.rs",
        says: "record[\"settledAt\"] = json!(settlement.settled_at.0);",
        would_say: "let _ = settlement;",
        tests: DIFFERENTIAL,
        killer: "operations_are_answered_as_the_model_says",
    },
    Mutation {
        what: "a task that has ended counts its wakes",
        file: "wire.rs",
        says: "let resumes = if matches!(task.state, TaskState::Fulfilled) { 0 } else { resumes };",
        would_say: "let resumes = resumes + u32::from(matches!(task.state, TaskState::Fulfilled));",
        tests: DIFFERENTIAL,
        killer: "operations_are_answered_as_the_model_says",
    },
    Mutation {
        what: "a wait that is over already looks like one",
        file: "tasks.rs",
        says: "Reply::Ready { .. } => Ok(ResonateAnswer { status: 300, data: json!({ \"preload\": [] }) }),",
        would_say: "Reply::Ready { .. } => Ok(ResonateAnswer { status: 200, data: json!({ \"preload\": [] }) }),",
        tests: DIFFERENTIAL,
        killer: "operations_are_answered_as_the_model_says",
    },
    Mutation {
        what: "a task is fulfilled by what is about another promise",
        file: "tasks.rs",
        says: "if settle.id != claim.id.as_str() {",
        would_say: "if settle.id != claim.id.as_str() && false {",
        tests: DIFFERENTIAL,
        killer: "operations_are_answered_as_the_model_says",
    },
    Mutation {
        what: "a promise is awaited twice",
        file: "tasks.rs",
        says: "(!awaits.insert(awaited.clone())).then_some(awaited)",
        would_say: "(!awaits.insert(awaited.clone()) && false).then_some(awaited)",
        tests: DIFFERENTIAL,
        killer: "operations_are_answered_as_the_model_says",
    },
    Mutation {
        what: "what a worker makes under a claim ends with it",
        file: "fence.rs",
        says: "Ok(FenceOperation::CreateLoose { new })",
        would_say: "Ok(FenceOperation::Create { new, request: None })",
        tests: DIFFERENTIAL,
        killer: "operations_are_answered_as_the_model_says",
    },
    Mutation {
        what: "a schedule shows when it was made for when it runs",
        file: "schedules.rs",
        says: "\"nextRunAt\": schedule.next_at.0,",
        would_say: "\"nextRunAt\": schedule.created_at.0,",
        tests: DIFFERENTIAL,
        killer: "operations_are_answered_as_the_model_says",
    },
    Mutation {
        what: "a delay needs no target",
        file: "promises.rs",
        says: "if target.is_none() {",
        would_say: "if false {",
        tests: DIFFERENTIAL,
        killer: "operations_are_answered_as_the_model_says",
    },
    Mutation {
        what: "a listener that takes nothing is told for ever",
        file: "deliver.rs",
        says: "if attempt > UNBLOCK_ATTEMPTS {",
        would_say: "if false {",
        tests: "tests::http",
        killer: "a_listener_that_takes_nothing_is_given_up_after_an_hour_of_attempts",
    },
    Mutation {
        what: "an address is taken that leads nowhere",
        file: "address.rs",
        says: "(sane && Url::parse(address).is_ok())",
        would_say: "(sane || Url::parse(address).is_ok())",
        tests: "address",
        killer: "addresses_of_workers_are_read",
    },
    Mutation {
        what: "a worker is told of steps beyond its rights",
        file: "preload.rs",
        says: "prefix: rights.prefix().map(str::to_owned),",
        would_say: "prefix: rights.prefix().map(str::to_owned).filter(|_| false),",
        tests: "tests::rights",
        killer: "tags_and_names_of_workers_give_no_rights",
    },
];

/// Defects in a host's replay.
pub(super) const REPLAYS: &[Mutation] = &[Mutation {
    what: "a replayed event comes at another time",
    file: "worker/recording/recorder.rs",
    says: "        self.at = record.at;\n        Ok(Some(match record.body {",
    would_say: "        Ok(Some(match record.body {",
    tests: "approval_is_the_same_from_every_place",
    killer: "approval_is_the_same_from_every_place",
}];

/// Defects in the creation and use of snapshots.
pub(super) const SNAPSHOTS: &[Mutation] = &[
    Mutation {
        what: "a snapshot of another journal is used",
        file: "worker/snapshot/restore.rs",
        says: "first.as_ref() == kept.place.outline().started() && last.as_ref() == Some(&kept.last)",
        would_say: "first.is_some() && last.is_some()",
        tests: "a_snapshot_of_another_journal_is_passed_over",
        killer: "a_snapshot_of_another_journal_is_passed_over",
    },
    Mutation {
        what: "a snapshot is kept although the memory differs from a whole replay's",
        file: "worker/snapshot/make.rs",
        says: "since(base) != whole.change {",
        would_say: "since(base) != whole.change && false {",
        tests: "what_does_not_go_on_as_the_journal_says_is_not_kept",
        killer: "what_does_not_go_on_as_the_journal_says_is_not_kept",
    },
    Mutation {
        what: "the snapshot of a guest that failed stays",
        file: "worker/snapshot/mod.rs",
        says: "    forget(worker, id, module);\n",
        would_say: "",
        tests: "a_workflow_that_fails_after_a_snapshot_is_replayed_as_a_whole",
        killer: "a_workflow_that_fails_after_a_snapshot_is_replayed_as_a_whole",
    },
];

/// Defects in snapshot files on disk.
pub(super) const SNAPSHOT_FILES: &[Mutation] = &[Mutation {
    what: "a snapshot that is damaged on the disk is used",
    file: "snapshot/files.rs",
    says: "Sha256::digest(compressed).as_slice() == hash;",
    would_say: "compressed.len() > hash.len();",
    tests: "a_damaged_snapshot_is_passed_over",
    killer: "a_damaged_snapshot_is_passed_over",
}];

/// Defects in the use of outcomes that are not stored yet.
pub(super) const OUTCOMES: &[Mutation] = &[
    Mutation {
        what: "an outcome is lost after the caller received it",
        file: "worker/recording/recorder.rs",
        says: "self.store_outcome(command, FenceOperation::Fulfill(Box::new(fulfillment)));",
        would_say: "drop((command, fulfillment));",
        tests: "worker::outcomes::",
        killer: "whoever_received_an_outcome_received_the_stored_one",
    },
    Mutation {
        what: "a called task ends before its outcome is stored",
        file: "worker/execution/outcomes.rs",
        says: "self.ending.push(stored);",
        would_say: "let _ = stored.send(());",
        tests: "worker::outcomes::",
        killer: "nothing_leaves_the_host_before_the_outcome_that_it_depends_on",
    },
    Mutation {
        what: "an instance continues after the store refused its outcome",
        file: "claim/commit.rs",
        says: "Some(Reply::Fenced { outcomes, .. }) => Ok(outcomes),",
        would_say: "Some(Reply::Fenced { outcomes, .. }) => Ok(outcomes),\n        Some(Reply::Refused(Refusal::NotFulfilled { .. })) => Ok(ActionResults::new()),",
        tests: "worker::outcomes::",
        killer: "a_caller_that_received_an_outcome_too_late_is_replayed",
    },
];

/// Defects in the use of timers that are not settled yet.
pub(super) const HELD_TIMERS: &[Mutation] = &[
    Mutation {
        what: "the records that depend on a timer are stored without it",
        file: "worker/recording/recorder.rs",
        says: "self.store_outcome(command, FenceOperation::Elapsed { id: timer });",
        would_say: "drop((command, timer));",
        tests: "worker::timers::",
        killer: "a_timer_that_was_cancelled_meanwhile_is_not_received_as_ended",
    },
    Mutation {
        what: "the recovery driver settles a timer that a workflow holds",
        file: "recovery/timers.rs",
        says: "        Some(end) => {",
        would_say: "        Some(end) if end.0 < 0 => {",
        tests: "worker::timers::",
        killer: "a_short_timer_ends_in_the_commit_of_what_follows",
    },
];

/// Defects in the handling of a database that is away.
pub(super) const AWAY: &[Mutation] = &[Mutation {
    what: "work that needs a database that is away holds up all other work",
    file: "recovery/isolate.rs",
    says: "StoreError::Away { .. } => !store.missing().is_empty(),",
    would_say: "StoreError::Away { .. } => false,",
    tests: "isolate::",
    killer: "what_needs_a_database_that_is_away_is_postponed_and_nothing_else",
}];

/// Defects in the start of a host, and in its handling of claims and damage.
pub(super) const STARTS: &[Mutation] = &[
    Mutation {
        what: "a host works before it has given back what it held",
        file: "boot.rs",
        says: "    recovery::each(&host, releases).await?;",
        would_say: "    std::mem::forget(Recovery::start_keeping(&host, retention.clone()));\n    recovery::each(&host, releases).await?;",
        tests: "boot::",
        killer: "a_host_begins_its_life_then_gives_back_what_it_held_and_only_then_works",
    },
    Mutation {
        what: "a host works before it has begun its life",
        file: "boot.rs",
        says: "    let replies = host.store.execute(vec![Command::HostStart",
        would_say: "    std::mem::forget(Recovery::start_keeping(&host, retention.clone()));\n    let replies = host.store.execute(vec![Command::HostStart",
        tests: "boot::",
        killer: "a_host_that_could_not_begin_its_life_does_nothing",
    },
    Mutation {
        what: "what a round found damaged is not shown",
        file: "recovery/reconcile.rs",
        says: "let found = round.found.get(&orphan).copied().unwrap_or_default();",
        would_say: "let found = 0;",
        tests: "damage::",
        killer: "what_the_last_round_found_damaged_is_in_the_metrics_until_the_next_finds_nothing",
    },
    Mutation {
        what: "heartbeats are as far apart as a lease is long",
        file: "worker/heartbeat.rs",
        says: "/ BEATS).max(1)",
        would_say: "/ (BEATS / BEATS)).max(1)",
        tests: "claims::",
        killer: "no_lease_ends_while_fewer_heartbeats_fail_than_the_margin_covers",
    },
    Mutation {
        what: "an attempt is taken for one that is charged before it is",
        file: "claim/active.rs",
        says: "if self.is_uncharged.load(Ordering::Acquire) {",
        would_say: "if self.is_uncharged.load(Ordering::Acquire) && self.is_ending() {",
        tests: "budgets::",
        killer: "a_heartbeat_that_overtakes_a_charge_counts_nothing",
    },
];

/// Defects in rules that only several clients and hosts together can break: schedules, resources
/// and sagas.
pub(super) const SIMULATED_RULES: &[Mutation] = &[
    Mutation {
        what: "a resource is given to another while it is held",
        file: "transition/resources.rs",
        says: "lease.until > draft.now && lease.holder != *holder",
        would_say: "lease.until > draft.now && lease.holder != *holder && false",
        tests: "a_schedule_a_resource_and_a_saga_survive",
        killer: "is held by",
    },
    Mutation {
        what: "a write under an earlier lease is taken",
        file: "transition/resources.rs",
        says: "stored.filter(|stored| stored.token >= token)",
        would_say: "stored.filter(|stored| stored.token == token)",
        tests: "any_seed",
        killer: "was written under",
    },
    Mutation {
        what: "a schedule occurs ahead of its time",
        file: "transition/schedules.rs",
        says: ".filter(|schedule| schedule.due_at().is_some_and(|due_at| due_at <= draft.now));",
        would_say: ".filter(|schedule| schedule.due_at().is_some_and(|due_at| due_at <= draft.now + Millis(2_000)));",
        tests: "any_seed",
        killer: "ahead of",
    },
    Mutation {
        what: "a schedule leaves every other occurrence out",
        file: "transition/schedules.rs",
        says: "    schedule.next_at = schedule.after(at);\n    draft.put_schedule(schedule);",
        would_say: "    schedule.next_at = schedule.after(schedule.after(at));\n    draft.put_schedule(schedule);",
        tests: "a_schedule_a_resource_and_a_saga_survive",
        killer: "too many left out",
    },
];

/// Defects in the reported outcome of a message.
pub(super) const SIMULATED_MESSAGES: &[Mutation] = &[Mutation {
    what: "a listener without a stream counts as told",
    file: "deliver.rs",
    says: "                        self.streams.wait(&group, worker.as_deref().filter(|_| alone), key);\n                        DeliveryResult::Elsewhere",
    would_say: "                        drop(key);\n                        DeliveryResult::Done",
    tests: "any_seed",
    killer: "liveness",
}];

/// Defects in the next action of a saga, detected by the simulation.
pub(super) const SIMULATED_SAGAS: &[Mutation] = &[Mutation {
    what: "sagas are undone from the first step to the last",
    file: "lib.rs",
    says: "for seq in seqs.into_iter().rev() {",
    would_say: "for seq in seqs {",
    tests: "a_schedule_a_resource_and_a_saga_survive",
    killer: "comes out of order",
}];

/// Defects in the notifications and calls of service deployments.
pub(super) const SIMULATED_SERVICES: &[Mutation] = &[
    Mutation {
        what: "what a run came to is told before it is stored",
        file: "run/attempt.rs",
        says: "        self.committed(live).await?;\n        self.send_all(live).await?;\n        Ok(None)",
        would_say: "        self.send_all(live).await?;\n        self.committed(live).await?;\n        Ok(None)",
        tests: "services_survive_every_fault",
        killer: "was seen to be",
    },
    Mutation {
        what: "all calls of an invocation begin the same one",
        file: "deployments/ids.rs",
        says: "    derived(\"callee\", &[invocation.as_str(), &index.0.to_string()])",
        would_say: "    derived(\"callee\", &[invocation.as_str(), &(index.0 / 100).to_string()])",
        tests: "services_survive_every_fault",
        killer: "was told",
    },
];

/// Defects in the checks of frames from service deployments.
pub(super) const SIMULATED_FRAMES: &[Mutation] = &[Mutation {
    what: "a run may be proposed twice",
    file: "runtime/immutable/journal.rs",
    says: "if asked.progress != CompletionProgress::Open {",
    would_say: "if false {",
    tests: "services_survive_every_cut",
    killer: "nobody complained",
}];

/// Defects of modules that consist of sources.
pub(super) const SOURCES: &[Mutation] = &[
    Mutation {
        what: "an instance of a source module begins without its sources",
        file: "instance.rs",
        says: "loaded.workflow.instantiate(store, loaded.image.as_ref()).await?;",
        would_say: "loaded.workflow.instantiate(store, loaded.image.as_ref().filter(|_| false)).await?;",
        tests: "tests::sources::",
        killer: "each_module_has_its_own_sources_on_a_shared_runtime",
    },
    Mutation {
        what: "an attempt of a source module begins without its sources",
        file: "activity/mod.rs",
        says: "linked.instantiate(store, loaded.image.as_ref()).await?;",
        would_say: "linked.instantiate(store, loaded.image.as_ref().filter(|_| false)).await?;",
        tests: "tests::sources::",
        killer: "each_module_has_its_own_sources_on_a_shared_runtime",
    },
    Mutation {
        what: "sources that the runtime rejects become a module",
        file: "loading.rs",
        says: "    loaded.map_err(LoadingError::Rejected)?;",
        would_say: "    let _ = loaded;",
        tests: "tests::sources::",
        killer: "sources_that_cannot_be_loaded_are_refused_and_the_reason_is_named",
    },
];
