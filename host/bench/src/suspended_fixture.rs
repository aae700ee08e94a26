//! Creates any number of suspended workflows: one is run until it waits, and the others are written
//! as copies of it.

use anyhow::{Context as _, ensure};
use segno_core::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation},
    id::{Claim, CommandIndex, Holder, HostName, PromiseId, Version},
    invocation::{Record, RecordBody},
    promise::{NewPromise, Promise},
    reply::Reply,
    time::{Millis, Timestamp},
    value::{Payload, Tags},
};
use segno_engine::values;
use serde_json::json;

use super::harness::Harness;

/// Number of workflows per submission.
const PAGE: u32 = 256;
/// Number of steps of a long history per submission.
const LONG_PAGE: u32 = 128;
/// Default number of completed steps per workflow. Each takes two records, in addition to `started`
/// and the promise.
const STEPS: u32 = 2;
/// Name of the promise that each workflow awaits.
const AWAITED: &str = "turn-0";

/// Id of the workflow with this number.
pub(crate) fn id(number: u32) -> PromiseId {
    PromiseId::new(format!("sleeper-{number}"))
}

/// Id of the promise that a suspended workflow awaits.
pub(crate) fn awaited(sleeper: &str) -> String {
    PromiseId::from(sleeper).named(AWAITED).as_str().to_owned()
}

/// Writes `count` suspended workflows.
pub(crate) async fn put(harness: &Harness, count: u32) -> anyhow::Result<()> {
    put_of(harness, count, STEPS).await
}

/// Writes `count` suspended workflows with `steps` completed steps each.
pub(crate) async fn put_of(harness: &Harness, count: u32, steps: u32) -> anyhow::Result<()> {
    let model = SuspendedFixture::run(harness, steps).await?;
    let mut numbers = 0..count;
    loop {
        let page: Vec<u32> = numbers.by_ref().take(PAGE as usize).collect();
        if page.is_empty() {
            return Ok(());
        }
        let commands = page.into_iter().flat_map(|number| model.commands(&id(number))).collect();
        execute(harness, commands).await?;
    }
}

/// Writes a suspended workflow with a long history: `steps` steps before its first wait.
pub(crate) async fn put_long(
    harness: &Harness,
    id: &PromiseId,
    steps: u32,
    turns: u32,
) -> anyhow::Result<()> {
    let model = SuspendedFixture::run(harness, STEPS).await?;
    let [started, asked, told, .., waits] = model.records.as_slice() else {
        anyhow::bail!("the model has a step and a wait");
    };
    let input = json!({ "steps": steps, "turns": turns }).to_string();
    let mut started = started.clone();
    if let RecordBody::Started { input: recorded, .. } = &mut started.body {
        *recorded = Payload::Json(input.as_str().into());
    }
    let pair = |step: u32| {
        let (mut asked, mut told) = (asked.clone(), told.clone());
        (asked.seq, told.seq) = (1 + 2 * step, 2 + 2 * step);
        // All instants equal the last one: the model's differ, and time must not go back between
        // steps.
        (asked.at, told.at) = (waits.at, waits.at);
        renumber(&mut asked, step);
        renumber(&mut told, step);
        [asked, told]
    };
    let mut waits = Record { seq: 1 + 2 * steps, ..waits.clone() };
    renumber(&mut waits, steps);

    let claim = Claim { id: id.clone(), version: Version(1) };
    let fence = |records: Vec<Record>, actions| Command::TaskFence {
        claim: claim.clone(),
        records,
        logs: Vec::new(),
        actions,
    };
    let holder = Holder { node: HostName::from("bench"), incarnation: 1 };
    let request = ClaimRequest { holder, nonce: 0, ttl: Millis::seconds(3_600) };
    let param = values::param("turns", &segno_guest::Payload::Json(input), Tags::new());
    let new = NewPromise { param, ..model.like(&model.workflow, id) };
    execute(harness, vec![Command::TaskCreate { new, request }, fence(vec![started], Vec::new())])
        .await?;
    for first in (0..steps).step_by(LONG_PAGE as usize) {
        let page = first..steps.min(first + LONG_PAGE);
        execute(harness, vec![fence(page.flat_map(pair).collect(), Vec::new())]).await?;
    }
    let act = FenceOperation::Create { new: model.like(&model.awaited, id), request: None };
    let actions = vec![FenceAction { index: CommandIndex(steps), act }];
    let awaits = [id.named(AWAITED)].into();
    let (records, logs) = (Vec::new(), Vec::new());
    let suspend = Command::TaskSuspend { claim: claim.clone(), records, logs, awaits };
    execute(harness, vec![fence(vec![waits], actions), suspend]).await
}

/// Changes the command index of a record.
fn renumber(record: &mut Record, command: u32) {
    if let RecordBody::Command { index, .. } | RecordBody::Notified { index, .. } = &mut record.body
    {
        *index = CommandIndex(command);
    }
}

async fn execute(harness: &Harness, commands: Vec<Command>) -> anyhow::Result<()> {
    for reply in harness.host.store.execute(commands).await? {
        ensure!(
            !matches!(reply, Reply::Refused(_) | Reply::Ready { .. }),
            "a workflow cannot be put to sleep: {reply:?}"
        );
    }
    Ok(())
}

/// The records of one suspended workflow.
struct SuspendedFixture {
    workflow: Promise,
    awaited: Promise,
    records: Vec<Record>,
    index: CommandIndex,
}

impl SuspendedFixture {
    async fn run(harness: &Harness, steps: u32) -> anyhow::Result<Self> {
        let id = PromiseId::from("model");
        let input = json!({ "steps": steps, "turns": 1 });
        harness.create(vec![(id.clone(), input)], "turns").await?;
        harness.suspended(std::slice::from_ref(&id)).await?;
        let store = &harness.host.store;
        let records = store.read().journal(&id, 0, u32::MAX).await?;
        let index = match records.last().map(|record| &record.body) {
            Some(RecordBody::Command { index, .. }) => *index,
            other => anyhow::bail!("a workflow that waits ends with its promise, not {other:?}"),
        };
        let promise = async |id: PromiseId| -> anyhow::Result<Promise> {
            Ok(store.read().promise(&id).await?.context("it was made")?.promise)
        };
        let awaited = promise(id.named(AWAITED)).await?;
        Ok(Self { workflow: promise(id).await?, awaited, records, index })
    }

    /// The commands that create another such workflow and suspend it.
    fn commands(&self, id: &PromiseId) -> [Command; 3] {
        let claim = Claim { id: id.clone(), version: Version(1) };
        let holder = Holder { node: HostName::from("bench"), incarnation: 1 };
        let request = ClaimRequest { holder, nonce: 0, ttl: Millis::seconds(60) };
        let act = FenceOperation::Create { new: self.like(&self.awaited, id), request: None };
        [
            Command::TaskCreate { new: self.like(&self.workflow, id), request },
            Command::TaskFence {
                claim: claim.clone(),
                records: self.records.clone(),
                logs: Vec::new(),
                actions: vec![FenceAction { index: self.index, act }],
            },
            Command::TaskSuspend {
                claim,
                records: Vec::new(),
                logs: Vec::new(),
                awaits: [id.named(AWAITED)].into(),
            },
        ]
    }

    /// A promise like the model's, with `id` in place of the model's id.
    fn like(&self, promise: &Promise, id: &PromiseId) -> NewPromise {
        let model = self.workflow.id();
        let tag = |(name, value): (&String, &String)| {
            let value = if value == model.as_str() { id.as_str() } else { value };
            (name.clone(), value.to_owned())
        };
        let own = if promise.id() == model { id.clone() } else { id.named(AWAITED) };
        NewPromise {
            id: own,
            param: promise.spec.param.clone(),
            tags: promise.spec.tags.iter().map(tag).collect::<Tags>(),
            timeout_at: Timestamp::NEVER,
        }
    }
}
