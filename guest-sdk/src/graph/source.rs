//! Inputs of nodes: outputs of other nodes, the input of the run, constants, and combinations of
//! them.

use std::marker::PhantomData;

use serde::Serialize;
use serde_json::Value;

use crate::finite::to_json;

/// A source for a node's input of type `T`: an [`Output<T>`](super::Output), an
/// [`Input<T>`](super::Input), a [`Place<T>`](super::Place), a constant by [`value`], a tuple, a
/// `Vec` or an array of these, or an object by [`record`]. `()` and `&str` are constants
/// themselves.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no source of a `{T}`",
    label = "the function takes a `{T}`",
    note = "the output of a node is of the type that its function returns; a part of it is taken by `.at(\"/part\")`, a constant by `segno::graph::value(…)`"
)]
pub trait Source<T> {
    #[doc(hidden)]
    fn expression(self) -> Expression;
}

/// The origin of a value.
#[derive(Clone, Copy)]
pub enum ValueOrigin {
    /// The input of the run.
    Input,
    /// The node with this number.
    Node(u32),
}

/// A source with its type erased.
#[doc(hidden)]
pub enum Expression {
    Value(Value),
    List(Vec<Expression>),
    Object(Vec<(String, Expression)>),
    Output { node: u32, may_be_missing: bool },
    Place { origin: ValueOrigin, at: String },
}

/// A constant; made by [`value`].
#[derive(Clone)]
pub struct Constant<T> {
    value: Value,
    of: PhantomData<fn() -> T>,
}

/// Creates a constant as an input. No object in it may have the key `$from`, which plans use for
/// references to outputs.
///
/// # Panics
/// If the value cannot be written as JSON.
pub fn value<T: Serialize>(value: T) -> Constant<T> {
    Constant { value: json(value), of: PhantomData }
}

/// An object; made by [`record`].
pub struct Record<T> {
    fields: Vec<(String, Expression)>,
    of: PhantomData<fn() -> T>,
}

/// Creates an object whose fields have different sources. The match with `T` is not checked:
/// `record::<Order>().field("item", item).field("count", value(2))`.
pub fn record<T>() -> Record<T> {
    Record { fields: Vec::new(), of: PhantomData }
}

impl<T> Record<T> {
    /// Adds a field with this source.
    #[must_use]
    pub fn field<F>(mut self, name: &str, source: impl Source<F>) -> Self {
        self.fields.push((name.to_owned(), source.expression()));
        self
    }
}

pub(super) fn json(value: impl Serialize) -> Value {
    to_json(&value)
        .and_then(|json| serde_json::from_str(&json))
        .unwrap_or_else(|error| panic!("a constant cannot be written as JSON: {error}"))
}

impl<T> Source<T> for Constant<T> {
    fn expression(self) -> Expression {
        Expression::Value(self.value)
    }
}

impl<T> Source<T> for Record<T> {
    fn expression(self) -> Expression {
        Expression::Object(self.fields)
    }
}

impl Source<()> for () {
    fn expression(self) -> Expression {
        Expression::Value(Value::Null)
    }
}

impl Source<String> for &str {
    fn expression(self) -> Expression {
        Expression::Value(self.into())
    }
}

impl<T, S: Source<T>> Source<Vec<T>> for Vec<S> {
    fn expression(self) -> Expression {
        Expression::List(self.into_iter().map(Source::expression).collect())
    }
}

impl<T, S: Source<T>, const N: usize> Source<[T; N]> for [S; N] {
    fn expression(self) -> Expression {
        Expression::List(self.into_iter().map(Source::expression).collect())
    }
}

macro_rules! tuple {
    ($($source:ident $type:ident $place:tt),+) => {
        impl<$($type, $source: Source<$type>),+> Source<($($type,)+)> for ($($source,)+) {
            fn expression(self) -> Expression {
                Expression::List(vec![$(self.$place.expression()),+])
            }
        }
    };
}

tuple!(SA A 0);
tuple!(SA A 0, SB B 1);
tuple!(SA A 0, SB B 1, SC C 2);
tuple!(SA A 0, SB B 1, SC C 2, SD D 3);
tuple!(SA A 0, SB B 1, SC C 2, SD D 3, SE E 4);
tuple!(SA A 0, SB B 1, SC C 2, SD D 3, SE E 4, SF F 5);
