//! Operations on tasks, for workers and operators.

use std::collections::BTreeSet;

use segno_core::{
    command::{ClaimRequest, Command, HeartbeatItem},
    id::{Claim, Holder, PromiseId, Version},
    promise::{Lease, ReleaseReason, TaskStatus},
    reply::{Conflict, Refusal, Reply, TaskReply},
    tags,
    time::Millis,
};
use segno_store::{InvocationFilter, InvocationRow};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{json, value::RawValue};

use super::{
    envelope::{OperationResult, ResonateAnswer, ResonateRequest},
    handler::{Resonate, unexpected},
    json::{self, StrictObject},
    preload,
    promises::{CallbackData, PromiseCreateData, PromiseSettleData},
    protocol_error::ProtocolError,
    wire,
};

/// Maximum number of claims of one worker read in one page.
const HELD_PAGE: u32 = 1_000;

#[derive(Deserialize)]
struct TaskIdData {
    id: String,
}

#[derive(Deserialize)]
struct TaskClaimData {
    id: String,
    version: u64,
}

#[derive(Deserialize)]
struct TaskAcquireData {
    id: String,
    version: u64,
    pid: String,
    ttl: i64,
}

#[derive(Deserialize)]
struct TaskCreateData {
    pid: String,
    ttl: i64,
    action: StrictObject<NestedOperation>,
}

#[derive(Deserialize)]
struct TaskSuspendData {
    id: String,
    version: u64,
    actions: Vec<StrictObject<NestedOperation>>,
}

#[derive(Deserialize)]
struct TaskFulfillData {
    id: String,
    version: u64,
    action: StrictObject<NestedOperation>,
}

#[derive(Deserialize)]
struct TaskHeartbeatData {
    pid: String,
    #[serde(default)]
    tasks: Vec<StrictObject<TaskClaimData>>,
}

/// An operation within another one, in its own envelope.
#[derive(Deserialize)]
pub(super) struct NestedOperation {
    pub(super) kind: String,
    data: Box<RawValue>,
}

impl NestedOperation {
    /// Parses the inner operation's data, if it is the expected operation.
    ///
    /// # Errors
    /// 400.
    pub(super) fn read<T: DeserializeOwned>(&self, wanted: &str) -> Result<T, ProtocolError> {
        if self.kind != wanted {
            let kind = &self.kind;
            return Err(ProtocolError::bad(format!(
                "the action is `{kind}` where {wanted} belongs"
            )));
        }
        json::read(self.data.get().as_bytes()).map_err(|misread| {
            ProtocolError::bad(format!("the action {wanted}: {}", misread.within("data")))
        })
    }
}

/// Returns the claim in a worker's request.
///
/// # Errors
/// 400, 403.
pub(super) fn claim(
    request: &ResonateRequest,
    id: String,
    version: u64,
) -> Result<Claim, ProtocolError> {
    Ok(Claim { id: request.id("id", id)?, version: Version(version) })
}

pub(super) async fn get(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let TaskIdData { id } = request.read()?;
    let task = taken(front.decide(Command::TaskGet { id: request.id("id", id)? }).await?)?;
    Ok(ResonateAnswer::ok(json!({ "task": wire::task(&task.task, task.resumes) })))
}

pub(super) async fn create(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let TaskCreateData { pid, ttl, action: StrictObject(action) } = request.read()?;
    let claim_request = claim_request(front, &pid, ttl)?;
    let new = action.read::<PromiseCreateData>("promise.create")?.checked(front, request)?;
    if tags::target(&new.tags).is_none() {
        return Err(ProtocolError::bad("the promise of a task needs the tag resonate:target"));
    }
    if new.tags.contains_key(tags::DELAY) {
        return Err(ProtocolError::bad(
            "a task that is taken at once cannot have the tag resonate:delay",
        ));
    }
    let id = new.id.clone();
    let command = Command::TaskCreate { new, request: claim_request };
    let task = claimed(front, id, command).await?;
    // A new task has no children.
    answered(front, request, &task, !task.created).await
}

pub(super) async fn acquire(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let TaskAcquireData { id, version, pid, ttl } = request.read()?;
    let claim = claim(request, id, version)?;
    let claim_request = claim_request(front, &pid, ttl)?;
    let id = claim.id.clone();
    let command = Command::TaskAcquire { claim, request: claim_request, stall_limit: None };
    let task = claimed(front, id, command).await?;
    // A task that was never acquired has no children either.
    answered(front, request, &task, version > 0).await
}

pub(super) async fn release(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let TaskClaimData { id, version } = request.read()?;
    let (claim, reason) = (claim(request, id, version)?, ReleaseReason::Yield);
    done(front.decide(Command::TaskRelease { claim, reason }).await?)
}

pub(super) async fn suspend(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let TaskSuspendData { id, version, actions } = request.read()?;
    if actions.is_empty() {
        return Err(ProtocolError::bad(
            "`actions` is empty: a task waits for at least one promise",
        ));
    }
    let claim = claim(request, id, version)?;
    let mut awaits = BTreeSet::new();
    for StrictObject(action) in &actions {
        let CallbackData { awaited, awaiter } = action.read("promise.register_callback")?;
        let awaited = request.id("awaited", awaited)?;
        if awaiter != claim.id.as_str() || awaited == claim.id {
            return Err(ProtocolError::bad(format!(
                "`{awaiter}` waiting for `{awaited}` is not a wait of the task `{}`",
                claim.id
            )));
        }
        if let Some(twice) = (!awaits.insert(awaited.clone())).then_some(awaited) {
            return Err(ProtocolError::bad(format!("`{twice}` is awaited twice")));
        }
    }
    let (records, logs) = (Vec::new(), Vec::new());
    match front.decide(Command::TaskSuspend { claim, records, logs, awaits }).await? {
        Reply::Suspended => Ok(ResonateAnswer::ok(json!({}))),
        // The worker creates each step again and receives its record in the answer, so nothing is
        // preloaded.
        Reply::Ready { .. } => Ok(ResonateAnswer { status: 300, data: json!({ "preload": [] }) }),
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn fulfill(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let TaskFulfillData { id, version, action: StrictObject(action) } = request.read()?;
    let claim = claim(request, id, version)?;
    let settle: PromiseSettleData = action.read("promise.settle")?;
    if settle.id != claim.id.as_str() {
        let id = &settle.id;
        return Err(ProtocolError::bad(format!(
            "the task of `{}` cannot fulfill `{id}`",
            claim.id
        )));
    }
    let (verdict, value) = settle.checked()?;
    let (records, logs) = (Vec::new(), Vec::new());
    let command = Command::TaskFulfill { claim, records, logs, verdict, value };
    match front.decide_told(command).await? {
        // Under strict Resonate rules a repetition is a conflict.
        (Reply::Promise { promise, changed: false }, true) if front.host.config.resonate_strict => {
            Err(Refusal::from(Conflict::PromiseSettled(promise.id().clone())).into())
        }
        (Reply::Promise { promise, .. }, _) => {
            Ok(ResonateAnswer::ok(json!({ "promise": wire::promise(&promise) })))
        }
        (other, _) => Err(unexpected(&other)),
    }
}

pub(super) async fn heartbeat(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let TaskHeartbeatData { pid, tasks } = request.read()?;
    let holder = holder(&pid)?;
    let item = |StrictObject(claimed): StrictObject<TaskClaimData>| {
        Ok(HeartbeatItem { claim: claim(request, claimed.id, claimed.version)?, progress: None })
    };
    let items = tasks.into_iter().map(item).collect::<Result<Vec<_>, ProtocolError>>()?;
    let command = match (items.is_empty(), request.rights.prefix()) {
        (true, None) => Command::WorkerHeartbeat { holder },
        // All claims of the worker within the rights of the token.
        (true, Some(prefix)) => {
            let held = held(front, &pid, Some(prefix)).await?;
            let item = |claim| HeartbeatItem { claim, progress: None };
            Command::TaskHeartbeat { holder, items: held.into_iter().map(item).collect() }
        }
        (false, _) => Command::TaskHeartbeat { holder, items },
    };
    match front.decide(command).await? {
        // Ended claims are not reported: the next write is refused.
        Reply::Heartbeat(_) => Ok(ResonateAnswer::ok(json!({}))),
        other => Err(unexpected(&other)),
    }
}

/// Reads the claims of a worker, with ids below `prefix` if given.
pub(super) async fn held(
    front: &Resonate,
    pid: &str,
    prefix: Option<&str>,
) -> Result<Vec<Claim>, ProtocolError> {
    let mut filter = InvocationFilter {
        holder: Some(pid.to_owned()),
        prefix: prefix.map(str::to_owned),
        limit: HELD_PAGE,
        ..InvocationFilter::default()
    };
    let mut held = Vec::new();
    loop {
        let page = front.host.store.read().list(&filter).await?;
        let claim =
            |row: &InvocationRow| Claim { id: row.task.id.clone(), version: row.task.version };
        held.extend(page.items.iter().map(claim));
        if page.next.is_none() {
            return Ok(held);
        }
        filter.after = page.next;
    }
}

pub(super) async fn halt(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let TaskIdData { id } = request.read()?;
    done(front.decide(Command::TaskHalt { id: request.id("id", id)? }).await?)
}

pub(super) async fn proceed(front: &Resonate, request: &ResonateRequest) -> OperationResult {
    let TaskIdData { id } = request.read()?;
    done(front.decide(Command::TaskContinue { id: request.id("id", id)? }).await?)
}

fn holder(pid: &str) -> Result<Holder, ProtocolError> {
    match pid {
        "" => Err(ProtocolError::bad("`pid` is empty")),
        _ if pid.len() > 512 => Err(ProtocolError::bad("`pid` is longer than 512 bytes")),
        _ => Ok(Holder::worker(pid)),
    }
}

fn claim_request(front: &Resonate, pid: &str, ttl: i64) -> Result<ClaimRequest, ProtocolError> {
    let ttl = Millis(ttl);
    Lease::check(ttl).map_err(ProtocolError::bad)?;
    let nonce = front.host.env.runtime.nonce();
    Ok(ClaimRequest { holder: holder(pid)?, nonce, ttl })
}

async fn answered(
    front: &Resonate,
    request: &ResonateRequest,
    task: &TaskReply,
    may_have: bool,
) -> OperationResult {
    let branch = task.promise.spec.tags.get(tags::BRANCH);
    let branch = branch.filter(|_| may_have && task.task.status() == TaskStatus::Acquired);
    let preload = match branch {
        Some(branch) => preload::of(front, &request.rights, branch, &task.task.id).await?,
        None => Vec::new(),
    };
    Ok(ResonateAnswer::ok(json!({
        "task": wire::task(&task.task, task.resumes),
        "promise": wire::promise(&task.promise),
        "preload": preload,
    })))
}

/// Executes a command that claims a task.
///
/// # Errors
/// The task waits for its turn or behind a limit, or a budget is spent and its promise is rejected.
async fn claimed(
    front: &Resonate,
    id: PromiseId,
    command: Command,
) -> Result<TaskReply, ProtocolError> {
    let reply = front.decide(command).await?;
    let Reply::Parked { .. } = reply else { return taken(reply) };
    let TaskReply { task, .. } = taken(front.decide(Command::TaskGet { id }).await?)?;
    let (id, status) = (task.id.clone(), task.status());
    let conflict = match status {
        TaskStatus::Fulfilled => Conflict::PromiseSettled(id),
        _ => Conflict::WrongState { id, status },
    };
    Err(Refusal::from(conflict).into())
}

fn taken(reply: Reply) -> Result<TaskReply, ProtocolError> {
    match reply {
        Reply::Task(task) => Ok(*task),
        other => Err(unexpected(&other)),
    }
}

fn done(reply: Reply) -> OperationResult {
    match reply {
        Reply::Done => Ok(ResonateAnswer::ok(json!({}))),
        other => Err(unexpected(&other)),
    }
}
