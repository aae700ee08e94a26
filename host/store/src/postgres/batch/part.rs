//! The part of a batch in one database.

use std::collections::BTreeSet;

use segno_core::{
    delta::DatabaseDelta,
    footprint::Footprint,
    id::{PromiseId, Version},
    shard::DatabaseIndex,
    time::Timestamp,
};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use super::{BatchContext, ConnectionSlot};
use crate::{
    postgres::{
        claims::WriteStamp,
        databases::StoreDatabase,
        failure::FailedStatement,
        fields::escape,
        insertion::{InsertedKeys, NUMBERS},
        large_values,
        load::{LoadFailure, LockedRows, escaped},
        statement::query,
        tables::{OWNED_STATEMENTS, STREAM_DATA_STATEMENTS},
        transaction::SessionTransaction,
        write::{
            DROP_CROSSINGS, RAISE_FIRST_VERSION, REMOVE, REMOVE_CROSSINGS, REMOVE_PROMISES,
            WriteSummary, write,
        },
    },
    sql::Cache,
};

/// Limit on the waits of a transaction in a database that it joins: it holds rows of another one,
/// and no server sees a circle of waits through both.
const JOINED_WAITS: &str = "SET LOCAL lock_timeout = '1s'";

/// A transaction in one database.
pub(in crate::postgres) struct BatchPart<'a> {
    pub(super) database: DatabaseIndex,
    pub(in crate::postgres) transaction: SessionTransaction<'a>,
    pub(super) locked: LockedRows,
    keys: InsertedKeys,
    /// True if it has written anything.
    pub(in crate::postgres) wrote: bool,
    /// Number of statements that it sent, besides those of `locked`.
    sent: usize,
}

impl<'a> BatchPart<'a> {
    /// Begins the transaction. Its first load waits for locks if `waits` is true.
    pub(in crate::postgres) async fn begin(
        of: &StoreDatabase,
        slot: &'a mut ConnectionSlot,
        database: DatabaseIndex,
        is_home: bool,
        waits: bool,
        crosses: bool,
    ) -> Result<Self, FailedStatement> {
        if slot.as_ref().is_some_and(|held| !held.is_current(&of.primary)) {
            *slot = None;
        }
        let held = match slot {
            Some(open) => open,
            None => slot.insert(of.connect().await?),
        };
        let begun = SessionTransaction::begin(&mut held.connection, &of.settings.writer).await;
        let mut transaction = begun.map_err(FailedStatement::of("BEGIN"))?;
        if !is_home {
            let limited = transaction.execute(JOINED_WAITS).await;
            limited.map_err(FailedStatement::of("limit waits"))?;
        }
        Ok(Self {
            database,
            transaction,
            locked: LockedRows::new(waits, crosses),
            keys: InsertedKeys::default(),
            wrote: false,
            // `BEGIN`, and its end.
            sent: if is_home { 2 } else { 3 },
        })
    }

    /// Number of statements that it sent.
    pub(super) fn statements(&self) -> usize {
        self.sent + self.locked.statements
    }

    pub(super) async fn load(
        &mut self,
        cache: &mut Cache,
        wanted: Footprint,
    ) -> Result<(), LoadFailure> {
        self.locked.load(&mut self.transaction, cache, wanted).await
    }

    /// Looks again for rows that were not found, when the locks in all databases are held.
    pub(super) async fn read_again(&mut self, cache: &mut Cache) -> Result<(), LoadFailure> {
        match self.locked.misses_rows() {
            true => self.locked.read_again(&mut self.transaction, cache).await,
            false => Ok(()),
        }
    }

    /// Checks that callbacks to other databases are as they were read.
    pub(super) async fn check_crossings(
        &mut self,
        cache: &Cache,
        is_elsewhere: impl Fn(&PromiseId) -> bool,
    ) -> Result<(), LoadFailure> {
        self.locked.check_crossings(&mut self.transaction, cache, is_elsewhere).await
    }

    /// Assigns numbers to new promises. `is_spread` is true if the batch has several parts.
    pub(super) async fn number(
        &mut self,
        cache: &mut Cache,
        fresh: &[&PromiseId],
        now: Timestamp,
        context: &BatchContext<'_>,
        is_spread: bool,
    ) -> Result<(), FailedStatement> {
        if is_spread {
            self.keys.limit();
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let name = "number promises";
        self.sent += 1;
        let query = query(&self.transaction, NUMBERS).bind(fresh.len() as i64);
        let rows = self.transaction.fetch_all(query).await.map_err(FailedStatement::of(name))?;
        for (id, row) in fresh.iter().zip(&rows) {
            let count = row.try_get(0).map_err(FailedStatement::of(name))?;
            let number = match context.databases.is_single() {
                true => count,
                false => context.numbers.number(now, self.database, count),
            };
            cache.renumber(id, number);
            self.locked.made(id, number);
        }
        Ok(())
    }

    /// Writes the rows of this database; `fresh` are the promises that it creates.
    pub(super) async fn write(
        &mut self,
        cache: &Cache,
        written: DatabaseDelta,
        fresh: &[&PromiseId],
        stamp: WriteStamp,
    ) -> Result<WriteSummary, FailedStatement> {
        if !fresh.is_empty() || written.delta.has_named() {
            self.enter().await?;
        }
        let fresh: BTreeSet<PromiseId> = fresh.iter().copied().cloned().collect();
        let transaction = &mut self.transaction;
        let summary = write(transaction, cache, &written, &fresh, &self.locked, stamp).await?;
        let numbers = written.delta.tasks.keys().filter_map(|id| cache.number(id));
        self.locked.stamps.extend(numbers.map(|number| (number, stamp)));
        self.locked.wrote(summary.named.clone());
        self.locked.has_large_values |= summary.stored_large_values;
        self.wrote = true;
        self.sent += summary.statements;
        Ok(summary)
    }

    /// Removes promises with all their rows. Returns the digests of the chunks that lost a use.
    pub(super) async fn remove(
        &mut self,
        cache: &Cache,
        removed: &BTreeSet<PromiseId>,
        first_version: Option<Version>,
    ) -> Result<Vec<Vec<u8>>, FailedStatement> {
        if let Some(version) = first_version {
            let name = "raise the first version";
            self.enter().await?;
            self.sent += 1;
            let query = query(&self.transaction, RAISE_FIRST_VERSION).bind(version.0.cast_signed());
            self.transaction.execute(query).await.map_err(FailedStatement::of(name))?;
        }
        let ids = escaped(removed);
        let streams = &*STREAM_DATA_STATEMENTS;
        let by_id = [
            ("remove streams", streams.remove_data.as_str()),
            ("remove streams", streams.remove.as_str()),
            REMOVE_CROSSINGS,
        ];
        for (name, statement) in by_id {
            self.sent += 1;
            let query = query(&self.transaction, AssertSqlSafe(statement)).bind(&ids);
            self.transaction.execute(query).await.map_err(FailedStatement::of(name))?;
        }
        let numbers: Vec<i64> = removed.iter().filter_map(|id| cache.number(id)).collect();
        let mut released = Vec::new();
        if self.locked.has_large_values {
            released = large_values::remove(&mut self.transaction, &numbers).await?;
            self.sent += 1;
        }
        let owned = OWNED_STATEMENTS.iter().map(|of| (of.of.remove, &*of.remove));
        for (name, statement) in REMOVE.into_iter().chain(owned).chain([REMOVE_PROMISES]) {
            self.sent += 1;
            let query = query(&self.transaction, AssertSqlSafe(statement)).bind(&numbers);
            self.transaction.execute(query).await.map_err(FailedStatement::of(name))?;
        }
        self.wrote = true;
        Ok(released)
    }

    /// Removes callbacks between promises of different databases, by (awaited, awaiter).
    pub(super) async fn drop_crossings(
        &mut self,
        pairs: &[(PromiseId, PromiseId)],
    ) -> Result<(), FailedStatement> {
        let (awaited, awaiters): (Vec<_>, Vec<_>) =
            pairs.iter().map(|(on, by)| (escape(on.as_str()), escape(by.as_str()))).unzip();
        self.sent += 1;
        let query = query(&self.transaction, DROP_CROSSINGS).bind(awaited).bind(awaiters);
        let dropped = self.transaction.execute(query).await;
        dropped.map_err(FailedStatement::of("remove callbacks across databases"))?;
        self.wrote = true;
        Ok(())
    }

    pub(in crate::postgres) async fn rollback(self) -> Result<(), FailedStatement> {
        self.transaction.rollback().await.map_err(FailedStatement::of("ROLLBACK"))
    }

    /// Called before rows are inserted.
    async fn enter(&mut self) -> Result<(), FailedStatement> {
        let sent = self.keys.enter(&mut self.transaction).await?;
        self.sent += usize::from(sent);
        Ok(())
    }
}
