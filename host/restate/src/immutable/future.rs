//! Trees of awaited notifications.

use std::collections::BTreeSet;

use prost::{Enumeration, Message};

use super::notification::NotificationId;

/// The wait of an invocation: notifications and nested waits, joined by a combinator.
///
/// V5 and V6 wait for the first of a set; that is a tree with one node.
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Future {
    /// Results of commands, by completion id.
    #[prost(uint32, repeated, tag = "1")]
    pub completions: Vec<u32>,
    /// Signals, by index.
    #[prost(uint32, repeated, tag = "2")]
    pub signals: Vec<u32>,
    /// Signals, by name.
    #[prost(string, repeated, tag = "3")]
    pub named_signals: Vec<String>,
    /// Nested waits.
    #[prost(message, repeated, tag = "4")]
    pub nested: Vec<Future>,
    /// The [`Combinator`] of all these parts.
    #[prost(enumeration = "Combinator", tag = "5")]
    pub combinator: i32,
}

/// Condition for completing a wait with several parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum Combinator {
    /// Known to the deployment only, which has to examine each part that completes.
    Unknown = 0,
    /// The first part completed, with any outcome.
    FirstCompleted = 1,
    /// All parts completed, with any outcomes.
    AllCompleted = 2,
    /// The first part succeeded, or all parts failed.
    FirstSucceededOrAllFailed = 3,
    /// All parts succeeded, or the first part failed.
    AllSucceededOrFirstFailed = 4,
}

/// Known outcome of a completed notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotificationOutcome {
    /// The notification carries anything but a failure.
    Succeeded,
    /// The notification carries a failure.
    Failed,
}

/// Known progress of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitProgress {
    Pending,
    Succeeded,
    Failed,
    /// Done; success depends on the order in which the notifications arrived.
    Either,
}

impl WaitProgress {
    fn may_succeed(self) -> bool {
        matches!(self, Self::Succeeded | Self::Either)
    }

    fn may_fail(self) -> bool {
        matches!(self, Self::Failed | Self::Either)
    }
}

impl Future {
    /// Creates a wait for the first of these notifications.
    pub fn first_of(ids: impl IntoIterator<Item = NotificationId>) -> Self {
        let mut future = Self::of(Combinator::FirstCompleted);
        ids.into_iter().for_each(|id| future.push(id));
        future
    }

    /// Creates a wait for all of these notifications, with any outcomes.
    pub fn all_of(ids: impl IntoIterator<Item = NotificationId>) -> Self {
        let mut future = Self::of(Combinator::AllCompleted);
        ids.into_iter().for_each(|id| future.push(id));
        future
    }

    /// Creates a wait without parts.
    pub fn of(combinator: Combinator) -> Self {
        Self { combinator: combinator as i32, ..Self::default() }
    }

    /// Adds a notification to the parts.
    pub fn push(&mut self, id: NotificationId) {
        match id {
            NotificationId::Completion(id) => self.completions.push(id),
            NotificationId::Signal(index) => self.signals.push(index),
            NotificationId::NamedSignal(name) => self.named_signals.push(name),
        }
    }

    /// Returns all awaited notifications, anywhere in the tree.
    pub fn leaves(&self) -> BTreeSet<NotificationId> {
        let mut leaves = BTreeSet::new();
        let mut nodes = vec![self];
        while let Some(node) = nodes.pop() {
            leaves.extend(node.own_leaves());
            nodes.extend(&node.nested);
        }
        leaves
    }

    /// Returns true if the invocation can continue. `known` returns `None` for a notification that
    /// has not arrived, or that the invocation has already seen.
    ///
    /// There are no false negatives. There are false positives, after which the invocation waits
    /// again: if the order of notifications decides, or if a part is complete that only the
    /// deployment can judge.
    pub fn is_satisfied(
        &self,
        known: impl Fn(&NotificationId) -> Option<NotificationOutcome>,
    ) -> bool {
        let mut undecided = false;
        self.progress(&known, &mut undecided) != WaitProgress::Pending || undecided
    }

    /// Returns true if the first completed part is sufficient, anywhere in the tree.
    pub fn is_race(&self) -> bool {
        let combinator = Combinator::try_from(self.combinator).unwrap_or(Combinator::Unknown);
        matches!(combinator, Combinator::Unknown | Combinator::FirstCompleted)
            && self.nested.iter().all(Self::is_race)
    }

    fn own_leaves(&self) -> impl Iterator<Item = NotificationId> {
        let completions = self.completions.iter().map(|id| NotificationId::Completion(*id));
        let signals = self.signals.iter().map(|index| NotificationId::Signal(*index));
        let named = self.named_signals.iter().cloned().map(NotificationId::NamedSignal);
        completions.chain(signals).chain(named)
    }

    /// Sets `undecided` if a completed part can be judged by the deployment only.
    fn progress(
        &self,
        known: &impl Fn(&NotificationId) -> Option<NotificationOutcome>,
        undecided: &mut bool,
    ) -> WaitProgress {
        let leaves = self.own_leaves().map(|id| match known(&id) {
            None => WaitProgress::Pending,
            Some(NotificationOutcome::Succeeded) => WaitProgress::Succeeded,
            Some(NotificationOutcome::Failed) => WaitProgress::Failed,
        });
        let mut parts: Vec<WaitProgress> = leaves.collect();
        parts.extend(self.nested.iter().map(|nested| nested.progress(known, undecided)));
        let pending = parts.contains(&WaitProgress::Pending);
        let success = parts.iter().any(|part| part.may_succeed());
        let failure = parts.iter().any(|part| part.may_fail());
        let either = parts.contains(&WaitProgress::Either) || (success && failure);
        match Combinator::try_from(self.combinator).unwrap_or(Combinator::Unknown) {
            Combinator::Unknown => {
                *undecided |= success || failure;
                WaitProgress::Pending
            }
            Combinator::FirstCompleted => match (success, failure) {
                (false, false) => WaitProgress::Pending,
                (true, false) => WaitProgress::Succeeded,
                (false, true) => WaitProgress::Failed,
                (true, true) => WaitProgress::Either,
            },
            Combinator::AllCompleted if pending => WaitProgress::Pending,
            Combinator::AllCompleted => WaitProgress::Succeeded,
            Combinator::FirstSucceededOrAllFailed if success => {
                if either && !parts.contains(&WaitProgress::Succeeded) {
                    WaitProgress::Either
                } else {
                    WaitProgress::Succeeded
                }
            }
            Combinator::FirstSucceededOrAllFailed if pending => WaitProgress::Pending,
            Combinator::FirstSucceededOrAllFailed => WaitProgress::Failed,
            Combinator::AllSucceededOrFirstFailed if failure => {
                if either && !parts.contains(&WaitProgress::Failed) {
                    WaitProgress::Either
                } else {
                    WaitProgress::Failed
                }
            }
            Combinator::AllSucceededOrFirstFailed if pending => WaitProgress::Pending,
            Combinator::AllSucceededOrFirstFailed => WaitProgress::Succeeded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(id: u32) -> NotificationId {
        NotificationId::Completion(id)
    }

    fn tree(combinator: Combinator, completions: &[u32], nested: &[Future]) -> Future {
        Future {
            completions: completions.to_vec(),
            nested: nested.to_vec(),
            ..Future::of(combinator)
        }
    }

    /// Returns true if `future` is satisfied after these completions succeeded and failed.
    fn satisfied(future: &Future, succeeded: &[u32], failed: &[u32]) -> bool {
        future.is_satisfied(|id| match id {
            NotificationId::Completion(id) if succeeded.contains(id) => {
                Some(NotificationOutcome::Succeeded)
            }
            NotificationId::Completion(id) if failed.contains(id) => {
                Some(NotificationOutcome::Failed)
            }
            _ => None,
        })
    }

    #[test]
    fn each_combinator_has_its_table() {
        use Combinator::*;
        let rows: [(Combinator, [bool; 6]); 5] = [
            // Parts 1 and 2: none; 1 succeeded; 1 failed; both succeeded; both failed; 1 succeeded,
            // 2 failed.
            (Unknown, [false, true, true, true, true, true]),
            (FirstCompleted, [false, true, true, true, true, true]),
            (AllCompleted, [false, false, false, true, true, true]),
            (FirstSucceededOrAllFailed, [false, true, false, true, true, true]),
            (AllSucceededOrFirstFailed, [false, false, true, true, true, true]),
        ];
        for (combinator, expected) in rows {
            let future = tree(combinator, &[1, 2], &[]);
            let actual = [
                satisfied(&future, &[], &[]),
                satisfied(&future, &[1], &[]),
                satisfied(&future, &[], &[1]),
                satisfied(&future, &[1, 2], &[]),
                satisfied(&future, &[], &[1, 2]),
                satisfied(&future, &[1], &[2]),
            ];
            assert_eq!(actual, expected, "{combinator:?}");
        }
    }

    #[test]
    fn a_tree_passes_the_outcomes_of_its_parts_on() {
        use Combinator::*;
        let race = tree(FirstCompleted, &[1, 2], &[]);
        let all = tree(AllSucceededOrFirstFailed, &[3], std::slice::from_ref(&race));
        assert!(!satisfied(&all, &[1], &[]));
        assert!(satisfied(&all, &[1, 3], &[]));
        assert!(satisfied(&all, &[], &[2]), "a failed race fails the whole");
        assert!(satisfied(&all, &[1], &[2]), "who won that race is not known here");

        let any = tree(FirstSucceededOrAllFailed, &[3], std::slice::from_ref(&race));
        assert!(!satisfied(&any, &[], &[1, 2]));
        assert!(satisfied(&any, &[], &[1, 3]));
        assert!(satisfied(&any, &[2], &[]));

        let settled = tree(AllCompleted, &[], &[tree(AllCompleted, &[1], &[]), race]);
        assert!(!satisfied(&settled, &[2], &[]));
        assert!(satisfied(&settled, &[1], &[]));

        // The inner `all` may have failed through the failed race, inside an `any`: it may be
        // decided.
        let nested = tree(FirstSucceededOrAllFailed, &[9], &[all]);
        assert!(satisfied(&nested, &[1, 3], &[2]));
    }

    #[test]
    fn what_only_the_deployment_can_judge_wakes_it_from_anywhere() {
        use Combinator::*;
        let mapped = tree(Unknown, &[1], &[]);
        let all = tree(AllSucceededOrFirstFailed, &[2], &[mapped]);
        assert!(!satisfied(&all, &[], &[]));
        assert!(satisfied(&all, &[1], &[]), "the mapping may fail, and with it the whole");
        assert!(!satisfied(&all, &[2], &[]));
        let future = Future { combinator: 77, completions: vec![1, 2], ..Future::default() };
        assert!(satisfied(&future, &[], &[2]), "a combinator of the future");
    }

    #[test]
    fn leaves_are_those_of_the_whole_tree() {
        let inner = Future::first_of([
            NotificationId::Signal(1),
            NotificationId::NamedSignal("s".into()),
            leaf(2),
        ]);
        let future = tree(Combinator::AllCompleted, &[1, 2], &[inner]);
        let expected = BTreeSet::from([
            leaf(1),
            leaf(2),
            NotificationId::Signal(1),
            NotificationId::NamedSignal("s".into()),
        ]);
        assert_eq!(future.leaves(), expected);
        assert!(!Future::all_of([leaf(1)]).is_satisfied(|_| None));
        assert!(tree(Combinator::FirstCompleted, &[], &[]).leaves().is_empty());
    }

    #[test]
    fn signals_satisfy_as_completions_do() {
        for id in [NotificationId::Signal(17), NotificationId::NamedSignal("go".into())] {
            let future = Future::first_of([id.clone(), leaf(1)]);
            assert!(
                future
                    .is_satisfied(|known| (*known == id).then_some(NotificationOutcome::Succeeded))
            );
            assert!(!future.is_satisfied(|known| {
                (*known == NotificationId::Signal(18)).then_some(NotificationOutcome::Succeeded)
            }));
        }
    }
}
