//! Objects. An object is an object type declared by a module, plus a key. Its functions that write
//! take turns: one execution at a time, in order of acceptance. The other functions only read, and
//! never wait.
//!
//! **The queue.** The row of an object (its *line*) names the holder of the turn and the last
//! execution in the queue. Each execution that waits for its turn is suspended on the promise of
//! its predecessor. So a settlement offers the next execution just as it resumes any other awaiter.
//! If an execution in the middle settles before its turn, its successor waits for its predecessor
//! instead.
//!
//! **One run per key.** A module may declare that a function runs once per key. The row names the
//! run as long as the run exists: another one is refused, and the state is removed with the run.
//!
//! **Promises.** An object has named promises, which belong to no execution. The first execution
//! that refers to one creates it, and it exists as long as the object's state does.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    id::{ObjectId, PromiseId},
    limit::AdmissionRule,
    value::{Payload, Text},
};

/// Maximum length in bytes of an object's name. Stores index it together with the name of a state
/// entry.
pub const LONGEST_OBJECT: usize = 1_536;
/// Maximum length in bytes of the name of a state entry, or of a promise of an object.
pub const LONGEST_NAME: usize = 1_024;

/// Queue of an object. Without a row, no execution ever had a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectQueue {
    /// The execution that has the turn, or had it last, as long as its promise exists.
    pub holder: Option<PromiseId>,
    /// The last execution in the queue.
    pub tail: PromiseId,
    /// The only run of the key, if its function runs once per key.
    #[serde(default)]
    pub run: Option<PromiseId>,
}

impl ObjectQueue {
    /// True if this execution has the turn, or had it last.
    pub fn is_held_by(&self, id: &PromiseId) -> bool {
        self.holder.as_ref() == Some(id)
    }

    /// The executions that the row names.
    pub fn members(&self) -> impl Iterator<Item = &PromiseId> {
        self.holder.iter().chain([&self.tail])
    }
}

/// A write to an object's state, in this order: clear, then entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateWrite {
    /// True if the whole state is cleared first.
    pub clears: bool,
    /// Entries to write, by name. `None` removes the entry.
    pub entries: Vec<(Text, Option<Payload>)>,
}

impl StateWrite {
    /// True if the object is empty afterwards; then its promises are removed as well.
    pub fn leaves_nothing(&self) -> bool {
        self.clears && self.entries.is_empty()
    }
}

/// Facts about a module that decisions use, beside its existence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleFacts {
    /// Functions of objects that only read (`OBJECT/FUNCTION`).
    pub shared: BTreeSet<Text>,
    /// Limits of its functions, by function.
    #[serde(default)]
    pub limits: BTreeMap<Text, AdmissionRule>,
    /// Functions of objects that run once per key (`OBJECT/FUNCTION`).
    #[serde(default)]
    pub runs: BTreeSet<Text>,
}

/// Key of an entry of an object's state.
pub type StateKey = (ObjectId, Text);
