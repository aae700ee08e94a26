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
use segno_engine::recovery::retention::Keep;
use segno_restate::{
    immutable::CommandKind,
    manifest::{Handler, Service, ServiceType},
};
use segno_store::InvocationFilter;

use super::{
    super::{
        row::Row,
        rows::Rows,
        value::{
            Kind::{Number, Text, Time},
            Value,
        },
        wanted::WantedRows,
    },
    Column, PAGE, Table, called,
};
use crate::{
    BY, Deployment, FailedAttempt, IDEMPOTENCY,
    front::{Api, error::AdminError},
    ids::Called,
};

/// Columns of `sys_invocation`. Some are never set, because hosts lack the data, but tools select
/// them.
pub const COLUMNS: [Column; 51] = [
    Column::new("id", Text),
    Column::new("target", Text),
    Column::new("target_service_name", Text),
    Column::new("target_service_key", Text),
    Column::new("target_handler_name", Text),
    Column::new("target_service_ty", Text),
    Column::new("scope", Text),
    Column::new("limit_key", Text),
    Column::new("idempotency_key", Text),
    Column::new("invoked_by", Text),
    Column::new("invoked_by_service_name", Text),
    Column::new("invoked_by_id", Text),
    Column::new("invoked_by_subscription_id", Text),
    Column::new("invoked_by_target", Text),
    Column::new("restarted_from", Text),
    Column::new("pinned_deployment_id", Text),
    Column::new("pinned_service_protocol_version", Number),
    Column::new("trace_id", Text),
    Column::new("journal_size", Number),
    Column::new("journal_commands_size", Number),
    Column::new("created_at", Time),
    Column::new("created_using_restate_version", Text),
    Column::new("modified_at", Time),
    Column::new("inboxed_at", Time),
    Column::new("scheduled_at", Time),
    Column::new("scheduled_start_at", Time),
    Column::new("running_at", Time),
    Column::new("completed_at", Time),
    Column::new("completion_retention", Text),
    Column::new("journal_retention", Text),
    Column::new("suspended_waiting_for_completions", Text),
    Column::new("suspended_waiting_for_signals", Text),
    Column::new("retry_count", Number),
    Column::new("last_start_at", Time),
    Column::new("next_retry_at", Time),
    Column::new("last_attempt_deployment_id", Text),
    Column::new("last_attempt_server", Text),
    Column::new("last_failure", Text),
    Column::new("last_failure_error_code", Text),
    Column::new("last_failure_related_entry_index", Number),
    Column::new("last_failure_related_entry_name", Text),
    Column::new("last_failure_related_entry_type", Text),
    Column::new("last_failure_related_command_index", Number),
    Column::new("last_failure_related_command_name", Text),
    Column::new("last_failure_related_command_type", Text),
    Column::new("status", Text),
    Column::new("completion_result", Text),
    Column::new("completion_failure", Text),
    Column::new("completion_failure_code", Number),
    Column::new("partition_key", Number),
    Column::new("output_journal_index", Number),
];

/// Columns of `sys_inbox`.
pub const INBOX: [Column; 8] = [
    Column::new("service_name", Text),
    Column::new("scope", Text),
    Column::new("service_key", Text),
    Column::new("id", Text),
    Column::new("target", Text),
    Column::new("created_at", Time),
    Column::new("sequence_number", Number),
    Column::new("partition_key", Number),
];

/// An invocation in the store.
pub struct StoredInvocation {
    /// Promise of the invocation.
    pub promise: Promise,
    /// The task of the invocation.
    pub task: Task,
    /// Number of records in the journal.
    pub journal_len: u32,
}

/// Reads invocations, newest first.
pub async fn read(
    api: &Api,
    table: Table,
    wanted: &WantedRows,
    rows: &Rows,
) -> Result<(), AdminError> {
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
    let mut listings: Vec<Pages> =
        states(table, wanted).into_iter().map(|state| Pages::of(of_state(state))).collect();
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
    api: &Api,
    table: Table,
    wanted: &WantedRows,
    stored: &StoredInvocation,
    now: Timestamp,
    rows: &Rows,
) -> Result<(), AdminError> {
    let Some(mut row) = row(api, stored, now).await? else { return Ok(()) };
    if table == Table::InvocationStatus {
        row.set("status", Value::Text(stands(status(stored, now)).to_owned()));
    }
    if stored.journal_len > 0
        && (wanted.needs("running_at") || wanted.needs("pinned_service_protocol_version"))
    {
        let store = api.look().await?;
        let first = store.read().journal(stored.promise.id(), 0, 1).await?;
        drop(store);
        if let [Record { at, body: RecordBody::Started { engine, .. }, .. }] = first.as_slice() {
            row.set("running_at", Value::Time(*at));
            row.set("pinned_service_protocol_version", Value::count(engine.class));
        }
    }
    if let Value::Text(caller) = row.get("invoked_by_id")
        && wanted.needs("invoked_by_target")
    {
        let caller = PromiseId::from(caller.as_str());
        let store = api.look().await?;
        let caller = store.read().promise(&caller).await?;
        drop(store);
        row.set("invoked_by_target", Value::text(caller.and_then(|caller| path(&caller.promise))));
    }
    rows.offer(row).await
}

/// Reads invocations that wait for their turn.
pub async fn read_inbox(api: &Api, wanted: &WantedRows, rows: &Rows) -> Result<(), AdminError> {
    let now = api.host.env.clock.now();
    let mut pages = Pages::of(InvocationFilter {
        function: wanted.text("target").map(ending).map(str::to_owned),
        state: Some("suspended".to_owned()),
        ..InvocationFilter::default()
    });
    while pages.first(api, rows).await?.is_some() {
        for stored in std::mem::take(&mut pages.page) {
            let Some(address) = called(&stored.promise) else { continue };
            let Some(called) = Called::of(&address) else { continue };
            if status(&stored, now) != "pending" {
                continue;
            }
            rows.offer(Row::from([
                ("id", Value::Text(stored.promise.id().to_string())),
                ("service_name", Value::Text(called.service.to_owned())),
                ("scope", Value::text(called.scope.map(str::to_owned))),
                ("service_key", Value::text(called.key.map(str::to_owned))),
                ("target", Value::text(path(&stored.promise))),
                ("created_at", Value::Time(stored.promise.spec.created_at)),
            ]))
            .await?;
        }
    }
    Ok(())
}

/// A listing, newest first, read in pages.
struct Pages {
    filter: InvocationFilter,
    page: VecDeque<StoredInvocation>,
    is_over: bool,
}

impl Pages {
    fn of(filter: InvocationFilter) -> Self {
        let filter = InvocationFilter { limit: PAGE, ..filter };
        Self { filter, page: VecDeque::new(), is_over: false }
    }

    /// Returns the creation time of the next invocation; `None` at the end.
    async fn first(&mut self, api: &Api, rows: &Rows) -> Result<Option<Timestamp>, AdminError> {
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
pub async fn one(api: &Api, id: PromiseId) -> Result<Option<StoredInvocation>, AdminError> {
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
fn states(table: Table, wanted: &WantedRows) -> Vec<Option<String>> {
    let is_wanted = |name: &str| {
        let known = if table == Table::InvocationStatus { stands(name) } else { name };
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
    Some(Called { scope: None, ..Called::of(&address)? }.path())
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
    api: &Api,
    stored: &StoredInvocation,
    now: Timestamp,
) -> Result<Option<Row>, AdminError> {
    let StoredInvocation { promise, task, journal_len } = stored;
    let Some(address) = called(promise) else { return Ok(None) };
    let Some(called) = Called::of(&address) else { return Ok(None) };
    let spec = &promise.spec;
    let text = |text: &str| Value::Text(text.to_owned());
    let status = status(stored, now);
    let mut row = Row::from([
        ("id", text(spec.id.as_str())),
        ("target", Value::text(path(promise))),
        ("idempotency_key", Value::text(spec.param.headers.get(IDEMPOTENCY).cloned())),
        ("target_service_name", text(called.service)),
        ("scope", Value::text(called.scope.map(str::to_owned))),
        ("target_service_key", Value::text(called.key.map(str::to_owned))),
        ("target_handler_name", text(called.handler)),
        ("status", text(status)),
        ("journal_size", Value::count(*journal_len)),
        ("created_at", Value::Time(spec.created_at)),
        ("modified_at", Value::Time(modified_at(promise, task))),
        ("scheduled_start_at", Value::time(tags::delay(&spec.tags))),
        ("retry_count", Value::count(task.attempt)),
    ]);
    if let Some(digest) = task.module {
        let deployment = api.services.deployment(digest).await.ok();
        if let Some(deployment) = &deployment {
            let id = text(&deployment.id());
            row.set("pinned_deployment_id", id.clone());
            if promise.is_pending() && (*journal_len > 0 || task.attempt > 0) {
                row.set("last_attempt_deployment_id", id);
                row.set("last_attempt_server", Value::text(deployment.sdk.clone()));
            }
            let ty = deployment.service(called.service).map(|service| match service.ty {
                ServiceType::Service => "service",
                ServiceType::VirtualObject => "virtual_object",
                ServiceType::Workflow => "workflow",
            });
            row.set("target_service_ty", Value::text(ty));
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
    row.set("invoked_by", text(by));
    row.set("restarted_from", Value::text(restarted));
    row.set("invoked_by_id", Value::text(caller));
    if let Some(settlement) = promise.settlement() {
        row.set("completed_at", Value::Time(settlement.settled_at));
        let failure = view::failure(promise);
        row.set("completion_result", text(if failure.is_some() { "failure" } else { "success" }));
        if let Some(failure) = failure {
            // The code that services see: they do not use 499.
            let code = if failure.code == 499 { 409 } else { failure.code };
            row.set("completion_failure", Value::Text(format!("[{code}] {}", failure.message)));
            row.set("completion_failure_code", Value::count(code));
        }
    } else {
        set_last_failure(&mut row, task.note.as_ref());
        if status == "backing-off" {
            row.set("next_retry_at", Value::time(view::retry_at(task).map(Timestamp)));
        }
    }
    Ok(Some(row))
}

/// Sets the retention periods of the result and the journal.
fn set_retention(row: &mut Row, service: &Service, handler: &Handler, has_key: bool, silent: Keep) {
    let keep = |said: Option<Millis>| match said.map_or(silent, Keep::For) {
        Keep::For(length) => Some(format!("PT{}S", length.0 / 1_000)),
        // The format cannot express an unlimited period.
        Keep::Forever => None,
    };
    // The first period applies to the result for callers, the last one to the journal.
    let keeps = Deployment::keeps(service, handler, has_key);
    let (result, journal) = (keeps.first().copied(), keeps.last().copied());
    row.set("completion_retention", Value::text(result.and_then(keep)));
    row.set("journal_retention", Value::text(journal.and_then(keep)));
}

/// Sets the reason why the last attempt failed, or why no further attempt follows.
fn set_last_failure(row: &mut Row, note: Option<&Note>) {
    let Some(note) = note else { return };
    let Some(failed) = FailedAttempt::of_note(note) else {
        row.set("last_failure", Value::Text(note.message.to_string()));
        return;
    };
    row.set("last_failure", Value::Text(failed.shown()));
    row.set("last_failure_error_code", Value::Text(failed.error));
    if let Some(command) = failed.command {
        let kind = command.number.and_then(CommandKind::from_number).map(CommandKind::name);
        row.set(
            "last_failure_related_command_index",
            Value::Number(command.index.unwrap_or_default().into()),
        );
        row.set("last_failure_related_command_name", Value::text(command.name));
        row.set("last_failure_related_command_type", Value::text(kind));
    }
}

/// Returns when the invocation last changed its status, as far as known.
pub fn modified_at(promise: &Promise, task: &Task) -> Timestamp {
    let created_at = promise.spec.created_at;
    match (promise.settlement(), &task.state) {
        (Some(settlement), _) => settlement.settled_at,
        (None, TaskState::Pending { since, .. }) => created_at.max(*since),
        (None, _) => created_at.max(task.progress.at),
    }
}
