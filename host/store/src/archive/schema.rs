//! Validates the content of a file: exactly the tables and columns of its format, values of the
//! column types, and modules whose bytes match their digests. SQL statements use the schema's
//! names, never names from a file.

use segno_core::id::Digest;

use super::{ArchiveCell, ArchiveError, ArchiveHead, ArchiveRow, ArchiveSource, ArchiveTable};

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    Int,
    Text,
    Blob,
}

/// A column of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaColumn {
    pub name: String,
    pub kind: CellKind,
    /// True if the column may be `NULL`.
    pub nullable: bool,
}

/// A table of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaTable {
    pub name: String,
    pub columns: Vec<SchemaColumn>,
}

/// The tables of a format version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveSchema {
    /// The number of the newest migration.
    pub format: i64,
    pub tables: Vec<SchemaTable>,
}

impl ArchiveSchema {
    /// The tables of a file, each with its columns in the file's order.
    fn laid_out(&self, head: &ArchiveHead) -> Result<Vec<SchemaTable>, ArchiveError> {
        let mut laid_out: Vec<SchemaTable> = Vec::with_capacity(self.tables.len());
        for table in &head.tables {
            let place = || format!("table {}", shown(&table.name));
            let known = self.tables.iter().find(|known| known.name == table.name);
            let Some(known) = known else {
                return foreign(place(), format!("format {} has no such table", self.format));
            };
            if laid_out.iter().any(|before| before.name == known.name) {
                return foreign(place(), "it comes twice".to_owned());
            }
            laid_out.push(known.laid_out(table, self.format)?);
        }
        let missing = |known: &&SchemaTable| laid_out.iter().all(|table| table.name != known.name);
        match self.tables.iter().find(missing) {
            Some(table) => foreign(format!("table `{}`", table.name), "it is missing".to_owned()),
            None => Ok(laid_out),
        }
    }
}

impl SchemaTable {
    fn laid_out(&self, table: &ArchiveTable, format: i64) -> Result<Self, ArchiveError> {
        let place = |column: &str| format!("table `{}`, column {}", self.name, shown(column));
        let mut columns: Vec<SchemaColumn> = Vec::with_capacity(self.columns.len());
        for name in &table.columns {
            let Some(column) = self.columns.iter().find(|column| column.name == *name) else {
                return foreign(place(name), format!("format {format} has no such column"));
            };
            if columns.iter().any(|before| before.name == column.name) {
                return foreign(place(name), "it comes twice".to_owned());
            }
            columns.push(column.clone());
        }
        let missing =
            |column: &&SchemaColumn| columns.iter().all(|given| given.name != column.name);
        match self.columns.iter().find(missing) {
            Some(column) => foreign(place(&column.name), "it is missing".to_owned()),
            None => Ok(Self { name: self.name.clone(), columns }),
        }
    }

    fn check(&self, number: u64, row: &ArchiveRow) -> Result<(), ArchiveError> {
        let place = |column: &SchemaColumn| {
            format!("table `{}`, column `{}`, row {number}", self.name, column.name)
        };
        if row.len() != self.columns.len() {
            let reason = format!("it has {} columns instead of {}", row.len(), self.columns.len());
            return foreign(format!("table `{}`, row {number}", self.name), reason);
        }
        for (column, cell) in self.columns.iter().zip(row) {
            let found = match (column.kind, cell) {
                (_, ArchiveCell::Null) if column.nullable => continue,
                (CellKind::Int, ArchiveCell::Int(_))
                | (CellKind::Text, ArchiveCell::Text(_))
                | (CellKind::Blob, ArchiveCell::Blob(_)) => continue,
                (_, ArchiveCell::Null) => "nothing",
                (_, ArchiveCell::Int(_)) => "a number",
                (_, ArchiveCell::Text(_)) => "a text",
                (_, ArchiveCell::Blob(_)) => "bytes",
            };
            let wanted = match column.kind {
                CellKind::Int => "a number",
                CellKind::Text => "a text",
                CellKind::Blob => "bytes",
            };
            return foreign(place(column), format!("it holds {found} instead of {wanted}"));
        }
        if self.name == "modules"
            && let (Some(digest), Some(component)) =
                (self.blob(row, "digest"), self.blob(row, "component"))
            && Digest::of(component).0[..] != *digest
        {
            let reason = "the module's bytes have another digest".to_owned();
            return foreign(format!("table `modules`, column `digest`, row {number}"), reason);
        }
        Ok(())
    }

    fn blob<'a>(&self, row: &'a ArchiveRow, name: &str) -> Option<&'a [u8]> {
        let place = self.columns.iter().position(|column| column.name == name)?;
        match row.get(place)? {
            ArchiveCell::Blob(bytes) => Some(bytes),
            ArchiveCell::Null | ArchiveCell::Int(_) | ArchiveCell::Text(_) => None,
        }
    }
}

fn foreign<T>(place: String, reason: String) -> Result<T, ArchiveError> {
    Err(ArchiveError::Foreign { place, reason })
}

/// A name from a file, escaped and truncated for display on a terminal.
fn shown(name: &str) -> String {
    let mut shown: String = name.escape_debug().take(64).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// An [`ArchiveSource`] wrapper that passes rows that fit a schema and fails on all others.
pub struct CheckedSource<'a> {
    from: &'a mut dyn ArchiveSource,
    tables: Vec<SchemaTable>,
    seen: Vec<u64>,
}

impl<'a> CheckedSource<'a> {
    /// Wraps `from`.
    ///
    /// # Errors
    /// Fails if the tables or columns differ from the schema.
    pub fn new(
        from: &'a mut dyn ArchiveSource,
        schema: &ArchiveSchema,
    ) -> Result<Self, ArchiveError> {
        let tables = schema.laid_out(from.head())?;
        let seen = vec![0; tables.len()];
        Ok(Self { from, tables, seen })
    }

    /// The tables as the schema names them, in the file's order.
    pub fn tables(&self) -> &[SchemaTable] {
        &self.tables
    }

    /// Reads the next rows: the index of their table, the number of the first row within the table
    /// (from 1), and the rows.
    ///
    /// # Errors
    /// Fails if the file is damaged, or if rows do not fit the schema.
    pub fn next_rows(&mut self) -> Result<Option<(usize, u64, Vec<ArchiveRow>)>, ArchiveError> {
        let Some((table, rows)) = self.from.read_rows()? else { return Ok(None) };
        let (Some(known), Some(seen)) = (self.tables.get(table), self.seen.get_mut(table)) else {
            return Err(ArchiveError::Damaged("rows of no table".to_owned()));
        };
        let first = *seen + 1;
        for row in &rows {
            *seen += 1;
            known.check(*seen, row)?;
        }
        Ok(Some((table, first, rows)))
    }
}

/// Reads and checks the whole archive without storing it.
///
/// # Errors
/// Fails for every problem that would prevent an import and is visible without a database.
pub fn verify(from: &mut dyn ArchiveSource, schema: &ArchiveSchema) -> Result<(), ArchiveError> {
    let mut checked = CheckedSource::new(from, schema)?;
    while checked.next_rows()?.is_some() {}
    Ok(())
}
