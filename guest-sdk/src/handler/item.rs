//! The functions under `#[segno::query]` and `#[segno::update]`, and the workflow that they belong
//! to.

use super::{Answer, Answering, Handler, Query, Update};
use crate::{
    context::Context,
    function::{Function, Item},
    shared::Shared,
};

/// A function with the attribute `#[segno::query]`. `Arguments` is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query",
    note = "put `#[segno::query(WORKFLOW)]` on it"
)]
pub trait QueryItem<Arguments>: Copy + 'static {
    /// The type of the query.
    type Query: Query;
}

#[diagnostic::do_not_recommend]
impl<I, T, In, Q> QueryItem<(T, In)> for I
where
    I: Fn(&T, In) -> Answer<Q> + Copy + 'static,
    Q: Query + Handler<Shared = T, Input = In>,
{
    type Query = Q;
}

/// A function with the attribute `#[segno::update]`. `Arguments` is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an update",
    note = "put `#[segno::update(WORKFLOW)]` on it"
)]
pub trait UpdateItem<Arguments>: Copy + 'static {
    /// The type of the update.
    type Update: Update;
}

#[diagnostic::do_not_recommend]
impl<I, T, In, U> UpdateItem<(T, In)> for I
where
    I: Fn(Context, Shared<T>, In) -> Answering<U> + Copy + 'static,
    U: Update + Handler<Shared = T, Input = In>,
{
    type Update = U;
}

/// The `T` of the `Shared<T>` that an update takes.
#[diagnostic::on_unimplemented(
    message = "an update takes a `segno::Shared<T>`, and not `{Self}`",
    label = "write `Shared<…>` here, of what the workflow shares"
)]
pub trait SharedParameter {
    /// The `T`.
    type Value;
}

impl<T> SharedParameter for Shared<T> {
    type Value = T;
}

/// The name of a workflow for calls.
#[doc(hidden)]
pub const fn workflow_name<A, I>(_: I) -> &'static str
where
    I: Item<A>,
    I::Function: Function<Context = Context>,
{
    <I::Function as Function>::NAME
}
