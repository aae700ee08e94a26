//! A schedule: the events and faults of a run, in order, as text that repeats the run exactly.
//!
//! ```text
//! go:3 go:4 send:1 crash time go:5
//! ```
//! Entries are separated by spaces. A place is the id of a promise without that of the root: `3` is
//! the promise of command 3, and `3/1` that of command 1 of the child that command 3 called. `%20`,
//! `%25` and the like encode characters that would separate entries.

use std::{fmt, str::FromStr};

/// The place of an event: the id of a promise relative to the root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelativeId(pub String);

/// An event that may happen next.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventChoice {
    /// An attempt of an activity completes, a request is answered, a child begins.
    Go(RelativeId),
    /// An item that the script sends, by its index from 0: a signal, or the settlement of a
    /// promise.
    Send(usize),
    /// Time passes until the next timer is due.
    Time,
    /// The root is asked to cancel.
    Cancel,
}

/// The side of a commit on which a host dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommitSide {
    /// The commit was not written.
    Before,
    /// The commit was written, but the host does not know.
    After,
}

/// A fault.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum InjectedFault {
    /// No instance outlives a wait: each event is delivered to a replayed one.
    Cold,
    /// The host dies and restarts.
    Crash,
    /// Another life takes over all claims, while the earlier one continues without knowing.
    Supplant,
    /// An attempt runs to its end, but its claim is lost before the result is stored: it runs
    /// again.
    Again(RelativeId),
    /// The host dies at the commit after `skipped` others.
    Die {
        /// Number of commits that succeed before.
        skipped: u64,
        /// The side of the commit: before or after it takes effect.
        side: CommitSide,
    },
}

/// An entry of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScheduleEntry {
    Event(EventChoice),
    /// A fault before the next event.
    Fault(InjectedFault),
}

/// The events and faults of a run, in order. Later events are decided by default: the first that is
/// possible, with the passing of time last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunSchedule(pub Vec<ScheduleEntry>);

/// The text is not a schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{entry}` (entry {number}) is no entry of a schedule: these are go:PLACE, send:N, time, cancel, crash, supplant, again:PLACE, before:N, after:N, and cold at the beginning"
)]
pub struct ScheduleError {
    /// The invalid entry.
    pub entry: String,
    /// Number of the entry, from 1.
    pub number: usize,
}

impl RunSchedule {
    /// The faults of the schedule.
    pub fn faults(&self) -> impl Iterator<Item = &InjectedFault> {
        self.0.iter().filter_map(|entry| match entry {
            ScheduleEntry::Fault(fault) => Some(fault),
            ScheduleEntry::Event(_) => None,
        })
    }

    /// The schedule without faults.
    #[must_use]
    pub fn events(&self) -> Self {
        let is_event = |entry: &&ScheduleEntry| matches!(entry, ScheduleEntry::Event(_));
        Self(self.0.iter().filter(is_event).cloned().collect())
    }

    /// The schedule with `entry` inserted before event number `step`, from 0.
    #[must_use]
    pub fn with(&self, step: usize, entry: ScheduleEntry) -> Self {
        let is_event =
            |(_, entry): &(usize, &ScheduleEntry)| matches!(entry, ScheduleEntry::Event(_));
        let at = self.0.iter().enumerate().filter(is_event).nth(step).map(|(at, _)| at);
        let mut entries = self.0.clone();
        entries.insert(at.unwrap_or(entries.len()), entry);
        Self(entries)
    }
}

impl fmt::Display for RelativeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '%' => f.write_str("%25")?,
                _ if character.is_whitespace() || character.is_control() => {
                    let mut bytes = [0; 4];
                    for byte in character.encode_utf8(&mut bytes).bytes() {
                        write!(f, "%{byte:02X}")?;
                    }
                }
                _ => write!(f, "{character}")?,
            }
        }
        Ok(())
    }
}

impl RelativeId {
    fn read(text: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let [first, others @ ..] = rest {
            rest = others;
            if *first != b'%' {
                bytes.push(*first);
                continue;
            }
            let digits = std::str::from_utf8(others.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &others[2..];
        }
        String::from_utf8(bytes).ok().filter(|place| !place.is_empty()).map(Self)
    }
}

impl fmt::Display for EventChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Go(place) => write!(f, "go:{place}"),
            Self::Send(number) => write!(f, "send:{}", number + 1),
            Self::Time => f.write_str("time"),
            Self::Cancel => f.write_str("cancel"),
        }
    }
}

impl fmt::Display for InjectedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cold => f.write_str("cold"),
            Self::Crash => f.write_str("crash"),
            Self::Supplant => f.write_str("supplant"),
            Self::Again(place) => write!(f, "again:{place}"),
            Self::Die { skipped, side: CommitSide::Before } => write!(f, "before:{skipped}"),
            Self::Die { skipped, side: CommitSide::After } => write!(f, "after:{skipped}"),
        }
    }
}

impl fmt::Display for ScheduleEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(choice) => choice.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for RunSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, entry) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str(" ")?;
            }
            entry.fmt(f)?;
        }
        Ok(())
    }
}

impl FromStr for RunSchedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let entries = text.split_whitespace().enumerate().map(|(at, entry)| {
            let no_schedule = || ScheduleError { entry: entry.to_owned(), number: at + 1 };
            read(entry)
                .filter(|read| at == 0 || *read != ScheduleEntry::Fault(InjectedFault::Cold))
                .ok_or_else(no_schedule)
        });
        entries.collect::<Result<_, _>>().map(Self)
    }
}

fn read(entry: &str) -> Option<ScheduleEntry> {
    let (word, rest) =
        entry.split_once(':').map_or((entry, None), |(word, rest)| (word, Some(rest)));
    let event = |choice| Some(ScheduleEntry::Event(choice));
    let fault = |fault| Some(ScheduleEntry::Fault(fault));
    match (word, rest) {
        ("go", Some(place)) => event(EventChoice::Go(RelativeId::read(place)?)),
        ("send", Some(number)) => {
            event(EventChoice::Send(number.parse::<usize>().ok()?.checked_sub(1)?))
        }
        ("time", None) => event(EventChoice::Time),
        ("cancel", None) => event(EventChoice::Cancel),
        ("cold", None) => fault(InjectedFault::Cold),
        ("crash", None) => fault(InjectedFault::Crash),
        ("supplant", None) => fault(InjectedFault::Supplant),
        ("again", Some(place)) => fault(InjectedFault::Again(RelativeId::read(place)?)),
        ("before", Some(number)) => {
            fault(InjectedFault::Die { skipped: number.parse().ok()?, side: CommitSide::Before })
        }
        ("after", Some(number)) => {
            fault(InjectedFault::Die { skipped: number.parse().ok()?, side: CommitSide::After })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_is_printed() {
        let text = "cold go:3 go:c/my%20saga/0%25 send:1 crash supplant again:4/1 before:0 after:17 time cancel";
        let schedule: RunSchedule = text.parse().expect("a schedule");
        assert_eq!(schedule.to_string(), text);
        assert_eq!(
            schedule.0[2],
            ScheduleEntry::Event(EventChoice::Go(RelativeId("c/my saga/0%".into())))
        );
        assert_eq!(schedule.0[3], ScheduleEntry::Event(EventChoice::Send(0)));
        assert_eq!(schedule.faults().count(), 6);
    }

    #[test]
    fn what_is_no_entry_is_named() {
        for (text, entry, number) in [
            ("go:1 jump", "jump", 2),
            ("go", "go", 1),
            ("go:", "go:", 1),
            ("go:%zz", "go:%zz", 1),
            ("send:0", "send:0", 1),
            ("time cold", "cold", 2),
            ("before:x", "before:x", 1),
        ] {
            let refused = text.parse::<RunSchedule>().expect_err(text);
            assert_eq!((refused.entry.as_str(), refused.number), (entry, number));
        }
    }

    #[test]
    fn a_fault_is_put_before_an_event() {
        let schedule: RunSchedule = "crash go:1 go:2".parse().expect("a schedule");
        let with =
            |step| schedule.with(step, ScheduleEntry::Fault(InjectedFault::Supplant)).to_string();
        assert_eq!(with(0), "crash supplant go:1 go:2");
        assert_eq!(with(1), "crash go:1 supplant go:2");
        assert_eq!(with(2), "crash go:1 go:2 supplant");
    }
}
