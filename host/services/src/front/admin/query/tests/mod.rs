//! Queries over hand-made rows.
//!
//! - `command`: queries of Restate's released command;
//! - `words`: supported and refused constructs;
//! - `narrow`: the rows that a query reads;
//! - `bounds`: limits that end a query;
//! - `arrow`: streams.

mod arrow;
mod bounds;
mod command;
mod narrow;
mod words;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures::future::BoxFuture;
use segno_core::time::Timestamp;
use serde_json::{Value as Json, json};
use tokio::runtime::Builder;

use super::{
    answer::QueryResult,
    database::QueryDatabase,
    row::TableRow,
    rows::{RowSender, TableReader},
    statement::TranslatedQuery,
    table::QueryTable,
    value::{ColumnType, RowValue, instant},
    view::QueryScans,
    wanted::WantedRows,
};
use crate::front::error::AdminResult;

/// 2026-01-31T12:00:00Z.
const NOW: Timestamp = Timestamp(1_769_860_800_000);

/// Builds a row of a table. Instants are text.
fn row(table: QueryTable, values: &Json) -> (QueryTable, TableRow) {
    let mut row = TableRow::default();
    for (name, value) in values.as_object().expect("columns") {
        let column = table.columns().iter().find(|column| column.name == name).expect(name);
        let value = match (value, column.kind) {
            (Json::String(text), ColumnType::Time) => instant(text).into(),
            (Json::String(text), ColumnType::Bytes) => RowValue::Bytes(text.as_bytes().to_vec()),
            (Json::String(text), _) => RowValue::Text(text.clone()),
            (Json::Number(number), _) => RowValue::Number(number.as_i64().expect("a whole number")),
            (Json::Bool(value), _) => RowValue::Bool(*value),
            _ => RowValue::Null,
        };
        row.set(column.name, value);
    }
    (table, row)
}

/// Invocations: two of `Plain`, one of which has ended; three of the object `Cell`.
fn rows() -> Vec<(QueryTable, TableRow)> {
    let invocation = |id: &str, target: &str, status: &str, minute: u32, more: Json| {
        let parts: Vec<_> = target.split('/').collect();
        let (service, handler) = (parts[0], parts[parts.len() - 1]);
        let mut columns = json!({
            "id": id, "target": target, "target_service_name": service,
            "target_handler_name": handler, "status": status, "retry_count": minute,
            "target_service_ty": if parts.len() == 3 { "virtual_object" } else { "service" },
            "created_at": format!("2026-01-31T11:{minute:02}:00Z"),
        });
        if let [_, key, _] = parts.as_slice() {
            columns["target_service_key"] = (*key).into();
        }
        for (name, value) in more.as_object().expect("columns") {
            columns[name] = value.clone();
        }
        row(QueryTable::Invocation, &columns)
    };
    vec![
        invocation(
            "inv_5",
            "Cell/b/add",
            "running",
            5,
            json!({ "pinned_deployment_id": "dp_gone" }),
        ),
        invocation("inv_4", "Cell/a/add", "pending", 4, json!({})),
        invocation("inv_3", "Cell/a/slow", "running", 3, json!({ "pinned_deployment_id": "dp_1" })),
        invocation("inv_2", "Plain/waits", "suspended", 2, json!({ "invoked_by_id": "inv_1" })),
        invocation(
            "inv_1",
            "Plain/calls",
            "completed",
            1,
            json!({ "completion_result": "success", "pinned_deployment_id": "dp_1" }),
        ),
        row(QueryTable::Deployment, &json!({ "id": "dp_1", "endpoint": "http://localhost:9080" })),
        row(QueryTable::Service, &json!({ "name": "Plain", "ty": "service", "public": true })),
        row(
            QueryTable::Service,
            &json!({ "name": "Cell", "ty": "virtual_object", "public": false }),
        ),
        row(QueryTable::State, &json!({ "service_name": "Cell", "key": "n", "value": "5" })),
    ]
}

/// Hand-made rows, and the conditions with which they were read.
#[derive(Default)]
struct HandMadeRows {
    rows: Vec<(QueryTable, TableRow)>,
    wanted: Mutex<Vec<(QueryTable, WantedRows)>>,
    offered: AtomicUsize,
}

impl TableReader for Arc<HandMadeRows> {
    fn read(
        &self,
        table: QueryTable,
        wanted: WantedRows,
        rows: RowSender,
    ) -> BoxFuture<'static, AdminResult<()>> {
        self.wanted.lock().expect("no test panics with it").push((table, wanted.clone()));
        let by_hand = Arc::clone(self);
        let is_wanted = move |row: &TableRow| {
            table.narrows().iter().all(|column| match row.get(column) {
                RowValue::Text(text) => wanted.may_be(column, text),
                _ => wanted.texts(column).is_none(),
            })
        };
        Box::pin(async move {
            let of_table = by_hand.rows.iter().filter(|(of, _)| *of == table);
            for (_, row) in of_table.filter(|(_, row)| is_wanted(row)) {
                rows.offer(row.clone()).await?;
                by_hand.offered.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        })
    }
}

/// Executes a query on these rows.
fn asked_of(by_hand: &Arc<HandMadeRows>, sql: &str) -> Result<QueryResult, String> {
    let statement = TranslatedQuery::read(sql, NOW).map_err(|refused| refused.to_string())?;
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let tables = QueryScans::new(Arc::new(Arc::clone(by_hand)), runtime.handle().clone());
    let said = |error| format!("{error:?}");
    QueryDatabase::new(tables).and_then(|database| database.answer(&statement)).map_err(said)
}

fn asked(sql: &str) -> Result<QueryResult, String> {
    asked_of(&Arc::new(HandMadeRows { rows: rows(), ..HandMadeRows::default() }), sql)
}

/// Returns the rows of an answer.
#[track_caller]
fn answered(sql: &str) -> Json {
    asked(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).json().into()
}

/// Returns the reason for a refusal.
#[track_caller]
fn refused(sql: &str) -> String {
    match asked(sql) {
        Ok(answer) => panic!("{sql}: {answer:?}"),
        Err(refused) => refused,
    }
}

/// Returns the values of one column.
#[track_caller]
fn column(sql: &str, name: &str) -> Vec<Json> {
    let rows = answered(sql);
    rows.as_array().expect("rows").iter().map(|row| row[name].clone()).collect()
}
