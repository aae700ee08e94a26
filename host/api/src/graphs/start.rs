//! Checks plans, and starts runs of them.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use segno_core::{
    address::GRAPH_RUN,
    command::Command,
    graph::{self, GraphRunParameters, Persistence},
    id::PromiseId,
    keyed_request::{KeyReuseError, RequestParts},
    promise::{NewPromise, Promise},
    reply::Reply,
    tags,
    time::Timestamp,
};
use segno_engine::traces::{TRACEPARENT, TraceContext};
use segno_env::Env;
use segno_graph::{
    plan::{CheckedPlan, MAX_PARALLEL, Plan},
    state::FailurePolicy,
};
use serde::Deserialize;
use serde_json::{Number, Value};

use super::examine::refused as bad_plan;
use crate::{
    Api, ApiError,
    body::{JsonBody, PathSegment, PlanBody},
    budgets,
    model::{GraphChecked, GraphPersistence, GraphStarted, RetryGraph, StartGraph},
    new_invocation::labelled,
    problem_kind as kind,
    refusals::Refusals,
    restart::free,
    state::{new_id, promise_id, refused, unexpected},
};

/// Label of a run with the id of the run that it continues.
const RETRY_OF: &str = "retry-of";

/// A [`StartGraph`] with the unparsed text of the plan, so that duplicate keys are detected.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphRequest {
    #[serde(default)]
    id: Option<String>,
    plan: Plan,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    module: Option<String>,
    #[serde(default)]
    max_parallel: Option<u64>,
    #[serde(default)]
    fail_fast: Option<bool>,
    #[serde(default)]
    persist: Option<GraphPersistence>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    budget: BTreeMap<String, Number>,
}

/// Checks a plan: its form, and that this host has everything that it names. Starts nothing.
#[utoipa::path(
    post, path = "/v1/graphs/check", tag = "graphs", request_body = StartGraph,
    responses((status = 200, body = GraphChecked), Refusals),
)]
pub(crate) async fn check(
    State(api): State<Api>,
    PlanBody(request, _room): PlanBody<GraphRequest>,
) -> Result<Json<GraphChecked>, ApiError> {
    let plan = api.checked(&request).await?;
    let depths = plan.topology().depths();
    Ok(Json(GraphChecked {
        nodes: plan.topology().len() as u64,
        edges: plan.topology().edges() as u64,
        depth: depths.into_iter().max().map_or(0, |deepest| u64::from(deepest) + 1),
        digest: plan.digest_text(),
    }))
}

/// Starts a run of a plan. The same id again with the same plan and input returns the first run;
/// with another plan or input it is refused (409 `key-reused`).
#[utoipa::path(
    post, path = "/v1/graphs", tag = "graphs", request_body = StartGraph,
    responses(
        (status = 200, body = GraphStarted, description = "A run with this id exists"),
        (status = 201, body = GraphStarted, description = "Started"),
        Refusals,
    ),
)]
pub(crate) async fn start(
    State(api): State<Api>,
    headers: HeaderMap,
    PlanBody(request, _room): PlanBody<GraphRequest>,
) -> Result<(StatusCode, Json<GraphStarted>), ApiError> {
    let plan = api.checked(&request).await?;
    let id = match request.id {
        Some(id) => new_id(id)?,
        None => {
            let Env { clock, runtime } = &api.host.env;
            PromiseId::generated(plan.name().unwrap_or("graph"), clock.now(), runtime.nonce())
        }
    };
    let run = GraphRunStart {
        plan: &plan,
        input: &request.input,
        module: request.module.as_deref(),
        persistence: match request.persist {
            Some(GraphPersistence::Each) => Persistence::Each,
            Some(GraphPersistence::Wave) | None => Persistence::Wave,
        },
        budget: &request.budget,
        continues: None,
    };
    let new = run.promise(id, &request.labels, &headers)?;
    api.begin_run(new, &run).await
}

/// Starts a new run of the same plan, which takes over the completed nodes of the old run. The old
/// run must have ended.
#[utoipa::path(
    post, path = "/v1/graphs/{id}/retry", tag = "graphs",
    params(("id" = String, Path, description = "The run; a slash is written %2F")),
    request_body = RetryGraph,
    responses(
        (status = 200, body = GraphStarted, description = "A run with the new id exists"),
        (status = 201, body = GraphStarted, description = "Started"),
        Refusals,
    ),
)]
pub(crate) async fn retry(
    State(api): State<Api>,
    headers: HeaderMap,
    PathSegment(id): PathSegment,
    JsonBody(request, _room): JsonBody<RetryGraph>,
) -> Result<(StatusCode, Json<GraphStarted>), ApiError> {
    let id = promise_id(id)?;
    let row = api.invocation(&id).await?;
    let before =
        GraphRunParameters::of(&row.promise).map_err(|error| not_a_run(&id, &error.to_string()))?;
    if row.promise.is_pending() {
        return Err(ApiError::refused(
            kind::RUN_NOT_ENDED,
            format!("`{id}` has not ended: wait for it, or cancel it (`segno graph cancel {id}`)"),
        ));
    }
    let new = match request.id {
        Some(new) => new_id(new)?,
        None => PromiseId::new(free(&api, &id).await?),
    };
    let module = row.promise.spec.tags.get(tags::MODULE).map(String::as_str);
    let run = GraphRunStart {
        plan: &before.plan,
        input: &before.input,
        module,
        persistence: before.persistence,
        budget: &budgets::given(&row.promise.spec.tags),
        continues: Some(&id),
    };
    let labels = row.promise.spec.tags.iter().filter_map(|(name, value)| {
        Some((name.strip_prefix(tags::LABEL_PREFIX)?.to_owned(), value.clone()))
    });
    let mut labels: BTreeMap<String, String> = labels.collect();
    labels.insert(RETRY_OF.to_owned(), id.to_string());
    let new = run.promise(new, &labels, &headers)?;
    api.begin_run(new, &run).await
}

/// Builds the refusal for an invocation that is not a graph run.
pub(super) fn not_a_run(id: &PromiseId, reason: &str) -> ApiError {
    ApiError::refused(kind::NOT_A_GRAPH_RUN, format!("`{id}` has no plan: {reason}"))
}

/// Parameters of a new run.
struct GraphRunStart<'a> {
    plan: &'a CheckedPlan,
    input: &'a Value,
    module: Option<&'a str>,
    persistence: Persistence,
    budget: &'a BTreeMap<String, Number>,
    continues: Option<&'a PromiseId>,
}

impl GraphRunStart<'_> {
    fn promise(
        &self,
        id: PromiseId,
        labels: &BTreeMap<String, String>,
        headers: &HeaderMap,
    ) -> Result<NewPromise, ApiError> {
        let mut tags = labelled(labels)?;
        budgets::give(self.budget, &mut tags)?;
        tags.insert(tags::TARGET.to_owned(), GRAPH_RUN.to_owned());
        if let Some(module) = self.module {
            tags.insert(tags::MODULE.to_owned(), module.to_owned());
        }
        let parent = headers.get(TRACEPARENT).and_then(|header| header.to_str().ok());
        let parent = parent.filter(|text| TraceContext::parse(text).is_some());
        let trace = parent.map(|parent| (TRACEPARENT.to_owned(), parent.to_owned()));
        let plan_and_input = (self.plan, self.input);
        let headers = trace.into_iter().collect();
        let param = graph::parameter(plan_and_input, self.persistence, self.continues, headers);
        Ok(NewPromise { id, param, tags, timeout_at: Timestamp::NEVER })
    }

    /// Checks that the run with this promise was started with the same parameters.
    fn repeats(&self, first: &Promise) -> Result<(), KeyReuseError> {
        let parts = |plan: &CheckedPlan, input: &Value, module: Option<&str>| {
            let parts = RequestParts::new().text("plan", &plan.digest_text()).json("input", input);
            parts.text("module", module.unwrap_or_default())
        };
        let module = first.spec.tags.get(tags::MODULE).map(String::as_str);
        let stored = match GraphRunParameters::of(first) {
            Ok(stored) => parts(&stored.plan, &stored.input, module),
            Err(_) => RequestParts::new().text("plan", first.target().unwrap_or_default()),
        };
        parts(self.plan, self.input, self.module).repeats(&stored, "the id", first.id().as_str())
    }
}

impl Api {
    /// Validates the plan of a request, with the overrides of the request.
    async fn checked(&self, request: &GraphRequest) -> Result<CheckedPlan, ApiError> {
        let mut plan = request.plan.check().map_err(bad_plan)?;
        if let Some(most) = request.max_parallel {
            let most = u32::try_from(most).ok().filter(|most| (1..=MAX_PARALLEL).contains(most));
            let reason = || format!("is a whole number from 1 to {MAX_PARALLEL}");
            let field = "max_parallel";
            let most = most.ok_or_else(|| ApiError::BadField { field, reason: reason() })?;
            plan = plan.with_max_parallel(most);
        }
        if let Some(fail_fast) = request.fail_fast {
            let policy = if fail_fast { FailurePolicy::FailFast } else { FailurePolicy::Drain };
            plan = plan.with_on_failure(policy);
        }
        self.examine(&plan, request.module.as_deref()).await?;
        Ok(plan)
    }

    /// Creates the promise of a run, or returns the existing run with this id.
    async fn begin_run(
        &self,
        new: NewPromise,
        run: &GraphRunStart<'_>,
    ) -> Result<(StatusCode, Json<GraphStarted>), ApiError> {
        let id = new.id.clone();
        let digest = run.plan.digest_text();
        let (promise, created) = match self.execute(Command::PromiseCreate(new)).await? {
            Reply::Promise { promise, changed } => (promise, changed),
            Reply::Refused(refusal) => return Err(refused(&id, refusal)),
            other => return Err(unexpected(&other)),
        };
        if !created {
            run.repeats(&promise)?;
        }
        let status = if created { StatusCode::CREATED } else { StatusCode::OK };
        Ok((status, Json(GraphStarted { id: id.to_string(), created, digest })))
    }
}
