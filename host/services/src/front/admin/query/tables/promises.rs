//! `sys_promise`: the promises of workflows, by name.

use segno_core::{id::ObjectId, promise::Promise, tags};
use segno_engine::values;
use segno_restate::wire::Outcome;
use segno_store::PromiseFilter;

use super::{
    super::{
        row::Row,
        rows::Rows,
        value::{
            Kind::{Bool, Bytes, Number, Text},
            Value,
        },
        wanted::WantedRows,
    },
    Column, PAGE, of_object, utf8,
};
use crate::{
    front::{Api, error::AdminError},
    outcome,
};

/// Columns of the table.
pub const COLUMNS: [Column; 9] = [
    Column::new("service_name", Text),
    Column::new("scope", Text),
    Column::new("service_key", Text),
    Column::new("key", Text),
    Column::new("completed", Bool),
    Column::new("completion_success_value", Bytes),
    Column::new("completion_success_value_utf8", Text),
    Column::new("completion_failure", Text),
    Column::new("partition_key", Number),
];

/// Reads promises of workflows.
pub async fn read(api: &Api, wanted: &WantedRows, rows: &Rows) -> Result<(), AdminError> {
    let key = wanted.text("key").unwrap_or_default();
    let mut prefixes = wanted.objects().prefixes(|object| object.promise(key).to_string());
    let prefix = prefixes.pop();
    let mut filter = PromiseFilter { prefix, limit: PAGE, ..PromiseFilter::default() };
    loop {
        let store = api.look().await?;
        let page = store.read().find(&filter).await?;
        drop(store);
        rows.looked_at(page.items.len())?;
        for found in page.items {
            if let Some(row) = row(&found.promise) {
                rows.offer(row).await?;
            }
        }
        if page.next.is_none() {
            let Some(prefix) = prefixes.pop() else { return Ok(()) };
            filter.prefix = Some(prefix);
        }
        filter.after = page.next;
    }
}

/// Builds the row of a promise; `None` if it does not belong to a workflow.
fn row(promise: &Promise) -> Option<Row> {
    let object = ObjectId::from(tags::object(&promise.spec.tags)?);
    let mut row = of_object(&object)?;
    row.set("key", Value::text(object.name_of(promise.id())));
    row.set("completed", Value::Bool(!promise.is_pending()));
    match values::told(promise).map(|told| outcome::of_guest(&told)) {
        None => {}
        Some(Outcome::Success(value)) => {
            row.set("completion_success_value_utf8", utf8(&value));
            row.set("completion_success_value", Value::Bytes(value.to_vec()));
        }
        Some(Outcome::Failure(failure)) => {
            let text = format!("[{}] {}", failure.code, failure.message);
            row.set("completion_failure", Value::Text(text));
        }
    }
    Some(row)
}
