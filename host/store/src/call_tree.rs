//! Who made whom: what the tree of calls is read from, many promises at a time and none of them proportional to the tree.
//!
//! A promise is the child of the invocation whose claim made it. One that a client or a worker outside made is the child
//! of the promise that its tag `parent` names, if that is another. So a tree goes on across worlds. Tags are what clients
//! say: there may be rings.

use async_trait::async_trait;
use segno_core::id::PromiseId;

use super::{PromiseRow, StoreError};

/// Whose children are asked for.
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
    /// Whose: the place of the parent in the question.
    pub parent: usize,
    /// Its number, which counts promises in the order of their creation.
    pub number: i64,
    /// The child. A database leaves out parameters and values of more than 64 KiB.
    pub row: PromiseRow,
}

/// What is around a promise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The promise's own number.
    pub number: i64,
    /// How many children it has; counted up to a bound.
    pub children: u32,
    /// The first of those that its task waits for, in the order of their creation.
    pub awaits: Vec<PromiseId>,
}

/// Reading trees.
#[async_trait]
pub trait CallTree: Send + Sync {
    /// The children of each of `parents` in the order of their creation, at most `each` of one.
    async fn children(&self, parents: &[Parent], each: u32) -> Result<Vec<Child>, StoreError>;

    /// What is around each of these, in their order; none for what does not exist. Children are counted up to `count`,
    /// and of those awaited `awaits` are named.
    async fn neighbours(
        &self,
        ids: &[PromiseId],
        count: u32,
        awaits: u32,
    ) -> Result<Vec<Option<Neighbours>>, StoreError>;
}

/// Children as two lists found them, in order and at most `each` of one parent.
pub(super) fn in_order(mut found: Vec<Child>, each: u32) -> Vec<Child> {
    found.sort_by_key(|child| (child.parent, child.number));
    let (mut of, mut count) = (usize::MAX, 0);
    found.retain(|child| {
        count = if child.parent == of { count + 1 } else { 1 };
        of = child.parent;
        count <= each
    });
    found
}
