//! Steps of sagas before they are issued.

use std::marker::PhantomData;

use super::{Saga, Undo, UnissuedStep, json};
use crate::{
    call::no_options,
    error::Result,
    function::{Entry, Function, Item, announce},
    handle::{Decode, Step, StepStage},
    http,
    journal::WorkflowCommand,
    payload::Payload,
};

/// A step without its compensation.
#[must_use = "say what undoes the step, by `compensate`; a call that needs no undoing is one of the context's"]
pub struct SagaCall<In, Out> {
    saga: Saga,
    /// A description of the function or the request.
    name: String,
    /// The input as JSON.
    input: String,
    request: Result<WorkflowCommand>,
    is_http: bool,
    decode: Decode<Out>,
    given: PhantomData<fn(In)>,
}

/// A step of a saga, issued on its first poll or by `start`.
#[must_use = "a step is issued when it is awaited, or by `start`"]
pub struct SagaStep<T>(pub(crate) Step<T>);

/// The treatment of a step with an unknown effect in an unwinding: its deadline passed, or it was
/// cancelled or killed. An HTTP step that was answered with 4xx counts as one that did not act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnknown {
    /// Waits for a person, who settles the promise `{invocation}/u/{saga}/{seq}` (`segno saga`).
    #[default]
    Ask,
    /// Undoes the step with `None` as [`Undo::output`]. For compensations that also work if the
    /// step did not act: an HTTP step is then undone after a 4xx response as well, which is its
    /// output.
    Compensate,
}

impl<In, Out> SagaCall<In, Out> {
    pub(super) fn call(
        saga: &Saga,
        function: &str,
        input: Result<Payload>,
        decode: Decode<Out>,
    ) -> Self {
        Self {
            saga: saga.clone(),
            name: function.to_owned(),
            input: input.as_ref().map(json).unwrap_or_default(),
            request: input.map(|input| WorkflowCommand::Call {
                function: function.to_owned(),
                input,
                options: no_options(),
                step: None,
            }),
            is_http: false,
            decode,
            given: PhantomData,
        }
    }

    pub(super) fn http(saga: &Saga, request: http::Request, decode: Decode<Out>) -> Self {
        let name = request.to_string();
        let request = request.into_wit();
        let input = request
            .as_ref()
            .ok()
            .and_then(|request| serde_json::to_string(&http::Sent::of(request)).ok());
        Self {
            saga: saga.clone(),
            name,
            input: input.unwrap_or_default(),
            request: request.map(|request| WorkflowCommand::Http {
                request,
                options: no_options(),
                step: None,
            }),
            is_http: true,
            decode,
            given: PhantomData,
        }
    }

    /// Sets the function of this crate that undoes the step. It is called with the step's input and
    /// output, and retried by its own policy; if it fails finally, the unwinding stops there for a
    /// person.
    pub fn compensate<A, I: Item<A>>(self, function: I) -> SagaStep<Out>
    where
        I::Function: Function<Input = Undo<In, Out>>,
    {
        let _ = function;
        announce(&*self.saga.invocation.journal, Entry::of::<I::Function>);
        self.compensate_named(<I::Function as Function>::NAME)
    }

    /// Sets the function by name: a bare name belongs to this module, `wasm://MODULE/FUNCTION` to
    /// another. It is called with `{"input": …, "output": …}`.
    pub fn compensate_named(self, function: &str) -> SagaStep<Out> {
        let Self { saga, name, input, mut request, is_http, decode, .. } = self;
        if let Ok(WorkflowCommand::Call { step, .. } | WorkflowCommand::Http { step, .. }) =
            &mut request
        {
            *step = Some(Box::new(UnissuedStep::new(saga.index, function, name, input, is_http)));
        }
        SagaStep(Step::new(&saga.invocation, request, decode))
    }
}

impl<T> SagaStep<T> {
    /// Sets the treatment of the step in an unwinding if its effect is unknown.
    pub fn on_unknown(mut self, what: OnUnknown) -> Self {
        if let StepStage::New(request) = &mut self.0.stage
            && let Some(step) = request.step()
        {
            step.declared.compensate_unknown = what == OnUnknown::Compensate;
        }
        self
    }
}
