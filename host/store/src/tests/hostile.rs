//! Maliciously crafted files are refused with a clear reason, and leave nothing behind.

use std::path::Path;

use lz4_flex::frame::FrameEncoder;

use super::archive::{filled, populated, written};
use crate::archive::{
    ArchiveBounds, ArchiveCell, ArchiveError, ArchiveHead, ArchiveReader, ArchiveRow, ArchiveSink,
    ArchiveSource, ArchiveTable, ArchiveWriter,
};

/// An export, taken apart.
#[derive(Clone)]
struct Parts {
    head: ArchiveHead,
    rows: Vec<Vec<ArchiveRow>>,
}

impl Parts {
    async fn of_a_store() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        populated(dir.path()).await;
        let file = written(dir.path()).await;
        let mut reader = ArchiveReader::begin(&file[..]).expect("it begins");
        let head = reader.head().clone();
        let mut rows = vec![Vec::new(); head.tables.len()];
        while let Some((table, more)) = reader.read_rows().expect("rows") {
            rows[table].extend(more);
        }
        Self { head, rows }
    }

    fn table(&mut self, name: &str) -> (&mut ArchiveTable, &mut Vec<ArchiveRow>) {
        let place = self.head.tables.iter().position(|table| table.name == name);
        let place = place.unwrap_or_else(|| panic!("there is a table `{name}`"));
        (&mut self.head.tables[place], &mut self.rows[place])
    }

    /// The cell in a column of a row.
    fn cell(&mut self, table: &str, row: usize, column: &str) -> &mut ArchiveCell {
        let (table, rows) = self.table(table);
        let place = table.columns.iter().position(|known| known == column).expect("a column");
        &mut rows[row][place]
    }

    /// Serialises the parts as an honest writer would.
    fn file(mut self) -> Vec<u8> {
        for (table, rows) in self.head.tables.iter_mut().zip(&self.rows) {
            table.rows = rows.len() as u64;
        }
        let mut writer = ArchiveWriter::begin(Vec::new()).expect("it begins");
        writer.head(&self.head).expect("a head");
        for (table, rows) in self.rows.into_iter().enumerate() {
            for row in rows {
                writer.write_row(table, row).expect("a row");
            }
        }
        writer.end().expect("it ends")
    }
}

fn is_empty(dir: &Path) -> bool {
    !dir.join("segno.db").exists() && !dir.join("segno.db.import").exists()
}

/// The error for a file; the import must leave nothing behind.
async fn refused(file: &[u8]) -> ArchiveError {
    let dir = tempfile::tempdir().expect("a directory");
    let error = filled(dir.path(), file).await.expect_err("it is hostile");
    assert!(is_empty(dir.path()), "{error}");
    error
}

#[tokio::test]
async fn names_of_tables_and_columns_never_become_sql() {
    let parts = Parts::of_a_store().await;
    let elsewhere = tempfile::tempdir().expect("a directory");
    let file = elsewhere.path().join("elsewhere.db");
    let attach = format!(
        "promises\" (n) VALUES (1); ATTACH DATABASE '{}' AS e; CREATE TABLE e.t (x); --",
        file.display()
    );
    let mut named = parts.clone();
    named.table("promises").0.name.clone_from(&attach);
    let error = refused(&named.file()).await.to_string();
    assert!(error.contains("has no such table"), "{error}");
    let mut named = parts.clone();
    named.table("promises").0.columns[0] = format!("n\") VALUES (1); {attach}");
    let error = refused(&named.file()).await.to_string();
    assert!(
        error.contains("table `promises`, column") && error.contains("has no such column"),
        "{error}"
    );
    // The file consists of a single table, with a malicious name.
    let head = ArchiveHead {
        written_by: "1".to_owned(),
        format: parts.head.format,
        tables: vec![ArchiveTable { name: attach, columns: vec!["n".to_owned()], rows: 1 }],
    };
    let rows = vec![vec![vec![ArchiveCell::Int(1)]]];
    refused(&Parts { head, rows }.file()).await;
    assert!(!file.exists(), "it ran");
}

#[tokio::test]
async fn a_file_has_exactly_the_tables_and_columns_of_its_format() {
    let parts = Parts::of_a_store().await;
    type Change = fn(&mut Parts);
    let changes: [(Change, &str); 9] = [
        (
            |parts| parts.table("hosts").0.name = "sqlite_schema".to_owned(),
            "`sqlite_schema`: format",
        ),
        (|parts| parts.table("hosts").0.name = "_sqlx_migrations".to_owned(), "no such table"),
        (|parts| parts.table("hosts").0.name = "journal_recent".to_owned(), "no such table"),
        (|parts| parts.table("hosts").0.name = "\u{1b}[2Jx".to_owned(), "`\\u{1b}[2Jx`"),
        (|parts| parts.table("hosts").0.name = "tasks".to_owned(), "table `tasks`: it comes twice"),
        (
            |parts| parts.table("hosts").0.columns[1] = "rowid".to_owned(),
            "table `hosts`, column `rowid`: format",
        ),
        (
            |parts| parts.table("hosts").0.columns[1] = "node".to_owned(),
            "table `hosts`, column `node`: it comes twice",
        ),
        (
            |parts| {
                let (table, rows) = parts.table("hosts");
                table.columns.pop();
                rows.iter_mut().for_each(|row| drop(row.pop()));
            },
            "table `hosts`, column `incarnation`: it is missing",
        ),
        (
            |parts| {
                let place = parts.head.tables.iter().position(|table| table.name == "hosts");
                let place = place.expect("a table");
                parts.head.tables.remove(place);
                parts.rows.remove(place);
            },
            "table `hosts`: it is missing",
        ),
    ];
    for (change, named) in changes {
        let mut changed = parts.clone();
        change(&mut changed);
        let error = refused(&changed.file()).await;
        assert!(matches!(error, ArchiveError::Foreign { .. }), "{named}: {error}");
        assert!(error.to_string().contains(named), "{named}: {error}");
    }
    for format in [-1, 0, i64::MAX] {
        let mut changed = parts.clone();
        changed.head.format = format;
        let error = refused(&changed.file()).await;
        assert!(matches!(error, ArchiveError::Newer { .. }), "{format}: {error}");
    }
    // Another column order is accepted.
    let mut turned = parts.clone();
    let (table, rows) = turned.table("hosts");
    table.columns.reverse();
    rows.iter_mut().for_each(|row| row.reverse());
    let dir = tempfile::tempdir().expect("a directory");
    filled(dir.path(), &turned.file()).await.expect("it moves in");
    assert_eq!(written(dir.path()).await, parts.file());
}

#[tokio::test]
async fn a_value_of_another_kind_is_named_by_its_row() {
    let parts = Parts::of_a_store().await;
    for (table, column, cell, named) in [
        ("promises", "id", ArchiveCell::Int(1), "row 3: it holds a number instead of a text"),
        ("promises", "id", ArchiveCell::Null, "row 3: it holds nothing instead of a text"),
        ("promises", "n", ArchiveCell::Null, "row 3: it holds nothing instead of a number"),
        (
            "promises",
            "param",
            ArchiveCell::Text("x".to_owned()),
            "row 3: it holds a text instead of bytes",
        ),
        (
            "tasks",
            "version",
            ArchiveCell::Blob(vec![1].into()),
            "row 3: it holds bytes instead of a number",
        ),
    ] {
        let mut changed = parts.clone();
        *changed.cell(table, 2, column) = cell;
        let error = refused(&changed.file()).await.to_string();
        let named = format!("table `{table}`, column `{column}`, {named}");
        assert!(error.contains(&named), "{named}: {error}");
    }
    // The database refuses values of the right type that violate its constraints.
    let mut changed = parts.clone();
    *changed.cell("promises", 2, "state") = ArchiveCell::Int(9);
    let error = refused(&changed.file()).await.to_string();
    assert!(error.contains("insert rows 1 to") && error.contains("`promises`"), "{error}");
    let mut doubled = parts;
    let (_, rows) = doubled.table("journal");
    let row = rows[0].clone();
    rows.push(row);
    let error = refused(&doubled.file()).await.to_string();
    assert!(error.contains("into `journal`"), "{error}");
}

#[tokio::test]
async fn a_module_has_the_digest_of_its_bytes() {
    let mut parts = Parts::of_a_store().await;
    *parts.cell("modules", 0, "component") = ArchiveCell::Blob(b"another".to_vec().into());
    let error = refused(&parts.file()).await.to_string();
    let named = "table `modules`, column `digest`, row 1: the module's bytes have another digest";
    assert!(error.contains(named), "{error}");
}

/// A file with these bytes as its unpacked content.
fn raw(parts: &[&[u8]]) -> Vec<u8> {
    use std::io::Write as _;
    let mut out = FrameEncoder::new(b"SEGNO STORE 1\n".to_vec());
    for part in parts {
        out.write_all(part).expect("it is written");
    }
    out.finish().expect("it ends")
}

fn piece(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("a length");
    [&length.to_le_bytes(), bytes].concat()
}

#[tokio::test]
async fn what_unpacks_to_too_much_is_refused_before_it_is_unpacked() {
    let parts = Parts::of_a_store().await;
    let head = piece(&postcard::to_allocvec(&parts.head).expect("a head"));
    let zeros = vec![0; 1 << 20];
    // A piece of two gigabytes; a head of many tables.
    let huge = (2_u32 << 30) - 1;
    for file in [raw(&[&head, &huge.to_le_bytes(), &zeros]), raw(&[&huge.to_le_bytes(), &zeros])] {
        let error = refused(&file).await;
        assert!(matches!(error, ArchiveError::TooLarge(_)), "{error}");
    }
    // Rows of table 0: a million rows without columns; one row of a million columns.
    let million = [0xc0, 0x84, 0x3d];
    let many = [&[0, 0][..], &million, &zeros[..1_000_000]].concat();
    let wide = [&[0, 0, 1][..], &million, &zeros[..1_000_000]].concat();
    for (rows, named) in [(many, "a piece has 1000000 rows"), (wide, "another width")] {
        let error = refused(&raw(&[&head, &piece(&rows)])).await;
        assert!(error.to_string().contains(named), "{error}");
    }
    // More rows than the head declares. If the head declares more rows than there are, the end of
    // the file reveals it.
    let mut few = parts.clone();
    let (_, rows) = few.table("promises");
    let row = rows[0].clone();
    rows.extend(vec![row; 10]);
    let head_of_fewer = piece(&postcard::to_allocvec(&parts.head).expect("a head"));
    let promises = few.head.tables.iter().position(|table| table.name == "promises");
    let promises = u32::try_from(promises.expect("a table")).expect("few tables");
    let rows: Vec<&[ArchiveRow]> = few.rows[promises as usize].chunks(1_000).collect();
    let pieces: Vec<Vec<u8>> = rows
        .iter()
        .map(|rows| piece(&postcard::to_allocvec(&(0_u32, promises, rows)).expect("rows")))
        .collect();
    let all: Vec<&[u8]> =
        [&head_of_fewer[..]].into_iter().chain(pieces.iter().map(Vec::as_slice)).collect();
    let error = refused(&raw(&all)).await.to_string();
    assert!(error.contains("more rows of `promises` came than"), "{error}");
}

#[tokio::test]
async fn a_file_that_expands_beyond_its_bounds_is_refused_with_the_way_to_allow_it() {
    let mut parts = Parts::of_a_store().await;
    for row in 0..8 {
        *parts.cell("promises", row, "param") = ArchiveCell::Blob(vec![0; 1 << 20].into());
    }
    let file = parts.file();
    let unpacked = |bounds| {
        let mut reader = ArchiveReader::bounded(&file[..], bounds).expect("it begins");
        loop {
            match reader.read_rows() {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    };
    let error = unpacked(ArchiveBounds { expansion: 16, bytes: 1 << 20 }).expect_err("it expands");
    assert!(matches!(error, ArchiveError::TooLarge(_)), "{error}");
    assert!(error.to_string().contains("--max-expansion"), "{error}");
    unpacked(ArchiveBounds { expansion: 255, bytes: 1 << 20 }).expect("it is allowed");
    unpacked(ArchiveBounds::default()).expect("it is small");
}
