//! `sys_invocation` and `sys_inbox`: invocations of services.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, VecDeque},
};

use segno_api::shared::{RESTART_OF, view};
use segno_core::{
    command::Command,
    id::PromiseId,
    invocation::{Record, RecordBody},
    promise::{Note, Promise, Task, TaskState},
    reply::Reply,
    tags,
    time::{Millis, Timestamp},
};
use segno_engine::recovery::retention::RetentionPeriod;
use segno_restate::{
    immutable::CommandKind,
    manifest::{ManifestHandler, Service},
};
use segno_store::InvocationFilter;

use super::{
    super::{
        row::TableRow, rows::RowSender, table::QueryTable, value::RowValue, wanted::WantedRows,
    },
    parts::{PAGE, called, kind_of_service},
};
use crate::{
    BY, Deployment, FailedAttempt, IDEMPOTENCY,
    front::{ServicesApi, error::AdminResult},
    ids::HandlerTarget,
};

/// An invocation in the store.
pub(super) struct StoredInvocation {
    /// Promise of the invocation.
    pub promise: Promise,
    /// The task of the invocation.
    pub task: Task,
    /// Number of records in the journal.
    pub journal_len: u32,
}

/// Reads invocations, newest first.
pub(super) async fn read(
    api: &ServicesApi,
    table: QueryTable,
    wanted: &WantedRows,
    rows: &RowSender,
) -> AdminResult<()> {
    let now = api.host.env.clock.now();
    if let Some(ids) = wanted.texts("id") {
        rows.looked_at(ids.len())?;
        let mut found = Vec::new();
        for id in ids {
            found.extend(one(api, PromiseId::new(id.as_str())).await?);
        }
        found.sort_by_key(|stored| Reverse(stored.promise.spec.created_at));
        for stored in found {
            offer(api, table, wanted, &stored, now, rows).await?;
        }
        return Ok(());
    }
    let function = function(wanted);
    let of_state = |state| InvocationFilter {
        function: function.clone(),
        state,
        ..InvocationFilter::default()
    };
    let mut listings: Vec<InvocationPages> = states(table, wanted)
        .into_iter()
        .map(|state| InvocationPages::of(of_state(state)))
        .collect();
    // An invocation that changes its state meanwhile may be in the listings of both states.
    let mut seen = BTreeSet::new();
    loop {
        let mut newest = None;
        for listing in &mut listings {
            newest = newest.max(listing.first(api, rows).await?);
        }
        let Some(newest) = newest else { return Ok(()) };
        let mut of_one_time = Vec::new();
        for listing in &mut listings {
            while listing.first(api, rows).await? == Some(newest) {
                of_one_time.extend(listing.page.pop_front());
            }
        }
        of_one_time.sort_by(|left, right| left.promise.id().cmp(right.promise.id()));
        for stored in of_one_time {
            if seen.insert(stored.promise.id().clone()) {
                offer(api, table, wanted, &stored, now, rows).await?;
            }
        }
    }
}

async fn offer(
    api: &ServicesApi,
    table: QueryTable,
    wanted: &WantedRows,
    stored: &StoredInvocation,
    now: Timestamp,
    rows: &RowSender,
) -> AdminResult<()> {
    let Some(mut row) = row(api, stored, now).await? else { return Ok(()) };
    if table == QueryTable::InvocationStatus {
        row.set("status", stands(status(stored, now)));
    }
    if stored.journal_len > 0
        && (wanted.needs("running_at") || wanted.needs("pinned_service_protocol_version"))
    {
        let store = api.look().await?;
        let first = store.read().journal(stored.promise.id(), 0, 1).await?;
        drop(store);
        if let [Record { at, body: RecordBody::Started { engine, .. }, .. }] = first.as_slice() {
            row.set("running_at", *at);
            row.set("pinned_service_protocol_version", RowValue::count(engine.class));
        }
    }
    if let RowValue::Text(caller) = row.get("invoked_by_id")
        && wanted.needs("invoked_by_target")
    {
        let caller = PromiseId::from(caller.as_str());
        let store = api.look().await?;
        let caller = store.read().promise(&caller).await?;
        drop(store);
        row.set("invoked_by_target", caller.and_then(|caller| path(&caller.promise)));
    }
    rows.offer(row).await
}

/// Reads invocations that wait for their turn.
pub(super) async fn read_inbox(
    api: &ServicesApi,
    wanted: &WantedRows,
    rows: &RowSender,
) -> AdminResult<()> {
    let now = api.host.env.clock.now();
    let mut pages = InvocationPages::of(InvocationFilter {
        function: wanted.text("target").map(ending).map(str::to_owned),
        state: Some("suspended".to_owned()),
        ..InvocationFilter::default()
    });
    while pages.first(api, rows).await?.is_some() {
        for stored in std::mem::take(&mut pages.page) {
            let Some(address) = called(&stored.promise) else { continue };
            let Some(called) = HandlerTarget::of(&address) else { continue };
            if status(&stored, now) != "pending" {
                continue;
            }
            rows.offer(TableRow::from([
                ("id", stored.promise.id().to_string().into()),
                ("service_name", called.service.into()),
                ("scope", called.scope.into()),
                ("service_key", called.key.into()),
                ("target", path(&stored.promise).into()),
                ("created_at", stored.promise.spec.created_at.into()),
            ]))
            .await?;
        }
    }
    Ok(())
}

/// A listing, newest first, read in pages.
struct InvocationPages {
    filter: InvocationFilter,
    page: VecDeque<StoredInvocation>,
    is_over: bool,
}

impl InvocationPages {
    fn of(filter: InvocationFilter) -> Self {
        let filter = InvocationFilter { limit: PAGE, ..filter };
        Self { filter, page: VecDeque::new(), is_over: false }
    }

    /// Returns the creation time of the next invocation; `None` at the end.
    async fn first(
        &mut self,
        api: &ServicesApi,
        rows: &RowSender,
    ) -> AdminResult<Option<Timestamp>> {
        while self.page.is_empty() && !self.is_over {
            let store = api.look().await?;
            let page = store.read().list(&self.filter).await?;
            drop(store);
            // The store examined further rows for a page that is short but not the last one.
            let is_short = page.next.is_some() && page.items.len() < PAGE as usize;
            rows.looked_at(if is_short { PAGE as usize } else { page.items.len() })?;
            self.is_over = page.next.is_none();
            self.filter.after = page.next;
            self.page.extend(page.items.into_iter().map(|row| StoredInvocation {
                promise: row.promise,
                task: row.task,
                journal_len: row.journal_len,
            }));
        }
        Ok(self.page.front().map(|stored| stored.promise.spec.created_at))
    }
}

/// Reads the invocation with this id; `None` if there is none.
///
/// # Errors
/// The store failed.
pub(super) async fn one(api: &ServicesApi, id: PromiseId) -> AdminResult<Option<StoredInvocation>> {
    Ok(match api.execute(Command::TaskGet { id }).await? {
        Reply::Task(found) => {
            let journal_len = found.head.len;
            Some(StoredInvocation { promise: found.promise, task: found.task, journal_len })
        }
        _ => None,
    })
}

/// Returns the target, or the suffix of targets, that the query selects.
fn function(wanted: &WantedRows) -> Option<String> {
    if let Some(target) = wanted.text("target") {
        return Some(ending(target).to_owned());
    }
    let handler = wanted.text("target_handler_name")?;
    // For any service and scope: the suffix of the target has the key and the handler.
    Some(match wanted.text("target_service_key") {
        Some(key) => format!("{key}/{handler}"),
        None => handler.to_owned(),
    })
}

/// Returns the suffix of a target after the service, which in the store may have a scope.
fn ending(target: &str) -> &str {
    target.split_once('/').map_or(target, |(_, ending)| ending)
}

/// Returns the store's states that the query selects; `None` for invocations in any state.
fn states(table: QueryTable, wanted: &WantedRows) -> Vec<Option<String>> {
    let is_wanted = |name: &str| {
        let known = if table == QueryTable::InvocationStatus { stands(name) } else { name };
        wanted.may_be("status", known)
    };
    let all = [
        ("pending", &["suspended"][..]),
        ("suspended", &["suspended"]),
        ("scheduled", &["pending"]),
        ("ready", &["pending"]),
        ("backing-off", &["pending"]),
        ("running", &["acquired"]),
        ("paused", &["halted"]),
        ("completed", &["resolved", "rejected", "cancelled", "timed-out"]),
    ];
    if all.iter().all(|(name, _)| is_wanted(name)) {
        return vec![None];
    }
    let wanted = all.iter().filter(|(name, _)| is_wanted(name));
    let states: BTreeSet<&str> = wanted.flat_map(|(_, states)| states.iter().copied()).collect();
    states.into_iter().map(|state| Some(state.to_owned())).collect()
}

/// Returns the name of a status in `sys_invocation_status`.
fn stands(status: &str) -> &str {
    match status {
        "pending" => "inboxed",
        "ready" | "running" | "backing-off" => "invoked",
        other => other,
    }
}

/// Returns the target of an invocation without the scheme and the scope.
fn path(promise: &Promise) -> Option<String> {
    let address = called(promise)?;
    Some(HandlerTarget { scope: None, ..HandlerTarget::of(&address)? }.path())
}

/// Returns the status of an invocation in `sys_invocation`.
fn status(stored: &StoredInvocation, now: Timestamp) -> &'static str {
    let StoredInvocation { promise, task, journal_len } = stored;
    if !promise.is_pending() {
        return "completed";
    }
    match &task.state {
        TaskState::Suspended if *journal_len == 0 => "pending",
        TaskState::Suspended => "suspended",
        TaskState::Acquired { .. } => "running",
        TaskState::Halted { .. } => "paused",
        // An offered task has a `retry_at` too: when it is offered again if no worker claims it.
        TaskState::Pending { retry_at, offered: false, .. } if *retry_at > now => {
            match task.attempt {
                0 => "scheduled",
                _ => "backing-off",
            }
        }
        TaskState::Pending { .. } | TaskState::Fulfilled => "ready",
    }
}

/// Builds the row of an invocation; `None` if it does not belong to a service.
async fn row(
    api: &ServicesApi,
    stored: &StoredInvocation,
    now: Timestamp,
) -> AdminResult<Option<TableRow>> {
    let StoredInvocation { promise, task, journal_len } = stored;
    let Some(address) = called(promise) else { return Ok(None) };
    let Some(called) = HandlerTarget::of(&address) else { return Ok(None) };
    let spec = &promise.spec;
    let status = status(stored, now);
    let mut row = TableRow::from([
        ("id", spec.id.as_str().into()),
        ("target", path(promise).into()),
        ("idempotency_key", spec.param.headers.get(IDEMPOTENCY).cloned().into()),
        ("target_service_name", called.service.into()),
        ("scope", called.scope.into()),
        ("target_service_key", called.key.into()),
        ("target_handler_name", called.handler.into()),
        ("status", status.into()),
        ("journal_size", RowValue::count(*journal_len)),
        ("created_at", spec.created_at.into()),
        ("modified_at", modified_at(promise, task).into()),
        ("scheduled_start_at", tags::delay(&spec.tags).into()),
        ("retry_count", RowValue::count(task.attempt)),
    ]);
    if let Some(digest) = task.module {
        let deployment = api.services.deployment(digest).await.ok();
        if let Some(deployment) = &deployment {
            let id = deployment.id();
            row.set("pinned_deployment_id", id.clone());
            if promise.is_pending() && (*journal_len > 0 || task.attempt > 0) {
                row.set("last_attempt_deployment_id", id);
                row.set("last_attempt_server", deployment.sdk.clone());
            }
            let service = deployment.service(called.service);
            row.set("target_service_ty", service.map(|service| kind_of_service(service.ty)));
            if let Some((service, handler)) = deployment.handler(called.service, called.handler) {
                let has_key = spec.param.headers.contains_key(IDEMPOTENCY);
                set_retention(&mut row, service, handler, has_key, api.services.silent());
            }
        }
    }
    // A call with an idempotency key creates an invocation without a parent; a header names the
    // caller.
    let by = spec.param.headers.get(BY).and_then(|by| Some(by.rsplit_once('/')?.0.to_owned()));
    let caller = view::caller(promise).or(by);
    let restarted = view::labels(&spec.tags).remove(RESTART_OF);
    let by = match (&caller, &restarted) {
        (Some(_), _) => "service",
        (None, Some(_)) => "restart_as_new",
        (None, None) => "ingress",
    };
    row.set("invoked_by", by);
    row.set("restarted_from", restarted);
    row.set("invoked_by_id", caller);
    if let Some(settlement) = promise.settlement() {
        row.set("completed_at", settlement.settled_at);
        let failure = view::failure(promise);
        row.set("completion_result", if failure.is_some() { "failure" } else { "success" });
        if let Some(failure) = failure {
            // The code that services see: they do not use 499.
            let code = if failure.code == 499 { 409 } else { failure.code };
            row.set("completion_failure", format!("[{code}] {}", failure.message));
            row.set("completion_failure_code", RowValue::count(code));
        }
    } else {
        set_last_failure(&mut row, task.note.as_ref());
        if status == "backing-off" {
            row.set("next_retry_at", view::retry_at(task).map(Timestamp));
        }
    }
    Ok(Some(row))
}

/// Sets the retention periods of the result and the journal.
fn set_retention(
    row: &mut TableRow,
    service: &Service,
    handler: &ManifestHandler,
    has_key: bool,
    silent: RetentionPeriod,
) {
    let keep = |said: Option<Millis>| match said.map_or(silent, RetentionPeriod::For) {
        RetentionPeriod::For(length) => Some(format!("PT{}S", length.0 / 1_000)),
        // The format cannot express an unlimited period.
        RetentionPeriod::Forever => None,
    };
    // The first period applies to the result for callers, the last one to the journal.
    let keeps = Deployment::keeps(service, handler, has_key);
    let (result, journal) = (keeps.first().copied(), keeps.last().copied());
    row.set("completion_retention", result.and_then(keep));
    row.set("journal_retention", journal.and_then(keep));
}

/// Sets the reason why the last attempt failed, or why no further attempt follows.
fn set_last_failure(row: &mut TableRow, note: Option<&Note>) {
    let Some(note) = note else { return };
    let Some(failed) = FailedAttempt::of_note(note) else {
        row.set("last_failure", note.message.to_string());
        return;
    };
    row.set("last_failure", failed.shown());
    row.set("last_failure_error_code", failed.error);
    if let Some(command) = failed.command {
        let kind = command.number.and_then(CommandKind::from_number).map(CommandKind::name);
        row.set(
            "last_failure_related_command_index",
            RowValue::Number(command.index.unwrap_or_default().into()),
        );
        row.set("last_failure_related_command_name", command.name);
        row.set("last_failure_related_command_type", kind);
    }
}

/// Returns when the invocation last changed its status, as far as known.
pub(super) fn modified_at(promise: &Promise, task: &Task) -> Timestamp {
    let created_at = promise.spec.created_at;
    match (promise.settlement(), &task.state) {
        (Some(settlement), _) => settlement.settled_at,
        (None, TaskState::Pending { since, .. }) => created_at.max(*since),
        (None, _) => created_at.max(task.progress.at),
    }
}
