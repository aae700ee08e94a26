//! Objects: a kind of object that a module declares, and a key. Of its functions, those that write
//! take turns, one execution at a time, in the order in which they were accepted; the others only
//! read, and wait for nobody.
//!
//! **The line.** An object's row says whose turn it is and who is last. Each execution that waits
//! for its turn is suspended on the promise of the one before it, so that a settlement offers the
//! next one, as it resumes whatever else was suspended on it. Where one of the middle settles before
//! its turn, who was behind it waits for who was before it.
//!
//! **One run a key.** A module may say of a function that it runs once a key. The row keeps the run
//! for as long as that is there: another one is refused, and the state goes with it.
//!
//! **Promises.** An object has promises with names, which belong to no execution: whoever comes first
//! makes them, and they stay as long as its state does.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    id::{ObjectId, PromiseId},
    limit::Rule,
    value::{Payload, Text},
};

/// The most bytes of an object's name, and of that of a part of its state: stores look both up
/// together.
pub const LONGEST_OBJECT: usize = 1_536;
/// The same of a part of its state, and of one of its promises.
pub const LONGEST_NAME: usize = 1_024;

/// The line of an object. Without a row nobody ever had a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Whose turn it is, or was last, as long as that promise is there.
    pub holder: Option<PromiseId>,
    /// Who came last.
    pub tail: PromiseId,
    /// The one run of the key, where its function runs once a key.
    #[serde(default)]
    pub run: Option<PromiseId>,
}

impl Line {
    /// Whether it is, or was last, the turn of this execution.
    pub fn is_held_by(&self, id: &PromiseId) -> bool {
        self.holder.as_ref() == Some(id)
    }

    /// Those that its row names.
    pub fn members(&self) -> impl Iterator<Item = &PromiseId> {
        self.holder.iter().chain([&self.tail])
    }
}

/// What a write does to an object's state, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateWrite {
    /// Whether all of it goes first.
    pub clears: bool,
    /// The names that are written, and with what; none: the name goes.
    pub entries: Vec<(Text, Option<Payload>)>,
}

impl StateWrite {
    /// Whether it leaves nothing of the object: its promises go as well.
    pub fn leaves_nothing(&self) -> bool {
        self.clears && self.entries.is_empty()
    }
}

/// What is known of a module by who decides, beside that it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleFacts {
    /// Functions of objects that only read, as `OBJECT/FUNCTION`.
    pub shared: BTreeSet<Text>,
    /// The limits of its functions, by function.
    #[serde(default)]
    pub limits: BTreeMap<Text, Rule>,
    /// Functions of objects that run once a key, as `OBJECT/FUNCTION`.
    #[serde(default)]
    pub runs: BTreeSet<Text>,
}

/// A part of an object's state.
pub type StateKey = (ObjectId, Text);
