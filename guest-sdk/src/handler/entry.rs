//! Queries and updates with their types erased.

use std::sync::Arc;

use super::{Handler, Query, QueryItem, Update, UpdateItem};
use crate::{
    bindings::{
        exports::segno::workflow::handlers::{HandlerDescription, HandlerKind},
        segno::workflow::types as wit,
    },
    context::Context,
    error::Error,
    function::{FunctionInput, FunctionOutput},
    invocation::CurrentInvocation,
    payload::{self, Payload},
    shared,
    task::OutcomeFuture,
};

type Failable<T> = Result<T, wit::Failure>;

/// Answers a query.
pub(super) type QueryFunction = fn(&Arc<CurrentInvocation>, &Payload) -> Failable<Payload>;
/// Checks an update before its acceptance; an error refuses it.
pub(super) type ValidationFunction = fn(&Arc<CurrentInvocation>, &Payload) -> Failable<()>;
/// Begins an accepted update.
pub(super) type UpdateFunction = fn(&Arc<CurrentInvocation>, &Payload) -> Failable<OutcomeFuture>;

/// The action of a handler, by its kind.
#[derive(Clone, Copy)]
pub(super) enum HandlerAction {
    Query(QueryFunction),
    Update { validate: ValidationFunction, begin: UpdateFunction },
}

/// A query or an update with its types erased.
#[derive(Clone, Copy)]
pub struct HandlerEntry {
    /// The name of the workflow.
    pub(crate) function: &'static str,
    pub(crate) name: &'static str,
    pub(super) act: HandlerAction,
    /// Returns a summary and the schemas of input and output.
    describe: fn() -> (Option<&'static str>, String, String),
}

impl HandlerEntry {
    #[doc(hidden)]
    pub fn of_query<A, I: QueryItem<A>>(_: I) -> Self {
        Self::new::<I::Query>(HandlerAction::Query(answer::<I::Query>))
    }

    #[doc(hidden)]
    pub fn of_update<A, I: UpdateItem<A>>(_: I) -> Self {
        let (validate, begin) = (validate::<I::Update>, begin::<I::Update>);
        Self::new::<I::Update>(HandlerAction::Update { validate, begin })
    }

    fn new<H: Handler>(act: HandlerAction) -> Self {
        Self { function: H::WORKFLOW, name: H::NAME, act, describe: describe::<H> }
    }

    pub(crate) fn kind(&self) -> HandlerKind {
        match self.act {
            HandlerAction::Query(_) => HandlerKind::Query,
            HandlerAction::Update { .. } => HandlerKind::Update,
        }
    }

    pub(crate) fn description(&self) -> HandlerDescription {
        let (summary, input_schema, output_schema) = (self.describe)();
        HandlerDescription {
            function: self.function.to_owned(),
            kind: self.kind(),
            name: self.name.to_owned(),
            summary: summary.map(str::to_owned),
            input_schema: Some(input_schema),
            output_schema: Some(output_schema),
        }
    }
}

/// The kind as a word for messages.
pub(crate) fn word(kind: HandlerKind) -> &'static str {
    match kind {
        HandlerKind::Query => "query",
        HandlerKind::Update => "update",
    }
}

/// The kind as a plural for messages.
pub(super) fn plural(kind: HandlerKind) -> &'static str {
    match kind {
        HandlerKind::Query => "queries",
        HandlerKind::Update => "updates",
    }
}

fn describe<H: Handler>() -> (Option<&'static str>, String, String) {
    let (input, output) = (H::Input::schema(), H::Output::schema());
    (H::SUMMARY, input.as_value().to_string(), output.as_value().to_string())
}

fn decode<H: Handler>(kind: HandlerKind, input: &Payload) -> Failable<H::Input> {
    let what = format!("the input of {} `{}`", word(kind), H::NAME);
    let null = Payload::Json("null".to_owned());
    let input = if payload::is_empty(input) { &null } else { input };
    H::Input::decode(&what, input).map_err(Error::into_failure)
}

fn find<H: Handler>(
    kind: HandlerKind,
    invocation: &Arc<CurrentInvocation>,
) -> Failable<shared::Shared<H::Shared>> {
    let what = format!("{} `{}`", word(kind), H::NAME);
    shared::find(invocation, H::WORKFLOW, &what)
}

fn answer<Q: Query>(invocation: &Arc<CurrentInvocation>, input: &Payload) -> Failable<Payload> {
    let input = decode::<Q>(HandlerKind::Query, input)?;
    let shared = find::<Q>(HandlerKind::Query, invocation)?;
    let answer = shared.read(|shared| Q::answer(shared, input));
    let encoded = answer.and_then(|value| value.encode(&format!("the answer of `{}`", Q::NAME)));
    encoded.map_err(Error::into_failure)
}

fn validate<U: Update>(invocation: &Arc<CurrentInvocation>, input: &Payload) -> Failable<()> {
    let input = decode::<U>(HandlerKind::Update, input)?;
    let shared = find::<U>(HandlerKind::Update, invocation)?;
    shared.read(|shared| U::validate(shared, &input)).map_err(Error::into_failure)
}

fn begin<U: Update>(
    invocation: &Arc<CurrentInvocation>,
    input: &Payload,
) -> Failable<OutcomeFuture> {
    let input = decode::<U>(HandlerKind::Update, input)?;
    let shared = find::<U>(HandlerKind::Update, invocation)?;
    let answering = U::begin(Context::new(invocation.clone()), shared, input);
    Ok(Box::pin(async {
        let encoded =
            answering.await.and_then(|value| value.encode(&format!("the answer of `{}`", U::NAME)));
        match encoded {
            Ok(payload) => wit::Outcome::Success(payload),
            Err(error) => wit::Outcome::Failure(error.into_failure()),
        }
    }))
}
