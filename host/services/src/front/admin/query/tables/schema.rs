//! `information_schema`: the tables and their columns.

use super::super::{row::TableRow, rows::RowSender, table::QueryTable, value::RowValue};
use crate::front::error::AdminResult;

/// Reads the list of tables.
pub(super) async fn read_tables(rows: &RowSender) -> AdminResult<()> {
    for table in QueryTable::ALL {
        let mut row = of(table);
        row.set("table_type", "BASE TABLE");
        rows.offer(row).await?;
    }
    Ok(())
}

/// Reads the list of columns.
pub(super) async fn read_columns(rows: &RowSender) -> AdminResult<()> {
    for table in QueryTable::ALL {
        for (place, column) in table.columns().iter().enumerate() {
            let mut row = of(table);
            row.set("column_name", column.name);
            row.set("ordinal_position", RowValue::count(place));
            row.set("is_nullable", "YES");
            row.set("data_type", column.kind.named());
            rows.offer(row).await?;
        }
    }
    Ok(())
}

fn of(table: QueryTable) -> TableRow {
    let (schema, name) = of_schema(table);
    TableRow::from([
        ("table_catalog", "restate".into()),
        ("table_schema", schema.into()),
        ("table_name", name.into()),
    ])
}

fn of_schema(table: QueryTable) -> (&'static str, &'static str) {
    table.name().split_once('.').unwrap_or(("public", table.name()))
}
