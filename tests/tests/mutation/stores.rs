//! Defects in the stores.

use super::table::Mutation;

/// Runs the same commands against a store and the model.
const CONFORMANCE: &str = "random_scripts_are_answered_alike";

/// Stores, damages and removes large values.
const LARGE_VALUES: &str = "tests::large_values::";

/// Stores in several databases.
const SEVERAL: &str = "tests::databases::";

/// A store of which a database is away when it is opened.
const LATE: &str = "late::";

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

/// Defects in stores of several databases.
pub(super) const DATABASES: &[Mutation] = &[
    Mutation {
        what: "a transaction over several databases commits without its decision",
        file: "postgres/batch/two_phase.rs",
        says: "let decided = first.transaction.execute(decide).await;",
        would_say: "drop(decide);\n    let decided: Result<(), sqlx::Error> = Ok(());",
        tests: SEVERAL,
        killer: "two_databases_answer_like_one",
    },
    Mutation {
        what: "a host with an old map writes to the former database of a shard",
        file: "postgres/batch/mod.rs",
        says: "part.locked.epoch > self.shards.epoch.cast_signed()",
        would_say: "part.locked.epoch == i64::MAX",
        tests: SEVERAL,
        killer: "a_host_with_an_old_map_writes_to_the_right_database",
    },
    Mutation {
        what: "the callbacks of a shard that moves are not seen to cross",
        file: "postgres/shard_move/copy.rs",
        says: "[(PUT_CROSSINGS, here), (DROP_CROSSINGS, left)]",
        would_say: "[(DROP_CROSSINGS, here), (DROP_CROSSINGS, left)]",
        tests: SEVERAL,
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
        tests: SEVERAL,
        killer: "a_row_that_is_still_prepared_is_not_missed",
    },
    Mutation {
        what: "callbacks between databases are not exported",
        file: "postgres/archive_merge.rs",
        says: "Some([*numbers.get(awaited)?,",
        would_say: "Some([*numbers.get(awaited).filter(|_| false)?,",
        tests: SEVERAL,
        killer: "a_store_of_several_databases_is_exported_and_imported",
    },
    Mutation {
        what: "a limit gets a row that other hosts do not look for",
        file: "postgres/batch/mod.rs",
        says: "limit.is_some() && !self.shards.knows_limit(name)",
        would_say: "limit.is_some() && name.as_str().is_empty()",
        tests: SEVERAL,
        killer: "a_host_with_an_old_map_obeys_a_new_limit",
    },
    Mutation {
        what: "a start looks for the limit that its function does not have",
        file: "postgres/batch/mod.rs",
        says: "let limits = wanted.without_absent_limits(&self.shards);",
        would_say: "let limits = BTreeSet::new();",
        tests: LATE,
        killer: "a_host_starts_without_a_database_that_arrives_later",
    },
    Mutation {
        what: "a database that arrives late does not get the incarnations of hosts",
        file: "postgres/sharded/arrivals.rs",
        says: "        copy_hosts(&self.here, &target).await?;\n",
        would_say: "",
        tests: LATE,
        killer: "a_host_starts_without_a_database_that_arrives_later",
    },
    Mutation {
        what: "repair and retention end at a database that is away",
        file: "merged/scan.rs",
        says: "Err(StoreError::Away { .. }) => ScanPage::end(),",
        would_say: "Err(error @ StoreError::Away { .. }) => return Err(error),",
        tests: "merged::",
        killer: "repair_and_retention_go_on_in_the_other_databases",
    },
];
