//! The sagas of an invocation, derived from recorded facts and the promises of the steps.

use std::collections::{BTreeMap, BTreeSet};

use axum::{Json, extract::State};
use segno_core::{
    id::PromiseId,
    promise::Promise,
    saga::{FactKey, FactKind, SagaNext, StepEnd, StepOutcome, StepTags, saga_next, step_end},
};
use segno_store::{ParentCursor, Store};

use super::{
    Api, ApiError,
    body::PathSegment,
    model::{SagaPage, SagaState, SagaStepState, SagaStepView, SagaView, UndoState, UndoView},
    refusals::Refusals,
    view,
};

/// Number of children read in one page, and in total.
const PAGE: u32 = 1_000;
const MOST: usize = 20_000;

/// Reads the sagas of an invocation: steps, compensations, and questions for an operator.
#[utoipa::path(
    get, path = "/v1/invocations/{id}/sagas", tag = "invocations",
    params(("id" = String, Path, description = "The invocation; a slash is written %2F")),
    responses((status = 200, body = SagaPage), Refusals),
)]
pub(crate) async fn sagas(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Json<SagaPage>, ApiError> {
    let id = api.generation(id).await?;
    let store = api.look().await?;
    let row = store.read().promise(&id).await?.filter(|row| row.task.is_some());
    let row = row.ok_or_else(|| ApiError::UnknownInvocation(id.to_string()))?;
    let (children, incomplete) = children(&*store, &id).await?;
    // Read after the promises, so that facts recorded before them are included.
    let facts = store.read().facts(&id).await?.into_iter().map(|(key, _)| key).collect();
    drop(store);
    let has_ended = !row.promise.is_pending();
    let found = SagaLookup { invocation: &id, has_ended, children, facts };
    let names: BTreeSet<&str> = found.names().collect();
    let items = names.into_iter().map(|name| found.saga(name)).collect();
    let task = row.task.as_ref().filter(|_| has_ended);
    let ended = task.map(|task| view::state(&row.promise, task));
    let killed = row.promise.was_killed();
    Ok(Json(SagaPage { id: id.to_string(), ended, killed, items, incomplete }))
}

/// Reads the children of an invocation. Also returns true if there are more.
async fn children(
    store: &dyn Store,
    id: &PromiseId,
) -> Result<(BTreeMap<PromiseId, Promise>, bool), ApiError> {
    let (mut all, mut after) = (BTreeMap::new(), 0);
    while all.len() < MOST {
        let page =
            store.call_tree().children(&[ParentCursor { id: id.clone(), after }], PAGE).await?;
        let Some(last) = page.last() else { return Ok((all, false)) };
        after = last.number;
        let is_last = page.len() < PAGE as usize;
        all.extend(page.into_iter().map(|child| {
            let promise = child.row.promise;
            (promise.id().clone(), promise)
        }));
        if is_last {
            return Ok((all, false));
        }
    }
    Ok((all, true))
}

struct SagaLookup<'a> {
    invocation: &'a PromiseId,
    has_ended: bool,
    children: BTreeMap<PromiseId, Promise>,
    facts: BTreeSet<FactKey>,
}

impl SagaLookup<'_> {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.children.values().filter_map(|child| Some(StepTags::of(&child.spec.tags)?.saga))
    }

    fn has(&self, saga: &str, seq: u32, kind: FactKind) -> bool {
        self.facts.contains(&FactKey { saga: saga.into(), seq, kind })
    }

    fn saga(&self, name: &str) -> SagaView {
        let declared = self.children.values().filter_map(|child| {
            let step = StepTags::of(&child.spec.tags).filter(|step| step.saga == name)?;
            let is_question = *child.id() == self.invocation.verdict_on(name, step.seq);
            (!is_question).then_some((step.seq, (child, step)))
        });
        let declared: BTreeMap<u32, (&Promise, StepTags<'_>)> = declared.collect();
        let steps: Vec<SagaStepView> =
            declared.iter().map(|(seq, (promise, step))| self.step(*seq, promise, step)).collect();
        let is_aborted =
            steps.iter().any(|step| step.undo.is_some() || self.question(name, step.seq).is_some());
        let views: Vec<StepOutcome> = declared
            .iter()
            .map(|(seq, (promise, _))| StepOutcome {
                seq: *seq,
                end: self.end(name, *seq, promise),
            })
            .collect();
        let facts = self.facts.iter().filter(|fact| fact.saga.as_str() == name);
        let next = saga_next(facts.map(|fact| (fact.seq, fact.kind)), &views, is_aborted);
        let (state, next_seq) = match next {
            SagaNext::Forward if is_aborted => (SagaState::Unwinding, None),
            SagaNext::Forward if self.has_ended => (SagaState::Kept, None),
            SagaNext::Forward => (SagaState::Forward, None),
            SagaNext::Compensate { seq } => (SagaState::Unwinding, Some(seq)),
            SagaNext::Compensated => (SagaState::Undone, None),
            SagaNext::CompensationFailed { seq } => (SagaState::Failed, Some(seq)),
            SagaNext::Unclear { seq } => (SagaState::Unclear, Some(seq)),
        };
        SagaView { name: name.to_owned(), state, next_seq, steps }
    }

    fn question(&self, saga: &str, seq: u32) -> Option<&Promise> {
        self.children.get(&self.invocation.verdict_on(saga, seq))
    }

    /// Returns the end of a step. If it is unknown, the operator's answer applies.
    fn end(&self, saga: &str, seq: u32, promise: &Promise) -> StepEnd {
        step_end(Some(promise)).after(step_end(self.question(saga, seq)))
    }

    fn step(&self, seq: u32, promise: &Promise, step: &StepTags<'_>) -> SagaStepView {
        let state = match self.end(step.saga, seq, promise) {
            StepEnd::Open => SagaStepState::Open,
            StepEnd::Acted => SagaStepState::Acted,
            StepEnd::Failed => SagaStepState::Failed,
            StepEnd::Unknown => SagaStepState::Unknown,
        };
        let question = self.question(step.saga, seq).filter(|question| question.is_pending());
        let undo = self.children.get(&self.invocation.compensation(step.saga, seq));
        let has = |kind| self.has(step.saga, seq, kind);
        SagaStepView {
            seq,
            id: promise.id().to_string(),
            function: view::function(promise).filter(|name| name != "http"),
            compensate: step.compensate.to_owned(),
            state,
            registered: has(FactKind::Registered),
            question: question.map(|question| question.id().to_string()),
            undo: undo.map(|undo| UndoView {
                id: undo.id().to_string(),
                state: match (has(FactKind::Completed), has(FactKind::Failed)) {
                    (true, _) => UndoState::Completed,
                    (false, true) => UndoState::Failed,
                    (false, false) => UndoState::Pending,
                },
                failure: view::failure(undo),
            }),
        }
    }
}
