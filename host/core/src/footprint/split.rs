//! Divides a footprint among the databases of a store.

use std::collections::{BTreeMap, BTreeSet};

use super::Footprint;
use crate::{
    limit::LimitName,
    shard::{DatabaseIndex, ShardMap},
};

impl Footprint {
    /// True if it names no rows but those that may lie in any database.
    pub fn is_of_anywhere(&self) -> bool {
        let Self { held_by, hosts, lanes, .. } = self;
        let (held_by, hosts, lanes) = (held_by.clone(), hosts.clone(), lanes.clone());
        *self == Self { held_by, hosts, lanes, ..Self::default() }
    }

    /// True if it names no rows but those that a start of a host reads in any database.
    pub fn is_of_hosts(&self) -> bool {
        self.lanes.is_empty() && self.is_of_anywhere()
    }

    /// The databases of the named rows, apart from those that every database has.
    pub fn databases(mut self, shards: &ShardMap) -> BTreeSet<DatabaseIndex> {
        self.without_absent_limits(shards);
        let (aliases, modules, hosts) = Default::default();
        Self { aliases, modules, hosts, ..self }.split(shards, 0).into_keys().collect()
    }

    /// The databases of the rows that lie in one database each.
    pub fn homes(self, shards: &ShardMap) -> BTreeSet<DatabaseIndex> {
        let (held_by, lanes) = Default::default();
        Self { held_by, lanes, ..self }.databases(shards)
    }

    /// Removes the limits that have no row. Returns their names.
    pub fn without_absent_limits(&mut self, shards: &ShardMap) -> BTreeSet<LimitName> {
        if shards.is_single() {
            return BTreeSet::new();
        }
        let named = std::mem::take(&mut self.limits);
        let (present, absent) = named.into_iter().partition(|name| shards.may_have_limit(name));
        self.limits = present;
        absent
    }

    /// The rows to load from each database. `home` holds what every database has: aliases, modules
    /// and hosts. The tasks that a host holds, and the executions that wait in a lane, may lie in
    /// any database.
    pub fn split(self, shards: &ShardMap, home: DatabaseIndex) -> BTreeMap<DatabaseIndex, Self> {
        if shards.is_single() {
            return BTreeMap::from([(0, self)]);
        }
        let mut parts: BTreeMap<DatabaseIndex, Self> = BTreeMap::new();
        let Self {
            composites,
            rows,
            tails,
            children,
            trees,
            tree_counts,
            budgets,
            outbox,
            aliases,
            modules,
            hosts,
            held_by,
            signal_keys,
            schedules,
            resources,
            facts,
            lines,
            promises_of,
            limits,
            partitions,
            places,
            rounds,
            sweeps,
            streams,
            stream_data,
            lanes,
        } = self;
        macro_rules! by_id {
            ($of:ident: $($rows:ident),*) => {$(
                for id in $rows {
                    parts.entry(shards.$of(&id)).or_default().$rows.insert(id);
                }
            )*};
        }
        macro_rules! by_key {
            ($of:ident: $($rows:ident),*) => {$(
                for (id, row) in $rows {
                    parts.entry(shards.$of(&id)).or_default().$rows.insert(id, row);
                }
            )*};
        }
        by_id!(promise: composites, rows, tree_counts, budgets, facts, places);
        by_key!(promise: tails, children, trees);
        by_id!(schedule: schedules);
        by_id!(resource: resources);
        by_id!(object: lines, promises_of);
        by_id!(limit: limits);
        by_key!(limit: rounds, sweeps);
        by_id!(stream: streams, stream_data);
        for key in outbox {
            parts.entry(shards.promise(key.promise())).or_default().outbox.insert(key);
        }
        for key in signal_keys {
            parts.entry(shards.promise(&key.0)).or_default().signal_keys.insert(key);
        }
        for id in partitions {
            parts.entry(shards.limit(&id.limit())).or_default().partitions.insert(id);
        }
        if !aliases.is_empty() {
            parts.entry(home).or_default().aliases = aliases;
        }
        if !modules.is_empty() {
            parts.entry(home).or_default().modules = modules;
        }
        let is_everywhere = !(held_by.is_empty() && lanes.is_empty());
        for database in (0..shards.database_count())
            .filter(|database| is_everywhere && shards.has_rows(*database))
        {
            let part = parts.entry(database).or_default();
            part.lanes = lanes.clone();
            part.held_by = held_by.clone();
            if !held_by.is_empty() {
                part.hosts = hosts.clone();
            }
        }
        if !hosts.is_empty() {
            parts.entry(home).or_default().hosts = hosts;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::HostName;

    #[test]
    fn every_row_is_loaded_from_its_database() {
        let shards = ShardMap::dealt(3);
        let ids: Vec<_> = (0..20).map(|n| format!("tree-{n}/1").as_str().into()).collect();
        let name = LimitName::of("m", "f");
        let copied = Footprint { hosts: [HostName::new("h")].into(), ..Footprint::default() };
        assert_eq!(copied.clone().homes(&shards), [].into());
        assert!(copied.is_of_hosts());
        let mut limited = Footprint { limits: [name.clone()].into(), ..Footprint::default() };
        assert_eq!(limited.clone().homes(&shards), [].into(), "it has no row");
        let known = ShardMap { limits: None, ..shards.clone() };
        assert_eq!(limited.clone().homes(&known), [shards.limit(&name)].into());
        assert_eq!(limited.without_absent_limits(&shards), [name.clone()].into());
        assert!(limited.is_empty());
        let third = ids.iter().find(|id| shards.promise(id) == 2).expect("one of them");
        let named = Footprint { composites: [third.clone()].into(), ..copied };
        assert_eq!(named.databases(&shards), [2].into(), "all databases have the host");
        let whole = Footprint {
            composites: ids.iter().cloned().collect(),
            held_by: [HostName::new("h")].into(),
            hosts: [HostName::new("h")].into(),
            lanes: [((name.partition("k"), 0), 3)].into(),
            partitions: [name.partition("k")].into(),
            aliases: ["a".into()].into(),
            ..Footprint::default()
        };
        assert!(!whole.is_of_hosts() && !whole.is_of_anywhere());
        let lanes = Footprint { lanes: whole.lanes.clone(), ..Footprint::default() };
        assert!(!lanes.is_of_hosts() && lanes.is_of_anywhere());
        let parts = whole.clone().split(&shards, 1);
        assert_eq!(parts.len(), 3);
        let mut again = Footprint::default();
        for (database, part) in &parts {
            assert!(part.composites.iter().all(|id| shards.promise(id) == *database));
            assert_eq!((&part.held_by, &part.lanes), (&whole.held_by, &whole.lanes));
            assert_eq!(part.hosts, whole.hosts);
            assert_eq!(part.aliases.is_empty(), *database != 1);
            assert_eq!(part.partitions.is_empty(), *database != shards.limit(&name));
            again.merge(part.clone());
        }
        assert_eq!(again, whole);
        assert_eq!(whole.clone().split(&ShardMap::single(), 0), [(0, whole)].into());
    }
}
