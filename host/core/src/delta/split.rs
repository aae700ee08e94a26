//! Divides a delta among the databases of a store.

use std::collections::BTreeMap;

use super::Delta;
use crate::{
    id::PromiseId,
    shard::{DatabaseIndex, ShardMap},
};

/// The rows to write to one database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatabaseDelta {
    /// The rows that lie there.
    pub delta: Delta,
    /// Callbacks between promises of different databases, as in [`Delta::callbacks`]. Both
    /// databases hold them.
    pub crossings: BTreeMap<(PromiseId, PromiseId), Option<bool>>,
}

impl DatabaseDelta {
    /// True if it has no rows but incarnations of hosts.
    pub fn is_of_hosts(&self) -> bool {
        let delta = Delta { hosts: self.delta.hosts.clone(), ..Delta::default() };
        *self == Self { delta, ..Self::default() }
    }
}

impl Delta {
    /// The rows to write to each database. Aliases and hosts are in every database. Removed
    /// promises are not included.
    pub fn split(self, shards: &ShardMap) -> BTreeMap<DatabaseIndex, DatabaseDelta> {
        if shards.is_single() {
            let whole = DatabaseDelta { delta: self, ..DatabaseDelta::default() };
            return BTreeMap::from([(0, whole)]);
        }
        let mut parts: BTreeMap<DatabaseIndex, DatabaseDelta> = BTreeMap::new();
        let Self {
            removed: _,
            first_version: _,
            promises,
            tasks,
            callbacks,
            listeners,
            outbox,
            appends,
            dropped_journals,
            logs,
            aliases,
            dropped_aliases,
            hosts,
            signal_keys,
            schedules,
            resources,
            resource_leases,
            facts,
            graph_nodes,
            graph_facts,
            tree_counts,
            budgets,
            lines,
            cleared,
            state,
            limits,
            partitions,
            places,
            streams,
            cleared_streams,
            stream_chunks,
        } = self;
        macro_rules! by_key {
            ($($rows:ident: $key:pat => $database:expr;)*) => {$(
                for (key, row) in $rows {
                    let $key = &key;
                    parts.entry($database).or_default().delta.$rows.insert(key, row);
                }
            )*};
        }
        by_key! {
            promises: id => shards.promise(id);
            tasks: id => shards.promise(id);
            listeners: (id, _) => shards.promise(id);
            outbox: key => shards.promise(key.promise());
            signal_keys: (id, _) => shards.promise(id);
            facts: (id, _) => shards.promise(id);
            graph_nodes: (id, _) => shards.promise(id);
            graph_facts: (id, ..) => shards.promise(id);
            tree_counts: id => shards.promise(id);
            budgets: id => shards.promise(id);
            places: id => shards.promise(id);
            schedules: id => shards.schedule(id);
            resources: name => shards.resource(name);
            resource_leases: name => shards.resource(name);
            lines: object => shards.object(object);
            state: (object, _) => shards.object(object);
            limits: name => shards.limit(name);
            partitions: id => shards.limit(&id.limit());
            streams: id => shards.stream(id);
        }
        for (key, row) in callbacks {
            let [awaited, awaiter] = [shards.promise(&key.0), shards.promise(&key.1)];
            if awaited == awaiter {
                parts.entry(awaited).or_default().delta.callbacks.insert(key, row);
            } else {
                parts.entry(awaited).or_default().crossings.insert(key.clone(), row);
                parts.entry(awaiter).or_default().crossings.insert(key, row);
            }
        }
        for append in appends {
            parts.entry(shards.promise(&append.invocation)).or_default().delta.appends.push(append);
        }
        for (id, line) in logs {
            parts.entry(shards.promise(&id)).or_default().delta.logs.push((id, line));
        }
        for id in dropped_journals {
            parts.entry(shards.promise(&id)).or_default().delta.dropped_journals.insert(id);
        }
        for object in cleared {
            parts.entry(shards.object(&object)).or_default().delta.cleared.insert(object);
        }
        for id in cleared_streams {
            parts.entry(shards.stream(&id)).or_default().delta.cleared_streams.insert(id);
        }
        for chunk in stream_chunks {
            parts.entry(shards.stream(&chunk.stream)).or_default().delta.stream_chunks.push(chunk);
        }
        let is_everywhere = !(aliases.is_empty() && dropped_aliases.is_empty() && hosts.is_empty());
        for database in (0..shards.database_count()).filter(|_| is_everywhere) {
            let delta = &mut parts.entry(database).or_default().delta;
            delta.aliases = aliases.clone();
            delta.dropped_aliases = dropped_aliases.clone();
            delta.hosts = hosts.clone();
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Digest, HostName};

    #[test]
    fn a_callback_that_crosses_is_written_to_both_databases() {
        let shards = ShardMap::dealt(2);
        let in_database = |database| {
            let ids = (0..).map(|n| PromiseId::from(&*format!("tree-{n}")));
            ids.into_iter().find(|id| shards.promise(id) == database).expect("one of them")
        };
        let (zero, one) = (in_database(0), in_database(1));
        let child = zero.named("x");
        let callbacks = [((zero.clone(), one.clone()), Some(false)), ((zero, child), None)];
        let delta = Delta { callbacks: callbacks.into(), ..Delta::default() };
        let parts = delta.clone().split(&shards);
        assert_eq!(parts[&0].crossings, parts[&1].crossings);
        assert_eq!((parts[&0].crossings.len(), parts[&0].delta.callbacks.len()), (1, 1));
        assert!(parts[&1].delta.is_empty());
        assert_eq!(delta.clone().split(&ShardMap::single())[&0].delta, delta);
        let hosts = Delta { hosts: [(HostName::new("h"), 3)].into(), ..Delta::default() };
        let parts = hosts.split(&shards);
        assert_eq!(parts.len(), 2, "every database knows every host");
        assert!(parts.values().all(DatabaseDelta::is_of_hosts));
        let delta = Delta { aliases: [("a".into(), Digest([0; 32]))].into(), ..Delta::default() };
        assert!(!delta.split(&shards)[&0].is_of_hosts());
    }
}
