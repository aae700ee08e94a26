//! `sys_promise`: the promises of workflows, by name.

use segno_core::{id::ObjectId, promise::Promise, tags};
use segno_engine::values;
use segno_restate::wire::OperationOutcome;
use segno_store::PromiseFilter;

use super::{
    super::{row::TableRow, rows::RowSender, wanted::WantedRows},
    parts::{PAGE, of_object, utf8},
};
use crate::{
    front::{ServicesApi, error::AdminResult},
    outcome,
};

/// Reads promises of workflows.
pub(super) async fn read(
    api: &ServicesApi,
    wanted: &WantedRows,
    rows: &RowSender,
) -> AdminResult<()> {
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
fn row(promise: &Promise) -> Option<TableRow> {
    let object = ObjectId::from(tags::object(&promise.spec.tags)?);
    let mut row = of_object(&object)?;
    row.set("key", object.name_of(promise.id()));
    row.set("completed", !promise.is_pending());
    match values::told(promise).map(|told| outcome::of_guest(&told)) {
        None => {}
        Some(OperationOutcome::Success(value)) => {
            row.set("completion_success_value_utf8", utf8(&value));
            row.set("completion_success_value", value.to_vec());
        }
        Some(OperationOutcome::Failure(failure)) => {
            let text = format!("[{}] {}", failure.code, failure.message);
            row.set("completion_failure", text);
        }
    }
    Some(row)
}
