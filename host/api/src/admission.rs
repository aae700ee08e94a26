//! How much is let in at once, so that memory stays flat however much arrives, and so that a host that has too much to do
//! does it as fast as one that has enough.
//!
//! What comes beyond waits for a moment, in the order in which it came: there are no more who wait than connections. A
//! request waits before it is read ([`super::connection`]), or where its connection did not know that it would have to,
//! after its head. Who would wait for longer is refused and told when to come again. A refusal costs next to nothing,
//! since nothing is looked up before, and whoever sends again at once waits at the end.

use std::{
    num::NonZero,
    sync::{Arc, Mutex, PoisonError},
};

use segno_core::time::Millis;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::ApiError;
use segno_env::Env;

/// Who has a place and does not send by then lets others go first.
pub(super) const FIRST_BYTE_TIMEOUT: Millis = Millis(100);
const FULL: &str = "as many requests as it takes are being worked on";

/// What is let in.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionLimits {
    /// Requests that bring a body and are read or worked on. A body that is slow to come counts only at first.
    pub requests: usize,
    /// Commands handed to the store and not answered yet. More than make a full commit gain nothing.
    pub commands: usize,
    /// Reads of clients that look around, at a time.
    pub reads: usize,
    /// How long one waits for room at most.
    pub patience: Millis,
    /// Bytes of bodies that are being read, wait or are worked on, all requests together.
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

/// The other half is for the work: two reads at a time on two processors made a start take twice as long beside them as
/// alone, one made it take a quarter longer. More reads at a time would only each take longer.
fn half_of_the_processors() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    (processors / 2).clamp(1, 4)
}

/// Room for requests. Cheap to clone.
#[derive(Clone)]
pub struct Admission {
    requests: Arc<Semaphore>,
    commands: Arc<Semaphore>,
    patience: Millis,
    bodies: Arc<Semaphore>,
}

impl Admission {
    /// Everything is free.
    pub fn new(limits: AdmissionLimits) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits));
        Self {
            requests: semaphore(limits.requests.min(Semaphore::MAX_PERMITS)),
            commands: semaphore(limits.commands.min(Semaphore::MAX_PERMITS)),
            patience: limits.patience,
            bodies: semaphore(limits.body_bytes.min(Semaphore::MAX_PERMITS)),
        }
    }

    /// Lets one request in, whose body is still to be read.
    pub(super) async fn request(&self, env: &Env) -> Result<OwnedSemaphorePermit, ApiError> {
        place(&self.requests, self.patience, env, FULL).await
    }

    /// Whether a request would have to wait.
    pub(super) fn is_full(&self) -> bool {
        self.requests.available_permits() == 0
    }

    /// Room for one command, until this is dropped.
    pub(super) async fn command(&self, env: &Env) -> Result<OwnedSemaphorePermit, ApiError> {
        let full = "as many commands as it takes wait for the store";
        place(&self.commands, self.patience, env, full).await
    }

    /// An empty share of the room for bodies.
    pub(super) fn body(&self) -> BodyRoom {
        BodyRoom { _entry: None, bodies: self.bodies.clone(), taken: None }
    }
}

/// One of these places, waited for as long as there is patience.
pub(super) async fn place(
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

/// What came of waiting in line before a request was read: the place, or the refusal. Whoever takes it first has it.
#[derive(Debug, Clone, Default)]
pub(super) struct AdmissionTicket(Arc<Mutex<Option<Place>>>);

type Place = Result<OwnedSemaphorePermit, ApiError>;

impl AdmissionTicket {
    pub(super) fn of(place: Place) -> Self {
        Self(Arc::new(Mutex::new(Some(place))))
    }

    pub(super) fn take(&self) -> Option<Place> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What one request and its body take of the room for all, until this is dropped.
pub(super) struct BodyRoom {
    _entry: Option<OwnedSemaphorePermit>,
    bodies: Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
}

impl BodyRoom {
    /// The same, with the place of a request that was let in.
    pub(super) fn within(self, entry: Option<OwnedSemaphorePermit>) -> Self {
        Self { _entry: entry, ..self }
    }

    /// Takes room for so many bytes more.
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
