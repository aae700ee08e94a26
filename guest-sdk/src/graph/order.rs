//! Order without data, as an expression.

use std::{
    collections::BTreeSet,
    ops::{Add, Shr},
};

use super::Output;

/// Nodes with constraints on their order; passed to [`Graph::order`](super::Graph::order) and
/// [`Output::after`].
///
/// `a + b` has both. `a >> b` puts `a` before `b`: each node of the left ends before each of the
/// right starts. So `a >> (b + c) >> d` is a diamond.
#[derive(Clone, Default)]
#[must_use = "an order does nothing before it is given to `graph.order` or `after`"]
pub struct Order {
    pub(super) nodes: BTreeSet<u32>,
    pub(super) edges: BTreeSet<(u32, u32)>,
}

impl<T> From<Output<'_, T>> for Order {
    fn from(output: Output<'_, T>) -> Self {
        Self { nodes: [output.node].into(), edges: BTreeSet::new() }
    }
}

/// Collects all nodes, without constraints.
impl<'g, T> FromIterator<Output<'g, T>> for Order {
    fn from_iter<I: IntoIterator<Item = Output<'g, T>>>(outputs: I) -> Self {
        let nodes = outputs.into_iter().map(|output| output.node).collect();
        Self { nodes, edges: BTreeSet::new() }
    }
}

impl Order {
    fn and(mut self, other: Self) -> Self {
        self.nodes.extend(other.nodes);
        self.edges.extend(other.edges);
        self
    }

    fn before(self, other: Self) -> Self {
        let pairs = |before| other.nodes.iter().map(move |after| (before, *after));
        let between: BTreeSet<(u32, u32)> = self.nodes.iter().copied().flat_map(pairs).collect();
        let between = Self { nodes: BTreeSet::new(), edges: between };
        self.and(other).and(between)
    }
}

impl<R: Into<Self>> Add<R> for Order {
    type Output = Self;

    fn add(self, right: R) -> Self {
        self.and(right.into())
    }
}

impl<R: Into<Self>> Shr<R> for Order {
    type Output = Self;

    fn shr(self, right: R) -> Self {
        self.before(right.into())
    }
}

impl<T, R: Into<Order>> Add<R> for Output<'_, T> {
    type Output = Order;

    fn add(self, right: R) -> Order {
        Order::from(self) + right
    }
}

impl<T, R: Into<Order>> Shr<R> for Output<'_, T> {
    type Output = Order;

    fn shr(self, right: R) -> Order {
        Order::from(self) >> right
    }
}
