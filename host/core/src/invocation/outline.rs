//! What a replay has to know of a whole journal before it begins. It is gathered record by record,
//! so that a journal of any length is looked over in pages and never held.

use serde::{Deserialize, Serialize};

use super::{AppendRefused, JournalHead, Record, RecordBody};

/// See the module. A command takes one bit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    head: JournalHead,
    started: Option<Record>,
    /// By command: whether the journal tells its outcome.
    notified: Vec<u64>,
    signals: u32,
}

impl Outline {
    /// The outline of these records.
    ///
    /// # Errors
    /// [`AppendRefused`]: they are no journal, so replaying them would prove nothing.
    pub fn of(records: &[Record]) -> Result<Self, AppendRefused> {
        let mut outline = Self::default();
        outline.add(records)?;
        Ok(outline)
    }

    /// Adds the next records of the journal.
    ///
    /// # Errors
    /// [`AppendRefused`]: they do not continue it.
    pub fn add(&mut self, records: &[Record]) -> Result<(), AppendRefused> {
        for record in records {
            let head = self.head.after(record)?;
            match &record.body {
                RecordBody::Started { .. } => self.started = Some(record.clone()),
                RecordBody::Notified { index, .. } => {
                    let (word, bit) = place(index.0);
                    let words = self.notified.len().max(word + 1);
                    self.notified.resize(words, 0);
                    if self.notified[word] & bit != 0 {
                        return Err(AppendRefused::NothingToNotify(*index));
                    }
                    self.notified[word] |= bit;
                }
                RecordBody::Signal { .. } => self.signals += 1,
                RecordBody::Command { .. }
                | RecordBody::Cancelled
                | RecordBody::Finished { .. } => {}
            }
            self.head = head;
        }
        Ok(())
    }

    /// The end of the journal.
    pub fn head(&self) -> JournalHead {
        self.head
    }

    /// The record that began the invocation; none if the journal is empty.
    pub fn started(&self) -> Option<&Record> {
        self.started.as_ref()
    }

    /// How many signals it tells of.
    pub fn signals(&self) -> u32 {
        self.signals
    }

    /// Whether the journal tells the outcome of this command.
    pub fn tells(&self, command: u32) -> bool {
        let (word, bit) = place(command);
        self.notified.get(word).is_some_and(|word| word & bit != 0)
    }
}

fn place(command: u32) -> (usize, u64) {
    ((command / 64) as usize, 1 << (command % 64))
}
