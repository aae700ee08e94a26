//! The items that [`module!`](crate::module!) accepts.

use crate::{
    function::{Entry, Item},
    handler::{HandlerEntry, QueryItem, UpdateItem},
    module::ModuleItem,
    object::ObjectEntries,
};

/// An item that can be listed in [`module!`](crate::module!): a durable function, a kind of object,
/// or a query or an update of a workflow. `Mark` is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no durable function, no query or update, and no kind of object",
    note = "put `#[segno::workflow]` or `#[segno::activity]` on a function, `#[segno::query(WORKFLOW)]` or `#[segno::update(WORKFLOW)]` on what a workflow answers, `#[segno::object]` on an `impl` block"
)]
pub trait Listed<Mark> {
    #[doc(hidden)]
    fn listings(self) -> Vec<ModuleItem>;
}

#[doc(hidden)]
pub enum FunctionMark<A> {
    Never(std::convert::Infallible, std::marker::PhantomData<A>),
}

#[doc(hidden)]
pub enum QueryMark<A> {
    Never(std::convert::Infallible, std::marker::PhantomData<A>),
}

#[doc(hidden)]
pub enum UpdateMark<A> {
    Never(std::convert::Infallible, std::marker::PhantomData<A>),
}

#[doc(hidden)]
pub enum ObjectMark {}

impl<A, I: Item<A>> Listed<FunctionMark<A>> for I {
    fn listings(self) -> Vec<ModuleItem> {
        vec![ModuleItem::Function(Entry::of_item(self))]
    }
}

impl<A, I: QueryItem<A>> Listed<QueryMark<A>> for I {
    fn listings(self) -> Vec<ModuleItem> {
        vec![ModuleItem::Handler(HandlerEntry::of_query(self))]
    }
}

impl<A, I: UpdateItem<A>> Listed<UpdateMark<A>> for I {
    fn listings(self) -> Vec<ModuleItem> {
        vec![ModuleItem::Handler(HandlerEntry::of_update(self))]
    }
}

impl Listed<ObjectMark> for ObjectEntries {
    fn listings(self) -> Vec<ModuleItem> {
        (self.0)().into_iter().map(ModuleItem::Function).collect()
    }
}
