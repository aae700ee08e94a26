//! Shards: the parts into which a store of several databases divides its rows, and the map from
//! shards to databases.
//!
//! A row belongs to the shard of its *group*, a text that follows from its id alone:
//!
//! | id | group |
//! |---|---|
//! | promise, stream | the text before the first slash; with the next segment, if that contains `@` |
//! | object | `MODULE/OBJECT@KEY` as in the ids of its promises |
//! | schedule, resource, limit | the whole id |
//! | key of a limit | its limit |
//!
//! All ids that an invocation makes begin with its own and a slash, so a tree of executions lies in
//! one shard. All promises and streams of an object lie in the shard of the object.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    id::{Digest, ObjectId, PromiseId, ResourceName, ScheduleId, StreamId},
    limit::LimitName,
    time::Timestamp,
};

/// Place of a database in a [`ShardMap`].
pub type DatabaseIndex = usize;

/// The largest number of databases of a store: row numbers have six bits for them.
pub const DATABASES_MAX: usize = 64;
/// The number of shards of a store of several databases.
pub const SHARDS: u16 = 256;

/// The map from shards to databases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardMap {
    /// Grows with every change of the map.
    pub epoch: u64,
    /// Number of databases.
    pub databases: u16,
    /// The database of each shard. Its length is a power of two, at most [`SHARDS`].
    pub places: Vec<u16>,
    /// The shard that is being moved, one at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moving: Option<ShardMove>,
    /// The limits that may have a row; others are not looked up. `None` if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<BTreeSet<LimitName>>,
}

/// A shard on its way to another database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardMove {
    pub shard: u16,
    /// The database where it will be.
    pub to: u16,
    /// True if nothing writes to the shard until it has arrived.
    pub is_halted: bool,
    /// Instant at which hosts give up the move, unless it ends before.
    pub until: Timestamp,
}

/// The place of a shard that nothing may write to at the moment.
pub const HALTED: DatabaseIndex = u16::MAX as DatabaseIndex;

/// Error: a map that is not one of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the map of the shards is damaged: {0}")]
pub struct ShardMapError(String);

impl ShardMap {
    /// The map of a store with one database.
    pub fn single() -> Self {
        Self { epoch: 0, databases: 1, places: vec![0], moving: None, limits: None }
    }

    /// Deals all shards to this number of databases, to each as many that follow each other.
    pub fn dealt(databases: u16) -> Self {
        let databases = databases.max(1);
        let place = |shard| u32::from(databases) * shard / u32::from(SHARDS);
        let places = (0..u32::from(SHARDS)).map(|shard| place(shard) as u16).collect();
        Self { epoch: 1, databases, places, moving: None, limits: Some(BTreeSet::new()) }
    }

    /// All shards in the first of this number of databases: a store that grows.
    pub fn in_first(databases: u16) -> Self {
        let places = vec![0; usize::from(SHARDS)];
        Self { epoch: 1, databases: databases.max(1), places, moving: None, limits: None }
    }

    /// The moves that empty a database: each shard goes to the one that has the fewest by then.
    pub fn drained(&self, database: u16) -> Vec<(u16, DatabaseIndex)> {
        let mut counts = self.counts();
        let mut moves = Vec::new();
        for (shard, _) in (0..).zip(&self.places).filter(|(_, place)| **place == database) {
            let others = (0..counts.len()).filter(|other| *other != usize::from(database));
            let Some(to) = others.min_by_key(|other| counts[*other]) else { break };
            counts[to] += 1;
            moves.push((shard, to));
        }
        moves
    }

    /// The fewest moves after which the numbers of shards of all databases differ by one at most.
    pub fn balanced(&self) -> Vec<(u16, DatabaseIndex)> {
        let mut counts = self.counts();
        let (each, larger) = (self.places.len() / counts.len(), self.places.len() % counts.len());
        let mut fullest: Vec<DatabaseIndex> = (0..counts.len()).collect();
        fullest.sort_by_key(|database| std::cmp::Reverse(counts[*database]));
        let mut aims = vec![each; counts.len()];
        fullest[..larger].iter().for_each(|database| aims[*database] += 1);
        let mut moves = Vec::new();
        for (shard, place) in (0..).zip(&self.places) {
            let from = usize::from(*place);
            let to = (0..counts.len()).find(|database| counts[*database] < aims[*database]);
            if let Some(to) = to.filter(|_| counts[from] > aims[from]) {
                counts[from] -= 1;
                counts[to] += 1;
                moves.push((shard, to));
            }
        }
        moves
    }

    /// The number of shards of each database.
    fn counts(&self) -> Vec<usize> {
        let of = |database| self.places.iter().filter(|place| **place == database).count();
        (0..self.databases).map(of).collect()
    }

    /// Checks a map that was stored.
    ///
    /// # Errors
    /// [`ShardMapError`], with the reason.
    pub fn check(&self) -> Result<(), ShardMapError> {
        let refused = |reason: String| Err(ShardMapError(reason));
        let (shards, databases) = (self.places.len(), self.databases);
        if !shards.is_power_of_two() || shards > usize::from(SHARDS) {
            return refused(format!("it has {shards} shards"));
        }
        if databases == 0 || usize::from(databases) > DATABASES_MAX {
            return refused(format!("it has {databases} databases"));
        }
        let moves = self.moving.as_ref();
        if let Some(moves) = moves
            && (usize::from(moves.shard) >= shards || moves.to >= databases)
        {
            return refused(format!("shard {} moves to database {}", moves.shard, moves.to));
        }
        match self.places.iter().find(|place| **place >= databases) {
            Some(place) => refused(format!("a shard is in database {place} of {databases}")),
            None => Ok(()),
        }
    }

    /// The map for writes: a shard that is halted lies in [`HALTED`].
    pub fn for_writes(&self) -> Self {
        let mut map = self.clone();
        if let Some(moves) = self.moving.as_ref().filter(|moves| moves.is_halted)
            && let Some(place) = map.places.get_mut(usize::from(moves.shard))
        {
            *place = u16::MAX;
        }
        map
    }

    /// Number of databases.
    pub fn database_count(&self) -> usize {
        usize::from(self.databases)
    }

    /// True if a shard lies in this database. One that was added has none at first, and hosts may
    /// not know it yet.
    pub fn has_rows(&self, database: DatabaseIndex) -> bool {
        self.places.iter().any(|place| usize::from(*place) == database)
            || self.moving.as_ref().is_some_and(|moves| usize::from(moves.to) == database)
    }

    /// True if the limit may have a row. Most functions have no limit, and their starts would cross
    /// into the database where its row would be.
    pub fn may_have_limit(&self, name: &LimitName) -> bool {
        self.is_single() || self.limits.as_ref().is_none_or(|limits| limits.contains(name))
    }

    /// True if every host looks up the limit, so that it may be given a row.
    pub fn knows_limit(&self, name: &LimitName) -> bool {
        self.is_single() || self.limits.as_ref().is_some_and(|limits| limits.contains(name))
    }

    /// True if the store has one database.
    pub fn is_single(&self) -> bool {
        self.databases == 1
    }

    /// The shard of a group.
    pub fn shard(&self, group: &str) -> usize {
        usize::from(Digest::of(group.as_bytes()).0[0]) % self.places.len().max(1)
    }

    /// True if the promise lies in the shard that is being moved.
    pub fn moves_promise(&self, id: &PromiseId) -> bool {
        self.moves(group_of(id.as_str()))
    }

    /// True if the group lies in the shard that is being moved.
    pub fn moves(&self, group: &str) -> bool {
        self.moving.as_ref().is_some_and(|moves| self.shard(group) == usize::from(moves.shard))
    }

    /// The database of a promise.
    pub fn promise(&self, id: &PromiseId) -> DatabaseIndex {
        self.database(|| group_of(id.as_str()))
    }

    /// The database of a stream.
    pub fn stream(&self, id: &StreamId) -> DatabaseIndex {
        self.database(|| group_of(id.as_str()))
    }

    /// The database of an object.
    pub fn object(&self, id: &ObjectId) -> DatabaseIndex {
        if self.is_single() { 0 } else { self.promise(&id.streams()) }
    }

    /// The database of a schedule.
    pub fn schedule(&self, id: &ScheduleId) -> DatabaseIndex {
        self.database(|| id.as_str())
    }

    /// The database of a resource.
    pub fn resource(&self, name: &ResourceName) -> DatabaseIndex {
        self.database(|| name.as_str())
    }

    /// The database of a limit.
    pub fn limit(&self, name: &LimitName) -> DatabaseIndex {
        self.database(|| name.as_str())
    }

    fn database<'a>(&self, group: impl FnOnce() -> &'a str) -> DatabaseIndex {
        if self.is_single() {
            return 0;
        }
        self.places.get(self.shard(group())).copied().map_or(0, usize::from)
    }
}

/// The group of a promise or stream.
pub fn group_of(id: &str) -> &str {
    let Some(first) = id.find('/') else { return id };
    let next = &id[first + 1..];
    let next = next.split_once('/').map_or(next, |(next, _)| next);
    match next.contains('@') {
        true => &id[..first + 1 + next.len()],
        false => &id[..first],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::CommandIndex;

    #[test]
    fn a_tree_has_one_group_and_so_has_an_object() {
        assert_eq!(group_of("order-4711"), "order-4711");
        assert_eq!(group_of("order-4711/3/p/name"), "order-4711");
        let root = PromiseId::from("a");
        for id in [root.command(CommandIndex(3)), root.named("x@y"), root.generation(2)] {
            assert_eq!(group_of(id.as_str()), "a", "{id}");
        }
        let object = ObjectId::from("web/Signup@a/b");
        let of_object = [object.promise("mail"), object.run("run"), object.run("run").named("q")];
        for id in of_object {
            assert_eq!(group_of(id.as_str()), "web/Signup@a%2Fb", "{id}");
        }
        assert_eq!(group_of(object.stream("log").as_str()), "web/Signup@a%2Fb");
        assert_eq!(group_of(ObjectId::from("web/Signup@").promise("x").as_str()), "web/Signup@");
        assert_eq!((group_of(""), group_of("/"), group_of("/@")), ("", "", "/@"));
    }

    #[test]
    fn a_map_deals_shards_evenly_and_is_checked() {
        let map = ShardMap::dealt(3);
        assert_eq!(map.check(), Ok(()));
        let of = |database| map.places.iter().filter(|place| **place == database).count();
        assert_eq!([of(0), of(1), of(2)], [86, 85, 85]);
        let mut counts = [0_u32; 3];
        for n in 0..3_000 {
            counts[map.promise(&PromiseId::from(&*format!("order-{n}")))] += 1;
        }
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
        assert_eq!(ShardMap::in_first(2).promise(&"x".into()), 0);
        let moved = |map: &ShardMap, moves: Vec<(u16, DatabaseIndex)>| {
            let mut map = map.clone();
            moves.iter().for_each(|(shard, to)| map.places[usize::from(*shard)] = *to as u16);
            map
        };
        assert_eq!(map.balanced(), []);
        assert_eq!(ShardMap::in_first(3).balanced().len(), 170);
        let empty = moved(&map, map.drained(1));
        assert_eq!((empty.counts(), empty.balanced().len()), (vec![128, 0, 128], 85));
        assert_eq!(moved(&empty, empty.balanced()).counts(), [86, 85, 85]);
        assert_eq!(ShardMap::single().drained(0), []);
        let damaged = ShardMap { places: vec![0, 3], ..map.clone() };
        assert!(damaged.check().unwrap_err().to_string().contains("database 3 of 3"));
        let name = LimitName::of("m", "f");
        let [new, grown] = [&map, &ShardMap::in_first(2)]
            .map(|map| (map.may_have_limit(&name), map.knows_limit(&name)));
        assert_eq!([new, grown], [(false, false), (true, false)]);
        let limited = ShardMap { limits: Some([name.clone()].into()), ..map.clone() };
        assert!(limited.may_have_limit(&name) && limited.knows_limit(&name));
        let moving = ShardMove { shard: 4, to: 1, is_halted: true, until: Timestamp(7) };
        let moving = ShardMap { moving: Some(moving), ..map.clone() };
        assert_eq!(moving.check(), Ok(()));
        let in_it = (0..).map(|n| format!("order-{n}")).find(|group| moving.moves(group));
        let in_it = PromiseId::from(&*in_it.expect("one of them"));
        let writes = moving.for_writes();
        assert_eq!((moving.promise(&in_it), writes.promise(&in_it)), (0, HALTED));
        let to = ShardMove { to: 3, ..moving.moving.clone().expect("it moves") };
        let damaged = ShardMap { moving: Some(to), ..map.clone() };
        assert!(damaged.check().unwrap_err().to_string().contains("to database 3"));
        let damaged = ShardMap { places: vec![0; 3], ..map };
        assert!(damaged.check().unwrap_err().to_string().contains("3 shards"));
    }
}
