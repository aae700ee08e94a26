//! The row of a database that says which database of its store it is, and the map of the shards.

use segno_core::shard::{DATABASES_MAX, DatabaseIndex, ShardMap};
use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, Postgres, Row as _, Transaction,
};

use super::{
    config::PostgresConfig,
    open::{OpenedDatabase, PostgresOpenError, explain},
};

const READ: &str = "
    SELECT shards.store, shards.database, shards.map,
           EXISTS (SELECT FROM promises) OR EXISTS (SELECT FROM modules) OR EXISTS (SELECT FROM hosts),
           current_setting('max_prepared_transactions')::int
      FROM (SELECT) AS one LEFT JOIN shards ON true";

const WRITE: &str = "INSERT INTO shards (one, store, database, epoch, map) VALUES (1, $1, $2, $3, $4) ON CONFLICT DO NOTHING";

/// Reads the map alone.
pub(super) const MAP: &str = "SELECT map FROM shards WHERE one = 1";

/// Replaces a map that has not changed since it was read. Parameters: its epoch, the new epoch, the
/// new map.
pub(super) const PUT_MAP: &str =
    "UPDATE shards SET epoch = $2, map = $3 WHERE one = 1 AND epoch <= $1";

/// What a database says about its part in a store.
#[derive(Debug)]
struct DatabaseRole {
    /// The number of the store, the place of the database in it, and the map. `None` if the
    /// database is not one of several.
    part: Option<(u64, DatabaseIndex, ShardMap)>,
    /// True if it has content.
    is_used: bool,
    /// The server's setting `max_prepared_transactions`.
    prepared_max: i32,
}

/// The databases of a store, in the order of its map.
#[derive(Debug)]
pub(super) struct StoreShards {
    pub(super) store: u64,
    pub(super) map: ShardMap,
    /// For each database of the map, its place among those that were opened. `None` if it is away.
    pub(super) order: Vec<Option<usize>>,
}

/// Finds out which database is which. Databases that are not parts of a store yet become one:
/// all shards stay in the one that has content, or are dealt to all of them if none has. `away` are
/// the addresses of those that could not be opened.
pub(super) async fn agree(
    databases: &[(PostgresConfig, OpenedDatabase)],
    away: &[&str],
    nonce: u64,
) -> Result<StoreShards, PostgresOpenError> {
    let mut connections = Vec::with_capacity(databases.len());
    for (config, opened) in databases {
        connections.push(connect(config, opened).await?);
    }
    let mut roles = Vec::with_capacity(databases.len());
    for ((config, _), connection) in databases.iter().zip(&mut connections) {
        roles.push(read(connection, config).await?);
    }
    if roles.iter().all(|role| role.part.is_none()) && databases.len() > 1 && away.is_empty() {
        found(databases, &mut connections, &roles, nonce).await?;
        for ((config, _), (role, connection)) in
            databases.iter().zip(roles.iter_mut().zip(&mut connections))
        {
            *role = read(connection, config).await?;
        }
    }
    for connection in connections {
        // The answers stand, however the connections end.
        let _ = connection.close().await;
    }
    let shown: Vec<&str> = databases.iter().map(|(config, _)| config.shown()).collect();
    arrange(&shown, away, &roles)
}

/// True if an opened database belongs to a store of several already.
pub(super) async fn belongs_to_a_store(
    config: &PostgresConfig,
    opened: &OpenedDatabase,
) -> Result<bool, PostgresOpenError> {
    let mut connection = connect(config, opened).await?;
    Ok(read(&mut connection, config).await?.part.is_some())
}

/// The number of the store to which an opened database belongs, its place there, and the map.
pub(super) async fn part(
    config: &PostgresConfig,
    opened: &OpenedDatabase,
) -> Result<(u64, DatabaseIndex, ShardMap), PostgresOpenError> {
    let mut connection = connect(config, opened).await?;
    let role = read(&mut connection, config).await?;
    prepares(&[config.shown()], std::slice::from_ref(&role))?;
    role.part.ok_or_else(|| PostgresOpenError::Shards {
        reason: format!("{} is not a database of a store of several", config.shown()),
    })
}

/// Checks that databases which are no parts of a store yet can become one.
pub(super) async fn check_new(
    databases: &[(PostgresConfig, OpenedDatabase)],
) -> Result<(), PostgresOpenError> {
    let mut roles = Vec::with_capacity(databases.len());
    for (config, opened) in databases {
        let role = read(&mut connect(config, opened).await?, config).await?;
        if role.is_used || role.part.is_some() {
            return Err(PostgresOpenError::Shards {
                reason: format!("{} is not empty", config.shown()),
            });
        }
        roles.push(role);
    }
    prepares(&databases.iter().map(|(config, _)| config.shown()).collect::<Vec<_>>(), &roles)
}

/// A map as it is stored.
pub(super) fn written(map: &ShardMap) -> String {
    serde_json::to_string(map).expect("numbers are JSON")
}

/// Connects to a database that was opened.
pub(super) async fn connect(
    config: &PostgresConfig,
    opened: &OpenedDatabase,
) -> Result<PgConnection, PostgresOpenError> {
    let settings = config.start();
    let connected = PgConnection::connect_with(settings.server(opened.server)).await;
    connected.map_err(|source| explain(config.shown(), source))
}

/// Begins a transaction, with the settings that a pooler does not keep.
pub(super) async fn begin<'a>(
    connection: &'a mut PgConnection,
    config: &PostgresConfig,
) -> Result<Transaction<'a, Postgres>, PostgresOpenError> {
    let begin = config.start().beginning("BEGIN").unwrap_or_else(|| "BEGIN".to_owned());
    let begun = connection.begin_with(AssertSqlSafe(begin)).await;
    begun.map_err(|source| explain(config.shown(), source))
}

async fn read(
    connection: &mut PgConnection,
    config: &PostgresConfig,
) -> Result<DatabaseRole, PostgresOpenError> {
    let address = config.shown();
    let failed = |source: sqlx::Error| explain(address, source);
    let mut transaction = begin(connection, config).await?;
    let row = transaction.fetch_one(READ).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)?;
    let (store, database, map): (Option<i64>, Option<i16>, Option<String>) = (
        row.try_get(0).map_err(failed)?,
        row.try_get(1).map_err(failed)?,
        row.try_get(2).map_err(failed)?,
    );
    let part = match (store, database, map) {
        (Some(store), Some(database), Some(map)) => {
            let damaged = |reason: String| PostgresOpenError::Shards {
                reason: format!("{address}: {reason}"),
            };
            let map: ShardMap =
                serde_json::from_str(&map).map_err(|error| damaged(error.to_string()))?;
            map.check().map_err(|error| damaged(error.to_string()))?;
            let database = usize::try_from(database).unwrap_or(usize::MAX);
            Some((store.cast_unsigned(), database, map))
        }
        _ => None,
    };
    Ok(DatabaseRole {
        part,
        is_used: row.try_get(3).map_err(failed)?,
        prepared_max: row.try_get(4).map_err(failed)?,
    })
}

/// Makes one store of databases that are none yet.
async fn found(
    databases: &[(PostgresConfig, OpenedDatabase)],
    connections: &mut [PgConnection],
    roles: &[DatabaseRole],
    nonce: u64,
) -> Result<(), PostgresOpenError> {
    let shown = |place: usize| databases[place].0.shown();
    let refused = |reason: String| Err(PostgresOpenError::Shards { reason });
    if databases.len() > DATABASES_MAX {
        return refused(format!("a store has at most {DATABASES_MAX} databases"));
    }
    let used: Vec<usize> = (0..roles.len()).filter(|place| roles[*place].is_used).collect();
    if let [one, two, ..] = used[..] {
        return refused(format!(
            "{} and {} are two stores with content, which cannot become one: give one of them and new databases",
            shown(one),
            shown(two)
        ));
    }
    prepares(&databases.iter().map(|(config, _)| config.shown()).collect::<Vec<_>>(), roles)?;
    let first = used.first().copied().unwrap_or(0);
    let count = databases.len() as u16;
    let map = if used.is_empty() { ShardMap::dealt(count) } else { ShardMap::in_first(count) };
    let (epoch, map) = (map.epoch.cast_signed(), written(&map));
    let others = (0..databases.len()).filter(|place| *place != first);
    for (database, place) in std::iter::once(first).chain(others).enumerate() {
        let query = sqlx::query(WRITE)
            .persistent(false)
            .bind(nonce.cast_signed())
            .bind(database as i16)
            .bind(epoch)
            .bind(&map);
        let mut transaction = begin(&mut connections[place], &databases[place].0).await?;
        let written = transaction.execute(query).await;
        written.map_err(|source| explain(shown(place), source))?;
        transaction.commit().await.map_err(|source| explain(shown(place), source))?;
    }
    Ok(())
}

/// Makes an empty database part of a store, with the map that the others have next.
pub(super) async fn join(
    config: &PostgresConfig,
    opened: &OpenedDatabase,
    store: u64,
    database: DatabaseIndex,
    map: &ShardMap,
) -> Result<(), PostgresOpenError> {
    let address = config.shown();
    let refused = |reason: String| Err(PostgresOpenError::Shards { reason });
    if database >= DATABASES_MAX {
        return refused(format!("a store has at most {DATABASES_MAX} databases"));
    }
    let mut connection = connect(config, opened).await?;
    let role = read(&mut connection, config).await?;
    if let Some((_, number, _)) = role.part {
        return refused(format!("{address} is database {} of a store already", number + 1));
    }
    if role.is_used {
        return refused(format!("{address} has content: add an empty database"));
    }
    prepares(&[address], &[role])?;
    let map = ShardMap { epoch: map.epoch + 1, ..map.clone() };
    let query = sqlx::query(WRITE)
        .persistent(false)
        .bind(store.cast_signed())
        .bind(database as i16)
        .bind(map.epoch.cast_signed())
        .bind(written(&map));
    let mut transaction = begin(&mut connection, config).await?;
    transaction.execute(query).await.map_err(|source| explain(address, source))?;
    transaction.commit().await.map_err(|source| explain(address, source))?;
    // The row stays, however the connection ends.
    let _ = connection.close().await;
    Ok(())
}

/// Checks that all servers can prepare transactions.
fn prepares(shown: &[&str], roles: &[DatabaseRole]) -> Result<(), PostgresOpenError> {
    match roles.iter().position(|role| role.prepared_max == 0) {
        Some(place) => Err(PostgresOpenError::Shards {
            reason: format!(
                "{} does not prepare transactions, which a store of several databases needs: set \
                 max_prepared_transactions = 64 there, and start the server again",
                shown[place]
            ),
        }),
        None => Ok(()),
    }
}

/// The databases in the order of the map, if all of them are given.
fn arrange(
    shown: &[&str],
    away: &[&str],
    roles: &[DatabaseRole],
) -> Result<StoreShards, PostgresOpenError> {
    let refused = |reason: String| Err(PostgresOpenError::Shards { reason });
    let Some((store, _, map)) = roles.iter().find_map(|role| role.part.as_ref()) else {
        return Ok(StoreShards { store: 0, map: ShardMap::single(), order: vec![Some(0)] });
    };
    let (mut newest, mut order) = (map, vec![None; map.database_count()]);
    for (place, role) in roles.iter().enumerate() {
        let Some((of, database, map)) = &role.part else {
            return refused(format!(
                "{} is not yet a database of the store that the others belong to: leave it out",
                shown[place]
            ));
        };
        if of != store {
            return refused(format!(
                "{} and {} belong to different stores: give the databases of one",
                shown[0], shown[place]
            ));
        }
        if map.epoch > newest.epoch {
            newest = map;
        }
        match order.get_mut(*database) {
            Some(free @ None) => *free = Some(place),
            Some(Some(other)) => {
                return refused(format!(
                    "{} and {} are the same database of the store: give each once",
                    shown[*other], shown[place]
                ));
            }
            None => return refused(format!("{} is database {database} of fewer", shown[place])),
        }
    }
    prepares(shown, roles)?;
    let missing: Vec<String> = (1..)
        .zip(&order)
        .filter(|(_, place)| place.is_none())
        .map(|(number, _)| number.to_string())
        .collect();
    if missing.len() > away.len() {
        return refused(format!(
            "the store has {} databases, and number {} is missing: give --store once for each",
            order.len(),
            missing.join(" and ")
        ));
    }
    if missing.len() < away.len() {
        return refused(format!(
            "the store has {} databases, and {} addresses were given, of which {} does not answer: leave out what is no \
             database of the store",
            order.len(),
            shown.len() + away.len(),
            away.join(" and ")
        ));
    }
    Ok(StoreShards { store: *store, map: newest.clone(), order })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(part: Option<(u64, DatabaseIndex, ShardMap)>) -> DatabaseRole {
        DatabaseRole { part, is_used: true, prepared_max: 64 }
    }

    fn refusal(shown: &[&str], roles: &[DatabaseRole]) -> String {
        arrange(shown, &[], roles).expect_err("it is refused").to_string()
    }

    #[test]
    fn databases_are_put_in_order_and_what_is_missing_is_named() {
        let map = ShardMap::dealt(3);
        let newer = ShardMap { epoch: 9, ..map.clone() };
        let part = |store, database| role(Some((store, database, map.clone())));
        let all = [part(7, 2), part(7, 0), role(Some((7, 1, newer.clone())))];
        let arranged = arrange(&["c", "a", "b"], &[], &all).expect("all are there");
        let order = [Some(1), Some(2), Some(0)];
        assert_eq!((&*arranged.order, arranged.map, arranged.store), (&order[..], newer, 7));
        let late = arrange(&["c", "a"], &["b"], &all[..2]).expect("one is away");
        assert_eq!(late.order, [Some(1), None, Some(0)]);
        let foreign = arrange(&["c", "a", "b"], &["d"], &all).expect_err("it has three");
        let foreign = foreign.to_string();
        assert!(
            foreign.contains("4 addresses were given, of which d does not answer"),
            "{foreign}"
        );

        let missing = refusal(&["c"], &all[..1]);
        assert!(missing.contains("3 databases, and number 1 and 2 is missing"), "{missing}");
        let twice = refusal(&["c", "d"], &[part(7, 2), part(7, 2)]);
        assert!(twice.contains("c and d are the same database"), "{twice}");
        let other = refusal(&["c", "d"], &[part(7, 2), part(8, 1)]);
        assert!(other.contains("different stores"), "{other}");
        let new = refusal(&["c", "d"], &[part(7, 2), role(None)]);
        assert!(new.starts_with("d is not yet") || new.contains("d is not yet"), "{new}");
        let mut unable = [part(7, 2), part(7, 0), part(7, 1)];
        unable[1].prepared_max = 0;
        let unable = refusal(&["c", "a", "b"], &unable);
        assert!(unable.contains("a does not prepare transactions"), "{unable}");
        let single = arrange(&["a"], &[], &[role(None)]).expect("one database");
        assert!(single.map.is_single());
    }
}
