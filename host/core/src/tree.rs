//! Trees of executions: their counts and bounds, and the position of an execution in its tree.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    command::{FenceAction, FenceOperation},
    id::PromiseId,
    limit::{AdmissionRate, TokenBucket},
    promise::{NewPromise, Promise},
    tags,
    time::{Millis, Timestamp},
};

/// Number of executions created in one transaction from which a root's executions are included in
/// the tree's count. Smaller batches are counted as commands of the root's journal. If births are
/// bounded, all executions are counted.
const BATCH_OF_A_ROOT: usize = 16;

/// Counts of a root's tree: the executions that were created by others than the root. Births at the
/// root itself are frequent, and few in each tree, so they have no row unless births are bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeCount {
    /// Executions created.
    pub executions: u64,
    /// Token bucket for the number of executions created per second.
    pub births: TokenBucket,
    /// True if the root was killed: executions attached to it create nothing more.
    pub killed: bool,
}

/// Bounds of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeBounds {
    /// Maximum number of calls between the root and an execution.
    pub depth: u32,
    /// Maximum number of executions.
    pub executions: u64,
    /// Maximum number of executions created per second. `None`: no bound.
    pub births: Option<u32>,
}

/// Reason why a tree accepts no more executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeStop {
    /// The execution would exceed this maximum depth.
    Depth(u32),
    /// The tree has this maximum number of executions.
    Executions(u64),
    /// The tree exceeds this number of births per second.
    Births(u32),
    /// The root was killed.
    Killed,
}

impl Default for TreeBounds {
    fn default() -> Self {
        Self { depth: 1_000, executions: 1_000_000, births: None }
    }
}

impl TreeBounds {
    /// The count after one more execution at `depth`, in a tree with `known` executions that are
    /// counted elsewhere.
    ///
    /// # Errors
    /// [`TreeStop`]: the tree accepts no more executions.
    pub fn admit(
        &self,
        count: TreeCount,
        known: u64,
        depth: u32,
        now: Timestamp,
    ) -> Result<TreeCount, TreeStop> {
        if depth > self.depth {
            return Err(TreeStop::Depth(self.depth));
        }
        if count.executions.max(known) >= self.executions {
            return Err(TreeStop::Executions(self.executions));
        }
        let rate = self.births.map(|births| AdmissionRate {
            count: births,
            period_ms: Millis::seconds(1),
            burst: births.max(1),
        });
        let births = match rate {
            Some(rate) if count.births.tokens(rate, now) == 0 => {
                return Err(TreeStop::Births(rate.count));
            }
            Some(rate) => count.births.take(rate, now),
            None => count.births,
        };
        Ok(TreeCount { executions: count.executions + 1, births, ..count })
    }

    /// True if the executions that these actions create are counted. `was_made` is true if the
    /// creating invocation was itself created by another.
    pub fn counts(&self, was_made: bool, actions: &[FenceAction]) -> bool {
        let births = actions.iter().filter(|action| match &action.act {
            FenceOperation::Create { new, .. } => is_execution(new),
            _ => false,
        });
        let least = if was_made || self.births.is_some() { 1 } else { BATCH_OF_A_ROOT };
        births.take(least).count() == least
    }
}

/// True if the promise is executed, which means that it has a target.
pub fn is_execution(new: &NewPromise) -> bool {
    tags::target(&new.tags).is_some()
}

impl Promise {
    /// Number of calls between the root of the tree and this execution.
    pub fn depth(&self) -> u32 {
        let told = self.spec.tags.get(tags::DEPTH).and_then(|depth| depth.parse().ok());
        told.unwrap_or_else(|| u32::from(self.spec.made_by.is_some()))
    }

    /// The prefix of ids that its tree may act on, if `id` does not begin with it.
    pub fn beyond_rights(&self, id: &PromiseId) -> Option<&str> {
        let prefix = self.spec.tags.get(tags::RIGHTS)?;
        (!id.as_str().starts_with(prefix.as_str())).then_some(prefix)
    }

    /// Root of the tree, from the promise's tags.
    pub fn root(&self) -> PromiseId {
        let named = self.spec.tags.get(tags::ORIGIN);
        named.map_or_else(|| self.id().clone(), |root| PromiseId::from(root.as_str()))
    }

    /// The execution that owns the blobs of the tree: its root, and of several generations the first.
    pub fn blob_owner(&self) -> PromiseId {
        let root = self.root();
        root.generation_of().map_or(root, |(first, _)| first)
    }

    /// True if this execution may read the blobs of `owner`: those of its own tree, and those of ids
    /// that the client which started its tree may act on.
    pub fn may_read_blobs_of(&self, owner: &PromiseId) -> bool {
        self.blob_owner() == *owner || self.beyond_rights(owner).is_none()
    }

    /// The execution whose kill ends this one: the nearest ancestor-or-self that outlives its
    /// creator, or else the root.
    pub fn scope(&self) -> PromiseId {
        match (self.attached_to(), self.spec.tags.get(tags::SCOPE)) {
            (None, _) => self.id().clone(),
            (Some(_), Some(scope)) => PromiseId::from(scope.as_str()),
            (Some(_), None) => self.root(),
        }
    }
}

impl fmt::Display for TreeStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Depth(most) => {
                write!(f, "it has {most} calls one below the other (--limit tree_depth={most})")
            }
            Self::Executions(most) => {
                write!(f, "it has {most} executions (--limit tree_executions={most})")
            }
            Self::Births(most) => {
                write!(
                    f,
                    "it makes more than {most} executions a second (--limit tree_births={most})"
                )
            }
            Self::Killed => f.write_str("it was killed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        promise::{PromiseSpec, PromiseState},
        value::{Tags, Value},
    };

    fn promise(id: &str, tags: &[(&str, &str)]) -> Promise {
        let tags = tags.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let spec = PromiseSpec {
            id: id.into(),
            param: Value::default(),
            tags: Tags::from_iter(tags),
            made_by: None,
            timeout_at: Timestamp::NEVER,
            created_at: Timestamp(1),
        };
        Promise { spec: Arc::new(spec), state: PromiseState::Pending }
    }

    #[test]
    fn blobs_belong_to_the_root_and_are_read_within_rights() {
        assert_eq!(promise("a", &[]).blob_owner().as_str(), "a");
        assert_eq!(promise("a/g/3", &[]).blob_owner().as_str(), "a");
        assert_eq!(promise("a/g/3/0", &[(tags::ORIGIN, "a/g/3")]).blob_owner().as_str(), "a");
        assert_eq!(promise("x", &[(tags::ORIGIN, "a")]).blob_owner().as_str(), "a");
        let may_read = |tags: &[(&str, &str)], owner: &str| {
            promise("a/0", &[&[(tags::ORIGIN, "a")], tags].concat())
                .may_read_blobs_of(&owner.into())
        };
        assert!(may_read(&[], "other"), "without the tag: any id");
        assert!(may_read(&[(tags::RIGHTS, "team-")], "a"), "its own");
        assert!(may_read(&[(tags::RIGHTS, "team-")], "team-b"));
        assert!(!may_read(&[(tags::RIGHTS, "team-")], "other"));
    }

    #[test]
    fn a_tree_grows_up_to_its_bounds() {
        let bounds = TreeBounds { depth: 3, executions: 5, births: Some(2) };
        let now = Timestamp(1_000_000);
        let admit = |count, known, depth, now| bounds.admit(count, known, depth, now);
        let first = admit(TreeCount::default(), 0, 1, now).expect("it is the first");
        let second = admit(first, 0, 3, now).expect("there are two a second");
        assert_eq!(second.executions, 2);
        assert_eq!(admit(second, 0, 1, now), Err(TreeStop::Births(2)));
        let third = admit(second, 0, 1, now + Millis(500)).expect("half a second later");
        assert_eq!(admit(third, 0, 4, Timestamp::NEVER), Err(TreeStop::Depth(3)));
        assert_eq!(admit(third, 5, 1, Timestamp::NEVER), Err(TreeStop::Executions(5)));
        let full = TreeCount { executions: 5, ..third };
        assert_eq!(admit(full, 0, 1, Timestamp::NEVER), Err(TreeStop::Executions(5)));
    }
}
