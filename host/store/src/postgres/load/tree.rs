//! Loads children, trees and the promises of objects: sets of promises that a command does not
//! name, which are found first and then locked like any other.

use std::collections::BTreeSet;

use segno_core::{
    footprint::{ChildPage, Footprint, TREE_LIMIT},
    id::{ObjectId, PromiseId},
    view::TreeMembers,
};
use sqlx::{Executor as _, PgConnection, postgres::PgRow};

use super::{LoadFailure, LockedRows};
use crate::{
    postgres::{failure::FailedStatement, fields::escape, statement::query},
    sql::{self, Cache, CacheLevel, RowFields as _, SqlFailure},
};

/// A page of the pending children of an invocation; optionally only those without a cancellation
/// request.
pub(super) const CHILDREN: &str = "
    SELECT id FROM promises LEFT JOIN tasks USING (n)
     WHERE made_by = $1 AND promises.state = 0 AND attached = 1 AND id > $2
       AND ($4 = 0 OR coalesce(tasks.cancel, 0) = 0) ORDER BY id LIMIT $3";

/// A promise and all its descendants, up to a limit.
const TREE: &str = "
    WITH RECURSIVE tree (n) AS (
        SELECT n FROM promises WHERE id = $1
         UNION ALL
        SELECT made.n FROM tree JOIN promises made ON made.made_by = tree.n)
    SELECT promises.id FROM (SELECT n FROM tree LIMIT $2) AS members JOIN promises USING (n)";

/// The promises with ids between two bounds that no invocation made, up to a limit.
pub(super) const PROMISES_BETWEEN: &str = "
    SELECT id FROM promises WHERE id > $1 AND id < $2 AND made_by IS NULL ORDER BY id LIMIT $3";

/// All messages about these promises.
const OWED: &str = "
    SELECT promises.n, promises.id, outbox.kind, outbox.part, next_at, outbox.created_at, attempts, message
      FROM outbox JOIN promises ON promises.n = outbox.source WHERE outbox.source = ANY($1::bigint[])";

impl LockedRows {
    /// Loads a page of children as whole composites. A child that settles in the meantime would
    /// make the page short, as if it were the last, so the page is read again once all of it is
    /// locked.
    pub(super) async fn load_children(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        parent: &PromiseId,
        page: &ChildPage,
    ) -> Result<(), LoadFailure> {
        let Some(&Some(number)) = self.promises.get(parent) else { return Ok(()) };
        let composites = self.children(connection, number, page).await?;
        if composites.is_empty() {
            return Ok(());
        }
        let wanted = Footprint { composites: composites.clone(), ..Footprint::default() };
        let missing = cache.missing(wanted);
        if !missing.is_empty() {
            Box::pin(self.load(connection, cache, missing)).await?;
        }
        match self.children(connection, number, page).await? == composites {
            true => Ok(()),
            false => Err(LoadFailure::lock_first(composites)),
        }
    }

    /// Loads a tree as whole composites, with all messages about its members. Like a page of
    /// children, it is read again once all of it is locked.
    pub(super) async fn load_tree(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        top: &PromiseId,
        limit: u32,
    ) -> Result<(), LoadFailure> {
        let tree = self.tree(connection, top, limit).await?;
        if !tree.whole {
            // The tree is too large to be removed, so only its root is needed.
            let wanted =
                Footprint { composites: BTreeSet::from([top.clone()]), ..Footprint::default() };
            let missing = cache.missing(wanted);
            if !missing.is_empty() {
                Box::pin(self.load(connection, cache, missing)).await?;
            }
        } else {
            let wanted = Footprint { composites: tree.members.clone(), ..Footprint::default() };
            let missing = cache.missing(wanted);
            if !missing.is_empty() {
                Box::pin(self.load(connection, cache, missing)).await?;
            }
            if self.tree(connection, top, limit).await? != tree {
                return Err(LoadFailure::lock_first(tree.members));
            }
        }
        self.load_owed(connection, cache, &tree.members).await?;
        cache.view.put_tree(top.clone(), tree);
        Ok(())
    }

    /// Loads the promises of an object as whole composites, with all messages about them: at most
    /// one more than a command removes at a time. They are read again once all of them are locked.
    pub(super) async fn load_promises_of(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        object: &ObjectId,
    ) -> Result<(), LoadFailure> {
        let promises = self.promises_of(connection, object).await?;
        if promises.is_empty() {
            return Ok(());
        }
        let wanted = Footprint { composites: promises.clone(), ..Footprint::default() };
        let missing = cache.missing(wanted);
        if !missing.is_empty() {
            Box::pin(self.load(connection, cache, missing)).await?;
        }
        if self.promises_of(connection, object).await? != promises {
            return Err(LoadFailure::lock_first(promises));
        }
        Ok(self.load_owed(connection, cache, &promises).await?)
    }

    async fn load_owed(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        promises: &BTreeSet<PromiseId>,
    ) -> Result<(), FailedStatement> {
        let name = "load messages";
        let numbers = promises.iter().filter_map(|id| *self.promises.get(id)?);
        let numbers: Vec<i64> = numbers.collect();
        for row in &self.rows(connection, name, OWED, &numbers).await? {
            put_message(cache, row).map_err(FailedStatement::of(name))?;
        }
        Ok(())
    }

    async fn promises_of(
        &mut self,
        connection: &mut PgConnection,
        object: &ObjectId,
    ) -> Result<BTreeSet<PromiseId>, FailedStatement> {
        let name = "load promises of an object";
        let [after, before] = object.promises();
        self.statements += 1;
        let query = query(connection, PROMISES_BETWEEN)
            .bind(escape(after.as_str()))
            .bind(escape(before.as_str()))
            .bind(i64::from(TREE_LIMIT) + 1);
        let found = connection.fetch_all(query).await.map_err(FailedStatement::of(name))?;
        found
            .iter()
            .map(|row| sql::id(row, 0))
            .collect::<Result<_, _>>()
            .map_err(FailedStatement::of(name))
    }

    async fn tree(
        &mut self,
        connection: &mut PgConnection,
        top: &PromiseId,
        limit: u32,
    ) -> Result<TreeMembers, FailedStatement> {
        let name = "load a tree";
        self.statements += 1;
        // One more than the limit, to detect a larger tree.
        let query = query(connection, TREE).bind(escape(top.as_str())).bind(i64::from(limit) + 1);
        let found = connection.fetch_all(query).await.map_err(FailedStatement::of(name))?;
        let whole = found.len() <= limit as usize;
        let members = found.iter().take(limit as usize).map(|row| sql::id(row, 0));
        let members = members.collect::<Result<_, _>>().map_err(FailedStatement::of(name))?;
        Ok(TreeMembers { members, whole })
    }

    async fn children(
        &mut self,
        connection: &mut PgConnection,
        parent: i64,
        page: &ChildPage,
    ) -> Result<BTreeSet<PromiseId>, FailedStatement> {
        let name = "load children";
        let after = page.after.as_ref().map_or("", PromiseId::as_str);
        self.statements += 1;
        let query = query(connection, CHILDREN)
            .bind(parent)
            .bind(escape(after))
            .bind(i64::from(page.limit))
            .bind(i64::from(page.unasked));
        let found = connection.fetch_all(query).await.map_err(FailedStatement::of(name))?;
        found
            .iter()
            .map(|row| sql::id(row, 0))
            .collect::<Result<_, _>>()
            .map_err(FailedStatement::of(name))
    }
}

fn put_message(cache: &mut Cache, row: &PgRow) -> Result<(), SqlFailure> {
    let source = sql::id(row, 1)?;
    cache.know(&source, row.int(0)?, CacheLevel::Number);
    sql::put_message(cache, &source, row, 2)
}
