//! Reads the facts of sagas, by invocation.

use segno_core::{
    id::PromiseId,
    saga::{Fact, FactKey},
};

use super::{DatabaseSession, Select};
use crate::sql::{SqlFailure, table::fact};

const FACTS: Select = Select::common(
    "SELECT promises.id, saga, seq, fact, promise, compensate, unknown, at
     FROM promises JOIN compensations ON compensations.inv = promises.n
     WHERE promises.id = $1",
);

/// All facts of an invocation.
pub(super) async fn facts(
    session: &mut impl DatabaseSession,
    id: &PromiseId,
) -> Result<Vec<(FactKey, Fact)>, SqlFailure> {
    let rows = session.all(&FACTS, &[id.into()]).await?;
    let read = |row| fact(row, 0).map(|(_, key, fact)| (key, fact));
    let mut facts: Vec<_> = rows.iter().map(read).collect::<Result<_, _>>()?;
    // Sorted here, because the text order of the databases differs.
    facts.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(facts)
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[FACTS];
