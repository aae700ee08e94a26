//! The algebra of graphs: four constructors that build every graph. Expressions may describe cyclic
//! graphs; [`Relation`](crate::Relation) rejects cycles.

use std::{
    fmt, mem,
    ops::{Add, Mul},
};

/// A graph as an expression (Mokhov, *Algebraic Graphs with Class*). `+` is overlay, `*` is connect.
///
/// No operation recurses, so an expression may be as deep as memory allows.
pub enum GraphExpression<A> {
    /// The empty graph.
    Empty,
    /// A graph with one vertex.
    Vertex(A),
    /// The vertices and edges of both graphs.
    Overlay(Box<GraphExpression<A>>, Box<GraphExpression<A>>),
    /// The vertices and edges of both graphs, and an edge from each vertex of the left to each of
    /// the right.
    Connect(Box<GraphExpression<A>>, Box<GraphExpression<A>>),
}

/// A pending step of a walk that keeps its own stack.
enum Visit<'a, A> {
    Enter(&'a GraphExpression<A>),
    Overlay,
    Connect,
}

impl<A> GraphExpression<A> {
    /// Two vertices and the edge between them.
    pub fn edge(from: A, to: A) -> Self {
        Self::Vertex(from) * Self::Vertex(to)
    }

    /// The overlay of all given graphs.
    pub fn overlays(graphs: impl IntoIterator<Item = Self>) -> Self {
        graphs.into_iter().reduce(Add::add).unwrap_or(Self::Empty)
    }

    /// The connection of all given graphs: each is connected with all that follow.
    pub fn connects(graphs: impl IntoIterator<Item = Self>) -> Self {
        graphs.into_iter().reduce(Mul::mul).unwrap_or(Self::Empty)
    }

    /// A graph with an edge from each vertex to each that follows.
    pub fn clique(vertices: impl IntoIterator<Item = A>) -> Self {
        Self::connects(vertices.into_iter().map(Self::Vertex))
    }

    /// A graph with an edge from the centre to each leaf.
    pub fn star(centre: A, leaves: impl IntoIterator<Item = A>) -> Self {
        Self::Vertex(centre) * Self::overlays(leaves.into_iter().map(Self::Vertex))
    }

    /// A graph with an edge from each vertex to the next.
    pub fn path(vertices: impl IntoIterator<Item = A>) -> Self
    where
        A: Clone,
    {
        let mut vertices = vertices.into_iter();
        let Some(first) = vertices.next() else { return Self::Empty };
        let mut last = first.clone();
        let mut path = Self::Vertex(first);
        for next in vertices {
            let from = mem::replace(&mut last, next.clone());
            path = path + Self::edge(from, next);
        }
        path
    }

    /// Evaluates the expression, with one function per constructor.
    pub fn fold<'a, B>(
        &'a self,
        mut empty: impl FnMut() -> B,
        mut vertex: impl FnMut(&'a A) -> B,
        mut overlay: impl FnMut(B, B) -> B,
        mut connect: impl FnMut(B, B) -> B,
    ) -> B {
        let mut visits = vec![Visit::Enter(self)];
        let mut values = Vec::new();
        while let Some(visit) = visits.pop() {
            let value = match visit {
                Visit::Enter(Self::Empty) => empty(),
                Visit::Enter(Self::Vertex(of)) => vertex(of),
                Visit::Enter(Self::Overlay(left, right)) => {
                    visits.extend([Visit::Overlay, Visit::Enter(right), Visit::Enter(left)]);
                    continue;
                }
                Visit::Enter(Self::Connect(left, right)) => {
                    visits.extend([Visit::Connect, Visit::Enter(right), Visit::Enter(left)]);
                    continue;
                }
                Visit::Overlay => {
                    let (left, right) = two(&mut values);
                    overlay(left, right)
                }
                Visit::Connect => {
                    let (left, right) = two(&mut values);
                    connect(left, right)
                }
            };
            values.push(value);
        }
        values.pop().expect("an expression has one value")
    }
}

fn two<B>(values: &mut Vec<B>) -> (B, B) {
    let right = values.pop().expect("both sides were visited");
    let left = values.pop().expect("both sides were visited");
    (left, right)
}

impl<A> Add for GraphExpression<A> {
    type Output = Self;

    fn add(self, right: Self) -> Self {
        Self::Overlay(Box::new(self), Box::new(right))
    }
}

impl<A> Mul for GraphExpression<A> {
    type Output = Self;

    fn mul(self, right: Self) -> Self {
        Self::Connect(Box::new(self), Box::new(right))
    }
}

impl<A: Clone> Clone for GraphExpression<A> {
    fn clone(&self) -> Self {
        self.fold(|| Self::Empty, |of| Self::Vertex(of.clone()), Add::add, Mul::mul)
    }
}

/// Formats the expression as text: `(a * (b + c))`.
impl<A: fmt::Debug> fmt::Debug for GraphExpression<A> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        enum Part<'a, A> {
            Graph(&'a GraphExpression<A>),
            Text(&'static str),
        }
        let mut parts = vec![Part::Graph(self)];
        while let Some(part) = parts.pop() {
            let (left, operator, right) = match part {
                Part::Text(text) => {
                    out.write_str(text)?;
                    continue;
                }
                Part::Graph(Self::Empty) => {
                    out.write_str("empty")?;
                    continue;
                }
                Part::Graph(Self::Vertex(of)) => {
                    of.fmt(out)?;
                    continue;
                }
                Part::Graph(Self::Overlay(left, right)) => (left, " + ", right),
                Part::Graph(Self::Connect(left, right)) => (left, " * ", right),
            };
            parts.extend([Part::Text(")"), Part::Graph(right)]);
            parts.extend([Part::Text(operator), Part::Graph(left), Part::Text("(")]);
        }
        Ok(())
    }
}

/// Takes the expression apart level by level: the compiler's own drop would recurse.
impl<A> Drop for GraphExpression<A> {
    fn drop(&mut self) {
        let mut left_over = Vec::new();
        take_sides(self, &mut left_over);
        while let Some(mut graph) = left_over.pop() {
            take_sides(&mut graph, &mut left_over);
        }
    }
}

fn take_sides<A>(graph: &mut GraphExpression<A>, sides: &mut Vec<GraphExpression<A>>) {
    if let GraphExpression::Overlay(left, right) | GraphExpression::Connect(left, right) = graph {
        for side in [left, right] {
            if !matches!(**side, GraphExpression::Empty) {
                sides.push(mem::replace(&mut **side, GraphExpression::Empty));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constructors_write_the_expressions_they_stand_for() {
        for (graph, text) in [
            (GraphExpression::edge('a', 'b'), "('a' * 'b')"),
            (GraphExpression::path("abc".chars()), "(('a' + ('a' * 'b')) + ('b' * 'c'))"),
            (GraphExpression::path([]), "empty"),
            (GraphExpression::star('a', ['b', 'c']), "('a' * ('b' + 'c'))"),
            (GraphExpression::clique("abc".chars()), "(('a' * 'b') * 'c')"),
            (
                GraphExpression::overlays([GraphExpression::Vertex('a'), GraphExpression::Empty]),
                "('a' + empty)",
            ),
            (GraphExpression::connects([]), "empty"),
        ] {
            assert_eq!(format!("{graph:?}"), text);
            assert_eq!(format!("{:?}", graph.clone()), text);
        }
    }

    #[test]
    fn a_path_of_a_million_vertices_needs_no_deep_stack() {
        let left_deep = GraphExpression::path(0..1_000_000_u32);
        let count = |graph: &GraphExpression<u32>| graph.fold(|| 0_u32, |_| 1, Add::add, Add::add);
        assert_eq!(count(&left_deep), 1_999_999);
        drop(left_deep.clone());
        let right_deep = (0..1_000_000_u32)
            .fold(GraphExpression::Empty, |path, at| GraphExpression::edge(at, at + 1) + path);
        assert_eq!(count(&right_deep), 2_000_000);
    }
}
