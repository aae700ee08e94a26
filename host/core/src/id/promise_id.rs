//! Promise ids, and the ids derived from them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::CommandIndex;
use crate::{time::Timestamp, value::Text};

/// Id of a promise, and of its task and its invocation, which share it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromiseId(Text);

impl PromiseId {
    /// A client-chosen id. Every text is accepted.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(Text::from(id.into()))
    }

    /// A new id that begins with `name`, and is unique by `nonce`. Ids of the same second are next
    /// to each other in an index, so that a commit with many of them changes few pages.
    pub fn generated(name: &str, now: Timestamp, nonce: u64) -> Self {
        let second = now.0.div_euclid(1_000) & 0xffff;
        Self::new(format!("{name}-{second:04x}{nonce:016x}"))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The promise of command `index` of this invocation.
    pub fn command(&self, index: CommandIndex) -> Self {
        Self::new(format!("{self}/{}", index.0))
    }

    /// The promise with this name in the invocation.
    pub fn named(&self, name: &str) -> Self {
        Self::new(format!("{self}/p/{name}"))
    }

    /// The promise of the `n`-th signal to this invocation.
    pub fn signal(&self, n: u32) -> Self {
        Self::new(format!("{self}/s/{n}"))
    }

    /// The answer promise of the update that is the `n`-th signal to this invocation.
    pub fn answer(&self, n: u32) -> Self {
        Self::new(format!("{self}/a/{n}"))
    }

    /// The `n`-th generation of this invocation, from 2 on. The first has the invocation's own id.
    pub fn generation(&self, n: u32) -> Self {
        Self::new(format!("{self}/g/{n}"))
    }

    /// The invocation and the generation number, if the id has the form of a generation.
    pub fn generation_of(&self) -> Option<(Self, u32)> {
        let (of, n) = self.as_str().rsplit_once("/g/")?;
        let number =
            n.parse().ok().filter(|number: &u32| *number > 1 && number.to_string() == n)?;
        (!of.is_empty()).then(|| (Self::from(of), number))
    }

    /// Invocations that may know this promise by a name, with that name; longest id first.
    pub fn named_by(&self) -> impl Iterator<Item = (Self, &str)> {
        let places = self.as_str().rmatch_indices("/p/").map(|(place, _)| place);
        places.filter_map(|place| {
            let (owner, name) = (&self.as_str()[..place], &self.as_str()[place + "/p/".len()..]);
            (!owner.is_empty() && !name.is_empty()).then(|| (Self::from(owner), name))
        })
    }

    pub fn compensation(&self, saga: &str, seq: u32) -> Self {
        Self::new(format!("{self}/c/{saga}/{seq}"))
    }

    /// The saga and the step that this promise compensates, if it is a compensation of
    /// `invocation`.
    pub fn compensates(&self, invocation: &Self) -> Option<(Text, u32)> {
        let rest = self.as_str().strip_prefix(invocation.as_str())?.strip_prefix("/c/")?;
        let (saga, seq) = rest.rsplit_once('/')?;
        let seq = seq.parse().ok()?;
        (invocation.compensation(saga, seq) == *self).then(|| (Text::from(saga), seq))
    }

    /// The promise by which an operator decides whether a step of a saga took effect.
    pub fn verdict_on(&self, saga: &str, seq: u32) -> Self {
        Self::new(format!("{self}/u/{saga}/{seq}"))
    }

    /// The saga and the step that `promise` asks about, if it is one of [`Self::verdict_on`].
    pub fn asked_about<'a>(&self, promise: &'a str) -> Option<(&'a str, &'a str)> {
        promise.strip_prefix(self.as_str())?.strip_prefix("/u/")?.rsplit_once('/')
    }

    /// The promise of an attempt of a node of this graph run.
    pub fn attempt(&self, node: &str, attempt: u32) -> Self {
        Self::new(format!("{self}/n/{node}/{attempt}"))
    }

    /// The node that this promise is an attempt of, if it belongs to `run`.
    pub fn node_of(&self, run: &Self) -> Option<&str> {
        let rest = self.as_str().strip_prefix(run.as_str())?.strip_prefix("/n/")?;
        Some(rest.split_once('/')?.0)
    }

    /// The promise of a named signal to this graph run.
    pub fn run_signal(&self, name: &str) -> Self {
        Self::new(format!("{self}/sig/{name}"))
    }

    /// True if the id equals `root` or is below it, in any of the notations that clients use (`.`,
    /// `:` or `/`).
    pub fn lies_under(&self, root: &str) -> bool {
        let rest = self.as_str().strip_prefix(root);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':', '/']))
    }

    /// True if the id is below `owner`, where only `owner` may create promises.
    pub fn is_minted_by(&self, owner: &Self) -> bool {
        self.as_str()
            .strip_prefix(owner.as_str())
            .is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
    }
}

impl From<&str> for PromiseId {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minted_ids_lie_under_their_owner() {
        let owner = PromiseId::from("order/42");
        assert_eq!(owner.command(CommandIndex(7)).as_str(), "order/42/7");
        assert_eq!(owner.named("approval").as_str(), "order/42/p/approval");
        assert_eq!(owner.signal(0).as_str(), "order/42/s/0");
        assert!(owner.signal(0).is_minted_by(&owner));
        assert_eq!(owner.attempt("load", 2).node_of(&owner), Some("load"));
        assert_eq!(owner.generation(2).generation_of(), Some((owner.clone(), 2)));
        for plain in ["order/42", "order/42/g/1", "order/42/g/02", "order/42/g/x", "/g/2"] {
            assert_eq!(PromiseId::from(plain).generation_of(), None, "{plain}");
        }
        let named = PromiseId::from("a/p/b/p/c");
        let owners: Vec<_> = named.named_by().collect();
        assert_eq!(owners, [("a/p/b".into(), "c"), ("a".into(), "b/p/c")]);
        assert_eq!(owner.command(CommandIndex(7)).node_of(&owner), None);
        for stranger in ["order/42", "order/42/", "order/421", "order/421/0", "x"] {
            assert!(!PromiseId::from(stranger).is_minted_by(&owner), "{stranger}");
        }
    }

    #[test]
    fn generated_ids_of_one_second_are_neighbours_and_differ() {
        let id = |ms, nonce| PromiseId::generated("order", Timestamp(ms), nonce);
        assert_eq!(id(65_535_999, 0xab).as_str(), "order-ffff00000000000000ab");
        assert_ne!(id(1_000, 1), id(1_000, 2));
        assert!(id(1_000, u64::MAX) < id(2_000, 0), "seconds come before nonces");
        assert!(id(65_536_000, 7) < id(1_000, 0), "seconds begin again");
    }

    #[test]
    fn a_tree_is_told_by_the_ids_of_its_members() {
        for id in ["root", "root.0", "root:0.1", "root:d1f", "root/7"] {
            assert!(PromiseId::from(id).lies_under("root"), "{id}");
        }
        for id in ["roots", "other:root", "roo", ""] {
            assert!(!PromiseId::from(id).lies_under("root"), "{id}");
        }
    }
}
