//! Work that this host cannot complete by itself, because a row is damaged or the database refuses
//! the writes.
//!
//! A quarantined subject is logged once, skipped for a time that doubles with each failure, and
//! then retried alone, so that no other work waits for it. The list is in memory: after a restart,
//! the first try fails again in the same way. The row itself is not changed. An operator has to
//! repair it.
//!
//! Work that needs a database that is away is postponed, without a word, until another set of
//! databases is away.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use segno_core::{
    command::Command,
    time::{Millis, Timestamp},
    unreadable::Subject,
};

/// The delay after the first failure.
const FIRST_WAIT: Millis = Millis(60_000);
/// The longest delay.
const LONGEST_WAIT: Millis = Millis(3_600_000);
/// Maximum number of remembered subjects. Further ones are tried and logged each time.
const KEPT: usize = 65_536;

/// The quarantined subjects with their cases, and those that are postponed.
#[derive(Debug, Default)]
pub struct Quarantine {
    cases: Mutex<BTreeMap<Subject, QuarantineCase>>,
    postponed: Mutex<PostponedWork>,
}

/// The subjects that need databases that are away.
#[derive(Debug, Default)]
struct PostponedWork {
    /// The databases that are away, by their addresses.
    missing: Vec<String>,
    subjects: BTreeSet<Subject>,
}

/// The failures of a quarantined subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantineCase {
    /// The error of the last try.
    pub reason: String,
    /// The instant of the first failure.
    pub since: Timestamp,
    /// The instant at which the next try is due.
    pub retry_at: Timestamp,
    /// The number of failed tries.
    pub tries: u32,
}

impl Quarantine {
    /// Quarantines `subject`, or extends its quarantine. Logs the first failure.
    pub fn put(&self, subject: &Subject, reason: String, now: Timestamp) {
        let mut cases = self.locked();
        let tries = cases.get(subject).map_or(0, |case| case.tries);
        if tries == 0 {
            tracing::error!(
                %subject, %reason,
                "quarantined: the host skips it and continues with everything else; see `segno doctor`"
            );
        }
        let wait = Millis(FIRST_WAIT.0 << tries.min(16)).min(LONGEST_WAIT);
        let since = cases.get(subject).map_or(now, |case| case.since);
        if cases.len() < KEPT || tries > 0 {
            let case = QuarantineCase { reason, since, retry_at: now + wait, tries: tries + 1 };
            cases.insert(subject.clone(), case);
        }
    }

    /// Removes `subject` after a success.
    pub fn release(&self, subject: &Subject) {
        let mut cases = self.locked();
        if cases.remove(subject).is_some() {
            tracing::info!(%subject, "released: the reason of its quarantine is gone");
        }
    }

    /// Postpones what a command is about, as long as these databases are away.
    pub fn postpone(&self, command: &Command, missing: &[String]) {
        self.resume(missing);
        let mut postponed = self.postponed();
        if postponed.subjects.len() < KEPT {
            postponed.subjects.extend(Subject::of(command));
        }
    }

    /// Resumes what was postponed, if other databases are away than then.
    pub fn resume(&self, missing: &[String]) {
        let mut postponed = self.postponed();
        if postponed.missing != missing {
            *postponed = PostponedWork { missing: missing.to_vec(), subjects: BTreeSet::new() };
        }
    }

    /// The number of subjects that stay due although they are not tried.
    pub fn resting(&self) -> usize {
        self.len() + self.postponed().subjects.len()
    }

    pub fn cases(&self) -> BTreeMap<Subject, QuarantineCase> {
        self.locked().clone()
    }

    /// The number of quarantined subjects by kind.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let cases = self.locked();
        let mut counts: BTreeMap<_, _> = Subject::KINDS.into_iter().map(|kind| (kind, 0)).collect();
        for subject in cases.keys() {
            *counts.entry(subject.kind()).or_default() += 1;
        }
        counts
    }

    /// The number of quarantined subjects.
    pub fn len(&self) -> usize {
        self.locked().len()
    }

    /// True if no subject is quarantined.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if a command concerns a subject that must not be tried yet: it is quarantined or
    /// postponed.
    pub fn rests(&self, command: &Command, now: Timestamp) -> bool {
        let (cases, postponed) = (self.locked(), self.postponed());
        if cases.is_empty() && postponed.subjects.is_empty() {
            return false;
        }
        Subject::of(command).is_some_and(|subject| {
            postponed.subjects.contains(&subject)
                || cases.get(&subject).is_some_and(|case| case.retry_at > now)
        })
    }

    /// True if a command concerns a subject that failed before.
    pub fn knows(&self, command: &Command) -> bool {
        let cases = self.locked();
        !cases.is_empty() && Subject::of(command).is_some_and(|it| cases.contains_key(&it))
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<Subject, QuarantineCase>> {
        self.cases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn postponed(&self) -> MutexGuard<'_, PostponedWork> {
        self.postponed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease() -> Command {
        Command::LeaseDue { id: "a".into() }
    }

    #[test]
    fn what_fails_rests_longer_each_time_and_is_forgotten_when_it_is_done() {
        let quarantine = Quarantine::default();
        let subject = Subject::of(&lease()).expect("a subject");
        assert!(!quarantine.rests(&lease(), Timestamp(0)));
        let mut now = Timestamp(0);
        for minutes in [1, 2, 4, 8, 16, 32, 60, 60] {
            quarantine.put(&subject, "damaged".to_owned(), now);
            assert!(quarantine.rests(&lease(), now + Millis(minutes * 60_000 - 1)), "{minutes}");
            now = now + Millis(minutes * 60_000);
            assert!(!quarantine.rests(&lease(), now), "{minutes}");
            assert!(quarantine.knows(&lease()));
        }
        let case = &quarantine.cases()[&subject];
        assert_eq!((case.since, case.tries), (Timestamp(0), 8));
        assert_eq!(quarantine.counts()["promise"], 1);
        quarantine.release(&subject);
        assert!(quarantine.is_empty() && !quarantine.knows(&lease()));
    }

    #[test]
    fn what_needs_a_database_that_is_away_is_postponed_until_it_is_back() {
        let quarantine = Quarantine::default();
        let (now, missing) = (Timestamp(0), ["postgres://a/segno".to_owned()]);
        quarantine.postpone(&lease(), &missing);
        quarantine.resume(&missing);
        let other = Command::LeaseDue { id: "b".into() };
        assert!(quarantine.rests(&lease(), now) && !quarantine.rests(&other, now));
        assert_eq!((quarantine.resting(), quarantine.len()), (1, 0), "no row is at fault");
        quarantine.resume(&[]);
        assert!(!quarantine.rests(&lease(), now) && quarantine.resting() == 0);
    }
}
