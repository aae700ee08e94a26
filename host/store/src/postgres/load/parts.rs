//! Loads the rows that belong to locked promises, and rows without a promise: callbacks, messages,
//! journals, modules, hosts.

use std::sync::LazyLock;

use segno_core::{
    footprint::Footprint,
    id::{HostName, PromiseId, Version},
    time::Timestamp,
};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection, postgres::PgRow};

use super::{LoadFailure, LockedRows, crossings, lock::escaped};
use crate::{
    order,
    postgres::{
        failure::FailedStatement, fields::escape, statement::query, tables::NAMED_STATEMENTS,
    },
    sql::{self, Cache, CacheLevel, NAMED, RowFields as _, SqlFailure, module_facts_column, read},
};

/// Loads all remaining rows in one statement; the first column is the kind of the row.
///
/// ```text
/// kind                id        first      text     second    third     fourth    bytes    head
/// 0 the time                    now                the first version of new tasks
/// 1 callback          awaited   its n      awaiter  its n     consumed
/// 2 listener          awaited              address
/// 3 message           source    kind       part     next_at   created   attempts  message
/// 4 end of a journal  its inv                                                              end_seq … finished
/// 5 module                               facts                                    digest
/// 6 alias             name               facts                                    digest
/// 7 host              node      incarnation
/// 8 signal's key      its inv   number     key
/// 9 promise that was not found before: id
/// ```
macro_rules! parts {
    () => {
        concat!("
    SELECT 0, NULL, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, NULL, (SELECT version FROM first_version WHERE one = 1),
           (SELECT 1 FROM value_uses ORDER BY owner LIMIT 1)::bigint, NULL::bigint, NULL::bytea, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint
     UNION ALL
    SELECT 1, awaited.id, awaited.n, awaiter.id, awaiter.n, consumed, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM callbacks
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter
     WHERE callbacks.awaited = ANY($1::bigint[])
     UNION ALL
    SELECT 1, awaited.id, awaited.n, awaiter.id, awaiter.n, consumed, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM callbacks
      JOIN promises awaited ON awaited.n = callbacks.awaited JOIN promises awaiter ON awaiter.n = callbacks.awaiter
     WHERE callbacks.awaiter = ANY($1::bigint[])
     UNION ALL
    SELECT 2, promises.id, NULL, address, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM listeners JOIN promises ON promises.n = listeners.awaited
     WHERE listeners.awaited = ANY($1::bigint[])
     UNION ALL
    SELECT 3, promises.id, kind, part, next_at, outbox.created_at, attempts, message, NULL, NULL, NULL, NULL, NULL
      FROM outbox JOIN promises ON promises.n = outbox.source
     WHERE outbox.source = ANY($1::bigint[]) AND outbox.kind = 1
     UNION ALL
    SELECT 4, promises.id, NULL, NULL, NULL, NULL, NULL, NULL, last.end_seq, last.commands, last.notified, last.at,
           last.finished
      FROM promises
      JOIN LATERAL (SELECT * FROM journal WHERE inv = promises.n ORDER BY first_seq DESC LIMIT 1) last ON true
     WHERE promises.n = ANY($1::bigint[])
     UNION ALL
    SELECT 5, NULL, NULL, ", module_facts_column!(), ", NULL, NULL, NULL, digest, NULL, NULL, NULL, NULL, NULL
      FROM modules WHERE digest = ANY($2::bytea[])
     UNION ALL
    SELECT 6, name, NULL, ", module_facts_column!(), ", NULL, NULL, NULL, digest, NULL, NULL, NULL, NULL, NULL
      FROM aliases JOIN modules ON modules.n = aliases.module WHERE name = ANY($3::text[])
     UNION ALL
    SELECT 7, node, incarnation, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM hosts WHERE node = ANY($4::text[])
     UNION ALL
    SELECT 3, promises.id, outbox.kind, outbox.part, next_at, outbox.created_at, attempts, message, NULL, NULL, NULL,
           NULL, NULL
      FROM unnest($5::text[], $6::bigint[], $7::text[]) AS wanted (source, kind, part)
      JOIN promises ON promises.id = wanted.source
      JOIN outbox ON outbox.source = promises.n AND outbox.kind = wanted.kind AND outbox.part = wanted.part
     UNION ALL
    SELECT 8, promises.id, number, signal_keys.key, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM unnest($8::text[], $9::text[]) AS wanted (inv, key)
      JOIN promises ON promises.id = wanted.inv
      JOIN signal_keys ON signal_keys.inv = promises.n AND signal_keys.key = wanted.key
     UNION ALL
    SELECT 9, id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM promises WHERE id = ANY($10::text[])")
    };
}

pub(super) const PARTS: &str = parts!();

/// The kind of a row that reports an existing name; the index of its table in [`NAMED`] is added.
const NAME: i64 = 10;
/// Number of columns after the id.
const COLUMNS: usize = 11;
/// Index of the first parameter with names.
const NAMES: usize = 11;

/// [`PARTS`] plus a second lookup of named rows that were not found before.
pub(super) static PARTS_AND_NAMES: LazyLock<String> = LazyLock::new(|| {
    let again = NAMED_STATEMENTS.iter().enumerate();
    let again = again.map(|(place, of)| of.again(NAME + place as i64, NAMES + place, COLUMNS));
    format!("{PARTS}{}", again.collect::<String>())
});

/// The kind of a row that reports a callback between two databases.
const CROSSING: i64 = -1;
/// The kind of the row with the epoch of the map of the shards.
const EPOCH: i64 = -2;

/// [`PARTS`] and [`PARTS_AND_NAMES`] plus the callbacks between databases, by the ids of composites,
/// and the epoch of the map.
static CROSSING_PARTS: LazyLock<[String; 2]> = LazyLock::new(|| {
    let crossings = |parameter: usize| {
        let by = |column: &str| {
            format!(
                " UNION ALL SELECT {CROSSING}, awaited, NULL, awaiter, NULL, consumed, NULL, NULL, NULL, NULL, NULL, \
                 NULL, NULL FROM crossings WHERE {column} = ANY(${parameter}::text[])"
            )
        };
        let epoch = format!(
            " UNION ALL SELECT {EPOCH}, NULL, epoch, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
             FROM shards WHERE one = 1"
        );
        [by("awaited"), by("awaiter"), epoch].concat()
    };
    let with_names = crossings(NAMES + NAMED.len());
    [format!("{PARTS}{}", crossings(NAMES)), format!("{}{with_names}", *PARTS_AND_NAMES)]
});

/// The journal rows that hold records from a given position on.
pub(super) const TAIL: &str = "
    SELECT records FROM journal
     WHERE inv = $1 AND end_seq > $2
       AND first_seq >= (SELECT max(first_seq) FROM journal WHERE inv = $1 AND first_seq <= $2)
     ORDER BY first_seq";

/// The names and ids that were looked up and not found, as they are stored.
#[derive(Default)]
struct AbsentRows {
    promises: Vec<String>,
    /// Names by the index of their table in [`NAMED`].
    named: [Vec<String>; NAMED.len()],
}

impl AbsentRows {
    /// True if it contains names, besides promise ids.
    fn is_named(&self) -> bool {
        self.named.iter().any(|names| !names.is_empty())
    }
}

impl LockedRows {
    /// Runs the last statement of a load, which is the first one after all lock waits: its snapshot
    /// is the one that the decision is based on. It reads everything that is not locked, even if
    /// earlier loads have read it, and with `again` also everything that was not found.
    pub(super) async fn load_parts(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        wanted: &Footprint,
        again: bool,
    ) -> Result<(), LoadFailure> {
        let name = "load composites";
        let composites: Vec<i64> =
            wanted.composites.iter().filter_map(|id| *self.promises.get(id)?).collect();
        let mut keys = (Vec::new(), Vec::new(), Vec::new());
        for key in &wanted.outbox {
            let (kind, part) = order::outbox_order(key);
            keys.0.push(escape(key.promise().as_str()));
            keys.1.push(kind);
            keys.2.push(escape(&part).into_owned());
        }
        let signals: Vec<_> =
            wanted.signal_keys.iter().map(|(id, _)| escape(id.as_str())).collect();
        let names: Vec<_> =
            wanted.signal_keys.iter().map(|(_, key)| escape(key.as_str())).collect();
        let absent = if again { self.absent() } else { AbsentRows::default() };
        let named = absent.is_named();
        let unlocked = &mut self.asked;
        unlocked.modules.extend(wanted.modules.iter().copied());
        unlocked.aliases.extend(wanted.aliases.iter().cloned());
        unlocked.hosts.extend(wanted.hosts.iter().cloned());
        // A module removed in the meantime must not remain in the view.
        unlocked.modules.iter().for_each(|module| cache.view.remove_module(module));
        let modules: Vec<_> = unlocked.modules.iter().map(|digest| digest.0.to_vec()).collect();
        let aliases: Vec<_> = unlocked.aliases.iter().map(|name| escape(name.as_str())).collect();
        let hosts: Vec<_> = unlocked.hosts.iter().map(|node| escape(node.as_str())).collect();
        let text = match (self.crosses, named) {
            (false, false) => PARTS,
            (false, true) => PARTS_AND_NAMES.as_str(),
            (true, named) => CROSSING_PARTS[usize::from(named)].as_str(),
        };
        let mut query = query(connection, AssertSqlSafe(text))
            .bind(composites)
            .bind(modules)
            .bind(aliases)
            .bind(hosts)
            .bind(keys.0)
            .bind(keys.1)
            .bind(keys.2)
            .bind(signals)
            .bind(names)
            .bind(absent.promises);
        if named {
            query = absent.named.into_iter().fold(query, |query, names| query.bind(names));
        }
        if self.crosses {
            query = query.bind(escaped(&wanted.composites));
            self.crossing.extend(wanted.composites.iter().cloned());
        }
        self.statements += 1;
        let mut appeared: Option<Footprint> = None;
        for row in &connection.fetch_all(query).await.map_err(FailedStatement::of(name))? {
            match row.int(0).map_err(FailedStatement::of(name))? {
                Some(9) => {
                    let id = sql::id(row, 1).map_err(FailedStatement::of(name))?;
                    appeared.get_or_insert_default().composites.insert(id);
                }
                Some(EPOCH) => {
                    self.epoch = row.int(2).map_err(FailedStatement::of(name))?.unwrap_or_default();
                }
                Some(CROSSING) => {
                    let callback = crossings::put(cache, row);
                    let (awaited, awaiter) = callback.map_err(FailedStatement::of(name))?;
                    if wanted.composites.contains(&awaited) {
                        self.awaiters_elsewhere.insert(awaiter);
                    }
                }
                Some(what @ NAME..) => {
                    let found = row.text(1).map_err(FailedStatement::of(name))?.unwrap_or_default();
                    let place = (what - NAME) as usize;
                    (NAMED[place].want)(&found, appeared.get_or_insert_default());
                }
                _ => self.put_part(cache, row).map_err(FailedStatement::of(name))?,
            }
        }
        // A message may concern a promise of which nothing else is wanted.
        for key in &wanted.outbox {
            let number = self.promises.get(key.promise()).copied().flatten();
            cache.know(key.promise(), number, CacheLevel::Number);
        }
        match appeared {
            None => Ok(()),
            Some(first) => Err(LoadFailure::LockFirst(Box::new(first))),
        }
    }

    /// The names and ids that were not found, and that this transaction has not created since.
    fn absent(&self) -> AbsentRows {
        let promises = self.promises.iter().filter(|(_, number)| number.is_none());
        let named = self.asked_names.iter().zip(&self.named);
        let named = named.map(|(asked, found)| {
            asked.difference(found).map(|name| escape(name).into_owned()).collect()
        });
        let mut absent =
            AbsentRows { promises: escaped(promises.map(|(id, _)| id)), ..AbsentRows::default() };
        absent.named.iter_mut().zip(named).for_each(|(absent, names)| *absent = names);
        absent
    }

    fn put_part(&mut self, cache: &mut Cache, row: &PgRow) -> Result<(), SqlFailure> {
        match row.int(0)? {
            Some(0) => {
                self.now = self.now.or(row.int(2)?.map(Timestamp));
                let first = row.int(4)?.unwrap_or_default().cast_unsigned();
                cache.view.raise_first_version(Version(first));
                self.has_large_values |= row.int(5)?.is_some();
            }
            Some(1) => {
                let awaited = (row.int(2)?, sql::id(row, 1)?);
                let awaiter = (row.int(4)?, sql::id(row, 3)?);
                sql::put_callback(cache, awaited, awaiter, row.int(5))?;
            }
            Some(2) => sql::put_listener(cache, sql::id(row, 1)?, row, 3)?,
            Some(3) => {
                let source = sql::id(row, 1)?;
                sql::put_message(cache, &source, row, 2)?;
            }
            Some(4) => {
                sql::put_head(cache, sql::id(row, 1)?, row, 8)?;
            }
            Some(5) => {
                let (module, facts) = sql::module_facts(row, 7, 3)?;
                cache.view.put_module_facts(module, facts);
            }
            Some(6) => {
                let (module, facts) = sql::module_facts(row, 7, 3)?;
                cache.view.put_module_facts(module, facts);
                cache.view.put_alias(sql::text(row, 1)?, module);
            }
            Some(7) => {
                let node = HostName::new(sql::text(row, 1)?.as_str());
                let lives = row.int(2)?.unwrap_or_default().cast_unsigned();
                // Of several databases, one may lag behind.
                let lives = lives.max(cache.view.incarnation(&node));
                cache.view.put_host(node, lives);
            }
            _ => {
                sql::put_signal_key(cache, sql::id(row, 1)?, row, 2, 3)?;
            }
        }
        Ok(())
    }

    pub(super) async fn load_tail(
        &mut self,
        connection: &mut PgConnection,
        cache: &mut Cache,
        invocation: &PromiseId,
        from: u32,
    ) -> Result<(), FailedStatement> {
        let name = "load the end of a journal";
        let Some(Some(number)) = self.promises.get(invocation) else { return Ok(()) };
        self.statements += 1;
        let query = query(connection, TAIL).bind(number).bind(i64::from(from));
        let rows = connection.fetch_all(query).await.map_err(FailedStatement::of(name))?;
        let chunks = read::chunks_of_records(connection, &rows, 0).await;
        let chunks = chunks.map_err(FailedStatement::of(name))?;
        let tail = rows.iter().map(|row| sql::records(row, 0, invocation, &chunks));
        let tail = tail.collect::<Result<Vec<_>, _>>().map(|rows| rows.concat());
        sql::put_tail(cache, invocation, tail, from).map_err(FailedStatement::of(name))
    }
}
