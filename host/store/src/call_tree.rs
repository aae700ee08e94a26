//! The tree of calls: parents and children of promises, many at a time. No read is proportional to
//! the tree.
//!
//! A promise is the child of the invocation whose claim made it. A promise that a client or an
//! external worker made is the child of the promise that its tag `parent` names, if that is another
//! one. Tags come from clients, so there may be cycles.

use async_trait::async_trait;
use segno_core::id::PromiseId;

use super::{PromiseRow, StoreError};

/// A parent whose children are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// The promise.
    pub id: PromiseId,
    /// Only children with a number beyond this one; 0 for all.
    pub after: i64,
}

/// A child.
#[derive(Debug, Clone)]
pub struct Child {
    /// The place of the parent in the request.
    pub parent: usize,
    /// Its number, which counts promises in the order of their creation.
    pub number: i64,
    /// The child. A database leaves out parameters and values of more than 64 KiB.
    pub row: PromiseRow,
}

/// The promises around one promise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The promise's own number.
    pub number: i64,
    /// The number of its children, counted up to a bound.
    pub children: u32,
    /// The first of those that its task waits for, in the order of their creation.
    pub awaits: Vec<PromiseId>,
}

/// Reads of the tree of calls.
#[async_trait]
pub trait CallTree: Send + Sync {
    /// The children of each of `parents` in the order of their creation, at most `each` of one.
    async fn children(&self, parents: &[Parent], each: u32) -> Result<Vec<Child>, StoreError>;

    /// The latest children of each of `parents` in the order of their creation, at most `each` of
    /// one.
    async fn latest(&self, parents: &[Parent], each: u32) -> Result<Vec<Child>, StoreError>;

    /// The neighbours of each of these, in their order; none for a promise that does not exist.
    /// Children are counted up to `count`, and at most `awaits` awaited promises are named.
    async fn neighbours(
        &self,
        ids: &[PromiseId],
        count: u32,
        awaits: u32,
    ) -> Result<Vec<Option<Neighbours>>, StoreError>;
}

/// Merges the children that two lists found: in order, and at most `each` of one parent.
pub(super) fn in_order(mut found: Vec<Child>, each: u32) -> Vec<Child> {
    found.sort_by_key(|child| (child.parent, child.number));
    first_of_each(&mut found, each);
    found
}

/// Merges the latest children that two lists found: in order, and at most `each` of one parent.
pub(super) fn latest_in_order(mut found: Vec<Child>, each: u32) -> Vec<Child> {
    found.sort_by_key(|child| (child.parent, std::cmp::Reverse(child.number)));
    first_of_each(&mut found, each);
    found.sort_by_key(|child| (child.parent, child.number));
    found
}

/// Keeps the first `each` children of one parent.
fn first_of_each(found: &mut Vec<Child>, each: u32) {
    let (mut of, mut count) = (usize::MAX, 0);
    found.retain(|child| {
        count = if child.parent == of { count + 1 } else { 1 };
        of = child.parent;
        count <= each
    });
}
