//! Sagas: sequences of steps that are undone if the whole does not succeed.

mod report;
mod state;
mod step;
mod unwind;

use std::{fmt::Display, future::Future, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use self::state::json;
pub(crate) use self::state::{InvocationSagas, UnissuedStep};
pub use self::{
    report::{SagaReport, StepReport},
    step::{OnUnknown, SagaCall, SagaStep},
};
use crate::{
    error::{Error, Result},
    function::{Entry, Function, Item, announce, decode_result},
    http,
    invocation::CurrentInvocation,
    payload,
};

/// Steps of a workflow that are undone, last first, if the whole does not succeed. Created by
/// [`Context::saga`](crate::Context::saga).
///
/// A step is a call or an HTTP request, with the function that undoes it. The need to undo it is
/// recorded with the step's end. Unwinding depends on these records alone, so it continues where it
/// stopped after a crash, on another host, or in a cancelled workflow.
///
/// A saga is unwound if an error leaves the workflow or its [`scope`](Self::scope), and by
/// [`abort`](Self::abort). It is complete when the workflow or the scope ends successfully.
///
/// ```
/// # extern crate segno_sdk as segno;
/// # use segno::{ActivityContext, Context, Undo};
/// #[segno::activity]
/// async fn book(ctx: ActivityContext, seat: u32) -> segno::Result<String> {
///     Ok(format!("ticket {seat}"))
/// }
///
/// #[segno::activity]
/// async fn give_back(ctx: ActivityContext, undo: Undo<u32, String>) -> segno::Result<()> {
///     segno::info!(ctx, "{:?} for seat {} is given back", undo.output, undo.input);
///     Ok(())
/// }
///
/// #[segno::workflow]
/// async fn evening(ctx: Context, seats: Vec<u32>) -> segno::Result<u32> {
///     let saga = ctx.saga("evening");
///     for seat in &seats {
///         saga.call(book, seat).compensate(give_back).await?;
///     }
///     if seats.len() > 2 {
///         return Err(saga.abort("there is one car only").await);
///     }
///     Ok(seats.len() as u32)
/// }
///
/// let mut test = segno::testing::Test::new();
/// let error = test.run(evening, &vec![4, 5, 6]).unwrap_err();
/// let undone: Vec<u32> = test.calls(give_back).into_iter().map(|undo| undo.input).collect();
/// assert_eq!(undone, [6, 5, 4]);
/// assert!(error.message().contains("one car only"));
/// ```
#[derive(Clone)]
pub struct Saga {
    invocation: Arc<CurrentInvocation>,
    /// Index among the sagas of the invocation.
    index: usize,
}

/// The input of a function that undoes a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Undo<In, Out> {
    /// The step's input.
    pub input: In,
    /// The step's output. `None` if it is not known that the step had an effect (see
    /// [`OnUnknown`]).
    pub output: Option<Out>,
}

impl Saga {
    pub(crate) fn begin(invocation: &Arc<CurrentInvocation>, name: String) -> Self {
        let index = invocation.sagas().begin(name, unwind::unwind_all);
        Self { invocation: invocation.clone(), index }
    }

    /// Adds a step: a call of a durable function of this crate. Set its compensation with
    /// [`SagaCall::compensate`]. Use the context for a call that needs no compensation.
    pub fn call<A, I: Item<A>>(
        &self,
        function: I,
        input: &<I::Function as Function>::Input,
    ) -> SagaCall<<I::Function as Function>::Input, <I::Function as Function>::Output>
    where
        <I::Function as Function>::Input: Serialize,
        <I::Function as Function>::Output: DeserializeOwned,
    {
        let _ = function;
        announce(&*self.invocation.journal, Entry::of::<I::Function>);
        self.call_named(<I::Function as Function>::NAME, input)
    }

    /// Adds a step: a call of a durable function by its name, like
    /// [`Context::call_named`](crate::Context::call_named).
    pub fn call_named<In: Serialize + ?Sized, Given, Out: DeserializeOwned>(
        &self,
        function: &str,
        input: &In,
    ) -> SagaCall<Given, Out> {
        let input = payload::encode(&format!("the input of `{function}`"), input);
        SagaCall::call(self, function, input, decode_result)
    }

    /// Adds a step: an HTTP request by the host, like [`Context::http`](crate::Context::http). A
    /// response means that the step acted, and is passed to the compensation. With status 4xx the
    /// server reports that it did not act: the step is not undone, unless [`OnUnknown::Compensate`]
    /// is set.
    pub fn http(&self, request: http::Request) -> SagaCall<http::Sent, http::Response> {
        SagaCall::http(self, request, http::Response::decode)
    }

    /// Returns the output of `steps`. If they fail, the saga is unwound first, and the error
    /// reports what was undone ([`SagaReport::of`]).
    ///
    /// # Errors
    /// The error of `steps`.
    pub async fn scope<T>(&self, steps: impl Future<Output = Result<T>>) -> Result<T> {
        match steps.await {
            Ok(value) => {
                self.complete();
                Ok(value)
            }
            Err(error) => Err(unwind::unwind(&self.invocation, self.index, error).await),
        }
    }

    /// Unwinds the saga. Returns a final error (code 422) with the reason and the report, for the
    /// workflow to return.
    pub async fn abort(&self, reason: impl Display) -> Error {
        let error = Error::terminal(Error::REFUSED, reason.to_string());
        unwind::unwind(&self.invocation, self.index, error).await
    }

    /// Completes the saga: its steps are not undone, whatever happens later.
    pub fn complete(&self) {
        self.invocation.sagas().end(self.index);
    }
}
