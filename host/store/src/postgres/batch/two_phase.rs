//! The commit of a batch. In one database it is a `COMMIT`. Over several databases it has two
//! phases.
//!
//! The first database that was written decides. All others prepare their transactions, which then
//! survive every crash. The first one commits its own together with a row of `decisions`, so that
//! both are durable or neither is: this is the decision. Then the others commit what they prepared.
//!
//! If the host ends in between, any other host finishes the transaction ([`in_doubt`]): prepared
//! transactions with a decision are committed, and those without one are rolled back, after a row of
//! `decisions` that keeps the first database from committing late.
//!
//! [`in_doubt`]: crate::postgres::in_doubt

use futures::future::join_all;
use segno_core::shard::DatabaseIndex;
use sqlx::{AssertSqlSafe, Executor as _};

use super::{BatchContext, BatchPart, CommitFailure, DatabaseFailure};
use crate::postgres::{
    failure::{FailedStatement, code, is_undone},
    in_doubt::TransactionName,
    statement::query,
};

/// Decides that a transaction commits. Refused by the key if it was decided that it does not.
const DECIDE: &str = "
    INSERT INTO decisions (gid, committed, at)
    VALUES ($1, 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)";

/// SQLSTATE of a prepared transaction that does not exist: another host has finished it.
const NO_SUCH_TRANSACTION: &str = "42704";

/// Commits all parts, or none.
pub(super) async fn commit(
    parts: Vec<BatchPart<'_>>,
    context: &BatchContext<'_>,
) -> Result<(), CommitFailure> {
    let (mut wrote, read): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.wrote);
    wrote.sort_by_key(|part| part.database);
    let committed = match wrote.len() {
        0 | 1 => match wrote.pop() {
            Some(part) => commit_alone(part).await,
            None => Ok(()),
        },
        _ => commit_together(wrote, context.databases.store, context.nonce).await,
    };
    // Rows that were only read stay locked until the others have committed.
    for part in read {
        let database = part.database;
        let ended = part.transaction.commit().await.map_err(FailedStatement::of("COMMIT"));
        if let Err(failed) = ended
            && committed.is_ok()
        {
            tracing::debug!(database, error = %failed, "a transaction that only read did not end");
        }
    }
    committed
}

async fn commit_alone(part: BatchPart<'_>) -> Result<(), CommitFailure> {
    let database = part.database;
    let committed = part.transaction.commit().await.map_err(FailedStatement::of("COMMIT"));
    committed.map_err(|failed| outcome(database, failed))
}

/// A failed `COMMIT`.
fn outcome(database: DatabaseIndex, failed: FailedStatement) -> CommitFailure {
    match is_undone(&failed.source) {
        true => CommitFailure::Failed(DatabaseFailure { database, failed }),
        false => CommitFailure::Unknown(DatabaseFailure { database, failed }),
    }
}

/// Commits several parts, of which the first one decides. `nonce` is a random number.
pub(in crate::postgres) async fn commit_together(
    mut parts: Vec<BatchPart<'_>>,
    store: u64,
    nonce: u64,
) -> Result<(), CommitFailure> {
    let mut first = parts.remove(0);
    let name = TransactionName { store, decided_by: first.database, nonce };
    let prepared = join_all(parts.iter_mut().map(|part| end(part, "PREPARE TRANSACTION", &name)));
    let failed = prepared.await.into_iter().find_map(Result::err);
    if let Some(failed) = failed {
        abandon(parts, &name).await;
        // If that fails as well, the connection is dropped, and the transaction with it.
        first.rollback().await.map_err(CommitFailure::at(failed.database))?;
        return Err(failed.into());
    }
    let decided_by = first.database;
    let decide = query(&first.transaction, DECIDE).bind(name.to_string());
    let decided = first.transaction.execute(decide).await;
    if let Err(failed) = decided.map_err(FailedStatement::of("decide")) {
        abandon(parts, &name).await;
        first.rollback().await.map_err(CommitFailure::at(decided_by))?;
        return Err(DatabaseFailure { database: decided_by, failed }.into());
    }
    if let Err(failed) = commit_alone(first).await {
        if matches!(failed, CommitFailure::Failed(_)) {
            abandon(parts, &name).await;
        }
        return Err(failed);
    }
    let ends = parts.iter_mut().map(|part| end(part, "COMMIT PREPARED", &name));
    let failed = join_all(ends).await.into_iter().find_map(Result::err);
    for part in parts {
        // A broken connection is found out at its next use.
        let _ = part.transaction.leave().await;
    }
    match failed {
        // It is decided, but not yet to be seen everywhere.
        Some(failed) => Err(CommitFailure::Unknown(failed)),
        None => Ok(()),
    }
}

/// Ends or prepares the transaction of a part.
async fn end(
    part: &mut BatchPart<'_>,
    statement: &'static str,
    name: &TransactionName,
) -> Result<(), DatabaseFailure> {
    let text = format!("{statement} '{}'", name.of_part(part.database));
    let ended = part.transaction.execute(AssertSqlSafe(text)).await;
    match ended.map_err(FailedStatement::of(statement)) {
        Err(failed) if code(&failed.source).as_deref() != Some(NO_SUCH_TRANSACTION) => {
            Err(DatabaseFailure { database: part.database, failed })
        }
        _ => Ok(()),
    }
}

/// Rolls back prepared transactions. Another host does it if this one cannot.
async fn abandon(parts: Vec<BatchPart<'_>>, name: &TransactionName) {
    for mut part in parts {
        let ended = match end(&mut part, "ROLLBACK PREPARED", name).await {
            Ok(()) => part.transaction.leave().await.map_err(FailedStatement::of("ROLLBACK")),
            // It was not prepared.
            Err(_) => part.rollback().await,
        };
        if let Err(failed) = ended {
            tracing::debug!(error = %failed, "a prepared transaction stays for now");
        }
    }
}
