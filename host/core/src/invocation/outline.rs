//! Summary of a whole journal that a replay needs before it begins. It is built record by record,
//! so a journal of any length can be scanned in pages without loading it.

use serde::{Deserialize, Serialize};

use super::{AppendRefusal, JournalHead, Record, RecordBody};

/// Summary of a whole journal, as described in the module. It takes one bit per command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    head: JournalHead,
    started: Option<Record>,
    /// Bit set by command index: set if the journal contains the outcome.
    notified: Vec<u64>,
    signals: u32,
}

impl Outline {
    /// The outline of a journal that is fully loaded.
    ///
    /// # Errors
    /// [`AppendRefusal`]: the records are not a valid journal.
    pub fn of(records: &[Record]) -> Result<Self, AppendRefusal> {
        let mut outline = Self::default();
        outline.add(records)?;
        Ok(outline)
    }

    /// Adds the next records of the journal.
    ///
    /// # Errors
    /// [`AppendRefusal`]: the records do not continue the journal.
    pub fn add(&mut self, records: &[Record]) -> Result<(), AppendRefusal> {
        for record in records {
            let head = self.head.after(record)?;
            match &record.body {
                RecordBody::Started { .. } => self.started = Some(record.clone()),
                RecordBody::Notified { index, .. } => {
                    let (word, bit) = place(index.0);
                    let words = self.notified.len().max(word + 1);
                    self.notified.resize(words, 0);
                    if self.notified[word] & bit != 0 {
                        return Err(AppendRefusal::NothingToNotify(*index));
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

    /// Head of the journal.
    pub fn head(&self) -> JournalHead {
        self.head
    }

    /// The record that started the invocation. `None` if the journal is empty.
    pub fn started(&self) -> Option<&Record> {
        self.started.as_ref()
    }

    /// Number of signals in the journal.
    pub fn signals(&self) -> u32 {
        self.signals
    }

    /// True if the journal contains the outcome of this command.
    pub fn tells(&self, command: u32) -> bool {
        let (word, bit) = place(command);
        self.notified.get(word).is_some_and(|word| word & bit != 0)
    }
}

fn place(command: u32) -> (usize, u64) {
    ((command / 64) as usize, 1 << (command % 64))
}
