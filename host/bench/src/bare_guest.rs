//! Runs the guest without a host: no journal, no store, no claims. The remaining cost is that of
//! wasm.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::bail;
use async_trait::async_trait;
use segno_core::id::Digest;
use segno_guest::{
    ActivityContext, ActivityHost, Completion, Context, Event, Failure, GuestCommand, GuestJournal,
    Guests as _, HttpRequest, HttpResponse, JournalAnswer, JournalCall, Level, Outcome, Payload,
    RunAnswer, StopReason, Wasm, Workflow,
};
use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

use super::{
    baseline::{GroupedLog, LogWriter},
    context::BenchContext,
    measure::{MeasuredTime, Stopwatch},
};

/// A journal that answers every request immediately and keeps only the next event.
struct BareJournal {
    commands: u32,
    /// True if steps are executed instead of being answered from records.
    execute: bool,
    completed: Option<Completion>,
    finished: bool,
}

impl GuestJournal for BareJournal {
    fn ask(&mut self, ask: JournalCall) -> Result<JournalAnswer, StopReason> {
        let index = self.commands;
        Ok(match ask {
            JournalCall::Now => JournalAnswer::Now(0),
            JournalCall::Log { .. } | JournalCall::Forget { .. } => JournalAnswer::Done,
            JournalCall::RunDone { command, outcome } => {
                self.completed = Some(Completion { command, outcome });
                JournalAnswer::Done
            }
            JournalCall::Finish { .. } => {
                self.finished = true;
                JournalAnswer::Done
            }
            JournalCall::Command(GuestCommand::Run(_)) => {
                self.commands += 1;
                JournalAnswer::Run(if self.execute {
                    RunAnswer::Execute(index)
                } else {
                    RunAnswer::Recorded(index)
                })
            }
            JournalCall::Command(GuestCommand::Promise(promise)) => {
                self.commands += 1;
                JournalAnswer::Promise(index, promise.name.unwrap_or_default())
            }
            JournalCall::Command(_) => {
                self.commands += 1;
                JournalAnswer::Command(index)
            }
        })
    }
}

/// A workflow instance with its bare journal.
pub(crate) struct BareGuest {
    instance: Box<dyn Workflow>,
    journal: Arc<Mutex<BareJournal>>,
}

impl BareGuest {
    /// Starts `function`. With `execute`, steps are executed; otherwise they are answered with a
    /// recorded result.
    pub(crate) async fn start(
        context: &BenchContext,
        function: &str,
        input: &Json,
        execute: bool,
    ) -> anyhow::Result<Self> {
        Self::of(&context.wasm, context.digest, function, input, execute).await
    }

    /// Like [`BareGuest::start`], for a function of any module.
    pub(crate) async fn of(
        wasm: &Wasm,
        module: Digest,
        function: &str,
        input: &Json,
        execute: bool,
    ) -> anyhow::Result<Self> {
        let mut instance = wasm.instantiate(module, None).await?;
        let journal = Arc::new(Mutex::new(BareJournal {
            commands: 0,
            execute,
            completed: None,
            finished: false,
        }));
        let context = Context {
            invocation: "bare".to_owned(),
            parent: None,
            started_at_ms: 0,
            seed: vec![0; 32],
        };
        instance
            .start(journal.clone(), function, Payload::Json(input.to_string()), context)
            .await?;
        Ok(Self { instance, journal })
    }

    /// Delivers step results until the workflow ends or waits for something else.
    pub(crate) async fn steps(&mut self, result: &str) -> anyhow::Result<()> {
        self.steps_logged(result, None).await
    }

    /// Like [`BareGuest::steps`]; with a log, each result is delivered after a record of `bytes`
    /// bytes is synced, and the end takes another record.
    pub(crate) async fn steps_logged(
        &mut self,
        result: &str,
        log: Option<(LogWriter, usize)>,
    ) -> anyhow::Result<()> {
        loop {
            if let Some((log, bytes)) = &log {
                log.append(*bytes).await?;
            }
            let (completed, finished, commands) = {
                let mut bare = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
                (bare.completed.take(), bare.finished, bare.commands)
            };
            if finished {
                return Ok(());
            }
            let Some(command) = commands.checked_sub(1) else {
                bail!("the guest issued no command")
            };
            let remembered = || Completion {
                command,
                outcome: Outcome::Success(Payload::Json(result.to_owned())),
            };
            let event = Event::Completed(completed.unwrap_or_else(remembered));
            self.instance.resume(self.journal.clone(), event).await?;
        }
    }

    /// Completes the last command with `null`.
    pub(crate) async fn turn(&mut self) -> anyhow::Result<()> {
        self.step("null").await
    }

    /// Completes the last command with this result.
    pub(crate) async fn step(&mut self, result: &str) -> anyhow::Result<()> {
        let command =
            self.journal.lock().unwrap_or_else(PoisonError::into_inner).commands.saturating_sub(1);
        let outcome = Outcome::Success(Payload::Json(result.to_owned()));
        self.instance
            .resume(self.journal.clone(), Event::Completed(Completion { command, outcome }))
            .await?;
        Ok(())
    }
}

/// Runs workflows of equal length concurrently, on all processors. With a log, each step waits
/// until its record is synced.
pub(crate) async fn crowd(
    context: &BenchContext,
    workflows: u32,
    steps: u32,
    log: Option<(&GroupedLog, usize)>,
) -> anyhow::Result<()> {
    let input = json!({ "steps": steps, "result_bytes": 22 });
    let mut ready = JoinSet::new();
    for _ in 0..workflows {
        let (wasm, digest, input) = (context.wasm.clone(), context.digest, input.clone());
        let log = log.map(|(log, record)| (log.writer(), record));
        ready.spawn(async move {
            let mut straight = BareGuest::of(&wasm, digest, "steps", &input, true).await?;
            straight.steps_logged("", log).await
        });
    }
    while let Some(ended) = ready.join_next().await {
        ended??;
    }
    Ok(())
}

/// Runs `count` activities, one after the other.
pub(crate) async fn activities(context: &BenchContext, count: u32) -> anyhow::Result<MeasuredTime> {
    let host: Arc<dyn ActivityHost> = Arc::new(NoActivityHost);
    let stopwatch = Stopwatch::start();
    for number in 0..count {
        let activity = ActivityContext {
            invocation: "bare".to_owned(),
            idempotency_key: "bare".to_owned(),
            fence_token: 1,
            attempt: 1,
            last_progress: None,
            started_at_ms: 0,
            deadline_ms: None,
        };
        let input = Payload::Json(number.to_string());
        let performed = context
            .wasm
            .perform(context.digest, "bench", "leaf", input, activity, host.clone())
            .await?;
        if performed != Outcome::Success(Payload::Json(number.to_string())) {
            bail!("an activity answered {performed:?}");
        }
    }
    Ok(stopwatch.passed())
}

struct NoActivityHost;

#[async_trait]
impl ActivityHost for NoActivityHost {
    async fn heartbeat(&self, _progress: Option<Payload>) -> bool {
        false
    }

    async fn http(&self, _request: HttpRequest) -> Result<HttpResponse, Failure> {
        Err(Failure {
            code: 403,
            message: "there is no way out of a benchmark".to_owned(),
            details: None,
        })
    }

    fn log(&self, _level: Level, _message: String) {}
}
