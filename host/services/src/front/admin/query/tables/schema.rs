//! `information_schema`: the tables and their columns.

use super::{
    super::{
        row::Row,
        rows::Rows,
        value::{
            Kind::{Number, Text},
            Value,
        },
    },
    Column, Table,
};
use crate::front::error::AdminError;

/// Columns of `information_schema.tables`.
pub const TABLES: [Column; 4] = [
    Column::new("table_catalog", Text),
    Column::new("table_schema", Text),
    Column::new("table_name", Text),
    Column::new("table_type", Text),
];

/// Columns of `information_schema.columns`.
pub const COLUMNS: [Column; 7] = [
    Column::new("table_catalog", Text),
    Column::new("table_schema", Text),
    Column::new("table_name", Text),
    Column::new("column_name", Text),
    Column::new("ordinal_position", Number),
    Column::new("is_nullable", Text),
    Column::new("data_type", Text),
];

/// Reads the list of tables.
pub async fn read_tables(rows: &Rows) -> Result<(), AdminError> {
    for table in Table::ALL {
        let mut row = of(table);
        row.set("table_type", text("BASE TABLE"));
        rows.offer(row).await?;
    }
    Ok(())
}

/// Reads the list of columns.
pub async fn read_columns(rows: &Rows) -> Result<(), AdminError> {
    for table in Table::ALL {
        for (place, column) in table.columns().iter().enumerate() {
            let mut row = of(table);
            row.set("column_name", text(column.name));
            row.set("ordinal_position", Value::count(place));
            row.set("is_nullable", text("YES"));
            row.set("data_type", text(column.kind.named()));
            rows.offer(row).await?;
        }
    }
    Ok(())
}

fn of(table: Table) -> Row {
    let (schema, name) = of_schema(table);
    Row::from([
        ("table_catalog", text("restate")),
        ("table_schema", text(schema)),
        ("table_name", text(name)),
    ])
}

fn of_schema(table: Table) -> (&'static str, &'static str) {
    table.name().split_once('.').unwrap_or(("public", table.name()))
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}
