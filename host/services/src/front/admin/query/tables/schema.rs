//! `information_schema`: the tables and their columns.

use super::{
    super::{
        row::TableRow,
        rows::RowSender,
        value::{
            ColumnType::{Number, Text},
            RowValue,
        },
    },
    QueryTable, TableColumn,
};
use crate::front::error::AdminError;

/// Columns of `information_schema.tables`.
pub const TABLES: [TableColumn; 4] = [
    TableColumn::new("table_catalog", Text),
    TableColumn::new("table_schema", Text),
    TableColumn::new("table_name", Text),
    TableColumn::new("table_type", Text),
];

/// Columns of `information_schema.columns`.
pub const COLUMNS: [TableColumn; 7] = [
    TableColumn::new("table_catalog", Text),
    TableColumn::new("table_schema", Text),
    TableColumn::new("table_name", Text),
    TableColumn::new("column_name", Text),
    TableColumn::new("ordinal_position", Number),
    TableColumn::new("is_nullable", Text),
    TableColumn::new("data_type", Text),
];

/// Reads the list of tables.
pub async fn read_tables(rows: &RowSender) -> Result<(), AdminError> {
    for table in QueryTable::ALL {
        let mut row = of(table);
        row.set("table_type", text("BASE TABLE"));
        rows.offer(row).await?;
    }
    Ok(())
}

/// Reads the list of columns.
pub async fn read_columns(rows: &RowSender) -> Result<(), AdminError> {
    for table in QueryTable::ALL {
        for (place, column) in table.columns().iter().enumerate() {
            let mut row = of(table);
            row.set("column_name", text(column.name));
            row.set("ordinal_position", RowValue::count(place));
            row.set("is_nullable", text("YES"));
            row.set("data_type", text(column.kind.named()));
            rows.offer(row).await?;
        }
    }
    Ok(())
}

fn of(table: QueryTable) -> TableRow {
    let (schema, name) = of_schema(table);
    TableRow::from([
        ("table_catalog", text("restate")),
        ("table_schema", text(schema)),
        ("table_name", text(name)),
    ])
}

fn of_schema(table: QueryTable) -> (&'static str, &'static str) {
    table.name().split_once('.').unwrap_or(("public", table.name()))
}

fn text(text: &str) -> RowValue {
    RowValue::Text(text.to_owned())
}
