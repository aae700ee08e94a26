//! State that the driver's clients share: a connection to each host, retries, and the time limit of
//! a run.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use segno_client::{Client, ClientError};
use segno_core::time::{Millis, Timestamp};
use segno_demo::rng::DemoRng;
use segno_env::Env;

use super::report::Findings;

/// Pause between two attempts of a request.
const PAUSE: Millis = Millis(50);
/// Maximum time from the last fault until running flows must have ended.
pub const GRACE: Millis = Millis(180_000);

/// The clients of a run.
pub struct Outside {
    /// One client per host, through a connection that is cut now and then.
    pub clients: Vec<Client>,
    pub env: Env,
    /// Findings of the run.
    pub findings: Arc<Findings>,
    /// Address of the ledger.
    pub ledger: String,
    chance: Mutex<DemoRng>,
    over: AtomicBool,
    give_up_at: Mutex<Option<Timestamp>>,
    answered: AtomicU64,
    unanswered: AtomicU64,
}

/// Error of a request that can no longer succeed. The reason is among the findings.
#[derive(Debug)]
pub struct Hopeless;

impl Outside {
    /// Creates clients that have sent no request yet.
    pub fn new(
        clients: Vec<Client>,
        ledger: String,
        chance: DemoRng,
        findings: Arc<Findings>,
        env: Env,
    ) -> Self {
        Self {
            clients,
            env,
            findings,
            ledger,
            chance: Mutex::new(chance),
            over: AtomicBool::new(false),
            give_up_at: Mutex::new(None),
            answered: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
        }
    }

    /// Starts no new flow from now on. Running flows must end within [`GRACE`].
    pub fn finish(&self) {
        let now = self.env.clock.now();
        *self.give_up_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(now + GRACE);
        self.over.store(true, Ordering::Relaxed);
    }

    /// True if no new flow may begin.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Numbers of answered requests and of failed attempts.
    pub fn requests(&self) -> (u64, u64) {
        (self.answered.load(Ordering::Relaxed), self.unanswered.load(Ordering::Relaxed))
    }

    /// A random number of `from..=to`.
    pub fn draw(&self, from: u64, to: u64) -> u64 {
        self.chance.lock().unwrap_or_else(PoisonError::into_inner).between(from, to)
    }

    /// Sleeps for a random time of `from..=to` ms.
    pub async fn dawdle(&self, from: u64, to: u64) {
        let length = self.draw(from, to);
        self.env.runtime.sleep(Millis(i64::try_from(length).unwrap_or(i64::MAX))).await;
    }

    /// Sends a request to random hosts until one answers. `not_yet` lists the refusal codes after
    /// which a later attempt may succeed.
    ///
    /// # Errors
    /// [`Hopeless`] after a final refusal, or when the time is up.
    pub async fn ask<T>(
        &self,
        what: &str,
        not_yet: &[&str],
        mut request: impl AsyncFnMut(&Client) -> Result<T, ClientError>,
    ) -> Result<T, Hopeless> {
        loop {
            let host = self.draw(0, self.clients.len() as u64 - 1) as usize;
            let error = match request(&self.clients[host]).await {
                Ok(answer) => {
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(error) => error,
            };
            self.unanswered.fetch_add(1, Ordering::Relaxed);
            let may_pass = match &error {
                ClientError::Unreachable { .. } | ClientError::Slow { .. } => true,
                ClientError::Refused(problem) => {
                    matches!(problem.status, 429 | 503) || not_yet.contains(&problem.code.as_str())
                }
                ClientError::Malformed { .. } | ClientError::Address { .. } => false,
            };
            if !may_pass {
                self.findings.add(format!("{what}: {}: {error}", error.code()));
                return Err(Hopeless);
            }
            self.pause(what, &error).await?;
        }
    }

    /// Waits before another attempt.
    ///
    /// # Errors
    /// [`Hopeless`] when the time is up.
    pub async fn pause(&self, what: &str, why: &dyn std::fmt::Display) -> Result<(), Hopeless> {
        let give_up_at = *self.give_up_at.lock().unwrap_or_else(PoisonError::into_inner);
        if give_up_at.is_some_and(|at| self.env.clock.now() > at) {
            self.findings.add(format!("{what} came to nothing: {why}"));
            return Err(Hopeless);
        }
        self.env.runtime.sleep(PAUSE).await;
        Ok(())
    }
}
