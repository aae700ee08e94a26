//! Enforcement of the bounds of execution trees, and of the end of growth after a kill.

use super::draft::DecisionDraft;
use crate::{
    command::FenceAction,
    id::{CommandIndex, PromiseId},
    promise::{NewPromise, Task},
    reply::Refusal,
    tree::{TreeCount, TreeStop, is_execution},
    view::View,
};

/// True if the promise is the root of a tree or scope, which may have a count or a kill mark.
pub(crate) fn has_count(view: &View, id: &PromiseId) -> bool {
    view.promise(id).is_some_and(|promise| promise.attached_to().is_none())
}

impl DecisionDraft<'_> {
    /// True if the executions that these actions create are counted.
    pub(super) fn counts_births(&self, maker: &PromiseId, actions: &[FenceAction]) -> bool {
        let was_made = self.promise(maker).is_some_and(|maker| maker.spec.made_by.is_some());
        self.config.tree.counts(was_made, actions)
    }

    /// The count of the tree after `maker` created an execution in it by this command. `None` if
    /// its executions are not counted.
    ///
    /// # Errors
    /// [`Refusal::Tree`]: the tree has reached one of its bounds, or was killed.
    pub(super) fn birth(
        &self,
        maker: &Task,
        index: CommandIndex,
        new: &NewPromise,
        is_counted: bool,
    ) -> Result<Option<(PromiseId, TreeCount)>, Refusal> {
        let Some(promise) = self.promise(&maker.id).filter(|_| is_execution(new)) else {
            return Ok(None);
        };
        self.lives(&maker.id)?;
        let root = promise.root();
        let refused = |stop| Refusal::Tree { root: root.clone(), stop };
        let count = self.tree_count(&root).unwrap_or_default();
        let known = match promise.spec.made_by {
            None => u64::from(index.0),
            Some(_) => 0,
        };
        let grown = self.config.tree.admit(count, known, promise.depth() + 1, self.now);
        let grown = grown.map_err(refused)?;
        Ok(is_counted.then_some((root, grown)))
    }

    /// Checks that the tree of `maker` was not killed.
    ///
    /// # Errors
    /// [`Refusal::Tree`]: the tree was killed.
    pub(super) fn lives(&self, maker: &PromiseId) -> Result<(), Refusal> {
        let Some(promise) = self.promise(maker) else { return Ok(()) };
        match self.tree_count(&promise.scope()).is_some_and(|count| count.killed) {
            true => Err(Refusal::Tree { root: promise.root(), stop: TreeStop::Killed }),
            false => Ok(()),
        }
    }

    /// Marks a tree whose root was killed, so that it creates nothing more.
    pub(super) fn stop_births(&mut self, root: &PromiseId) {
        let is_root = self.promise(root).is_some_and(|promise| promise.attached_to().is_none());
        let makes = self.task(root).is_some_and(|task| task.children) || self.head(root).open() > 0;
        if is_root && makes {
            let count = self.tree_count(root).unwrap_or_default();
            let count = TreeCount { killed: true, ..count };
            self.delta.tree_counts.insert(root.clone(), Some(count));
        }
    }

    fn tree_count(&self, root: &PromiseId) -> Option<TreeCount> {
        match self.delta.tree_counts.get(root) {
            Some(count) => *count,
            None => self.view.tree_count(root),
        }
    }
}
