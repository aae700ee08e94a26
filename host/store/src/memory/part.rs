//! Divides a memory store into the databases of a map, for tests of stores of several databases.

use std::sync::{Arc, Mutex};

use segno_core::{
    id::PromiseId,
    shard::{DatabaseIndex, ShardMap},
    snapshot::Snapshot,
    view::View,
};

use super::{MemoryStore, kept::MemoryContent};

impl MemoryStore {
    /// A store with the rows of one database. Promises keep their numbers. Waits between databases
    /// are in both, with the numbers of both promises; modules, aliases and hosts are in all.
    pub(crate) fn part(&self, map: &ShardMap, database: DatabaseIndex) -> Arc<Self> {
        let whole = self.kept();
        let is_here = |id: &PromiseId| map.promise(id) == database;
        let mut part = Snapshot::of(&whole.model);
        part.promises.retain(|id, _| is_here(id));
        part.tasks.retain(|id, _| is_here(id));
        part.callbacks.retain(|(on, by), _| is_here(on) || is_here(by));
        part.listeners.retain(|(on, _)| is_here(on));
        part.outbox.retain(|key, _| is_here(key.promise()));
        part.journals.retain(|id, _| is_here(id));
        part.signal_keys.retain(|(id, _), _| is_here(id));
        part.schedules.retain(|id, _| map.schedule(id) == database);
        part.resources.retain(|name, _| map.resource(name) == database);
        part.resource_leases.retain(|name, _| map.resource(name) == database);
        part.facts.retain(|(id, _), _| is_here(id));
        part.graph_nodes.retain(|(id, _), _| is_here(id));
        part.graph_facts.retain(|(id, ..), _| is_here(id));
        part.tree_counts.retain(|id, _| is_here(id));
        part.budgets.retain(|id, _| is_here(id));
        part.lines.retain(|object, _| map.object(object) == database);
        part.state.retain(|(object, _), _| map.object(object) == database);
        part.limits.retain(|name, _| map.limit(name) == database);
        part.partitions.retain(|id, _| map.limit(&id.limit()) == database);
        part.places.retain(|id, _| is_here(id));
        part.streams.retain(|id, _| map.stream(id) == database);
        part.stream_chunks.retain(|(id, _), _| map.stream(id) == database);

        let mut content = MemoryContent::new();
        for (number, id) in whole.numbers.iter().filter(|(_, id)| is_here(id)) {
            content.numbers.insert(*number, id.clone());
            content.by_id.insert(id.clone(), *number);
        }
        for id in part.callbacks.keys().flat_map(|(on, by)| [on, by]) {
            content.by_id.insert(id.clone(), whole.number(id));
        }
        let logs = whole.logs.iter().filter(|(id, _)| is_here(id));
        content.logs = logs.map(|(id, lines)| (id.clone(), lines.clone())).collect();
        content.modules = whole.modules.clone();
        let mut rows = view(part);
        for (digest, module) in &whole.modules {
            rows.put_module_facts(*digest, module.facts.clone());
        }
        content.model = Arc::new(rows.into());
        Arc::new(Self {
            clock: self.clock.clone(),
            config: self.config.clone(),
            hints: self.hints.clone(),
            kept: Mutex::new(content),
        })
    }
}

fn view(rows: Snapshot) -> View {
    let mut view = View::new();
    view.raise_first_version(rows.first_version);
    rows.promises.into_values().for_each(|promise| view.put_promise(promise));
    rows.tasks.into_values().for_each(|task| view.put_task(task));
    for ((on, by), consumed) in rows.callbacks {
        view.put_callback(on, by, consumed);
    }
    rows.listeners.into_iter().for_each(|(on, address)| view.put_listener(on, address));
    rows.outbox.into_iter().for_each(|(key, row)| view.put_outbox(key, row));
    for (id, journal) in rows.journals {
        view.put_head(id.clone(), journal.head);
        view.put_tail(id, journal.records);
    }
    rows.aliases.into_iter().for_each(|(name, module)| view.put_alias(name, module));
    rows.hosts.into_iter().for_each(|(node, incarnation)| view.put_host(node, incarnation));
    rows.signal_keys.into_iter().for_each(|((id, key), n)| view.put_signal_key(id, key, n));
    rows.schedules.into_values().for_each(|schedule| view.put_schedule(schedule));
    rows.resources.into_values().for_each(|resource| view.put_resource(resource));
    rows.resource_leases.into_values().for_each(|lease| view.put_resource_lease(lease));
    rows.facts.into_iter().for_each(|((id, key), fact)| view.put_fact(id, key, fact));
    rows.graph_nodes.into_iter().for_each(|((run, node), row)| view.put_graph_node(run, node, row));
    rows.graph_facts.into_iter().for_each(|(key, fact)| view.put_graph_fact(key, fact));
    rows.tree_counts.into_iter().for_each(|(root, count)| view.put_tree_count(root, count));
    rows.budgets.into_iter().for_each(|(id, budget)| view.put_budget(id, budget));
    rows.lines.into_iter().for_each(|(object, line)| view.put_line(object, line));
    rows.state.into_iter().for_each(|(key, value)| view.put_state(key, value));
    rows.limits.into_iter().for_each(|(name, limit)| view.put_limit(name, limit));
    rows.partitions.into_iter().for_each(|(id, row)| view.put_partition(id, row));
    rows.places.into_iter().for_each(|(id, place)| view.put_place(id, place));
    rows.streams.into_values().for_each(|stream| view.put_stream(stream));
    rows.stream_chunks.into_values().for_each(|chunk| view.put_stream_chunk(chunk));
    view
}
