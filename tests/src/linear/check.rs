//! The search of Wing, Gong and Lowe: an order of the operations that respects their real-time
//! order, and in which the rules produce every recorded answer. States already visited are not
//! searched again.

use std::{
    collections::HashSet,
    fmt::Debug,
    hash::{DefaultHasher, Hash, Hasher},
};

use segno_core::{config::Config, id::Digest, model::Model, snapshot::Snapshot, view::View};

use super::history::{Asked, Operation};

/// Maximum number of steps of a search.
const STEPS: u64 = 2_000_000;

/// Result of the search.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// An order exists.
    Linearizable,
    /// No order exists. Holds the longest prefix found, and the operations that could not follow
    /// it.
    Violated(String),
    /// The search exceeded its maximum number of steps.
    Unknown,
}

/// Sequential semantics of the operations.
pub trait Rules {
    /// Request of an operation.
    type Asked: Debug;
    /// State of the modelled store.
    type State;

    /// State after this operation, and the answer to it.
    fn decide(
        &self,
        state: &Self::State,
        operation: &Operation<Self::Asked>,
    ) -> (Self::State, String);

    /// Digest of the state.
    fn digest(state: &Self::State) -> u64;
}

struct Search<'a, R: Rules> {
    operations: &'a [Operation<R::Asked>],
    rules: &'a R,
    tried: HashSet<(Vec<u64>, u64)>,
    steps: u64,
    /// Longest prefix found, and the operations that could not follow it.
    longest: (usize, String),
}

/// Searches for an order of the operations of one group. The store was empty at first, except for
/// the module `module` with the alias `shop`.
pub fn check(operations: &[Operation], config: &Config, module: Digest) -> Verdict {
    let mut rows = View::new();
    rows.put_module(module);
    rows.put_alias("shop".into(), module);
    check_by(&CoreRules { config }, &Model::from(rows), operations)
}

/// Searches for an order of operations that these rules explain, from the state `begins`.
pub fn check_by<R: Rules>(
    rules: &R,
    begins: &R::State,
    operations: &[Operation<R::Asked>],
) -> Verdict {
    let mut search =
        Search { operations, rules, tried: HashSet::new(), steps: 0, longest: (0, String::new()) };
    let done = vec![0_u64; operations.len().div_ceil(64)];
    if search.extends(begins, &done, 0) {
        return Verdict::Linearizable;
    }
    if search.steps > STEPS {
        return Verdict::Unknown;
    }
    let (count, stuck) = search.longest;
    Verdict::Violated(format!("after {count} of {} operations:\n{stuck}", operations.len()))
}

impl<R: Rules> Search<'_, R> {
    fn extends(&mut self, model: &R::State, done: &[u64], count: usize) -> bool {
        self.steps += 1;
        if self.steps > STEPS {
            return false;
        }
        let open = (0..self.operations.len()).filter(|index| !is_done(done, *index));
        let open: Vec<usize> = open.collect();
        // An operation with an unknown outcome may not have happened.
        if open.iter().all(|index| self.operations[*index].answered.is_none()) {
            return true;
        }
        if !self.tried.insert((done.to_vec(), R::digest(model))) {
            return false;
        }
        let first_answer = open
            .iter()
            .filter_map(|index| self.operations[*index].answered)
            .min()
            .unwrap_or(u64::MAX);
        let mut refused = String::new();
        for index in open {
            let operation = &self.operations[index];
            if operation.called > first_answer {
                continue;
            }
            let (after, answer) = self.rules.decide(model, operation);
            if operation.answer.as_ref().is_some_and(|given| *given != answer) {
                let given = operation.answer.as_deref().unwrap_or_default();
                refused.push_str(&format!(
                    "{:?}\n  was answered {given}\n  and would be {answer}\n",
                    operation.asked
                ));
                continue;
            }
            let mut with = done.to_vec();
            with[index / 64] |= 1 << (index % 64);
            if self.extends(&after, &with, count + 1) {
                return true;
            }
        }
        if count >= self.longest.0 {
            self.longest = (count, refused);
        }
        false
    }
}

/// The rules of the core.
struct CoreRules<'a> {
    config: &'a Config,
}

impl Rules for CoreRules<'_> {
    type Asked = Asked;
    type State = Model;

    fn decide(&self, model: &Model, operation: &Operation) -> (Model, String) {
        match &operation.asked {
            Asked::Command(command) => {
                let decision = model.decide(command, operation.now, self.config);
                let mut after = model.clone();
                after.apply(&decision.delta);
                (after, format!("{:?}", decision.reply))
            }
            Asked::Read(id) => {
                let row = model.promise(id).map(|promise| (promise, model.task(id)));
                (model.clone(), format!("{row:?}"))
            }
        }
    }

    fn digest(model: &Model) -> u64 {
        let mut hasher = DefaultHasher::new();
        format!("{:?}", Snapshot::of(model)).hash(&mut hasher);
        hasher.finish()
    }
}

fn is_done(done: &[u64], index: usize) -> bool {
    done[index / 64] & (1 << (index % 64)) != 0
}
