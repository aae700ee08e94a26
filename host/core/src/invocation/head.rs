//! Head of a journal: all that is needed to append to it.

use serde::{Deserialize, Serialize};

use super::{Record, RecordBody};
use crate::{id::CommandIndex, time::Timestamp};

/// Summary of a journal, without its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHead {
    /// Number of records.
    pub len: u32,
    /// Number of commands among the records.
    pub commands: u32,
    /// Number of completed commands: the guest was notified of the outcome, or they have none.
    pub notified: u32,
    /// Logical time of the last record.
    pub at: Timestamp,
    /// True if the last record is `Finished`.
    pub finished: bool,
}

/// Error: a record cannot follow a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendRefusal {
    /// The sequence number is not the next one.
    #[error("the next record is number {expected}, not {given}")]
    WrongPlace {
        /// The next sequence number.
        expected: u32,
        /// The given sequence number.
        given: u32,
    },
    /// `Started` must be first and nowhere else.
    #[error("record {0} must be `started` if and only if it is the first")]
    StartedIsFirst(u32),
    /// Nothing may follow `Finished`.
    #[error("record {0} comes after the end")]
    AfterTheEnd(u32),
    /// Command indexes must have no gaps.
    #[error("the next command is number {expected}, not {given}")]
    WrongCommand {
        /// The next index.
        expected: CommandIndex,
        /// The given index.
        given: CommandIndex,
    },
    /// A notification must follow its command.
    #[error(
        "command {0} cannot be notified: it does not exist, or every command was notified already"
    )]
    NothingToNotify(CommandIndex),
    /// Logical time must not decrease.
    #[error("the time of record {seq} is {given}, before that of the record before it, {last}")]
    TimeFell {
        /// Sequence number of the record.
        seq: u32,
        /// Time of the record.
        given: Timestamp,
        /// Time of the record before it.
        last: Timestamp,
    },
}

impl JournalHead {
    /// Number of commands whose outcome the guest was not notified of.
    pub fn open(&self) -> u32 {
        self.commands.saturating_sub(self.notified)
    }

    /// The head after appending one more record.
    ///
    /// # Errors
    /// [`AppendRefusal`]: the record cannot follow; the journal does not change.
    pub fn after(self, record: &Record) -> Result<Self, AppendRefusal> {
        let seq = record.seq;
        if seq != self.len {
            return Err(AppendRefusal::WrongPlace { expected: self.len, given: seq });
        }
        if self.finished {
            return Err(AppendRefusal::AfterTheEnd(seq));
        }
        if (seq == 0) != matches!(record.body, RecordBody::Started { .. }) {
            return Err(AppendRefusal::StartedIsFirst(seq));
        }
        if record.at < self.at {
            return Err(AppendRefusal::TimeFell { seq, given: record.at, last: self.at });
        }
        let mut head = Self { len: self.len + 1, at: record.at, ..self };
        match &record.body {
            RecordBody::Started { .. } | RecordBody::Signal { .. } | RecordBody::Cancelled => {}
            RecordBody::Command { index, kind, .. } => {
                let expected = CommandIndex(self.commands);
                if *index != expected {
                    return Err(AppendRefusal::WrongCommand { expected, given: *index });
                }
                head.commands += 1;
                head.notified += u32::from(!kind.completes());
            }
            RecordBody::Notified { index, .. } => {
                if index.0 >= self.commands || self.notified >= self.commands {
                    return Err(AppendRefusal::NothingToNotify(*index));
                }
                head.notified += 1;
            }
            RecordBody::Finished { .. } => head.finished = true,
        }
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world;

    #[test]
    fn what_cannot_follow_is_refused() {
        let started = JournalHead::default().after(&world::started()).expect("it begins");
        let earlier = Record { at: Timestamp(started.at.0 - 1), ..world::asked(1, 0) };
        let fell = AppendRefusal::TimeFell { seq: 1, given: earlier.at, last: started.at };
        assert_eq!(started.after(&earlier), Err(fell));
        let gap = AppendRefusal::WrongCommand { expected: CommandIndex(0), given: CommandIndex(3) };
        assert_eq!(started.after(&world::asked(1, 3)), Err(gap));
        let ended = started.after(&world::finished(1)).expect("it ends");
        assert_eq!(ended.after(&world::asked(2, 0)), Err(AppendRefusal::AfterTheEnd(2)));
    }
}
