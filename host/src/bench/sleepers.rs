//! Suspended workflows in any number: one is run until it waits, the others are written as it was.

use anyhow::{Context as _, ensure};
use segno_core::{
    command::{Command, FenceAct, FenceAction, Hold},
    id::{Claim, CommandIndex, Holder, NodeName, PromiseId, Version},
    invocation::{Record, RecordBody},
    promise::{NewPromise, Promise},
    reply::Reply,
    time::{Millis, Timestamp},
    value::Tags,
};
use serde_json::json;

use super::bed::Bed;

/// Written in one submission.
const PAGE: u32 = 256;
/// The steps that each has behind it: two records each, beside `started` and the promise it waits for.
const STEPS: u32 = 2;
/// The name of the promise each waits for.
const AWAITED: &str = "turn-0";

/// The workflow with this number.
pub fn id(number: u32) -> PromiseId {
    PromiseId::new(format!("sleeper-{number}"))
}

/// The promise that a sleeper waits for.
pub fn awaited(sleeper: &str) -> String {
    PromiseId::from(sleeper).named(AWAITED).as_str().to_owned()
}

/// Puts `count` of them.
pub async fn put(bed: &Bed, count: u32) -> anyhow::Result<()> {
    let model = Model::run(bed).await?;
    let mut numbers = 0..count;
    loop {
        let page: Vec<u32> = numbers.by_ref().take(PAGE as usize).collect();
        if page.is_empty() {
            return Ok(());
        }
        let commands = page.into_iter().flat_map(|number| model.commands(&id(number))).collect();
        for reply in bed.host.store.execute(commands).await? {
            ensure!(
                !matches!(reply, Reply::Refused(_) | Reply::Ready { .. }),
                "a workflow cannot be put to sleep: {reply:?}"
            );
        }
    }
}

/// What one of them looks like.
struct Model {
    workflow: Promise,
    awaited: Promise,
    records: Vec<Record>,
    index: CommandIndex,
}

impl Model {
    async fn run(bed: &Bed) -> anyhow::Result<Self> {
        let id = PromiseId::from("model");
        let input = json!({ "steps": STEPS, "turns": 1 });
        bed.create(vec![(id.clone(), input)], "turns").await?;
        bed.suspended(std::slice::from_ref(&id)).await?;
        let store = &bed.host.store;
        let records = store.journal(&id, 0, u32::MAX).await?;
        let index = match records.last().map(|record| &record.body) {
            Some(RecordBody::Command { index, .. }) => *index,
            other => anyhow::bail!("a workflow that waits ends with its promise, not {other:?}"),
        };
        let promise = async |id: PromiseId| -> anyhow::Result<Promise> {
            Ok(store.promise(&id).await?.context("it was made")?.promise)
        };
        let awaited = promise(id.named(AWAITED)).await?;
        Ok(Self { workflow: promise(id).await?, awaited, records, index })
    }

    /// What makes another one, and puts it to sleep.
    fn commands(&self, id: &PromiseId) -> [Command; 3] {
        let claim = Claim { id: id.clone(), version: Version(1) };
        let holder = Holder { node: NodeName::from("bench"), incarnation: 1 };
        let hold = Hold { holder, nonce: 0, ttl: Millis::seconds(60) };
        let act = FenceAct::Create { new: self.like(&self.awaited, id), hold: None };
        [
            Command::TaskCreate { new: self.like(&self.workflow, id), hold },
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

    /// A promise of the model as `id` has it.
    fn like(&self, promise: &Promise, id: &PromiseId) -> NewPromise {
        let model = self.workflow.id();
        let tag = |(name, value): (&String, &String)| {
            let value = if value == model.as_str() { id.as_str() } else { value };
            (name.clone(), value.to_owned())
        };
        let own = if promise.id() == model { id.clone() } else { id.named(AWAITED) };
        NewPromise {
            id: own,
            param: promise.birth.param.clone(),
            tags: promise.birth.tags.iter().map(tag).collect::<Tags>(),
            timeout_at: Timestamp::NEVER,
        }
    }
}
