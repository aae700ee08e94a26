//! The laws of the algebra of graphs: two expressions that a law equates mean the same relation, or
//! both have a cycle. Each law is also tried with a wrong meaning of a constructor, which it must
//! reject.

use std::collections::BTreeSet;

use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, TestCaseError, TestError, TestRng, TestRunner},
};
use segno_graph::{GraphExpression, NodeName, Relation};

type Expression = GraphExpression<NodeName>;
use GraphExpression::Empty;

fn plus(left: &Expression, right: &Expression) -> Expression {
    left.clone() + right.clone()
}

fn then(left: &Expression, right: &Expression) -> Expression {
    left.clone() * right.clone()
}

/// The meaning of an expression. `None` if it has a cycle.
type Meaning = fn(&Expression) -> Option<Relation>;

fn right(of: &Expression) -> Option<Relation> {
    Relation::from_graph(of).ok()
}

type Parts = (BTreeSet<NodeName>, BTreeSet<(NodeName, NodeName)>);

/// Evaluates an expression with these constructors.
fn by(
    of: &Expression,
    overlay: fn(Parts, Parts) -> Parts,
    connect: fn(Parts, Parts) -> Parts,
) -> Option<Relation> {
    let vertex = |name: &NodeName| (BTreeSet::from([name.clone()]), BTreeSet::new());
    let (nodes, edges) = of.fold(Parts::default, vertex, overlay, connect);
    Relation::from_edges(nodes, edges).ok()
}

fn joined(left: Parts, right: Parts) -> Parts {
    (&left.0 | &right.0, &left.1 | &right.1)
}

fn connected(left: Parts, right: Parts) -> Parts {
    let pairs = left.0.iter().flat_map(|from| right.0.iter().map(|to| (from.clone(), to.clone())));
    let pairs: BTreeSet<_> = pairs.collect();
    let (nodes, edges) = joined(left, right);
    (nodes, &edges | &pairs)
}

/// Wrong meanings, each with one wrong constructor.
const WRONG: [(&str, Meaning); 5] = [
    ("the edges of the right are lost in an overlay", |of| {
        by(of, |left, right| (&left.0 | &right.0, left.1), connected)
    }),
    ("an overlay of what has a vertex in common is the left", |of| {
        by(
            of,
            |left, right| if left.0.is_disjoint(&right.0) { joined(left, right) } else { left },
            connected,
        )
    }),
    ("a connection loses the edges of both sides", |of| {
        by(of, joined, |left, right| {
            let (nodes, _) = joined(left.clone(), right.clone());
            let pairs = connected((left.0, BTreeSet::new()), (right.0, BTreeSet::new()));
            (nodes, pairs.1)
        })
    }),
    ("a connection with nothing is nothing", |of| {
        by(of, joined, |left, right| match left.0.is_empty() || right.0.is_empty() {
            true => Parts::default(),
            false => connected(left, right),
        })
    }),
    ("a connection has an edge from the first vertex only", |of| {
        by(of, joined, |left, right| {
            let first: BTreeSet<NodeName> = left.0.first().cloned().into_iter().collect();
            let pairs = connected((first, BTreeSet::new()), right.clone()).1;
            let (nodes, edges) = joined(left, right);
            (nodes, &edges | &pairs)
        })
    }),
];

type Law = fn(&Expression, &Expression, &Expression) -> (Expression, Expression);

const LAWS: [(&str, Law); 12] = [
    ("overlay is commutative", |x, y, _| (plus(x, y), plus(y, x))),
    ("overlay is associative", |x, y, z| (plus(&plus(x, y), z), plus(x, &plus(y, z)))),
    ("overlay is idempotent", |x, _, _| (plus(x, x), x.clone())),
    ("nothing is the identity of overlay", |x, _, _| (plus(x, &Empty), x.clone())),
    ("connect is associative", |x, y, z| (then(&then(x, y), z), then(x, &then(y, z)))),
    ("nothing is the left identity of connect", |x, _, _| (then(&Empty, x), x.clone())),
    ("nothing is the right identity of connect", |x, _, _| (then(x, &Empty), x.clone())),
    ("connect distributes over overlay from the left", |x, y, z| {
        (then(x, &plus(y, z)), plus(&then(x, y), &then(x, z)))
    }),
    ("connect distributes over overlay from the right", |x, y, z| {
        (then(&plus(x, y), z), plus(&then(x, z), &then(y, z)))
    }),
    ("a connection of three decomposes", |x, y, z| {
        (then(&then(x, y), z), plus(&plus(&then(x, y), &then(x, z)), &then(y, z)))
    }),
    ("a connection absorbs its sides", |x, y, _| (plus(&plus(&then(x, y), x), y), then(x, y))),
    ("a connection with itself is saturated", |x, _, _| (then(x, &then(x, x)), then(x, x))),
];

/// Expressions over these vertices, some without a cycle.
fn expression(vertices: std::ops::Range<u8>) -> impl Strategy<Value = Expression> {
    let vertex =
        |at: u8| GraphExpression::Vertex(NodeName::new(&format!("n{at:02}")).expect("a name"));
    let leaf = prop_oneof![1 => Just(Empty), 4 => vertices.prop_map(vertex)];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let pair = (inner.clone(), inner);
        prop_oneof![
            2 => pair.clone().prop_map(|(left, right)| plus(&left, &right)),
            1 => pair.prop_map(|(left, right)| then(&left, &right)),
        ]
    })
}

/// Three expressions with common vertices, or with disjoint ones, so that their connections have no
/// cycles.
fn three() -> impl Strategy<Value = (Expression, Expression, Expression)> {
    prop_oneof![
        (expression(0..4), expression(4..8), expression(8..12)),
        (expression(0..6), expression(0..6), expression(0..6)),
    ]
}

/// Tries a law with a meaning.
fn holds(law: Law, meaning: Meaning) -> bool {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let tried = runner.run(&three(), |(x, y, z)| {
        let (one, other) = law(&x, &y, &z);
        match meaning(&one) == meaning(&other) {
            true => Ok(()),
            false => Err(TestCaseError::fail("not equal")),
        }
    });
    match tried {
        Ok(()) => true,
        Err(TestError::Fail(..)) => false,
        Err(TestError::Abort(reason)) => panic!("{reason}"),
    }
}

#[test]
fn the_laws_of_the_algebra_hold() {
    for (name, law) in LAWS {
        assert!(holds(law, right), "{name}");
    }
}

#[test]
fn each_wrong_meaning_breaks_a_law() {
    for (name, meaning) in WRONG {
        assert!(LAWS.iter().any(|(_, law)| !holds(*law, meaning)), "{name}: no law says so");
    }
}

#[test]
fn expressions_of_the_test_have_edges_and_no_cycles_often_enough() {
    let mut runner = TestRunner::deterministic();
    let mut with_edges = 0;
    for _ in 0..400 {
        let (x, y, z) = three().new_tree(&mut runner).expect("a tree").current();
        let relation = right(&then(&then(&x, &y), &z));
        with_edges += u32::from(relation.is_some_and(|relation| relation.edges().count() > 2));
    }
    assert!(with_edges > 40, "{with_edges} of 400");
}
