//! Listing and reading invocations.

use std::collections::BTreeSet;

use axum::{Json, extract::State};
use segno_core::{
    command::Command,
    id::PromiseId,
    promise::{Promise, Settlement, Task, TaskStatus},
    reply::Reply,
    tags,
    time::Timestamp,
};
use segno_engine::stuck::circle;
use segno_store::{InvocationFilter, InvocationRow, Page, StateCounts, Store, StoreError};

use super::{
    Api, ApiError, behind,
    body::{PathSegment, UrlQuery},
    budgets, fork,
    model::{
        Generation, Invocation, InvocationCounts, InvocationPage, InvocationQuery, InvocationState,
    },
    page,
    refusals::Refusals,
    state::{promise_id, refused, unexpected},
    stuck,
    values::input_of,
    view,
};

/// Minimum number of invocations searched for an error text, for each page.
const SEARCHED: usize = 5_000;
/// Maximum number of waits and of children listed with an invocation.
const SHOWN: u32 = 100;

/// Lists invocations, newest first.
#[utoipa::path(
    get, path = "/v1/invocations", tag = "invocations", params(InvocationQuery),
    responses((status = 200, body = InvocationPage), Refusals),
)]
pub(crate) async fn list(
    State(api): State<Api>,
    UrlQuery(query): UrlQuery<InvocationQuery>,
) -> Result<Json<InvocationPage>, ApiError> {
    if query.stuck == Some(true) {
        return stuck::list(&api, query).await.map(Json);
    }
    let asks_for_counts = query.counts == Some(true);
    let error = query.error.as_ref().map(|error| error.to_lowercase());
    if error.is_some() && asks_for_counts {
        let reason = "cannot be combined with `error`: leave one of them out".to_owned();
        return Err(ApiError::BadField { field: "counts", reason });
    }
    let partial = query.partial;
    let filter = filter(query)?;
    let store = api.look().await?.listing(partial);
    let reading = async {
        let page = match &error {
            None => store.read().list(&filter).await?,
            Some(error) => with_error(&*store, &filter, error).await?,
        };
        let counts = match asks_for_counts {
            true => Some(store.read().counts_by_state(&filter).await?),
            false => None,
        };
        Ok((page, counts))
    };
    let (page, counts) = reading.await.map_err(|error| store.incomplete(error))?;
    let missing = store.left_out();
    drop(store);
    let unreadable = view::unreadable("promise", page.unreadable);
    Ok(Json(InvocationPage {
        items: page.items.iter().map(view::summary).collect(),
        unreadable,
        missing,
        next: page.next.map(|cursor| cursor.to_string()),
        counts: counts.map(counted),
    }))
}

/// Reads a page of invocations that match the filter and whose error contains this text, given in
/// lowercase. Reads pages of the filter until one has a match or enough rows were read.
pub(super) async fn with_error(
    store: &dyn Store,
    filter: &InvocationFilter,
    error: &str,
) -> Result<Page<InvocationRow>, StoreError> {
    let mut filter = filter.clone();
    let mut read = 0;
    loop {
        let mut page = store.read().list(&filter).await?;
        read += page.items.len();
        page.items.retain(|row| holds(row, error));
        if page.next.is_none() || !page.items.is_empty() || read >= SEARCHED {
            return Ok(page);
        }
        filter.after = page.next;
    }
}

fn holds(row: &InvocationRow, error: &str) -> bool {
    let failure =
        view::failure(&row.promise).map(|failure| format!("{}: {}", failure.code, failure.message));
    let note = view::short_note(&row.promise, &row.task);
    let note = note.map(|note| format!("{}: {}", note.kind, note.message));
    [failure, note].into_iter().flatten().any(|text| text.to_lowercase().contains(error))
}

fn counted(counts: StateCounts) -> InvocationCounts {
    let states = counts.states.iter().map(|(state, count)| ((*state).to_owned(), *count));
    InvocationCounts { states: states.collect(), newest_only: counts.newest_only }
}

/// Converts a query to a filter of the store.
pub(super) fn filter(query: InvocationQuery) -> Result<InvocationFilter, ApiError> {
    if let Some(state) = &query.state
        && InvocationState::parse(state).is_none()
    {
        let known = InvocationState::ALL.map(InvocationState::as_str).join(", ");
        let reason = format!("is not a state: `{state}`; there are {known}");
        return Err(ApiError::BadField { field: "state", reason });
    }
    let label = query.label.as_deref().map(page::label).transpose()?;
    let after = query.after.as_deref().map(page::cursor).transpose()?;
    let limit = page::LISTING.of(query.limit)?;
    Ok(InvocationFilter {
        module: query.module,
        function: query.function,
        state: query.state,
        holder: None,
        prefix: query.prefix,
        label,
        parent: query.parent.map(promise_id).transpose()?,
        roots: query.roots.unwrap_or(false),
        since: query.since_at_ms.map(Timestamp),
        until: query.until_at_ms.map(Timestamp),
        after,
        limit,
    })
}

/// Reads an invocation, without its journal.
#[utoipa::path(
    get, path = "/v1/invocations/{id}", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = Invocation), Refusals),
)]
pub(crate) async fn describe(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Json<Invocation>, ApiError> {
    look_at(&api, &api.generation(id).await?).await.map(Json)
}

/// Returns the invocation's position among its generations; `None` if there is only one.
async fn generation(
    api: &Api,
    promise: &Promise,
    task: &Task,
) -> Result<Option<Generation>, ApiError> {
    let id = promise.id();
    let first = tags::continues(&promise.spec.tags).map_or_else(|| id.clone(), PromiseId::from);
    let generations = match first == *id {
        true => task.successors,
        false => {
            let row = api.host.store.read().promise(&first).await?;
            row.and_then(|row| row.task).map_or(0, |task| task.successors)
        }
    };
    if generations == 0 {
        return Ok(None);
    }
    let number = id.generation_of().filter(|_| first != *id).map_or(1, |(_, number)| number);
    let generations = generations.saturating_add(1);
    let next = (number < generations).then(|| first.generation(number + 1).to_string());
    Ok(Some(Generation { of: first.to_string(), number, generations, next }))
}

/// Reads all data of an invocation except its journal.
pub(super) async fn look_at(api: &Api, id: &PromiseId) -> Result<Invocation, ApiError> {
    let found = match api.execute(Command::TaskGet { id: id.clone() }).await? {
        Reply::Task(found) => *found,
        Reply::Refused(refusal) => return Err(refused(id, refusal)),
        other => return Err(unexpected(&other)),
    };
    let store = api.look().await?.listing(Some(true));
    let waits = store.read().waits(id).await?;
    let shown = waits.awaits.get(..SHOWN as usize).unwrap_or(&waits.awaits);
    let awaited = store.read().promises(shown).await?;
    let of_this =
        InvocationFilter { parent: Some(id.clone()), limit: SHOWN, ..InvocationFilter::default() };
    let children = store.read().list(&of_this).await?;
    let facts = store.read().facts(id).await?;
    let deadlock = match found.task.status() {
        TaskStatus::Suspended => circle(&*store, id).await?,
        _ => Vec::new(),
    };
    let limit = behind::limit(&*store, &found.promise, api.host.env.clock.now()).await?;
    let budget = budgets::accounts(&*store, &found.promise).await?;
    let sagas: BTreeSet<String> = facts.iter().map(|(fact, _)| fact.saga.to_string()).collect();
    let missing = store.left_out();
    drop(store);
    let (promise, task) = (&found.promise, &found.task);
    let spec = &promise.spec;
    let outcome = view::outcome(promise, task);
    Ok(Invocation {
        id: outcome.id,
        module: task.module.map(|digest| digest.to_string()),
        function: view::function(promise).unwrap_or_default(),
        state: outcome.state,
        killed: outcome.killed,
        attempt: task.attempt,
        version: task.version.0,
        cancel: view::cancel(task.cancel),
        signals: task.signals,
        unread: view::unread(promise, task),
        generation: generation(api, promise, task).await?,
        lease: view::lease(task),
        progress: view::progress(promise, task),
        retry_at_ms: view::retry_at(task),
        note: outcome.note,
        waits: awaited
            .iter()
            .flatten()
            .filter(|row| row.promise.is_pending())
            .map(|row| view::wait(promise, row))
            .collect(),
        waits_count: u32::try_from(waits.awaits.len()).unwrap_or(u32::MAX),
        limit,
        deadlock: deadlock.iter().map(ToString::to_string).collect(),
        awaited_by: waits.awaited_by.iter().map(ToString::to_string).collect(),
        parent: view::caller(promise),
        schedule: spec.tags.get(tags::SCHEDULE).cloned(),
        forked_from: fork::origin(&spec.tags),
        children: children.items.iter().map(view::summary).collect(),
        missing,
        sagas: sagas.into_iter().collect(),
        labels: view::labels(&spec.tags),
        budget,
        cost: budgets::numbers(&promise.settlement().map(Settlement::costs).unwrap_or_default()),
        journal_len: found.head.len,
        created_at_ms: outcome.created_at_ms,
        start_at_ms: tags::delay(&spec.tags).map(|at| at.0),
        timeout_at_ms: view::deadline(spec.timeout_at),
        settled_at_ms: outcome.settled_at_ms,
        input: input_of(&spec.param),
        output: outcome.output,
        failure: outcome.failure,
        target: outcome.target,
    })
}
