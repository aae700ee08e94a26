//! `state` and `sys_keyed_service_status`: objects and workflows by their keys.

use segno_api::shared::held;
use segno_core::{id::ObjectId, value::Text as Name};
use segno_store::{ObjectFilter, ObjectRow};

use super::{
    super::{rows::RowSender, value::RowValue, wanted::WantedRows},
    parts::{PAGE, of_object, utf8},
};
use crate::front::{ServicesApi, error::AdminResult};

/// Reads the state of objects.
pub(super) async fn read_state(
    api: &ServicesApi,
    wanted: &WantedRows,
    rows: &RowSender,
) -> AdminResult<()> {
    let mut pages = ObjectPages::of(wanted);
    while let Some(page) = pages.next(api, rows).await? {
        for row in page.into_iter().filter(|row| row.names > 0) {
            entries(api, wanted, &row.object, rows).await?;
        }
    }
    Ok(())
}

async fn entries(
    api: &ServicesApi,
    wanted: &WantedRows,
    object: &ObjectId,
    rows: &RowSender,
) -> AdminResult<()> {
    let Some(of) = of_object(object) else { return Ok(()) };
    let reads = wanted.needs("value") || wanted.needs("value_utf8");
    let store = api.look().await?;
    let mut sizes = store.read().object_names(object).await?;
    sizes.retain(|size| wanted.may_be("key", &size.name));
    rows.looked_at(sizes.len())?;
    let names: Vec<Name> = sizes.iter().map(|size| size.name.clone()).collect();
    let mut values = Default::default();
    if reads && !names.is_empty() {
        let bytes: u64 = sizes.iter().map(|size| size.bytes).sum();
        rows.weighs(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        values = store.read().object_state(object, &names).await?;
    }
    drop(store);
    for size in sizes {
        let mut row = of.clone();
        row.set("key_length", RowValue::count(size.name.len()));
        row.set("value_length", RowValue::count(size.bytes));
        if let Some(value) = values.get(&size.name) {
            row.set("value_utf8", utf8(value.as_bytes()));
            row.set("value", value.as_bytes().to_vec());
        }
        row.set("key", size.name.to_string());
        rows.offer(row).await?;
    }
    Ok(())
}

/// Reads the holders of turns.
pub(super) async fn read_turns(
    api: &ServicesApi,
    wanted: &WantedRows,
    rows: &RowSender,
) -> AdminResult<()> {
    let mut pages = ObjectPages::of(wanted);
    while let Some(page) = pages.next(api, rows).await? {
        let holders: Vec<_> = page.iter().filter_map(|row| row.holder().cloned()).collect();
        let store = api.look().await?;
        let held = held(&*store, &holders).await?;
        drop(store);
        for row in &page {
            let holder = row.holder().filter(|id| held.get(*id) == Some(&row.object));
            if let (Some(holder), Some(mut of)) = (holder, of_object(&row.object)) {
                of.set("invocation_id", holder.to_string());
                rows.offer(of).await?;
            }
        }
    }
    Ok(())
}

/// Pages of the requested objects of services.
struct ObjectPages {
    filter: ObjectFilter,
    /// Prefixes of names to read after the current one.
    prefixes: Vec<String>,
    is_over: bool,
}

impl ObjectPages {
    fn of(wanted: &WantedRows) -> Self {
        let mut prefixes = wanted.objects().prefixes(ToString::to_string);
        let filter = ObjectFilter { prefix: prefixes.pop(), after: None, limit: PAGE };
        Self { filter, prefixes, is_over: false }
    }

    /// Reads the next page; `None` at the end.
    async fn next(
        &mut self,
        api: &ServicesApi,
        rows: &RowSender,
    ) -> AdminResult<Option<Vec<ObjectRow>>> {
        if self.is_over {
            return Ok(None);
        }
        let store = api.look().await?;
        let page = store.read().objects(&self.filter).await?;
        drop(store);
        rows.looked_at(page.items.len())?;
        if page.next.is_none() {
            match self.prefixes.pop() {
                Some(prefix) => self.filter.prefix = Some(prefix),
                None => self.is_over = true,
            }
        }
        self.filter.after = page.next;
        Ok(Some(page.items))
    }
}
