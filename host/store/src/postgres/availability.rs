//! Availability of the database, as observed by the writer and by reads of due work.

use std::sync::{Mutex, MutexGuard, PoisonError};

use segno_core::time::{Millis, Timestamp};

/// Minimum length of an outage that counts; shorter ones delay no heartbeat.
const WORTH_NOTING: Millis = Millis(1_000);

/// When the database became unavailable, and when it came back.
#[derive(Debug, Default)]
pub(super) struct Availability(Mutex<AvailabilityTimes>);

#[derive(Debug, Default)]
struct AvailabilityTimes {
    away_since: Option<Timestamp>,
    back_since: Option<Timestamp>,
}

impl Availability {
    pub(super) fn is_away(&self, now: Timestamp, error: &dyn std::fmt::Display) {
        let mut seen = self.seen();
        if seen.away_since.is_none() {
            seen.away_since = Some(now);
            tracing::warn!(%error, "the database does not answer; it is asked again and again");
        }
    }

    pub(super) fn is_here(&self, now: Timestamp) {
        let mut seen = self.seen();
        if let Some(since) = seen.away_since.take() {
            let length = now.since(since);
            tracing::info!(milliseconds = length.0, "the database answers again");
            if length > WORTH_NOTING {
                seen.back_since = Some(now);
            }
        }
    }

    /// True if the database is unavailable.
    pub(super) fn is_away_now(&self) -> bool {
        self.seen().away_since.is_some()
    }

    /// Time for which the database has been unavailable. Zero if it is not.
    pub(super) fn away_for(&self, now: Timestamp) -> Millis {
        self.seen().away_since.map_or(Millis::ZERO, |since| now.since(since))
    }

    /// True if the database is unavailable, or came back less than `grace` ago: heartbeats may not
    /// have arrived yet.
    pub(super) fn is_just_back(&self, now: Timestamp, grace: Millis) -> bool {
        let seen = self.seen();
        seen.away_since.is_some() || seen.back_since.is_some_and(|back| now.since(back) < grace)
    }

    fn seen(&self) -> MutexGuard<'_, AvailabilityTimes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_rest_until_everybody_could_have_given_a_sign_of_life() {
        let availability = Availability::default();
        let (grace, now) = (Millis(1_000), Timestamp);
        assert!(!availability.is_just_back(now(0), grace));
        availability.is_away(now(0), &"gone");
        assert_eq!(availability.away_for(now(70)), Millis(70));
        assert!(availability.is_just_back(now(9_000), grace));
        availability.is_here(now(10_000));
        assert!(availability.is_just_back(now(10_999), grace));
        assert!(!availability.is_just_back(now(11_000), grace));
        availability.is_away(now(20_000), &"gone");
        availability.is_here(now(20_010));
        assert!(!availability.is_just_back(now(20_011), grace), "that held nobody up");
    }
}
