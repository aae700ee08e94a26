//! Defects outside the core: in the writes of the stores, in the mapping of the Resonate protocol,
//! and in the replays of hosts.

use super::table::Mutation;

/// Runs the same commands against a store and the model.
const CONFORMANCE: &str = "random_scripts_are_answered_alike";

/// Stores, damages and removes large values.
const LARGE_VALUES: &str = "tests::large_values::";

/// Stores in several databases.
const DATABASES: &str = "tests::databases::";

/// Runs random operations against a host in memory and a second mapping.
const DIFFERENTIAL: &str = "operations_are_answered_as_the_model_says";

/// Defects in reads and writes of the stores.
pub(super) const STORES: &[Mutation] = &[
    Mutation {
        what: "the chunks of an entry of an object stay when it is replaced",
        file: "sql/table/state.rs",
        says: "            values.released.push([owner.into()]);\n",
        would_say: "",
        tests: CONFORMANCE,
        killer: "random_scripts_are_answered_alike_until_every_command_was_answered_and_refused",
    },
    Mutation {
        what: "the chunks of a removed promise stay",
        file: "sqlite/large_values.rs",
        says: "[ValueOwner::Promise(*n), ValueOwner::Journal(*n)]",
        would_say: "[ValueOwner::Journal(*n), ValueOwner::Journal(*n)]",
        tests: LARGE_VALUES,
        killer: "a_value_that_grows_takes_the_size_of_what_is_new",
    },
    Mutation {
        what: "a chunk with other content is taken for the one that was stored",
        file: "sql/large_value/chunk_set.rs",
        says: "Digest::of(content) == digest",
        would_say: "content.len() == len",
        tests: LARGE_VALUES,
        killer: "a_damaged_chunk_spoils_only_the_values_that_contain_it",
    },
    Mutation {
        what: "a decision reads a large value without its data",
        file: "sqlite/load.rs",
        says: "cache.complete(&chunks).map_err(|source| FailedStatement { statement: name, source })",
        would_say: "drop((chunks, name));\n    Ok(())",
        tests: LARGE_VALUES,
        killer: "a_damaged_chunk_spoils_only_the_values_that_contain_it",
    },
    Mutation {
        what: "a chunk that lost its last use stays on PostgreSQL",
        file: "postgres/writer/serve.rs",
        says: "self.drop_chunks(&mut connections[self.home], released).await;",
        would_say: "drop(released);",
        tests: LARGE_VALUES,
        killer: "hosts_that_store_and_remove_the_same_value_lose_nothing",
    },
    Mutation {
        what: "a transaction over several databases commits without its decision",
        file: "postgres/batch/two_phase.rs",
        says: "let decided = first.transaction.execute(decide).await;",
        would_say: "drop(decide);\n    let decided: Result<(), sqlx::Error> = Ok(());",
        tests: DATABASES,
        killer: "two_databases_answer_like_one",
    },
    Mutation {
        what: "a host with an old map writes to the former database of a shard",
        file: "postgres/batch/mod.rs",
        says: "part.locked.epoch > self.shards.epoch.cast_signed()",
        would_say: "part.locked.epoch == i64::MAX",
        tests: DATABASES,
        killer: "a_host_with_an_old_map_writes_to_the_right_database",
    },
    Mutation {
        what: "the callbacks of a shard that moves are not seen to cross",
        file: "postgres/shard_move/copy.rs",
        says: "[(PUT_CROSSINGS, here), (DROP_CROSSINGS, left)]",
        would_say: "[(DROP_CROSSINGS, here), (DROP_CROSSINGS, left)]",
        tests: DATABASES,
        killer: "a_store_is_opened_again_and_grows_and_its_shards_move",
    },
    Mutation {
        what: "a read during the move of a shard does not look again where the rows are",
        file: "merged/mod.rs",
        says: "            if now.places == map.places {\n",
        would_say: "            if now.epoch >= map.epoch {\n",
        tests: "merged::",
        killer: "a_read_looks_again_where_its_rows_are",
    },
    Mutation {
        what: "a row that is still prepared in another database is missed",
        file: "postgres/load/crossings.rs",
        says: "self.wait_for_prepared(connection).await?;\n        self.load(connection, cache, Footprint::default()).await",
        would_say: "drop((connection, cache));\n        Ok(())",
        tests: DATABASES,
        killer: "a_row_that_is_still_prepared_is_not_missed",
    },
    Mutation {
        what: "callbacks between databases are not exported",
        file: "postgres/archive_merge.rs",
        says: "Some([*numbers.get(awaited)?,",
        would_say: "Some([*numbers.get(awaited).filter(|_| false)?,",
        tests: DATABASES,
        killer: "a_store_of_several_databases_is_exported_and_imported",
    },
    Mutation {
        what: "a runtime is removed while a module runs on it",
        file: "memory/modules.rs",
        says: "SourceModule::runtime_of(&module.component) == Some(digest)",
        would_say: "SourceModule::runtime_of(&module.component) == Some(digest) && before.0 < 0",
        tests: "tests::runtimes::",
        killer: "a_runtime_stays_while_a_source_module_runs_on_it",
    },
    Mutation {
        what: "a settlement is not written",
        file: "sql/delta.rs",
        says: "settled.into_iter().filter(|promise| !promise.is_pending())",
        would_say: "settled.into_iter().filter(|promise| promise.is_pending())",
        tests: CONFORMANCE,
        killer: "random_scripts_are_answered_alike_until_every_command_was_answered_and_refused",
    },
    Mutation {
        what: "a callback that is deleted stays",
        file: "sql/delta.rs",
        says: "None => written.deleted_callbacks.push([awaited, awaiter]),",
        would_say: "None => drop([awaited, awaiter]),",
        tests: CONFORMANCE,
        killer: "random_scripts_are_answered_alike_until_every_command_was_answered_and_refused",
    },
    Mutation {
        what: "a message that is deleted stays",
        file: "sql/delta.rs",
        says: "None => written.deleted_outbox.push(rows::outbox_key_cells(source, key)),",
        would_say: "None => {}",
        tests: CONFORMANCE,
        killer: "random_scripts_are_answered_alike_until_every_command_was_answered_and_refused",
    },
    Mutation {
        what: "a listener that is deleted stays",
        file: "sqlite/write.rs",
        says: "    connection.each(&DELETE_LISTENERS, &written.deleted_listeners)?;\n",
        would_say: "",
        tests: CONFORMANCE,
        killer: "random_scripts_are_answered_alike_until_every_command_was_answered_and_refused",
    },
    Mutation {
        what: "the key of a signal is not written",
        file: "sqlite/write.rs",
        says: "    connection.each(&PUT_SIGNAL_KEYS, &written.signal_keys)?;\n",
        would_say: "",
        tests: CONFORMANCE,
        killer: "random_scripts_are_answered_alike_until_every_command_was_answered_and_refused",
    },
    Mutation {
        what: "facts of sagas are not written",
        file: "sqlite/write.rs",
        says: "connection.each_of(statements.of.put, &statements.put, rows)?;",
        would_say: "let _ = rows;",
        tests: CONFORMANCE,
        killer: "random_scripts_are_answered_alike_until_every_command_was_answered_and_refused",
    },
    Mutation {
        what: "what was logged is not written",
        file: "sqlite/write.rs",
        says: "    connection.each(&APPEND_LOGS, &written.logs)?;\n",
        would_say: "",
        tests: CONFORMANCE,
        killer: "random_scripts_are_answered_alike_until_every_command_was_answered_and_refused",
    },
    Mutation {
        what: "records of one journal are written in another order",
        file: "sql/delta.rs",
        says: "    appends.sort_by_key(|(number, _)| *number);\n",
        would_say: "    appends.reverse();\n    appends.sort_by_key(|(number, _)| *number);\n",
        tests: "tests::conformance",
        killer: "batches_leave_what_single_commands_leave",
    },
    Mutation {
        what: "the first version is not written",
        file: "sqlite/write.rs",
        says: "    connection.each(&RAISE_FIRST_VERSION, first.as_slice())?;\n",
        would_say: "    drop(first);\n",
        tests: "an_id_that_begins_anew_after_a_start",
        killer: "an_id_that_begins_anew_after_a_start_begins_above_its_earlier_life",
    },
    Mutation {
        what: "what is removed leaves its recent records",
        file: "sqlite/write.rs",
        says: "    journal_buffer.leave(connection, &numbers)?;\n",
        would_say: "    let _ = recent;\n",
        tests: "tests::recent",
        killer: "who_is_removed_leaves_nothing_that_a_later_one_could_find",
    },
    Mutation {
        what: "a claim that ends does not move its records",
        file: "sqlite/write.rs",
        says: "task.status() != TaskStatus::Acquired);",
        would_say: "task.status() == TaskStatus::Acquired);",
        tests: "tests::recent",
        killer: "what_a_claim_appended_is_one_row_of_its_journal_when_the_claim_ends",
    },
    Mutation {
        what: "the store in memory offers what is past its deadline",
        file: "memory/due.rs",
        says: "if promise.spec.timeout_at <= now {",
        would_say: "if false {",
        tests: CONFORMANCE,
        killer: "random_scripts_are_answered_alike_until_every_command_was_answered_and_refused",
    },
    Mutation {
        what: "the store in memory shows waits that are over",
        file: "memory/read.rs",
        says: "kept.model.callback(awaited, id) == Some(false);",
        would_say: "kept.model.callback(awaited, id).is_some();",
        tests: CONFORMANCE,
        killer: "random_scripts_are_answered_alike_until_every_command_was_answered_and_refused",
    },
];

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
