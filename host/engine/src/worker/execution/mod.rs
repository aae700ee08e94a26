//! One workflow under one claim: acquire → (warm | instantiate and replay) → poll → commit → … → fulfill, suspend or
//! release.
//!
//! The order of things is the guarantee. What the guest asks for is collected, committed with the records that say so,
//! and only then acted upon; what it is told is recorded at the place where it was told.

mod commit;
mod prepare;
mod tell;
mod wait;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    id::Digest, invocation::Seed, promise::Promise, reply::TaskReply, tags, time::Timestamp,
};

use super::{
    birth::Birth,
    claims::ActiveClaim,
    failure::{self, ExecutionError},
    recorder::Recorder,
    run_limiter::RunPermit,
    shared::Shared,
    taking::Ahead,
    warm::Warm,
    watching::Watching,
};
use crate::metrics::ClaimEnd;
use segno_guest::{Context, Event, FunctionDescription, GuestError, Stop, Workflow};

/// See the module.
pub struct Execution {
    shared: Arc<Shared>,
    held: Arc<ActiveClaim>,
    promise: Promise,
    module: Digest,
    function: FunctionDescription,
    recorder: Arc<Mutex<Recorder>>,
    instance: Box<dyn Workflow>,
    /// Events that may be told now, in this order.
    ready: VecDeque<Event>,
    /// Signals told so far.
    signals: u32,
    /// Whether the next signal may have come before anybody watched for it.
    signal_unread: bool,
    cancel_told: bool,
    watching: Watching,
    /// Given up while it waits.
    permit: Option<RunPermit>,
    birth: Birth,
}

impl Execution {
    /// Runs the workflow of this claim until it ends, waits or fails; the claim is given back in every case.
    pub async fn run(
        shared: Arc<Shared>,
        held: Arc<ActiveClaim>,
        acquired: TaskReply,
        function: FunctionDescription,
        ahead: Ahead,
    ) -> ClaimEnd {
        let claim = held.claim.clone();
        let journal_len = acquired.head.len;
        let mut recorder = None;
        let permit = shared.run_limiter.permit().await;
        let (known, kept) = (shared.clone(), held.clone());
        let prepared =
            Self::prepare(known, kept, acquired, function, ahead, permit, &mut recorder).await;
        let (stopped, stored_len) = match prepared {
            Ok(execution) => {
                recorder = Some(execution.recorder.clone());
                match execution.go(&mut Birth::Stored).await {
                    Ok(end) => return end,
                    Err(stopped) => stopped,
                }
            }
            Err(stopped) => (stopped, journal_len),
        };
        failure::give_back(&shared, &claim, stopped, stored_len, recorder.as_deref()).await
    }

    /// Goes on until there is an end; `birth` is how the invocation stands to the store. An execution that stopped
    /// before that answers why, and how long its stored journal is.
    pub async fn go(mut self, birth: &mut Birth) -> Result<ClaimEnd, (ExecutionError, u32)> {
        std::mem::swap(&mut self.birth, birth);
        let lived = self.live().await;
        std::mem::swap(&mut self.birth, birth);
        match lived {
            Ok(end) => Ok(self.end(end)),
            // The instance is gone before anything else happens.
            Err(stopped) => Err((stopped, self.stored_len())),
        }
    }

    /// Tells the guest what there is to tell, commits what it answers, and waits, until there is an end.
    async fn live(&mut self) -> Result<LiveEnd, ExecutionError> {
        loop {
            if self.held.abort.is_cancelled() {
                return Err(ExecutionError::Lost);
            }
            if self.recorder().finished().is_some() {
                return self.finish().await;
            }
            let now = self.shared.now();
            let result = self.recorder().next_result(now);
            if let Some(event) = result {
                // A result of a `run` is durable before the guest sees it.
                self.commit().await?;
                self.instance.resume(self.recorder.clone(), event).await?;
                continue;
            }
            if self.cancel_due() {
                self.cancel_told = true;
                self.ready.push_front(Event::Cancelled);
            }
            if let Some(event) = self.ready.pop_front() {
                let admitted = self.recorder().admit(event, now);
                if let Some(event) = admitted {
                    self.instance.resume(self.recorder.clone(), event).await?;
                    let is_full = self.recorder().batch().is_full();
                    if is_full {
                        self.commit().await?;
                    }
                }
                continue;
            }
            if let Some(end) = self.wait().await? {
                return Ok(end);
            }
        }
    }

    fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stored_len(&self) -> u32 {
        self.recorder().stored_len()
    }

    /// Keeps the instance of a suspended workflow for its next claim.
    fn end(self, end: LiveEnd) -> ClaimEnd {
        match end {
            LiveEnd::Finished => ClaimEnd::Finished,
            LiveEnd::Suspended => {
                let Self { shared, held, module, recorder, instance, signals, promise, .. } = self;
                let journal_len =
                    recorder.lock().unwrap_or_else(PoisonError::into_inner).stored_len();
                let version = held.claim.version;
                if !instance.is_in_the_way() {
                    shared.warm.put(
                        promise.id().clone(),
                        Warm { instance, recorder, version, journal_len, module, signals },
                    );
                    shared.show_warm();
                }
                ClaimEnd::Suspended
            }
        }
    }
}

/// How a live execution ended well.
enum LiveEnd {
    Finished,
    Suspended,
}

/// What the guest is told of its own invocation: the same in every replay.
pub fn context(promise: &Promise, at: Timestamp, seed: Seed) -> Context {
    Context {
        invocation: promise.id().as_str().to_owned(),
        parent: promise.birth.tags.get(tags::PARENT).cloned(),
        started_at_ms: u64::try_from(at.0).unwrap_or(0),
        seed: seed.0.to_vec(),
    }
}

fn stopped(stop: Stop) -> ExecutionError {
    ExecutionError::Guest(GuestError::Stopped { stop, backtrace: None })
}
