//! How much is let in at once: what comes beyond is refused at once and told when to come again, so that memory stays
//! flat however much arrives.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::ApiError;

/// What is let in.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionLimits {
    /// Commands handed to the store and not answered yet.
    pub commands: usize,
    /// Bytes of bodies that are being read or worked on, all requests together.
    pub body_bytes: usize,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        Self { commands: 2_048, body_bytes: 256 * 1024 * 1024 }
    }
}

/// Room for requests. Cheap to clone.
#[derive(Clone)]
pub struct Admission {
    commands: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
}

impl Admission {
    /// Everything is free.
    pub fn new(limits: AdmissionLimits) -> Self {
        let semaphore = |permits: usize| Arc::new(Semaphore::new(permits));
        Self {
            commands: semaphore(limits.commands.min(Semaphore::MAX_PERMITS)),
            bodies: semaphore(limits.body_bytes.min(Semaphore::MAX_PERMITS)),
        }
    }

    /// Room for one command, until this is dropped.
    pub(super) fn command(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let room = self.commands.clone().try_acquire_owned();
        room.map_err(|_| ApiError::Overloaded("as many commands as it takes wait for the store"))
    }

    /// An empty share of the room for bodies.
    pub(super) fn body(&self) -> BodyRoom {
        BodyRoom { bodies: self.bodies.clone(), taken: None }
    }
}

/// What one body takes of the room for all, until this is dropped.
pub(super) struct BodyRoom {
    bodies: Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
}

impl BodyRoom {
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
