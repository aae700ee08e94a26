//! What [`module!`](crate::module!) takes.

use crate::{
    function::{Entry, Item},
    object::ObjectEntries,
};

/// What can be listed in [`module!`](crate::module!): a durable function, or a kind of object.
/// `Mark` is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no durable function and no kind of object",
    note = "put `#[segno::workflow]` or `#[segno::activity]` on a function, `#[segno::object]` on an `impl` block"
)]
pub trait Listed<Mark> {
    #[doc(hidden)]
    fn entries(self) -> Vec<Entry>;
}

#[doc(hidden)]
pub enum FunctionMark<A> {
    Never(std::convert::Infallible, std::marker::PhantomData<A>),
}

#[doc(hidden)]
pub enum ObjectMark {}

impl<A, I: Item<A>> Listed<FunctionMark<A>> for I {
    fn entries(self) -> Vec<Entry> {
        vec![Entry::of_item(self)]
    }
}

impl Listed<ObjectMark> for ObjectEntries {
    fn entries(self) -> Vec<Entry> {
        (self.0)()
    }
}
