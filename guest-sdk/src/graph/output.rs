//! Handles of future values: the input of a run, the outputs of its nodes, and parts of them.

use std::{marker::PhantomData, time::Duration};

use serde_json::{Map, json};

use super::{
    Condition, Graph, Order,
    nodes::written,
    source::{Expression, Source, ValueOrigin},
};
use crate::retry::RetryPolicy;

/// The future output of a node, a `T`, for use as the input of other nodes. Handles are `Copy`.
pub struct Output<'g, T> {
    graph: &'g Graph,
    pub(super) node: u32,
    /// True if the node has a condition, so that the output may be missing.
    pub(super) may_be_missing: bool,
    value: PhantomData<fn() -> T>,
}

/// The future input of a run, a `T`.
pub struct Input<T>(PhantomData<fn() -> T>);

/// A part of an input or an output. The type `T` is stated by the author and not checked.
pub struct Place<T> {
    pub(super) origin: ValueOrigin,
    pub(super) at: String,
    value: PhantomData<fn() -> T>,
}

impl<T> Clone for Output<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Output<'_, T> {}

impl<T> Clone for Input<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Input<T> {}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        Self { origin: self.origin, at: self.at.clone(), value: PhantomData }
    }
}

impl<'g, T> Output<'g, T> {
    pub(super) fn new(graph: &'g Graph, node: u32) -> Self {
        Self { graph, node, may_be_missing: false, value: PhantomData }
    }

    /// Sets the retry policy of a call or a request, instead of the function's own. The host
    /// decides the jitter.
    ///
    /// # Panics
    /// If the policy names codes as final, which a plan cannot express. The function's own policy
    /// may.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        let policy = policy.into_options();
        assert!(
            policy.non_retryable.is_empty(),
            "a node's policy names no codes: say `non_retryable` with the function itself"
        );
        let mut retry = Map::new();
        let length = |ms| json!(written(Duration::from_millis(ms)));
        retry.insert("initial".to_owned(), length(policy.initial_ms));
        retry.insert("factor".to_owned(), json!(policy.factor));
        retry.insert("max".to_owned(), length(policy.max_ms));
        if let Some(most) = policy.max_attempts {
            retry.insert("max_attempts".to_owned(), json!(most));
        }
        self.graph.set(self.node, "retry", retry.into());
        self
    }

    /// Starts the node, a call of an activity or a request, at most once, because its effect must
    /// not be repeated: if its worker is lost, the node fails with code 520, since the effect is
    /// unknown.
    pub fn once(self) -> Self {
        self.graph.set(self.node, "once", json!(true));
        self
    }

    /// Sets the time from the node's start to its deadline, at which it fails with code 408.
    pub fn timeout(self, length: Duration) -> Self {
        self.graph.set(self.node, "timeout", json!(written(length)));
        self
    }

    /// Sets the maximum duration of one attempt of the node, a call of an activity or a request. A
    /// longer attempt is dropped and fails with code 408, and is retried by the retry policy.
    pub fn attempt_timeout(self, length: Duration) -> Self {
        self.graph.set(self.node, "attempt_timeout", json!(written(length)));
        self
    }

    /// Starts the node after these have ended, in addition to the nodes that it takes data from:
    /// `.after(a)`, `.after(a + b)`.
    pub fn after(self, before: impl Into<Order>) -> Self {
        self.graph.add_needs(self.node, before.into());
        self
    }

    /// Runs the node only if this condition holds when its dependencies have ended. Otherwise the
    /// node is skipped: it has no output, and its dependents continue.
    ///
    /// # Panics
    /// If the output was used before as one that is always present.
    pub fn when(self, condition: Condition) -> Output<'g, Option<T>> {
        self.graph.add_condition(self.node, condition);
        Output { may_be_missing: true, ..Output::new(self.graph, self.node) }
    }

    fn origin(&self) -> ValueOrigin {
        ValueOrigin::Node(self.node)
    }

    fn base(&self) -> &str {
        ""
    }
}

impl<T> Input<T> {
    #[doc(hidden)]
    pub fn new() -> Self {
        Self(PhantomData)
    }

    fn origin(&self) -> ValueOrigin {
        ValueOrigin::Input
    }

    fn base(&self) -> &str {
        ""
    }
}

impl<T> Place<T> {
    fn origin(&self) -> ValueOrigin {
        self.origin
    }

    fn base(&self) -> &str {
        &self.at
    }
}

/// Parts of a value, and conditions on it.
macro_rules! with_parts {
    ($type:ty $(, $lifetime:lifetime)?) => {
        impl<$($lifetime,)? T> $type {
            /// The part that a JSON pointer, such as `/rows/0`, selects; null if it is missing. The
            /// type is inferred from the use, or stated as in `at::<u64>("/rows")`.
            pub fn at<Part>(&self, pointer: &str) -> Place<Part> {
                let at = format!("{}{pointer}", self.base());
                Place { origin: self.origin(), at, value: PhantomData }
            }

            fn test(&self, test: &'static str, value: impl serde::Serialize) -> Condition {
                Condition::test(self.origin(), self.base().to_owned(), test, value)
            }

            /// True if the value equals this; a missing value counts as null.
            pub fn is(&self, value: T) -> Condition
            where
                T: serde::Serialize,
            {
                self.test("is", value)
            }

            /// True if the value does not equal this.
            pub fn is_not(&self, value: T) -> Condition
            where
                T: serde::Serialize,
            {
                self.test("is_not", value)
            }

            /// True if the value is a number greater than this.
            pub fn above(&self, number: T) -> Condition
            where
                T: super::Number,
            {
                self.test("above", number)
            }

            /// True if the value is a number less than this.
            pub fn below(&self, number: T) -> Condition
            where
                T: super::Number,
            {
                self.test("below", number)
            }

            /// True if the value is a number not less than this.
            pub fn at_least(&self, number: T) -> Condition
            where
                T: super::Number,
            {
                self.test("at_least", number)
            }

            /// True if the value is a number not greater than this.
            pub fn at_most(&self, number: T) -> Condition
            where
                T: super::Number,
            {
                self.test("at_most", number)
            }

            /// True if the value is present; null counts as present. The output of a skipped node
            /// is missing.
            pub fn exists(&self) -> Condition {
                self.test("exists", true)
            }
        }
    };
}

with_parts!(Output<'g, T>, 'g);
with_parts!(Input<T>);
with_parts!(Place<T>);

impl<T> Source<T> for Output<'_, T> {
    fn expression(self) -> Expression {
        Expression::Output { node: self.node, may_be_missing: self.may_be_missing }
    }
}

impl<T> Source<T> for Input<T> {
    fn expression(self) -> Expression {
        Expression::Place { origin: ValueOrigin::Input, at: String::new() }
    }
}

impl<T> Source<T> for Place<T> {
    fn expression(self) -> Expression {
        Expression::Place { origin: self.origin, at: self.at }
    }
}
