//! Limits on concurrent requests, commands and bodies, which bound memory under any load and keep
//! an overloaded host fast.
//!
//! A request beyond the limits waits briefly, in order of arrival; at most one request for each
//! connection waits. A request waits before it is read ([`super::connection`]), or after its head
//! if its connection could not know that it would have to wait. A request that would wait for
//! longer is refused with an indication of when to retry. A refusal is cheap, since nothing is
//! looked up before, and a client that retries immediately waits at the end of the queue.

use std::{
    num::NonZero,
    sync::{Arc, Mutex, PoisonError},
};

use segno_core::time::Millis;
use segno_env::Env;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::ApiError;

/// Time after which a silent connection passes its permit to others.
pub(super) const FIRST_BYTE_TIMEOUT: Millis = Millis(100);
const FULL: &str = "it is processing its maximum number of requests";

/// Limits on concurrent requests, commands, reads and bodies.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionLimits {
    /// Maximum number of requests with a body being read or processed. A body that arrives slowly
    /// counts only at first.
    pub requests: usize,
    /// Maximum number of commands that the store has not answered yet. More than fill a commit gain
    /// nothing.
    pub commands: usize,
    /// Maximum number of concurrent reads of clients.
    pub reads: usize,
    /// Maximum time that a request waits for a permit.
    pub patience: Millis,
    /// Maximum number of bytes of bodies being read, queued or processed, for all requests.
    pub body_bytes: usize,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        Self {
            requests: 512,
            commands: 512,
            reads: half_of_the_processors(),
            patience: Millis(500),
            body_bytes: 256 * 1024 * 1024,
        }
    }
}

/// Default number of concurrent reads: half of the processors, so that the other half is free for
/// commands. On two processors, two concurrent reads doubled the time of a start, and one read
/// increased it by a quarter. More concurrent reads would only make each slower.
fn half_of_the_processors() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    (processors / 2).clamp(1, 4)
}

/// The permits for requests, commands and bodies. Cheap to clone.
#[derive(Clone)]
pub struct Admission {
    requests: Arc<Semaphore>,
    commands: Arc<Semaphore>,
    patience: Millis,
    bodies: Arc<Semaphore>,
}

impl Admission {
    /// Creates the permits, all of them free.
    pub fn new(limits: AdmissionLimits) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits));
        Self {
            requests: semaphore(limits.requests.min(Semaphore::MAX_PERMITS)),
            commands: semaphore(limits.commands.min(Semaphore::MAX_PERMITS)),
            patience: limits.patience,
            bodies: semaphore(limits.body_bytes.min(Semaphore::MAX_PERMITS)),
        }
    }

    /// Waits for a permit for one request whose body is still to be read.
    pub(super) async fn request(&self, env: &Env) -> Result<OwnedSemaphorePermit, ApiError> {
        place(&self.requests, self.patience, env, FULL).await
    }

    /// Maximum time that a request waits for a permit.
    pub(crate) fn patience(&self) -> Millis {
        self.patience
    }

    /// Takes a permit for further work of a request that has one, if it is free.
    pub(super) fn further(&self) -> Option<OwnedSemaphorePermit> {
        self.requests.clone().try_acquire_owned().ok()
    }

    /// Returns true if a request would have to wait for a permit.
    pub(super) fn is_full(&self) -> bool {
        self.requests.available_permits() == 0
    }

    /// Waits for a permit for one command.
    pub(super) async fn command(&self, env: &Env) -> Result<OwnedSemaphorePermit, ApiError> {
        let full = "its maximum number of commands waits for the store";
        place(&self.commands, self.patience, env, full).await
    }

    /// Creates an empty share of the memory for bodies.
    pub(super) fn body(&self) -> BodyPermit {
        BodyPermit { _entry: None, bodies: self.bodies.clone(), taken: None }
    }
}

/// Waits up to `patience` for a permit.
pub async fn place(
    places: &Arc<Semaphore>,
    patience: Millis,
    env: &Env,
    full: &'static str,
) -> Result<OwnedSemaphorePermit, ApiError> {
    if let Ok(place) = places.clone().try_acquire_owned() {
        return Ok(place);
    }
    match env.within(patience, places.clone().acquire_owned()).await {
        Some(Ok(place)) => Ok(place),
        _ => Err(ApiError::Overloaded(full)),
    }
}

/// The result of queueing before a request was read: the permit, or the refusal. The first reader
/// of the request takes it.
#[derive(Debug, Clone, Default)]
pub(super) struct AdmissionTicket(Arc<Mutex<Option<AdmissionResult>>>);

type AdmissionResult = Result<OwnedSemaphorePermit, ApiError>;

impl AdmissionTicket {
    pub(super) fn of(place: AdmissionResult) -> Self {
        Self(Arc::new(Mutex::new(Some(place))))
    }

    pub(super) fn take(&self) -> Option<AdmissionResult> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The permit of one request and the memory of its body, released on drop.
pub struct BodyPermit {
    _entry: Option<OwnedSemaphorePermit>,
    bodies: Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
}

impl BodyPermit {
    /// Adds the permit of an admitted request.
    pub(super) fn within(self, entry: Option<OwnedSemaphorePermit>) -> Self {
        Self { _entry: entry, ..self }
    }

    /// Takes memory for `bytes` more bytes.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), ApiError> {
        let more = u32::try_from(bytes).ok().and_then(|bytes| {
            let room = self.bodies.clone().try_acquire_many_owned(bytes);
            room.ok()
        });
        let more = more.ok_or(ApiError::Overloaded("the bodies it is reading fill its memory"))?;
        match &mut self.taken {
            Some(taken) => taken.merge(more),
            None => self.taken = Some(more),
        }
        Ok(())
    }
}
