//! Reads budgets.

use segno_core::{budget::Budget, id::PromiseId};

use super::{DatabaseSession, Select};
use crate::{
    read::BUDGETS_MAX,
    sql::{SqlFailure, table},
};

const ONE: Select = Select::common("SELECT account, units FROM budgets WHERE account = $1");

/// `$1` and `$2` are the bounds of the ids.
const BELOW: Select = Select::common(
    "
    SELECT account, units FROM budgets WHERE account > $1 AND account < $2
     ORDER BY account LIMIT $3",
);

/// The budget of an account.
pub(super) async fn of(
    session: &mut impl DatabaseSession,
    account: &PromiseId,
) -> Result<Option<Budget>, SqlFailure> {
    let found = session.first(&ONE, &[account.as_str().into()]).await?;
    found.map(|row| table::budget(&row).map(|(_, budget)| budget)).transpose()
}

/// The budgets of the executions below one, by account.
pub(super) async fn below(
    session: &mut impl DatabaseSession,
    id: &PromiseId,
) -> Result<Vec<(PromiseId, Budget)>, SqlFailure> {
    // The byte after `/` is `0`.
    let (first, last) = (format!("{id}/"), format!("{id}0"));
    let most = i64::try_from(BUDGETS_MAX).unwrap_or(i64::MAX);
    let parameters = [first.into(), last.into(), most.into()];
    let found = session.all(&BELOW, &parameters).await?;
    found.iter().map(table::budget).collect()
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[ONE, BELOW];
