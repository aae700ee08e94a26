//! The limits that have rows, in the map of the shards.
//!
//! Most functions have no limit. Their starts look up no row in the database where the row of a
//! limit would be, so they do not cross, and go on while that database is away. A limit gets a row
//! when all databases have its name in the map: every transaction compares the epoch of the map.

use std::collections::BTreeSet;

use segno_core::{limit::LimitName, shard::ShardMap};

use super::{
    batch::DatabaseFailure, databases::StoreDatabases, failure::FailedStatement, fields::unescape,
    in_doubt::DatabaseSessions,
};
use crate::sql::SqlFailure;

impl StoreDatabases {
    /// Adds limits to the map. It is to be looked at again if another change of the map came first,
    /// or if shards are being moved.
    ///
    /// # Errors
    /// The database that does not answer.
    pub(super) async fn add_limits(
        &self,
        names: &BTreeSet<LimitName>,
    ) -> Result<(), DatabaseFailure> {
        let away = |database| {
            let reason = format!("{} does not answer", self.at(database).shown);
            let source = SqlFailure::NotPrimary(reason);
            let failed = FailedStatement { statement: "add a limit to the map", source };
            DatabaseFailure { database, failed }
        };
        for database in 0..self.len() {
            if !self.renew_from(database).await {
                return Err(away(database));
            }
        }
        let map = self.shards();
        let is_known = map.limits.as_ref().is_some_and(|known| names.is_subset(known));
        if is_known || map.moving.is_some() {
            return Ok(());
        }
        let mut sessions = DatabaseSessions::new(self, self.at(0).primary.env());
        let mut limits = names.clone();
        match &map.limits {
            Some(known) => limits.extend(known.iter().cloned()),
            None => {
                for database in 0..self.len() {
                    let stored = sessions.limits(database).await.ok_or_else(|| away(database))?;
                    limits.extend(stored.iter().map(|name| LimitName::from(&*unescape(name))));
                }
            }
        }
        let map = ShardMap { epoch: map.epoch + 1, limits: Some(limits), ..(*map).clone() };
        for database in 0..self.len() {
            // The first one decides between two maps of one epoch.
            match sessions.put_map(database, &map).await {
                Some(false) if database == 0 => return Ok(()),
                Some(_) => {}
                None => return Err(away(database)),
            }
        }
        self.shards.advance(map);
        Ok(())
    }
}
