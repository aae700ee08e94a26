//! Deciders: they choose the events and faults of a run, by a schedule or at random.

use std::collections::VecDeque;

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};

use crate::{
    error::VerifyError,
    run::Decider,
    schedule::{EventChoice, InjectedFault, RelativeId, RunSchedule, ScheduleEntry},
};

/// Follows a schedule. After its end, takes the first possible event.
pub(crate) struct ScheduleDecider {
    entries: VecDeque<(usize, ScheduleEntry)>,
    /// True if entries that are not possible are skipped.
    lenient: bool,
}

impl ScheduleDecider {
    /// Follows exactly this schedule.
    pub(crate) fn exactly(schedule: &RunSchedule) -> Self {
        Self { entries: numbered(schedule), lenient: false }
    }

    /// Follows this schedule as far as it is possible.
    pub(crate) fn roughly(schedule: &RunSchedule) -> Self {
        Self { entries: numbered(schedule), lenient: true }
    }

    fn is_possible(entry: &ScheduleEntry, enabled: &[EventChoice]) -> bool {
        match entry {
            ScheduleEntry::Event(EventChoice::Cancel) => true,
            ScheduleEntry::Event(choice) => enabled.contains(choice),
            ScheduleEntry::Fault(InjectedFault::Again(place)) => {
                enabled.contains(&EventChoice::Go(RelativeId(place.0.clone())))
            }
            ScheduleEntry::Fault(_) => true,
        }
    }
}

fn numbered(schedule: &RunSchedule) -> VecDeque<(usize, ScheduleEntry)> {
    let entries = schedule.0.iter().cloned().enumerate();
    entries
        .filter(|(_, entry)| *entry != ScheduleEntry::Fault(InjectedFault::Cold))
        .map(|(at, entry)| (at + 1, entry))
        .collect()
}

impl Decider for ScheduleDecider {
    fn deaths(&mut self) -> Vec<InjectedFault> {
        let mut deaths = Vec::new();
        while let Some((_, ScheduleEntry::Fault(death @ InjectedFault::Die { .. }))) =
            self.entries.front()
        {
            deaths.push(death.clone());
            self.entries.pop_front();
        }
        deaths
    }

    fn faults(&mut self, enabled: &[EventChoice]) -> Result<Vec<InjectedFault>, VerifyError> {
        let mut faults = Vec::new();
        while let Some((number, ScheduleEntry::Fault(fault))) = self.entries.front().cloned() {
            self.entries.pop_front();
            match Self::is_possible(&ScheduleEntry::Fault(fault.clone()), enabled) {
                true => faults.push(fault),
                false if self.lenient => {}
                false => return Err(VerifyError::misfit(number, fault, enabled)),
            }
        }
        Ok(faults)
    }

    fn choose(&mut self, enabled: &[EventChoice]) -> Result<Option<EventChoice>, VerifyError> {
        while let Some((number, entry)) = self.entries.front().cloned() {
            // A fault after a skipped event applies before the next event that is kept.
            let ScheduleEntry::Event(choice) = &entry else { break };
            self.entries.pop_front();
            match Self::is_possible(&entry, enabled) {
                true => return Ok(Some(choice.clone())),
                false if self.lenient => {}
                false => return Err(VerifyError::misfit(number, choice, enabled)),
            }
        }
        Ok(enabled.first().cloned())
    }

    fn ended(&mut self, enabled: &[EventChoice]) -> Result<(), VerifyError> {
        match self.entries.front() {
            Some((number, entry)) if !self.lenient => {
                Err(VerifyError::misfit(*number, entry, enabled))
            }
            _ => Ok(()),
        }
    }
}

/// Decides at random; time passes only when nothing else can happen.
pub(crate) struct RandomDecider(ChaCha8Rng);

impl RandomDecider {
    /// The decisions of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }
}

impl Decider for RandomDecider {
    fn choose(&mut self, enabled: &[EventChoice]) -> Result<Option<EventChoice>, VerifyError> {
        let soon = in_no_time(enabled);
        let at = self.0.next_u64() % (soon.len() as u64);
        Ok(soon.get(usize::try_from(at).unwrap_or(0)).cloned())
    }
}

/// Lets time pass whenever it can: timers fire before completions. A workflow may then wait for
/// ever, so the run is given up after this number of events.
pub(crate) struct TimersFirstDecider(pub usize);

impl Decider for TimersFirstDecider {
    fn choose(&mut self, enabled: &[EventChoice]) -> Result<Option<EventChoice>, VerifyError> {
        let Some(left) = self.0.checked_sub(1) else { return Ok(None) };
        self.0 = left;
        let time = enabled.iter().find(|choice| **choice == EventChoice::Time);
        Ok(time.or(enabled.first()).cloned())
    }
}

/// The events that are possible without time passing, or the passing of time if there is no other
/// event.
pub(crate) fn in_no_time(enabled: &[EventChoice]) -> &[EventChoice] {
    match enabled {
        [soon @ .., EventChoice::Time] if !soon.is_empty() => soon,
        all => all,
    }
}
