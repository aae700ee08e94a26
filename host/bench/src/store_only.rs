//! Measures the throughput of a store without executions: the records of an ended workflow,
//! appended under claims of similar workflows.

use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use segno_core::{
    command::{ClaimRequest, Command},
    id::{Claim, Digest, Holder, HostName, PromiseId, Version},
    invocation::Record,
    reply::Reply,
    time::{Millis, Timestamp},
};
use serde_json::Value as Json;
use tokio::task::JoinSet;

use super::{
    harness::{Harness, new},
    measure::{MeasuredTime, Stopwatch},
};

/// Duration of the claims, longer than any measurement.
const LEASE: Millis = Millis(600_000);
/// Number of claims per commit.
const PAGE: usize = 256;

/// The records of a model workflow.
pub(crate) struct StoreOnly {
    function: &'static str,
    input: Json,
    module: Digest,
    /// The first record of the journal.
    first: Record,
    /// The records of each step.
    steps: Vec<Vec<Record>>,
}

impl StoreOnly {
    /// Reads the records of a workflow that has ended.
    pub(crate) async fn of(
        harness: &Harness,
        id: &PromiseId,
        function: &'static str,
        input: Json,
        module: Digest,
    ) -> anyhow::Result<Self> {
        let mut records = harness.host.store.read().journal(id, 0, u32::MAX).await?;
        records.pop().context("the journal is empty")?;
        let steps = records.split_off(1);
        ensure!(steps.len() % 2 == 0, "a step is a command and its result");
        let steps = steps.chunks_exact(2).map(<[Record]>::to_vec).collect();
        let first = records.pop().context("the journal is empty")?;
        Ok(Self { function, input, module, first, steps })
    }

    /// Creates `count` claims, then appends the steps under each of them: concurrently across
    /// journals, in order within a journal. Only the appending is measured.
    pub(crate) async fn append(
        &self,
        harness: &Harness,
        name: &str,
        count: u32,
    ) -> anyhow::Result<MeasuredTime> {
        let claims = self.claims(harness, name, count).await?;
        let stopwatch = Stopwatch::start();
        let mut appending = JoinSet::new();
        let steps = Arc::new(self.steps.clone());
        for claim in claims {
            let (steps, store) = (steps.clone(), harness.host.store.clone());
            appending.spawn(async move {
                for records in steps.iter().cloned() {
                    let (logs, actions) = (Vec::new(), Vec::new());
                    let fence = Command::TaskFence { claim: claim.clone(), records, logs, actions };
                    match store.execute(vec![fence]).await?.pop() {
                        Some(Reply::Fenced { .. }) => {}
                        other => bail!("a step was not stored: {other:?}"),
                    }
                }
                anyhow::Ok(())
            });
        }
        while let Some(appended) = appending.join_next().await {
            appended??;
        }
        Ok(stopwatch.passed())
    }

    async fn claims(
        &self,
        harness: &Harness,
        name: &str,
        count: u32,
    ) -> anyhow::Result<Vec<Claim>> {
        let ids: Vec<_> =
            (0..count).map(|number| PromiseId::new(format!("{name}-{number}"))).collect();
        for page in ids.chunks(PAGE) {
            let begin = |(nonce, id): (u64, &PromiseId)| Command::TaskBegin {
                new: new(id.clone(), self.function, &self.input),
                request: ClaimRequest {
                    holder: Holder { node: HostName::from("nobody"), incarnation: 1 },
                    nonce,
                    ttl: LEASE,
                },
                module: self.module,
                at: Timestamp(0),
                born: Version::default(),
                first: vec![Command::TaskFence {
                    claim: Claim::first(id.clone(), Version::default()),
                    records: vec![self.first.clone()],
                    logs: Vec::new(),
                    actions: Vec::new(),
                }],
            };
            let commands = (0..).zip(page).map(begin).collect();
            for reply in harness.host.store.execute(commands).await? {
                let Reply::Begun { first: Some(_), .. } = reply else {
                    bail!("a claim was not made: {reply:?}");
                };
            }
        }
        Ok(ids.into_iter().map(|id| Claim::first(id, Version::default())).collect())
    }
}
