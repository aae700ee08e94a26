//! The call tree: parents and children of promises, read in batches. The cost of a read does not
//! grow with the tree.
//!
//! A promise is the child of the invocation whose claim made it. A promise that a client or an
//! external worker made is the child of the promise that its tag `parent` names, if that is another
//! one. Tags come from clients, so there may be cycles.

use async_trait::async_trait;
use segno_core::id::PromiseId;

use super::{PromiseRow, StoreError};

/// A parent in a request for children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentCursor {
    pub id: PromiseId,
    /// Cursor: only children with a number above this one; 0 for all.
    pub after: i64,
}

/// A child promise found by [`CallTree`].
#[derive(Debug, Clone)]
pub struct ChildRow {
    /// Index of the parent in the request.
    pub parent: usize,
    /// The child's number. Promises are numbered in creation order.
    pub number: i64,
    /// The child's row, without parameters and values larger than 64 KiB.
    pub row: PromiseRow,
}

/// The call-tree neighbours of a promise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeNeighbours {
    /// The number of the promise; 0 if it does not exist.
    pub number: i64,
    /// Number of children, counted up to a bound.
    pub children: u32,
    /// The first promises that the promise's task awaits, in creation order.
    pub awaits: Vec<PromiseId>,
}

/// Reads of the call tree.
#[async_trait]
pub trait CallTree: Send + Sync {
    /// Returns the children of each of `parents` in creation order, at most `each` per parent. A
    /// parent that does not exist has the children that name it.
    async fn children(
        &self,
        parents: &[ParentCursor],
        each: u32,
    ) -> Result<Vec<ChildRow>, StoreError>;

    /// Returns the newest children of each of `parents` in creation order, at most `each` per
    /// parent.
    async fn latest(
        &self,
        parents: &[ParentCursor],
        each: u32,
    ) -> Result<Vec<ChildRow>, StoreError>;

    /// Returns the neighbours of each promise, in the order of `ids`; `None` for a promise that
    /// does not exist and has no counted children. Counts at most `count` children and names at most `awaits` awaited promises
    /// per promise.
    async fn neighbours(
        &self,
        ids: &[PromiseId],
        count: u32,
        awaits: u32,
    ) -> Result<Vec<Option<TreeNeighbours>>, StoreError>;
}

impl TreeNeighbours {
    /// True if the promise exists or has children.
    pub(super) fn is_found(&self) -> bool {
        self.number != 0 || self.children > 0
    }
}

/// Merges lists of children: sorted, at most `each` per parent.
pub(super) fn in_order(mut found: Vec<ChildRow>, each: u32) -> Vec<ChildRow> {
    found.sort_by_key(|child| (child.parent, child.number));
    first_of_each(&mut found, each);
    found
}

/// Merges lists of newest children: sorted, at most `each` per parent.
pub(super) fn latest_in_order(mut found: Vec<ChildRow>, each: u32) -> Vec<ChildRow> {
    found.sort_by_key(|child| (child.parent, std::cmp::Reverse(child.number)));
    first_of_each(&mut found, each);
    found.sort_by_key(|child| (child.parent, child.number));
    found
}

/// Keeps the first `each` children of each parent.
fn first_of_each(found: &mut Vec<ChildRow>, each: u32) {
    let (mut of, mut count) = (usize::MAX, 0);
    found.retain(|child| {
        count = if child.parent == of { count + 1 } else { 1 };
        of = child.parent;
        count <= each
    });
}
