//! Reads modules and their components.

use std::{collections::BTreeMap, sync::Arc};

use segno_core::id::{Digest, PromiseId};

use super::{DatabaseSession, Parameter, Select};
use crate::{
    COUNTED, ModuleRow,
    sql::{self, RowFields as _, SqlFailure},
};

const COMPONENT: Select = Select::common("SELECT component FROM modules WHERE digest = $1");

const NAMED: Select = Select::common(
    "SELECT digest FROM aliases JOIN modules ON modules.n = aliases.module WHERE name = $1",
);

const MODULES: Select = Select::differing(
    "
    SELECT digest, length(component), created_at, description,
           (SELECT json_group_array(name) FROM (SELECT name FROM aliases WHERE module = modules.n ORDER BY name))
      FROM modules ORDER BY digest",
    "
    SELECT digest, octet_length(component)::bigint, created_at, description,
           (SELECT coalesce(json_agg(name ORDER BY name), '[]')::text FROM aliases WHERE module = modules.n)
      FROM modules ORDER BY digest",
);

/// For SQLite, the index is named: otherwise it may choose one that includes finished tasks, and
/// would examine each of them.
const IN_USE: Select = Select::differing(
    "
    SELECT digest, (SELECT count(*) FROM (
           SELECT 1 FROM tasks INDEXED BY tasks_module WHERE module = modules.n AND state <> 5 LIMIT $1))
      FROM modules",
    "
    SELECT digest, (SELECT count(*) FROM (
           SELECT 1 FROM tasks WHERE module = modules.n AND module IS NOT NULL AND state <> 5 LIMIT $1) counted)
      FROM modules",
);

const UNFINISHED: Select = Select::differing(
    "
    SELECT promises.id FROM tasks INDEXED BY tasks_module JOIN promises ON promises.n = tasks.n
     WHERE module = (SELECT n FROM modules WHERE digest = $1) AND tasks.state <> 5
     ORDER BY tasks.n LIMIT $2",
    "
    SELECT promises.id FROM tasks JOIN promises ON promises.n = tasks.n
     WHERE module = (SELECT n FROM modules WHERE digest = $1) AND module IS NOT NULL AND tasks.state <> 5
     ORDER BY tasks.n LIMIT $2",
);

/// The bytes of a component.
pub(super) async fn component(
    session: &mut impl DatabaseSession,
    digest: Digest,
) -> Result<Option<Arc<[u8]>>, SqlFailure> {
    let found = session.first(&COMPONENT, &[Parameter::Blob(&digest.0)]).await?;
    found.map(|row| Ok(Arc::from(row.blob(0)?.unwrap_or_default()))).transpose()
}

/// The module that an alias refers to.
pub(super) async fn named(
    session: &mut impl DatabaseSession,
    alias: &str,
) -> Result<Option<Digest>, SqlFailure> {
    let found = session.first(&NAMED, &[alias.into()]).await?;
    found.map(|row| sql::digest_at(&row, 0)).transpose()
}

/// All modules with their aliases.
pub(super) async fn modules(
    session: &mut impl DatabaseSession,
) -> Result<Vec<ModuleRow>, SqlFailure> {
    let found = session.all(&MODULES, &[]).await?;
    sql::readable(found.iter().map(sql::module))
}

/// Number of unfinished executions of each module that has any, counted up to [`COUNTED`].
pub(super) async fn in_use(
    session: &mut impl DatabaseSession,
) -> Result<BTreeMap<Digest, u64>, SqlFailure> {
    let found = session.all(&IN_USE, &[COUNTED.into()]).await?;
    let mut in_use = found.iter().map(sql::counted).collect::<Result<BTreeMap<_, _>, _>>()?;
    in_use.retain(|_, count| *count > 0);
    Ok(in_use)
}

/// Unfinished executions of a module, oldest first.
pub(super) async fn unfinished(
    session: &mut impl DatabaseSession,
    digest: Digest,
    limit: u32,
) -> Result<Vec<PromiseId>, SqlFailure> {
    let parameters = [Parameter::Blob(&digest.0), limit.into()];
    let found = session.all(&UNFINISHED, &parameters).await?;
    found.iter().map(|row| sql::id(row, 0)).collect()
}

/// The statements, for tests of query plans.
#[cfg(test)]
pub(super) static STATEMENTS: &[Select] = &[COMPONENT, NAMED, UNFINISHED];
