//! Creates, reads, lists, pauses, triggers and backfills schedules.

use std::collections::BTreeMap;

use axum::{Json, extract::State, http::StatusCode};
use segno_core::{
    address,
    command::Command,
    id::{PromiseId, ScheduleId},
    promise::{
        LONGEST_JITTER, NewSchedule, Overlap as Rule, PromiseTemplate, Schedule, SkipReason,
        SkippedOccurrences, Zone,
    },
    reply::{Refusal, Reply},
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Text, Value as Stored},
};
use segno_store::{PromiseRow, ScheduleFilter, Store};

use super::{
    Api, ApiError,
    body::{JsonBody, PathSegment, UrlQuery},
    budgets,
    catalog::{CatalogModules, ResolvedFunction},
    control::EmptyBody,
    model::{
        Accepted, Backfill, Backfilled, CreateSchedule, LastRun, Overlap, ScheduleCreated,
        ScheduleList, ScheduleQuery, ScheduleView, SkipsView, Trigger, Triggered, Upcoming,
    },
    new_invocation::{by_default, in_time, labelled},
    page,
    refusals::Refusals,
    state::{new_id, promise_id, refused, unexpected},
    target::ParsedTarget,
    values::{input_of, param, stored},
    view,
};

/// Number of future occurrences in an answer.
const UPCOMING: usize = 10;
/// Default template for the ids of invocations.
const INVOCATION_ID: &str = "{{.id}}@{{.timestamp}}";

/// Creates a schedule. The same id again with the same schedule returns the first one, unchanged;
/// with another schedule it is refused (409 `key-reused`).
#[utoipa::path(
    post, path = "/v1/schedules", tag = "schedules", request_body = CreateSchedule,
    responses(
        (status = 200, body = ScheduleCreated, description = "A schedule with this id exists"),
        (status = 201, body = ScheduleCreated, description = "Made"),
        Refusals,
    ),
)]
pub(crate) async fn create(
    State(api): State<Api>,
    JsonBody(request, _room): JsonBody<CreateSchedule>,
) -> Result<(StatusCode, Json<ScheduleCreated>), ApiError> {
    let new = prepare(&api, request).await?;
    let (created, schedule) = match api.execute(Command::ScheduleCreate(new.clone())).await? {
        Reply::Schedule { schedule, created } => (created, schedule),
        Reply::Refused(refusal) => return Err(schedule_refused(refusal)),
        other => return Err(unexpected(&other)),
    };
    if !created {
        new.parts().repeats(&schedule.parts(), "the id", new.id.as_str())?;
    }
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(ScheduleCreated { created, schedule: shown(&schedule) })))
}

/// Lists schedules, by id.
#[utoipa::path(
    get, path = "/v1/schedules", tag = "schedules", params(ScheduleQuery),
    responses((status = 200, body = ScheduleList), Refusals),
)]
pub(crate) async fn list(
    State(api): State<Api>,
    UrlQuery(query): UrlQuery<ScheduleQuery>,
) -> Result<Json<ScheduleList>, ApiError> {
    let limit = page::LISTING.of(query.limit)?;
    let mut tags = Tags::new();
    if let Some(label) = &query.label {
        let (name, value) = page::label(label)?;
        tags.insert(format!("{}{name}", tags::LABEL_PREFIX), value);
    }
    let after = query.after.map(ScheduleId::new);
    let filter = ScheduleFilter { prefix: query.prefix, tags, after, limit };
    let store = api.look().await?.listing(query.partial);
    let page = store.read().schedules(&filter).await.map_err(|error| store.incomplete(error))?;
    Ok(Json(ScheduleList {
        items: looked_at(&api, &*store, &page.items).await?,
        unreadable: view::unreadable("schedule", page.unreadable),
        missing: store.left_out(),
        next: page.next.map(|id| id.to_string()),
    }))
}

/// Reads a schedule.
#[utoipa::path(
    get, path = "/v1/schedules/{id}", tag = "schedules",
    params(("id" = String, Path, description = "The schedule; a slash is written %2F")),
    responses((status = 200, body = ScheduleView), Refusals),
)]
pub(crate) async fn describe(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Json<ScheduleView>, ApiError> {
    let id = schedule_id(id)?;
    let store = api.look().await?;
    let found = store.read().schedule(&id).await?;
    let schedule = found.ok_or_else(|| ApiError::UnknownSchedule(id.to_string()))?;
    let views = looked_at(&api, &*store, std::slice::from_ref(&schedule)).await?;
    let view = views.into_iter().next().unwrap_or_else(|| shown(&schedule));
    let upcoming = upcoming(&schedule, api.host.env.clock.now());
    Ok(Json(ScheduleView { upcoming, ..view }))
}

/// Removes a schedule. Its invocations remain.
#[utoipa::path(
    delete, path = "/v1/schedules/{id}", tag = "schedules",
    params(("id" = String, Path, description = "The schedule; a slash is written %2F")),
    responses((status = 200, body = Accepted), Refusals),
)]
pub(crate) async fn delete(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
) -> Result<Json<Accepted>, ApiError> {
    let id = schedule_id(id)?;
    match api.execute(Command::ScheduleDelete { id: id.clone() }).await? {
        Reply::Done => Ok(Json(Accepted { id: id.to_string(), changed: true })),
        Reply::Refused(refusal) => Err(schedule_refused(refusal)),
        other => Err(unexpected(&other)),
    }
}

/// Pauses a schedule until it is resumed.
#[utoipa::path(
    post, path = "/v1/schedules/{id}/pause", tag = "schedules",
    params(("id" = String, Path, description = "The schedule; a slash is written %2F")),
    responses((status = 200, body = ScheduleView), Refusals),
)]
pub(crate) async fn pause(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(EmptyBody {}, _room): JsonBody<EmptyBody>,
) -> Result<Json<ScheduleView>, ApiError> {
    let command = Command::SchedulePause { id: schedule_id(id)?, paused: true };
    Ok(Json(answered(&api, command).await?.1))
}

/// Resumes a paused schedule with its next occurrence. Occurrences missed during the pause are not
/// started; a backfill starts them.
#[utoipa::path(
    post, path = "/v1/schedules/{id}/resume", tag = "schedules",
    params(("id" = String, Path, description = "The schedule; a slash is written %2F")),
    responses((status = 200, body = ScheduleView), Refusals),
)]
pub(crate) async fn resume(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(EmptyBody {}, _room): JsonBody<EmptyBody>,
) -> Result<Json<ScheduleView>, ApiError> {
    let command = Command::SchedulePause { id: schedule_id(id)?, paused: false };
    Ok(Json(answered(&api, command).await?.1))
}

/// Starts an invocation now, as for an occurrence, even if the schedule is paused. Its deadline
/// counts from now.
#[utoipa::path(
    post, path = "/v1/schedules/{id}/trigger", tag = "schedules", request_body = Trigger,
    params(("id" = String, Path, description = "The schedule; a slash is written %2F")),
    responses((status = 200, body = Triggered), Refusals),
)]
pub(crate) async fn trigger(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(trigger, _room): JsonBody<Trigger>,
) -> Result<Json<Triggered>, ApiError> {
    let at = trigger.at_ms.map_or_else(|| api.host.env.clock.now(), Timestamp);
    match api.execute(Command::ScheduleTrigger { id: schedule_id(id)?, at }).await? {
        Reply::Promise { promise, changed } => {
            Ok(Json(Triggered { id: promise.id().to_string(), created: changed }))
        }
        Reply::Refused(refusal) => Err(schedule_refused(refusal)),
        other => Err(unexpected(&other)),
    }
}

/// Starts the missed occurrences of a schedule in a past interval, in order. Deadlines count from
/// now. Repeating a backfill starts nothing twice.
#[utoipa::path(
    post, path = "/v1/schedules/{id}/backfill", tag = "schedules", request_body = Backfill,
    params(("id" = String, Path, description = "The schedule; a slash is written %2F")),
    responses((status = 200, body = Backfilled), Refusals),
)]
pub(crate) async fn backfill(
    State(api): State<Api>,
    PathSegment(id): PathSegment,
    JsonBody(range, _room): JsonBody<Backfill>,
) -> Result<Json<Backfilled>, ApiError> {
    let (from, to) = (Timestamp(range.from_at_ms), Timestamp(range.to_at_ms));
    let command = Command::ScheduleBackfill { id: schedule_id(id)?, from, to };
    match api.execute(command).await? {
        Reply::Backfilled { made, existing, skipped, because, next } => Ok(Json(Backfilled {
            started: made,
            existing,
            skipped,
            because: because.map(|because| because.to_string()),
            next_at_ms: next.map(|at| at.0),
        })),
        Reply::Refused(refusal) => Err(schedule_refused(refusal)),
        other => Err(unexpected(&other)),
    }
}

/// Validates the request, and returns the schedule to create.
async fn prepare(api: &Api, request: CreateSchedule) -> Result<NewSchedule, ApiError> {
    let id = ScheduleId::new(new_id(request.id)?.as_str());
    let mut tags = labelled(&request.labels)?;
    budgets::give(&request.budget, &mut tags)?;
    // A target without a scheme is a function of a module.
    let (param, default_ms) = match address::is_internal(&request.target) {
        false => {
            api.reach.allows_address(&request.target).map_err(|private| {
                let reason = format!("is not posted to: {private}");
                ApiError::BadField { field: "target", reason }
            })?;
            tags.insert(tags::TARGET.to_owned(), request.target);
            (stored(&request.input), None)
        }
        true => {
            let target = ParsedTarget::parse(&request.target)?;
            let ResolvedFunction { digest, function, by_alias } = target.resolve(api).await?;
            let errors = api.misfits(digest, &function, &request.input);
            if !errors.is_empty() {
                return Err(ApiError::BadInput { target: request.target, errors });
            }
            tags.insert(tags::TARGET.to_owned(), target.address(digest, by_alias));
            (param(&target.function(), &request.input), function.timeout_ms)
        }
    };
    let template = request.invocation_id.unwrap_or_else(|| INVOCATION_ID.to_owned());
    if !template.contains("{{.timestamp}}") {
        let reason =
            format!("must hold {{{{.timestamp}}}}, or all would have one id: `{template}`");
        return Err(ApiError::BadField { field: "invocation_id", reason });
    }
    new_id(template.clone())?;
    let now = api.host.env.clock.now();
    let timeout_at = match request.timeout_ms {
        Some(length) => in_time(now, length)?,
        None => by_default(now, default_ms),
    };
    let timeout = match timeout_at < Timestamp::NEVER {
        true => timeout_at.since(now),
        false => Millis(Timestamp::NEVER.0),
    };
    let template = PromiseTemplate { id: Text::from(template), param, tags, timeout };
    let zone = match &request.zone {
        Some(name) => name.parse::<Zone>().map_err(|refused| ApiError::BadField {
            field: "zone",
            reason: format!("is not known: {refused}"),
        })?,
        None => Zone::UTC,
    };
    let jitter = request.jitter_ms.map_or(Ok(Millis::ZERO), |length| {
        let jitter =
            i64::try_from(length).map(Millis).ok().filter(|jitter| *jitter <= LONGEST_JITTER);
        jitter.ok_or_else(|| ApiError::BadField {
            field: "jitter_ms",
            reason: format!("is longer than a day: `{length}`"),
        })
    })?;
    let overlap = match request.overlap {
        Overlap::Allow => Rule::Allow,
        Overlap::Skip => Rule::Skip,
        Overlap::Queue => Rule::Queue,
    };
    Ok(NewSchedule { id, cron: Text::from(request.cron), zone, jitter, template, overlap })
}

async fn answered(api: &Api, command: Command) -> Result<(bool, ScheduleView), ApiError> {
    match api.execute(command).await? {
        Reply::Schedule { schedule, created } => Ok((created, shown(&schedule))),
        Reply::Refused(refusal) => Err(schedule_refused(refusal)),
        other => Err(unexpected(&other)),
    }
}

fn schedule_id(id: String) -> Result<ScheduleId, ApiError> {
    promise_id(id).map(|id| ScheduleId::new(id.as_str()))
}

fn schedule_refused(refusal: Refusal) -> ApiError {
    match refusal {
        Refusal::NoSchedule(id) => ApiError::UnknownSchedule(id.to_string()),
        other => refused(&PromiseId::new(""), other),
    }
}

/// Converts schedules for the answer, with the states of their last invocations and with problems
/// that prevent the next start.
async fn looked_at(
    api: &Api,
    store: &dyn Store,
    schedules: &[Schedule],
) -> Result<Vec<ScheduleView>, ApiError> {
    let last: Vec<PromiseId> =
        schedules.iter().filter_map(|schedule| schedule.last_id.clone()).collect();
    let rows = store.read().promises(&last).await?;
    let last: BTreeMap<&PromiseId, PromiseRow> =
        last.iter().zip(rows).filter_map(|(id, row)| Some((id, row?))).collect();
    let modules = api.modules().await?;
    let views = schedules.iter().map(|schedule| {
        let last = schedule.last_id.as_ref().and_then(|id| last.get(id));
        ScheduleView {
            last: last.and_then(last_run),
            problem: problem(&modules, tags::target(&schedule.template.tags).unwrap_or_default()),
            ..shown(schedule)
        }
    });
    Ok(views.collect())
}

fn last_run(row: &PromiseRow) -> Option<LastRun> {
    let (promise, task) = (&row.promise, row.task.as_ref()?);
    let failure =
        view::failure(promise).map(|failure| format!("{}: {}", failure.code, failure.message));
    let note = || view::short_note(promise, task).map(|note| note.message);
    Some(LastRun { state: view::state(promise, task), error: failure.or_else(note) })
}

/// Returns the problem that prevents a start at this address, if any.
fn problem(modules: &CatalogModules, address: &str) -> Option<String> {
    let target = ParsedTarget::parse(address).ok().filter(|_| address::is_internal(address))?;
    let Some(entry) = modules.find(&target.module) else {
        return Some(match target.is_service() {
            true => format!("no deployment has the service of `{address}` any more"),
            false => format!("the module `{}` is not deployed any more", target.module),
        });
    };
    let function = target.function();
    entry
        .function(&function)
        .is_none()
        .then(|| format!("the module `{}` has no function `{function}` any more", target.module))
}

fn upcoming(schedule: &Schedule, now: Timestamp) -> Vec<Upcoming> {
    let occurrences = schedule.upcoming(now, UPCOMING).into_iter();
    let shown = occurrences.map(|at| Upcoming {
        at_ms: at.0,
        local: schedule.zone.local(at),
        starts_at_ms: (schedule.jitter > Millis::ZERO).then(|| schedule.fires_at(at).0),
    });
    shown.collect()
}

fn shown(schedule: &Schedule) -> ScheduleView {
    let template = &schedule.template;
    let target = tags::target(&template.tags).unwrap_or_default();
    ScheduleView {
        id: schedule.id.to_string(),
        cron: schedule.cron.to_string(),
        zone: schedule.zone.name().to_owned(),
        jitter_ms: Some(schedule.jitter.0.unsigned_abs()).filter(|jitter| *jitter > 0),
        target: target.to_owned(),
        function: view::function_of(target, &template.param),
        input: input(target, &template.param),
        invocation_id: template.id.to_string(),
        timeout_ms: (template.timeout.0 < Timestamp::NEVER.0)
            .then(|| u64::try_from(template.timeout.0).unwrap_or_default()),
        overlap: match schedule.overlap {
            Rule::Allow => Overlap::Allow,
            Rule::Skip => Overlap::Skip,
            Rule::Queue => Overlap::Queue,
        },
        labels: view::labels(&template.tags),
        budget: budgets::given(&template.tags),
        paused: schedule.paused,
        created_at_ms: schedule.created_at.0,
        next_at_ms: view::deadline(schedule.next_at),
        last_at_ms: schedule.last_at.map(|at| at.0),
        last_id: schedule.last_id.as_ref().map(ToString::to_string),
        last: None,
        skipped: schedule.skipped,
        skips: schedule.skips.0.iter().map(skips).collect(),
        problem: None,
        upcoming: Vec::new(),
    }
}

fn skips((reason, skipped): (&SkipReason, &SkippedOccurrences)) -> SkipsView {
    SkipsView {
        reason: reason.name().to_owned(),
        count: skipped.count,
        last_at_ms: skipped.at.0,
        detail: skipped.detail.to_string(),
    }
}

fn input(target: &str, param: &Stored) -> serde_json::Value {
    match address::is_internal(target) {
        true => input_of(param),
        false => super::values::json_of(&param.data),
    }
}
