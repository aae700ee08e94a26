//! A client whose requests and answers may be lost.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use segno_core::time::Millis;
use segno_env::Runtime;
use segno_resonate::envelope::VERSION;
use serde_json::{Value as Json, json};

use super::super::{
    dice::Dice,
    fault::MessageFault,
    network::{Conditions, Network},
};

/// Time that a client waits for an answer before it repeats the request.
const ANSWER_TIMEOUT: Millis = Millis(2_500);
/// Pause between two attempts.
const PAUSE: Millis = Millis(70);

/// Client of the hosts' front ends.
pub(crate) struct Caller {
    who: String,
    pub network: Arc<Network>,
    /// Conditions of the client.
    pub conditions: Arc<Conditions>,
    dice: Mutex<Dice>,
    /// Envelopes that it sent under claims.
    claimed: Mutex<Vec<String>>,
    /// Number of times that its message stream ended or lost a message.
    breaks: AtomicU64,
}

impl Caller {
    /// Creates a client that has sent no request yet.
    pub(crate) fn new(who: String, network: Arc<Network>) -> Self {
        let dice = Mutex::new(Dice::new(network.seed, &who));
        Self {
            who,
            network,
            conditions: Arc::default(),
            dice,
            claimed: Mutex::default(),
            breaks: AtomicU64::new(0),
        }
    }

    /// Records that its message stream ended or lost a message.
    pub(crate) fn missed(&self) {
        self.breaks.fetch_add(1, Ordering::Relaxed);
    }

    /// Number of times that messages to it may have been lost so far.
    pub(crate) fn misses(&self) -> u64 {
        self.breaks.load(Ordering::Relaxed)
    }

    /// Sends a request once, to any host that is up. `None` if the outcome is unknown.
    pub(crate) async fn ask(&self, kind: &str, data: Json) -> Option<(u16, Json)> {
        let head = json!({ "corrId": "c", "version": VERSION });
        let envelope = json!({ "kind": kind, "head": head, "data": data }).to_string();
        if kind.starts_with("task.") && data.get("version").is_some() {
            self.claimed.lock().unwrap_or_else(PoisonError::into_inner).push(envelope.clone());
        }
        let id = ["id", "awaited"].iter().find_map(|name| data[*name].as_str());
        let about = id.unwrap_or_default().to_owned();
        let answer = self.carried(envelope).await;
        let status =
            answer.as_ref().map_or("unknown outcome".into(), |(status, _)| status.to_string());
        self.network.log.note(format_args!("{:<8} {kind} {about} -> {status}", self.who));
        let (status, answer) = answer?;
        Some((status, answer["data"].clone()))
    }

    /// Sends a request until the answer is definite.
    pub(crate) async fn insist(&self, kind: &str, data: Json) -> (u16, Json) {
        loop {
            if let Some((status, data)) = self.ask(kind, data.clone()).await
                && !matches!(status, 429 | 500 | 503)
            {
                return (status, data);
            }
            self.sleep(PAUSE).await;
        }
    }

    /// Repeats everything that it ever sent under claims, as a client does that was away.
    pub(crate) async fn everything_again(&self) {
        let all = std::mem::take(&mut *self.claimed.lock().unwrap_or_else(PoisonError::into_inner));
        if !all.is_empty() {
            self.network.log.count("envelopes sent again by a zombie");
        }
        for envelope in all {
            self.carried(envelope).await;
        }
    }

    /// Sleeps for `length`.
    pub(crate) async fn sleep(&self, length: Millis) {
        self.network.runtime.sleep(length).await;
    }

    /// True if this fault occurs now.
    pub(crate) fn roll(&self, what: MessageFault) -> bool {
        let happens = self.dice().chance(self.network.network_faults.level(what));
        if happens {
            self.network.log.count(what.kind());
        }
        happens
    }

    pub(crate) fn dice(&self) -> MutexGuard<'_, Dice> {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Random delay of an action under this fault.
    pub(crate) fn delay(&self, what: MessageFault) -> Millis {
        let most = self.network.network_faults.level(what);
        if most == 0 {
            return Millis(1);
        }
        self.network.log.count(what.kind());
        Millis(self.dice().between(1, i64::try_from(most).unwrap_or(1)))
    }

    async fn carried(&self, envelope: String) -> Option<(u16, Json)> {
        self.conditions.going().await;
        self.sleep(self.delay(MessageFault::Delay)).await;
        if self.roll(MessageFault::RequestLoss) {
            self.sleep(ANSWER_TIMEOUT).await;
            return None;
        }
        if self.roll(MessageFault::RequestTwice) {
            self.again(envelope.clone());
        }
        let endpoint = self.network.endpoints.any(&mut self.dice())?;
        let answer = tokio::select! {
            biased;
            answer = endpoint.ask(envelope) => answer,
            () = self.sleep(ANSWER_TIMEOUT) => None,
        };
        self.sleep(self.delay(MessageFault::Delay)).await;
        self.conditions.going().await;
        if self.roll(MessageFault::AnswerLoss) {
            return None;
        }
        answer
    }

    /// Repeats a request later, to any host.
    fn again(&self, envelope: String) {
        let later = Millis(self.dice().between(1, 3_000));
        let endpoint = self.network.endpoints.any(&mut self.dice());
        let runtime = self.network.runtime.clone();
        runtime.clone().spawn(
            "envelope",
            Box::pin(async move {
                runtime.sleep(later).await;
                if let Some(endpoint) = endpoint {
                    // The answer is ignored.
                    endpoint.ask(envelope).await;
                }
            }),
        );
    }
}
