//! Deciders: they choose the events and faults of a run, by a schedule or at random.

use std::collections::VecDeque;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};

use crate::{
    error::VerifyError,
    run::Decider,
    schedule::{Choice, Entry, Fault, Place, Schedule},
};

/// Follows a schedule. After its end, takes the first possible event.
pub struct Scheduled {
    entries: VecDeque<(usize, Entry)>,
    /// True if entries that are not possible are skipped.
    lenient: bool,
}

impl Scheduled {
    /// Follows exactly this schedule.
    pub fn exactly(schedule: &Schedule) -> Self {
        Self { entries: numbered(schedule), lenient: false }
    }

    /// Follows this schedule as far as it is possible.
    pub fn roughly(schedule: &Schedule) -> Self {
        Self { entries: numbered(schedule), lenient: true }
    }

    fn is_possible(entry: &Entry, enabled: &[Choice]) -> bool {
        match entry {
            Entry::Event(Choice::Cancel) => true,
            Entry::Event(choice) => enabled.contains(choice),
            Entry::Fault(Fault::Again(place)) => {
                enabled.contains(&Choice::Go(Place(place.0.clone())))
            }
            Entry::Fault(_) => true,
        }
    }
}

fn numbered(schedule: &Schedule) -> VecDeque<(usize, Entry)> {
    let entries = schedule.0.iter().cloned().enumerate();
    entries
        .filter(|(_, entry)| *entry != Entry::Fault(Fault::Cold))
        .map(|(at, entry)| (at + 1, entry))
        .collect()
}

impl Decider for Scheduled {
    fn faults(&mut self, enabled: &[Choice]) -> Result<Vec<Fault>, VerifyError> {
        let mut faults = Vec::new();
        while let Some((number, Entry::Fault(fault))) = self.entries.front().cloned() {
            self.entries.pop_front();
            match Self::is_possible(&Entry::Fault(fault.clone()), enabled) {
                true => faults.push(fault),
                false if self.lenient => {}
                false => return Err(VerifyError::misfit(number, fault, enabled)),
            }
        }
        Ok(faults)
    }

    fn choose(&mut self, enabled: &[Choice]) -> Result<Option<Choice>, VerifyError> {
        while let Some((number, entry)) = self.entries.front().cloned() {
            // A fault after a skipped event applies before the next event that is kept.
            let Entry::Event(choice) = &entry else { break };
            self.entries.pop_front();
            match Self::is_possible(&entry, enabled) {
                true => return Ok(Some(choice.clone())),
                false if self.lenient => {}
                false => return Err(VerifyError::misfit(number, choice, enabled)),
            }
        }
        Ok(enabled.first().cloned())
    }

    fn ended(&mut self, enabled: &[Choice]) -> Result<(), VerifyError> {
        match self.entries.front() {
            Some((number, entry)) if !self.lenient => {
                Err(VerifyError::misfit(*number, entry, enabled))
            }
            _ => Ok(()),
        }
    }
}

/// Decides at random; time passes only when nothing else can happen.
pub struct Chance(ChaCha8Rng);

impl Chance {
    /// The decisions of a seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }
}

impl Decider for Chance {
    fn choose(&mut self, enabled: &[Choice]) -> Result<Option<Choice>, VerifyError> {
        let soon = in_no_time(enabled);
        let at = self.0.next_u64() % (soon.len() as u64);
        Ok(soon.get(usize::try_from(at).unwrap_or(0)).cloned())
    }
}

/// Lets time pass whenever it can: timers fire before completions. A workflow may then wait for
/// ever, so the run is given up after this number of events.
pub struct TimersFirst(pub usize);

impl Decider for TimersFirst {
    fn choose(&mut self, enabled: &[Choice]) -> Result<Option<Choice>, VerifyError> {
        let Some(left) = self.0.checked_sub(1) else { return Ok(None) };
        self.0 = left;
        let time = enabled.iter().find(|choice| **choice == Choice::Time);
        Ok(time.or(enabled.first()).cloned())
    }
}

/// The events that are possible without time passing, or the passing of time if there is no other
/// event.
pub fn in_no_time(enabled: &[Choice]) -> &[Choice] {
    match enabled {
        [soon @ .., Choice::Time] if !soon.is_empty() => soon,
        all => all,
    }
}
