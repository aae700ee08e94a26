//! Queries and updates, which a workflow answers while it runs.

mod entry;
mod item;
mod list;

use std::{
    future::Future,
    pin::Pin,
    task::{Context as Polling, Poll},
};

pub use self::entry::HandlerEntry;
pub(crate) use self::entry::word;
pub use self::item::{QueryItem, SharedParameter, UpdateItem, workflow_name};
pub(crate) use self::list::Handlers;
use crate::{
    context::Context,
    error::Result,
    function::{FunctionInput, FunctionOutput, Returns},
    shared::Shared,
};

/// A query or an update, implemented by `#[segno::query]` and `#[segno::update]` only.
pub trait Handler: 'static {
    /// The type that the workflow shares.
    type Shared: Send + Sync + 'static;
    /// The input type; `()` for a handler without input.
    type Input: FunctionInput;
    /// The output of a success.
    type Output: FunctionOutput;

    /// The name of the workflow for calls.
    const WORKFLOW: &'static str;
    /// The name for callers; the queries of a workflow have distinct names, and so have its
    /// updates.
    const NAME: &'static str;
    /// The first paragraph of its documentation. `None` if it has none.
    const SUMMARY: Option<&'static str>;
}

/// A question about a workflow, which only reads the value that the workflow shares.
pub trait Query: Handler {
    #[doc(hidden)]
    fn answer(shared: &Self::Shared, input: Self::Input) -> Result<Self::Output>;
}

/// A request to a workflow, which the workflow answers.
pub trait Update: Handler + Sized {
    /// Checks the update before its acceptance; an error refuses it.
    #[doc(hidden)]
    fn validate(shared: &Self::Shared, input: &Self::Input) -> Result<()> {
        let _ = (shared, input);
        Ok(())
    }

    #[doc(hidden)]
    fn begin(context: Context, shared: Shared<Self::Shared>, input: Self::Input)
    -> Answering<Self>;
}

/// The return value of a query: its result.
pub struct Answer<Q: Handler>(Result<Q::Output>);

impl<Q: Handler> Answer<Q> {
    #[doc(hidden)]
    pub fn new<R: Returns<Value = Q::Output>>(result: R) -> Self {
        Self(result.into_result())
    }

    /// Returns the result, for code that calls the query like any other function.
    pub fn into_result(self) -> Result<Q::Output> {
        self.0
    }
}

/// The return value of an update: a future of its result.
pub struct Answering<U: Handler> {
    future: Pin<Box<dyn Future<Output = Result<U::Output>>>>,
}

impl<U: Handler> Answering<U> {
    #[doc(hidden)]
    pub fn new<R>(future: impl Future<Output = R> + 'static) -> Self
    where
        R: Returns<Value = U::Output>,
    {
        Self { future: Box::pin(async { future.await.into_result() }) }
    }
}

impl<U: Handler> Future for Answering<U> {
    type Output = Result<U::Output>;

    fn poll(mut self: Pin<&mut Self>, polling: &mut Polling<'_>) -> Poll<Self::Output> {
        self.future.as_mut().poll(polling)
    }
}
