//! Puts rows of tables into the database of a query, as many as are let in.

use super::{
    database::Database,
    row::Row,
    source::Enough,
    statement::{Loaded, Statement},
};
use crate::restate::error::AdminError;

/// The most rows that are looked at for one query. Fewer in tests, which would have to make them.
pub const LOOKED_AT: usize = if cfg!(test) { 2_000 } else { 100_000 };
/// The most bytes of values that are read for one query.
const BYTES: usize = 64 << 20;

/// The tables of a query while they are loaded.
pub struct Loader {
    database: Database,
    looked_at: usize,
    bytes: usize,
    /// What is loaded now.
    now: Option<Part>,
}

/// A table, or a part of one that is enough by itself.
struct Part {
    table: &'static str,
    name: String,
    alias: String,
    enough: Option<Enough<String>>,
    /// How many of its rows count as enough.
    taken: usize,
    /// The rows after this one are still to be counted.
    counted: i64,
}

impl Loader {
    /// For the tables of this query.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn new(statement: &Statement) -> Result<Self, AdminError> {
        let database = Database::new(statement)?;
        Ok(Self { database, looked_at: 0, bytes: 0, now: None })
    }

    /// Begins with a table.
    pub fn begin(&mut self, loaded: &Loaded) {
        self.now = Some(Part {
            table: loaded.source.table.name(),
            name: loaded.source.name.clone(),
            alias: loaded.source.alias.clone(),
            enough: loaded.enough.clone(),
            taken: 0,
            counted: 0,
        });
    }

    /// Begins with a part of the table whose first rows may be the first of all.
    pub fn begin_part(&mut self) {
        if let Some(part) = &mut self.now {
            part.taken = 0;
        }
    }

    /// Whether no further rows are needed.
    ///
    /// # Errors
    /// A condition takes too long.
    pub fn is_full(&mut self) -> Result<bool, AdminError> {
        let Some(part) = &mut self.now else { return Ok(false) };
        let Some(enough) = &part.enough else { return Ok(false) };
        let asked = self.database.holds(
            &part.name,
            &part.alias,
            enough.condition.as_deref(),
            part.counted,
        )?;
        match asked {
            Some((more, last)) => {
                part.taken += more;
                part.counted = last;
                Ok(part.taken >= enough.rows)
            }
            // It names what is not there alone.
            None => {
                part.enough = None;
                Ok(false)
            }
        }
    }

    /// Takes a row.
    ///
    /// # Errors
    /// There is no more room.
    pub fn offer(&mut self, row: &Row) -> Result<(), AdminError> {
        self.weighs(row.weight())?;
        match &self.now {
            Some(part) => self.database.insert(&part.name, row),
            None => Ok(()),
        }
    }

    /// Counts rows that were looked at.
    ///
    /// # Errors
    /// There are more than are looked at for one query.
    pub fn looked_at(&mut self, rows: usize) -> Result<(), AdminError> {
        self.looked_at += rows;
        if self.looked_at <= LOOKED_AT {
            return Ok(());
        }
        let message = format!(
            "more than {LOOKED_AT} rows of `{}` would have to be looked at: narrow the query by an id, a service and a key or a status, \
             or use LIMIT, without ORDER BY of something else than created_at DESC, GROUP BY and functions",
            self.table()
        );
        Err(AdminError::new(400, message))
    }

    /// Counts bytes of values that were read.
    ///
    /// # Errors
    /// There are more than are read for one query.
    pub fn weighs(&mut self, bytes: usize) -> Result<(), AdminError> {
        self.bytes += bytes;
        if self.bytes <= BYTES {
            return Ok(());
        }
        let message = format!(
            "the values in `{}` are larger than the {BYTES} bytes that one query reads: select other columns, or fewer rows",
            self.table()
        );
        Err(AdminError::new(400, message))
    }

    /// The database with what was taken.
    pub fn loaded(self) -> Database {
        self.database
    }

    fn table(&self) -> &'static str {
        self.now.as_ref().map_or("", |part| part.table)
    }
}
