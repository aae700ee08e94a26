//! One attempt at the deployment's side: the handler goes on with what came, until it waits or ends.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use async_trait::async_trait;
use bytes::Bytes;
use segno::services::{ConnectError, Incoming};
use segno_restate::{
    deployment::{Attempt, AttemptError},
    frame::HEADER_LENGTH,
    immutable::{Combinator, Future as Wait, NotificationId, NotificationResult},
    version::ProtocolVersion,
    wire::Outcome,
};
use tokio::sync::mpsc;

use super::{Handler, HandlerContext, Running, TestDeployment, lock};

/// What a handler and its attempt share.
pub struct Shared {
    pub attempt: Attempt,
    pub results: HashMap<NotificationId, NotificationResult>,
    pub waits: BTreeSet<NotificationId>,
}

impl Shared {
    pub fn new(version: ProtocolVersion) -> Self {
        Self { attempt: Attempt::new(version), results: HashMap::new(), waits: BTreeSet::new() }
    }
}

/// One attempt.
pub struct Serving {
    pub deployment: Arc<TestDeployment>,
    pub attempt: Arc<Mutex<Shared>>,
    pub running: Option<Running>,
    pub handler: Handler,
    pub requests: mpsc::Receiver<Bytes>,
    pub out: Bytes,
}

impl Serving {
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<(), ConnectError> {
        while !bytes.is_empty() {
            self.deployment.next_frame()?;
            let (frame, rest) = bytes.split_at(frame_length(bytes));
            let _ = lock(&self.attempt).attempt.receive(frame);
            bytes = rest;
        }
        Ok(())
    }

    /// Goes on until there is something to send, or more has to come.
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
            if !shared.attempt.is_ready() {
                continue;
            }
            if let Poll::Ready(ended) = polled {
                let outcome = match ended {
                    Ok(value) => Outcome::Success(value.to_string().into_bytes().into()),
                    Err(failure) => Outcome::Failure(failure),
                };
                let finished = shared.attempt.finish(outcome);
                report(&mut shared.attempt, finished);
                continue;
            }
            match shared.attempt.next_notification() {
                Ok(Some(told)) => {
                    shared.results.insert(told.id, told.result);
                }
                Ok(None) if shared.attempt.input_ended() => {
                    let mut wait = Wait::of(Combinator::FirstCompleted);
                    shared.waits.clone().into_iter().for_each(|id| wait.push(id));
                    wait.push(NotificationId::Signal(1));
                    let suspended = shared.attempt.suspend(wait);
                    report(&mut shared.attempt, suspended);
                }
                Ok(None) => {
                    self.out = shared.attempt.take_output();
                    return;
                }
                Err(error) => shared.attempt.fail(error.to_message()),
            }
        }
    }
}

fn report(attempt: &mut Attempt, done: Result<(), AttemptError>) {
    if let Err(error) = done {
        attempt.fail(error.to_message());
    }
}

#[async_trait]
impl Incoming for Serving {
    async fn next(&mut self) -> Result<Option<Bytes>, ConnectError> {
        loop {
            if self.out.is_empty() {
                self.go_on();
            }
            if !self.out.is_empty() {
                let length = frame_length(&self.out);
                let frame = self.out.split_to(length);
                self.deployment.next_frame()?;
                return Ok(Some(frame));
            }
            if lock(&self.attempt).attempt.is_over() {
                return Ok(None);
            }
            match self.requests.recv().await {
                Some(bytes) => self.take(&bytes)?,
                None => drop(lock(&self.attempt).attempt.end_of_input()),
            }
        }
    }
}

/// The length of the first frame.
fn frame_length(bytes: &[u8]) -> usize {
    let length = bytes.get(4..HEADER_LENGTH).and_then(|length| length.try_into().ok());
    let length = length.map_or(0, u32::from_be_bytes) as usize;
    (HEADER_LENGTH + length).min(bytes.len())
}
