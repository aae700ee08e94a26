//! Operations on tasks.

use std::collections::BTreeSet;

use segno_core::{
    command::{Command, FenceAction, FenceOperation, HeartbeatItem},
    id::{Claim, CommandIndex},
    promise::{Promise, ReleaseReason, TaskStatus},
    reply::{Conflict, FenceResult, Refusal, Reply, TaskReply},
    tags,
    time::Timestamp,
};
use serde_json::{Value as Json, json};

use super::{
    HostModel, ModelAnswer, ModelRefusal, ModelSuccess,
    fields::{RequestFields, id},
    holder, promises, wire,
};

pub(super) fn get(model: &mut HostModel, data: RequestFields<'_>, now: Timestamp) -> ModelAnswer {
    let id = id("id", data.text("id")?)?;
    let task = task(model.ask(&Command::TaskGet { id }, now)?);
    Ok(ModelSuccess::new("found", json!({ "task": wire::task(&model.state, &task.task) })))
}

pub(super) fn create(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    data.text("pid")?;
    data.number("ttl")?;
    let (kind, action) = action(data.object("action")?)?;
    let request = model.claim_request(data)?;
    wanted(kind, "promise.create")?;
    let new = promises::new(action.object("data")?)?;
    if tags::target(&new.tags).is_none() {
        return Err(ModelRefusal::bad("no-target", "needs the tag resonate:target"));
    }
    if new.tags.contains_key("delay") {
        return Err(ModelRefusal::bad("delayed", "cannot have the tag resonate:delay"));
    }
    let task = task(model.ask(&Command::TaskCreate { new, request }, now)?);
    let how = match (task.created, task.task.status()) {
        (true, TaskStatus::Acquired) => "made",
        (true, _) => "born-timed-out",
        (false, TaskStatus::Acquired) => "taken",
        (false, _) => "was-fulfilled",
    };
    // A new task has no children, and a worker may receive fewer steps than exist.
    let preload = if task.created { Vec::new() } else { preload(model, &task, now) };
    Ok(shown(model, how, &task, preload))
}

pub(super) fn acquire(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let claim = claim(data)?;
    let request = model.claim_request(data)?;
    let first = claim.version.0 == 0;
    let command = Command::TaskAcquire { claim, request, stall_limit: None };
    let task = task(model.ask(&command, now)?);
    let preload = if first { Vec::new() } else { preload(model, &task, now) };
    Ok(shown(model, if preload.is_empty() { "taken" } else { "taken-with-steps" }, &task, preload))
}

pub(super) fn release(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let command = Command::TaskRelease { claim: claim(data)?, reason: ReleaseReason::Yield };
    model.ask(&command, now)?;
    Ok(ModelSuccess::new("done", json!({})))
}

pub(super) fn suspend(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let claim = claim(data)?;
    let actions = data.list("actions")?;
    if actions.is_empty() {
        return Err(ModelRefusal::bad("no-actions", "`actions` is empty"));
    }
    let mut awaits = BTreeSet::new();
    for one in actions {
        let (kind, one) = action(RequestFields::of("actions", one)?)?;
        wanted(kind, "promise.register_callback")?;
        let wait = one.object("data")?;
        let (awaited, awaiter) = (wait.text("awaited")?, wait.text("awaiter")?);
        let awaited = id("awaited", awaited)?;
        if awaiter != claim.id.as_str() || awaited == claim.id {
            return Err(ModelRefusal::bad("stranger", "is not a wait of the task"));
        }
        if !awaits.insert(awaited) {
            return Err(ModelRefusal::bad("twice", "is awaited twice"));
        }
    }
    let (records, logs) = (Vec::new(), Vec::new());
    match model.ask(&Command::TaskSuspend { claim, records, logs, awaits }, now)? {
        Reply::Suspended => Ok(ModelSuccess::new("suspended", json!({}))),
        Reply::Ready { .. } => {
            Ok(ModelSuccess { status: 300, ..ModelSuccess::new("ready", json!({ "preload": [] })) })
        }
        other => panic!("{other:?}"),
    }
}

pub(super) fn fulfill(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let claim = claim(data)?;
    let (kind, settle) = action(data.object("action")?)?;
    wanted(kind, "promise.settle")?;
    let settle = settle.object("data")?;
    let named = settle.text("id")?;
    let read = promises::verdict(settle);
    if matches!(&read, Err(no) if no.why == "shape") {
        return Err(read.expect_err("just seen"));
    }
    if named != claim.id.as_str() {
        return Err(ModelRefusal::bad("stranger", "cannot fulfill"));
    }
    let (verdict, value) = read?;
    let (records, logs) = (Vec::new(), Vec::new());
    let command = Command::TaskFulfill { claim, records, logs, verdict, value };
    let (promise, changed) = promises::promise(model.ask(&command, now)?);
    if !changed && model.is_strict() {
        let id = promise.id().clone();
        return Err(Refusal::from(Conflict::PromiseSettled(id)).into());
    }
    Ok(promises::shown(if changed { "done" } else { "repeated" }, &promise))
}

pub(super) fn fence(model: &mut HostModel, data: RequestFields<'_>, now: Timestamp) -> ModelAnswer {
    let claim = claim(data)?;
    let (kind, inner) = action(data.object("action")?)?;
    let inner = || inner.object("data");
    let act = match kind {
        "promise.create" => FenceOperation::CreateLoose { new: promises::new(inner()?)? },
        "promise.settle" => {
            let (name, (verdict, value)) = (inner()?.text("id")?, promises::verdict(inner()?)?);
            FenceOperation::Settle { id: id("id", name)?, verdict, value }
        }
        _ => return Err(ModelRefusal::bad("action", "cannot be done under a claim")),
    };
    if act.promise() == Some(&claim.id) {
        return Err(ModelRefusal::bad("itself", "cannot be about"));
    }
    let actions = vec![FenceAction { index: CommandIndex(0), act }];
    let (records, logs) = (Vec::new(), Vec::new());
    let command = Command::TaskFence { claim, records, logs, actions };
    let Reply::Fenced { mut outcomes, .. } = model.ask(&command, now)? else { panic!("no fence") };
    let (how, status, answer) = match outcomes.pop().expect("one action").1 {
        Ok(FenceResult::Promise { promise, changed, .. }) => {
            let how = match kind {
                "promise.create" => promises::made(&promise, changed),
                _ => promises::settled(&promise, changed),
            };
            (how, 200, json!({ "promise": wire::promise(&promise) }))
        }
        Ok(FenceResult::Held(_) | FenceResult::Done) => panic!("an action without a promise"),
        Err(refusal) => {
            let no = ModelRefusal::from(refusal);
            (no.why, no.status, json!(no.says))
        }
    };
    let head = json!({ "corrId": "c", "status": status, "version": "2026-04-01" });
    let action = json!({ "kind": kind, "head": head, "data": answer });
    Ok(ModelSuccess::new(how, json!({ "action": action, "preload": [] })))
}

pub(super) fn heartbeat(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let (pid, tasks) = (data.text("pid")?, data.may_list("tasks")?);
    let mut items = Vec::new();
    for task in tasks {
        let task = RequestFields::of("tasks", task)?;
        task.text("id")?;
        items.push(HeartbeatItem { claim: claim(task)?, progress: None });
    }
    let holder = holder(pid)?;
    let (how, command) = match items.is_empty() {
        true => ("all", Command::WorkerHeartbeat { holder }),
        false => ("named", Command::TaskHeartbeat { holder, items }),
    };
    model.ask(&command, now)?;
    Ok(ModelSuccess::new(how, json!({})))
}

pub(super) fn halt(model: &mut HostModel, data: RequestFields<'_>, now: Timestamp) -> ModelAnswer {
    let id = id("id", data.text("id")?)?;
    let before = model.state.task(&id).map(|task| task.status());
    model.ask(&Command::TaskHalt { id }, now)?;
    let again = before == Some(TaskStatus::Halted);
    Ok(ModelSuccess::new(if again { "was-halted" } else { "done" }, json!({})))
}

pub(super) fn proceed(
    model: &mut HostModel,
    data: RequestFields<'_>,
    now: Timestamp,
) -> ModelAnswer {
    let id = id("id", data.text("id")?)?;
    model.ask(&Command::TaskContinue { id }, now)?;
    Ok(ModelSuccess::new("done", json!({})))
}

fn claim(data: RequestFields<'_>) -> Result<Claim, ModelRefusal> {
    let (name, version) = (data.text("id")?, data.version()?);
    Ok(Claim { id: id("id", name)?, version })
}

fn action<'a>(action: RequestFields<'a>) -> Result<(&'a str, RequestFields<'a>), ModelRefusal> {
    Ok((action.text("kind")?, action))
}

fn wanted(kind: &str, wanted: &'static str) -> Result<(), ModelRefusal> {
    match kind == wanted {
        true => Ok(()),
        false => Err(ModelRefusal::bad("action", format!("where {wanted} belongs"))),
    }
}

/// Returns the steps of the branch of a task that was just acquired, in their current state.
fn preload(model: &mut HostModel, task: &TaskReply, now: Timestamp) -> Vec<Json> {
    let Some(branch) = task.promise.spec.tags.get("branch") else { return Vec::new() };
    if task.task.status() != TaskStatus::Acquired {
        return Vec::new();
    }
    let of_branch = |promise: &&Promise| {
        promise.spec.tags.get("branch") == Some(branch) && promise.spec.made_by.is_none()
    };
    let steps: Vec<_> = model.state.promises().filter(of_branch).map(|p| p.id().clone()).collect();
    super::overview::carry_out_deadlines(model, &steps, now);
    let others = steps.iter().filter(|id| **id != task.task.id);
    others.filter_map(|id| model.state.promise(id)).map(wire::promise).collect()
}

fn task(reply: Reply) -> TaskReply {
    match reply {
        Reply::Task(task) => *task,
        other => panic!("{other:?} shows no task"),
    }
}

fn shown(
    model: &HostModel,
    how: &'static str,
    task: &TaskReply,
    preload: Vec<Json>,
) -> ModelSuccess {
    let data = json!({
        "task": wire::task(&model.state, &task.task),
        "promise": wire::promise(&task.promise),
        "preload": preload,
    });
    ModelSuccess::new(how, data)
}
