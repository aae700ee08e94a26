//! The events that may happen next in a world.

use segno_core::{
    id::PromiseId,
    promise::TaskState,
    snapshot::Snapshot,
    tags,
    time::{Millis, Timestamp},
};
use segno_env::Clock as _;

use super::{RunWorld, is_pending, promise_of};
use crate::{
    error::VerifyError,
    outside::{ExternalWork, ROOT, id_at, place_of},
    schedule::{EventChoice, RelativeId},
};

impl RunWorld {
    /// The possible events, in default order: the passing of time is last.
    ///
    /// # Errors
    /// The store does not answer.
    pub(crate) async fn enabled(&self) -> Result<Vec<EventChoice>, VerifyError> {
        let now = self.time.now();
        let ready = self.outside.waiting().into_iter().filter(|waits| waits.ready_at <= now);
        let mut enabled: Vec<EventChoice> =
            ready.map(|waits| EventChoice::Go(waits.place)).collect();
        let rows = self.rows().await?;
        if is_pending(&rows, &PromiseId::from(ROOT)) {
            let sends = 0..self.setup.script.sends.len();
            enabled.extend(
                sends.filter(|number| self.may_send(*number, &rows)).map(EventChoice::Send),
            );
        }
        if self.due(&rows).is_some() {
            enabled.push(EventChoice::Time);
        }
        Ok(enabled)
    }

    fn may_send(&self, number: usize, rows: &Snapshot) -> bool {
        let sends = &self.setup.script.sends;
        let sending = &sends[number];
        let earlier =
            sends[..number].iter().enumerate().filter(|(_, other)| sending.follows(other));
        if self.sent.contains(&number)
            || !earlier.map(|(at, _)| at).all(|at| self.sent.contains(&at))
        {
            return false;
        }
        let to = id_at(&RelativeId(sending.to.clone().unwrap_or_default()));
        match &sending.promise {
            Some(name) => is_pending(rows, &promise_of(&to, name)),
            None => is_pending(rows, &to) && (sending.to.is_some() || self.setup.takes_signals),
        }
    }

    /// The next instant at which something waiting only for time is due, with descriptions.
    pub(super) fn due(&self, rows: &Snapshot) -> Option<(Timestamp, Vec<String>)> {
        let now = self.time.now();
        let deadlines =
            rows.promises.values().filter(|promise| promise.is_pending()).map(|promise| {
                let place = place_of(promise.id().as_str());
                let what = match tags::is_timer(&promise.spec.tags) {
                    true => format!("timer {place} fires"),
                    false => format!("the deadline of {place} passes"),
                };
                (promise.spec.timeout_at, what)
            });
        let retries = rows.tasks.values().filter_map(|task| match task.state {
            TaskState::Pending { retry_at, offered: false, .. } => {
                let place = place_of(task.id.as_str());
                let what = match task.attempt {
                    0 => format!("{place} may begin"),
                    attempt => format!("attempt {} of {place} may begin", attempt + 1),
                };
                Some((retry_at, what))
            }
            _ => None,
        });
        let outside = self.outside.waiting();
        let delays =
            outside.iter().map(|waits| (waits.ready_at, format!("{} may end", waits.place)));
        let mut due: Vec<(Timestamp, String)> = deadlines
            .chain(retries)
            .chain(delays)
            .filter(|(at, _)| *at > now && *at < Timestamp::NEVER)
            .collect();
        due.sort();
        let (first, _) = due.first()?;
        let first = *first;
        let what = due.into_iter().filter(|(at, _)| *at == first).map(|(_, what)| what).collect();
        Some((first, what))
    }

    /// A description of `choice`.
    ///
    /// # Errors
    /// The store does not answer.
    pub(crate) async fn label(&self, choice: &EventChoice) -> Result<String, VerifyError> {
        Ok(match choice {
            EventChoice::Go(place) => {
                let waiting = self.outside.waiting();
                let waits = waiting.iter().find(|waits| waits.place == *place);
                waits.map(|waits| waits.work.label()).unwrap_or_default()
            }
            EventChoice::Send(number) => {
                self.setup.script.sends.get(*number).map(|it| it.label()).unwrap_or_default()
            }
            EventChoice::Cancel => "cancellation is requested".to_owned(),
            EventChoice::Time => match self.due(&self.rows().await?) {
                Some((at, what)) => {
                    format!("{} pass: {}", length(at.since(self.time.now())), what.join(", "))
                }
                None => String::new(),
            },
        })
    }

    /// The places whose attempts may run again; beginnings of children are excluded.
    pub(crate) fn repeatable(&self) -> Vec<RelativeId> {
        let waiting = self.outside.waiting().into_iter();
        waiting.filter(|it| !matches!(it.work, ExternalWork::Child(_))).map(|it| it.place).collect()
    }
}

/// Formats a duration for people.
pub(crate) fn length(length: Millis) -> String {
    let ms = length.0;
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    let unit = units.into_iter().find(|(unit, _)| ms >= *unit && ms % unit == 0);
    unit.map_or_else(|| format!("{ms}ms"), |(unit, name)| format!("{}{name}", ms / unit))
}
