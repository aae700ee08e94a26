//! Loads the rows of an admission round: they are found by queue order, and then locked like any
//! other.

use std::collections::BTreeMap;

use segno_core::{
    footprint::{Footprint, SweepPage},
    limit::{LimitName, PartitionId},
};
use sqlx::{Executor as _, PgConnection, Postgres, postgres::PgArguments, query::Query};

use super::{LoadFailure, LockedRows};
use crate::{
    postgres::{failure::FailedStatement, fields::escape, statement::query},
    sql::{self, Cache, round},
};

/// The wanted admission rows: rounds, sweeps and lanes.
pub(super) struct WantedAdmissions {
    rounds: BTreeMap<LimitName, u32>,
    sweeps: BTreeMap<LimitName, SweepPage>,
    lanes: BTreeMap<(PartitionId, u8), u32>,
}

impl WantedAdmissions {
    pub(super) fn of(wanted: &Footprint) -> Self {
        Self {
            rounds: wanted.rounds.clone(),
            sweeps: wanted.sweeps.clone(),
            lanes: wanted.lanes.clone(),
        }
    }
}

impl LockedRows {
    /// Loads the wanted rows; requires that the limits are locked.
    pub(super) async fn load_round(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        WantedAdmissions { rounds, sweeps, lanes }: WantedAdmissions,
    ) -> Result<(), LoadFailure> {
        let mut found = Vec::new();
        for (name, most) in &rounds {
            let name = escape(name.as_str());
            for statement in [round::READY, round::TIMED] {
                let query = query(connection, statement).bind(&*name).bind(i64::from(*most));
                found.extend(self.partitions(connection, query).await?);
            }
        }
        for (name, page) in &sweeps {
            let (after, before) = round::sweep_bounds(name, page);
            let query = query(connection, round::SWEEP).bind(escape(&after).into_owned());
            let query = query.bind(escape(&before).into_owned()).bind(i64::from(page.limit));
            found.extend(self.partitions(connection, query).await?);
        }
        let missing = round::partitions(cache, found);
        if !missing.is_empty() {
            Box::pin(self.load(connection, cache, missing)).await?;
        }
        if !lanes.is_empty() {
            self.wait_for_prepared(connection).await?;
        }
        let name = "load a lane";
        for ((partition, priority), most) in &lanes {
            self.statements += 1;
            let query = query(connection, round::LANE).bind(escape(partition.as_str()));
            let query = query.bind(i16::from(*priority)).bind(i64::from(*most));
            for row in &connection.fetch_all(query).await.map_err(FailedStatement::of(name))? {
                round::put(cache, row).map_err(FailedStatement::of(name))?;
            }
        }
        Ok(())
    }

    async fn partitions(
        &mut self,
        connection: &mut PgConnection,
        query: Query<'_, Postgres, PgArguments>,
    ) -> Result<Vec<PartitionId>, FailedStatement> {
        let name = "load a round";
        self.statements += 1;
        let found = connection.fetch_all(query).await.map_err(FailedStatement::of(name))?;
        let id = |row| sql::text(row, 0).map(|id| PartitionId::from(id.as_str()));
        found.iter().map(id).collect::<Result<_, _>>().map_err(FailedStatement::of(name))
    }
}
