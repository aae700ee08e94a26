//! Actions of a person while every invocation waits.

use segno_env::Clock as _;
use segno_restate::{
    immutable::{Notification, NotificationKind, NotificationResult},
    wire,
};
use serde_json::Value as Json;

use super::World;

/// Action of a person while every invocation waits.
#[derive(Debug, Clone)]
pub enum Act {
    /// Advances the clock to the next timer.
    Tick,
    /// Advances the clock by this many milliseconds. No timer fires earlier.
    Pass(u64),
    /// Sends a signal.
    Signal(&'static str, &'static str, Json),
    /// Completes the promise of an invocation with this name. If the promise does not exist yet,
    /// time passes first.
    Resolve(&'static str, &'static str, Json),
    /// Rejects the promise of an invocation with this name. Otherwise as `Resolve`.
    Reject(&'static str, &'static str),
    /// Requests the cancellation of an invocation.
    Cancel(&'static str),
}

impl World {
    pub(super) fn act(&mut self, act: Act) {
        match act {
            Act::Tick => self.tick(),
            Act::Pass(ms) => {
                self.clock.pass(ms);
            }
            Act::Signal(id, name, value) => {
                let value = NotificationResult::Value(value.to_string().into());
                self.tell(id, Notification::named_signal(name, value));
            }
            Act::Resolve(id, name, value) => {
                let awakeable = self.awakeable(id, name).expect("the promise is there");
                self.complete(&awakeable, NotificationResult::Value(value.to_string().into()));
            }
            Act::Reject(id, name) => {
                let awakeable = self.awakeable(id, name).expect("the promise is there");
                let no = wire::Failure::new(404, "it did not act");
                self.complete(&awakeable, NotificationResult::Failure(no));
            }
            Act::Cancel(id) => self.tell(id, Notification::signal(1, NotificationResult::Void)),
        }
    }

    fn tick(&mut self) {
        let retries = self.invocations.values().filter_map(|invocation| invocation.retry_at);
        let timers = self.timers.iter().map(|(at, _, _)| *at);
        let next = retries.chain(timers).min().expect("something comes some time");
        let now = next.max(self.clock.now());
        self.clock.set(now);
        while let Some((at, _, _)) = self.timers.first()
            && *at <= now
        {
            let (_, id, completion) = self.timers.pop_first().expect("it was there");
            let slept = Notification::completion(
                NotificationKind::Sleep,
                completion,
                NotificationResult::Void,
            );
            self.tell(&id, slept);
        }
        for invocation in self.invocations.values_mut() {
            invocation.retry_at = invocation.retry_at.filter(|at| *at > now);
        }
    }
}
