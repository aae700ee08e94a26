//! Listing of invocations that cannot continue without intervention, with the reasons.

use segno_engine::stuck::{STATES, look};
use segno_store::InvocationFilter;

use super::{
    Api, ApiError,
    invocations::filter,
    model::{InvocationPage, InvocationQuery, StuckView, UnreadableRow},
    page, view,
};

/// Number of invocations read in one go.
const READ: u32 = 500;
/// Maximum number of invocations examined for a page: most are not stuck.
const LOOKED_AT: usize = 5_000;

/// Lists the invocations of the query that cannot continue without intervention: halted ones first,
/// then those that no worker claims, then waiting ones; newest first within each group.
pub(super) async fn list(api: &Api, query: InvocationQuery) -> Result<InvocationPage, ApiError> {
    if query.state.is_some() {
        let reason = "cannot be combined with a state: leave one of them out".to_owned();
        return Err(ApiError::BadField { field: "stuck", reason });
    }
    let limit = page::LISTING.of(query.limit)? as usize;
    let is_first = query.after.is_none();
    let (mut state, after) = query.after.as_deref().map(cursor).transpose()?.unwrap_or((0, None));
    let partial = query.partial;
    let plain = InvocationQuery { after: None, limit: None, ..query };
    let mut filter = InvocationFilter { after, limit: READ, ..filter(plain)? };
    let mut page = InvocationPage {
        items: Vec::new(),
        unreadable: Vec::new(),
        missing: Vec::new(),
        next: None,
        counts: None,
    };
    let mut looked_at = 0;
    while let Some(name) = STATES.get(state) {
        filter.state = Some((*name).to_owned());
        let room = limit.saturating_sub(page.items.len());
        if room == 0 || looked_at >= LOOKED_AT {
            page.next = Some(format!("{state}.{}", filter.after.unwrap_or_default()));
            break;
        }
        // Everything found in a read is returned, so a state in which most invocations are stuck is
        // read only as far as the page has room.
        filter.limit = if state == 0 { READ.min(room as u32) } else { READ };
        let store = api.look().await?.listing(partial);
        let read = store.read().list(&filter).await;
        let read = read.map_err(|error| store.incomplete(error))?;
        let found = look(&*store, &read.items, api.host.env.clock.now()).await;
        let found = found.map_err(|error| store.incomplete(error))?;
        page.missing.extend(store.left_out());
        drop(store);
        looked_at += read.items.len();
        for (row, stuck) in read.items.iter().zip(found) {
            let Some(stuck) = stuck else { continue };
            let stuck = StuckView { reason: stuck.reason.name().to_owned(), why: stuck.why };
            let mut summary = view::summary(row);
            summary.stuck = Some(stuck);
            page.items.push(summary);
        }
        page.unreadable.extend(view::unreadable("promise", read.unreadable));
        filter.after = read.next;
        if read.next.is_none() {
            state += 1;
        }
    }
    page.missing.sort();
    page.missing.dedup();
    if is_first {
        page.unreadable.extend(quarantined(api, filter.prefix.as_deref()));
    }
    Ok(page)
}

/// Parses the cursor of the previous page: the state to search, and the position in it.
fn cursor(after: &str) -> Result<(usize, Option<i64>), ApiError> {
    let parsed = after.split_once('.').and_then(|(state, after)| {
        let state = state.parse().ok().filter(|state| *state < STATES.len())?;
        Some((state, Some(after.parse::<i64>().ok()?).filter(|after| *after != 0)))
    });
    parsed.ok_or_else(|| ApiError::BadField {
        field: "after",
        reason: "is not a cursor from an earlier page".to_owned(),
    })
}

/// Returns the quarantined rows of this host whose ids have this prefix.
fn quarantined(api: &Api, prefix: Option<&str>) -> Vec<UnreadableRow> {
    let cases = api.host.quarantine.cases().into_iter();
    let rows = cases.map(|(subject, case)| UnreadableRow {
        kind: subject.kind().to_owned(),
        id: subject.id().to_owned(),
        reason: case.reason,
    });
    rows.filter(|row| prefix.is_none_or(|prefix| row.id.starts_with(prefix))).collect()
}
