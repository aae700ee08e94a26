//! One attempt at the deployment's side. The handler continues with the notifications until it
//! waits or ends.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use async_trait::async_trait;
use bytes::Bytes;
use segno_env::{BoxFuture, Runtime as _};
use segno_restate::{
    frame::HEADER_LENGTH,
    immutable::{ErrorMessage, NotificationId, NotificationResult},
    version::ProtocolVersion,
    wire::OperationOutcome,
};
use segno_services::{ConnectError, ResponseStream};
use segno_sim::{SimRuntime, sleep};
use tokio::sync::mpsc;

use super::{
    Handler, HandlerContext, Running, TestDeployment,
    line::{Fate, is_single_of_deployment, is_single_of_host},
    lock,
    side::Side,
};

/// State shared by a handler and its attempt.
pub(super) struct Shared {
    pub attempt: Side,
    pub results: HashMap<NotificationId, NotificationResult>,
    pub waits: BTreeSet<NotificationId>,
    /// Notifications that are awaited together.
    pub all: BTreeSet<NotificationId>,
    /// A run that takes time. The attempt does not suspend before it ends.
    pub begun: Option<SlowRun>,
}

/// A run that takes time.
pub(super) struct SlowRun {
    pub over: BoxFuture<()>,
    pub name: String,
    pub id: NotificationId,
    pub outcome: OperationOutcome,
}

pub(super) struct Serving {
    deployment: Arc<TestDeployment>,
    version: ProtocolVersion,
    attempt: Arc<Mutex<Shared>>,
    running: Option<Running>,
    /// The run in progress, if any.
    slow: Option<SlowRun>,
    handler: Handler,
    requests: mpsc::Receiver<Bytes>,
    /// Frames that the host has sent.
    arriving: VecDeque<Bytes>,
    /// Frames of the attempt that are not sent yet.
    out: Bytes,
    /// Frames that arrive at the host next.
    passed: VecDeque<Passed>,
    /// Delay before which no frame arrives.
    late: Option<BoxFuture<()>>,
}

/// A frame. The number is set if the frame arrives a second time.
type Passed = (Bytes, Option<u64>);

impl Serving {
    /// Creates an attempt from the first frame.
    pub(super) fn new(
        deployment: Arc<TestDeployment>,
        version: ProtocolVersion,
        handler: Handler,
        first: &[u8],
        requests: mpsc::Receiver<Bytes>,
    ) -> Self {
        let attempt = Side::new(version);
        let (results, waits) = (HashMap::new(), BTreeSet::new());
        let all = BTreeSet::new();
        let shared = Shared { attempt, results, waits, all, begun: None };
        let mut serving = Self {
            deployment,
            version,
            attempt: Arc::new(Mutex::new(shared)),
            running: None,
            slow: None,
            handler,
            requests,
            arriving: VecDeque::new(),
            out: Bytes::new(),
            passed: VecDeque::new(),
            late: None,
        };
        serving.arrives(first);
        serving
    }

    fn arrives(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (frame, rest) = bytes.split_at(frame_length(bytes));
            self.arriving.push_back(Bytes::copy_from_slice(frame));
            bytes = rest;
        }
    }

    /// Takes a frame of the host.
    fn take(&mut self, frame: &[u8]) -> Result<(), ConnectError> {
        let is_over = lock(&self.attempt).attempt.is_over();
        let is_single = !is_over && is_single_of_host(frame, self.version);
        let (number, fate) = self.deployment.next_frame(is_single)?;
        let mut shared = lock(&self.attempt);
        // The attempt itself reports a violation.
        let first = shared.attempt.receive(frame);
        if fate == Fate::Twice && first.is_ok() && shared.attempt.receive(frame).is_ok() {
            self.deployment.line.taken_twice(number);
        }
        drop(shared);
        self.wait(fate);
        Ok(())
    }

    /// Sends the next frame of the attempt.
    fn give(&mut self) -> Result<(), ConnectError> {
        let length = frame_length(&self.out);
        let frame = self.out.split_to(length);
        let is_single = is_single_of_deployment(&frame, self.version);
        let (number, fate) = self.deployment.next_frame(is_single)?;
        self.passed.push_back((frame.clone(), None));
        if fate == Fate::Twice {
            self.passed.push_back((frame, Some(number)));
        }
        self.wait(fate);
        Ok(())
    }

    fn wait(&mut self, fate: Fate) {
        match fate {
            Fate::Late(length) => self.late = Some(Box::pin(sleep(length))),
            Fate::Vanishes => self.late = Some(Box::pin(std::future::pending())),
            Fate::Passes | Fate::Twice | Fate::Breaks => {}
        }
    }

    /// Starts the attempt. It continues independently of the host's reads, until the host drops the
    /// stream.
    pub(super) fn start(mut self) -> Box<dyn ResponseStream> {
        let (sender, frames) = mpsc::channel(64);
        let deployment = self.deployment.clone();
        let serving = async move {
            loop {
                let next = tokio::select! {
                    biased;
                    () = sender.closed() => return,
                    next = self.next() => next.transpose(),
                };
                let Some(next) = next else { return };
                let is_last = next.is_err();
                if sender.send(next).await.is_err() || is_last {
                    return;
                }
            }
        };
        SimRuntime::default().spawn("attempt", Box::pin(serving));
        Box::new(Answer { deployment, frames, read_twice: None })
    }

    /// Next frame that arrives at the host. `None` if there are no more frames.
    async fn next(&mut self) -> Result<Option<Passed>, ConnectError> {
        loop {
            if let Some(late) = &mut self.late {
                late.await;
                self.late = None;
            }
            if let Some(passed) = self.passed.pop_front() {
                return Ok(Some(passed));
            }
            if let Some(frame) = self.arriving.pop_front() {
                self.take(&frame)?;
                continue;
            }
            if self.out.is_empty() {
                self.go_on();
            }
            if !self.out.is_empty() {
                self.give()?;
                continue;
            }
            if lock(&self.attempt).attempt.is_over() {
                return Ok(None);
            }
            let has_ended = lock(&self.attempt).attempt.input_ended();
            let over = async {
                match &mut self.slow {
                    Some(slow) => (&mut slow.over).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                bytes = self.requests.recv(), if !has_ended => match bytes {
                    Some(bytes) => self.arrives(&bytes),
                    None => lock(&self.attempt).attempt.end_of_input(),
                },
                () = over => self.propose(),
            }
        }
    }

    /// Proposes the outcome of the run in progress.
    fn propose(&mut self) {
        let Some(SlowRun { name, id, outcome, .. }) = self.slow.take() else { return };
        let mut shared = lock(&self.attempt);
        let proposed = shared.attempt.propose_run(&name, &id, outcome);
        report(&mut shared.attempt, proposed);
    }

    /// Polls the handler until there is output to send, or more input is needed.
    fn go_on(&mut self) {
        loop {
            {
                let mut shared = lock(&self.attempt);
                self.out = shared.attempt.take_output();
                if !self.out.is_empty() || !shared.attempt.is_ready() {
                    return;
                }
            }
            let running = self.running.get_or_insert_with(|| {
                (self.handler)(HandlerContext {
                    shared: self.attempt.clone(),
                    deployment: self.deployment.clone(),
                })
            });
            let polled = running.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let mut shared = lock(&self.attempt);
            if let Some(begun) = shared.begun.take() {
                self.slow = Some(begun);
            }
            if !shared.attempt.is_ready() {
                continue;
            }
            if let Poll::Ready(ended) = polled {
                let outcome = match ended {
                    Ok(value) => OperationOutcome::Success(value.to_string().into_bytes().into()),
                    Err(failure) => OperationOutcome::Failure(failure),
                };
                let finished = shared.attempt.finish(outcome);
                report(&mut shared.attempt, finished);
                continue;
            }
            match shared.attempt.next_told() {
                Ok(Some((id, result))) => {
                    shared.results.insert(id, result);
                }
                Ok(None) if shared.attempt.input_ended() && self.slow.is_none() => {
                    let (waits, all) = (shared.waits.clone(), shared.all.clone());
                    let suspended = shared.attempt.suspend(&waits, &all);
                    report(&mut shared.attempt, suspended);
                }
                Ok(None) => {
                    self.out = shared.attempt.take_output();
                    return;
                }
                Err(error) => shared.attempt.fail(error),
            }
        }
    }
}

fn report(attempt: &mut Side, done: Result<(), ErrorMessage>) {
    if let Err(error) = done {
        attempt.fail(error);
    }
}

/// The host's end of an attempt.
struct Answer {
    deployment: Arc<TestDeployment>,
    frames: mpsc::Receiver<Result<Passed, ConnectError>>,
    /// Number of a repeated frame that the host read last.
    read_twice: Option<u64>,
}

#[async_trait]
impl ResponseStream for Answer {
    async fn next(&mut self) -> Result<Option<Bytes>, ConnectError> {
        if let Some(number) = self.read_twice.take() {
            self.deployment.line.taken_twice(number);
        }
        let Some(passed) = self.frames.recv().await else { return Ok(None) };
        let (frame, again) = passed?;
        self.read_twice = again;
        Ok(Some(frame))
    }
}

/// Length of the first frame, in bytes.
fn frame_length(bytes: &[u8]) -> usize {
    let length = bytes.get(4..HEADER_LENGTH).and_then(|length| length.try_into().ok());
    let length = length.map_or(0, u32::from_be_bytes) as usize;
    (HEADER_LENGTH + length).min(bytes.len())
}
