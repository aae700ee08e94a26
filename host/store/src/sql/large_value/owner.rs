//! Who contains a chunk.

use segno_core::{id::ObjectId, value::Text};

use crate::sql::SqlCell;

/// The owner of a value. Its uses are removed together with the value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValueOwner<'a> {
    /// A promise, by number.
    Promise(i64),
    /// The journal of a promise, by number.
    Journal(i64),
    /// An entry of the state of an object.
    State(&'a ObjectId, &'a Text),
}

impl From<ValueOwner<'_>> for SqlCell {
    fn from(owner: ValueOwner<'_>) -> Self {
        match owner {
            ValueOwner::Promise(number) => format!("p{number}").into(),
            ValueOwner::Journal(number) => format!("j{number}").into(),
            ValueOwner::State(object, name) => format!("{}{name}", of_object_prefix(object)).into(),
        }
    }
}

/// Prefix of the owners of all entries of an object, and of no others.
pub(crate) fn of_object_prefix(object: &ObjectId) -> String {
    format!("s{}:{object}", object.as_str().len())
}
