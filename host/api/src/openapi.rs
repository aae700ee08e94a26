//! The OpenAPI document of the API.

use axum::Json;
use utoipa::{
    IntoResponses, OpenApi,
    openapi::{
        self, KnownFormat, Object, RefOr, Required, Schema, SchemaFormat,
        path::{Parameter, ParameterIn},
        schema::{SchemaType, Type},
    },
};

use super::{
    bundle, check, control, events, fork, graphs, health, index, invocations, journal, limits,
    metrics, migrate, model::Problem, modules, object_promises, objects, promises, queries, remove,
    replay, resources, restart, sagas, schedules, session, shadow, start, stream, tasks, tree,
    updates, wait, why,
};

/// Pattern of an id's characters: no control characters, and no text that URL normalization removes
/// from a path.
pub(super) const ID: &str = r"^(?!\.{1,2}$)[^\x00-\x1f\x7f-\x9f]+$";

/// Maximum number of characters in an id. The limit in bytes is the same number, so an id with
/// characters outside ASCII may have fewer, 512 in the worst case.
const LONGEST_ID: usize = 2048;

/// Operations whose body may be omitted, because `{}` is sufficient.
const OPTIONAL_BODIES: [&str; 8] = [
    "promises_resolve",
    "promises_reject",
    "invocations_replay",
    "invocations_release",
    "invocations_restart",
    "invocations_proceed",
    "queries_post",
    "updates_send",
];

/// Problems that any route may answer; `code` in the problem document is more specific.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "a description: nothing is made of it but the document")]
pub enum Refusals {
    /// The request cannot be read: `invalid-json`, `invalid-query`, `invalid-path`,
    /// `invalid-field`, `invalid-id`, `invalid-target`.
    #[response(status = 400, content_type = "application/problem+json")]
    Bad(Problem),
    /// `unauthorized`: this host requires a token.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(Problem),
    /// The request is for another host or from a page of another site: `foreign-host`,
    /// `foreign-origin`; it lacks the header of its session: `missing-csrf`; or the token does not
    /// allow it: `not-allowed`.
    #[response(status = 403, content_type = "application/problem+json")]
    Foreign(Problem),
    /// `unknown-route`, `unknown-module`, `unknown-function`, `unknown-invocation`,
    /// `unknown-promise`, `unknown-task`, `unknown-schedule`, `unknown-resource`, `unknown-query`,
    /// `unknown-update`.
    #[response(status = 404, content_type = "application/problem+json")]
    Unknown(Problem),
    /// `method-not-allowed`.
    #[response(status = 405, content_type = "application/problem+json")]
    Method(Problem),
    /// `body-too-slow`.
    #[response(status = 408, content_type = "application/problem+json")]
    Slow(Problem),
    /// The object's state does not allow the operation: `already-settled`, `wrong-state`,
    /// `is-an-invocation`, `id-taken`, `no-journal`, `not-begun`, `journal-damaged`,
    /// `resource-busy`, `object-busy`, `ran-already`, `stale-token`, `not-a-graph-run`,
    /// `is-a-graph-run`, `already-sent`, `no-handlers`, `journal-grew`, `exists`, `no-such-record`,
    /// `no-such-command`, `no-fork-there`, `diverges`.
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(Problem),
    /// `body-too-large`.
    #[response(status = 413, content_type = "application/problem+json")]
    Large(Problem),
    /// `unsupported-media-type`.
    #[response(status = 415, content_type = "application/problem+json")]
    MediaType(Problem),
    /// `invalid-input`, `invalid-limit`, `invalid-plan`, `invalid-result`, `query-failed`,
    /// `query-trapped`, `update-refused`, or the fault of an uploaded module.
    #[response(status = 422, content_type = "application/problem+json")]
    Unfit(Problem),
    /// `internal`.
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(Problem),
    /// Temporary; retry later: `not-ready`, `store-unavailable`, `unknown-outcome`, `conflict`.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Segno",
        description = "Durable functions as WebAssembly components: upload, start, look, settle, replay. \
                       Errors are problem documents (RFC 9457) with a stable `code`."
    ),
    paths(
        index::index,
        health::health,
        health::ready,
        metrics::metrics,
        session::describe,
        session::open,
        session::close,
        stream::stream,
        serve,
        modules::deploy,
        modules::list,
        modules::describe,
        modules::undeploy,
        modules::component,
        check::check, shadow::shadow,
        bundle::in_flight,
        start::start,
        invocations::list,
        invocations::describe,
        wait::wait,
        why::why,
        queries::get,
        queries::post,
        updates::send,
        journal::journal,
        journal::logs,
        sagas::sagas,
        bundle::of_invocation,
        graphs::start,
        graphs::check,
        graphs::describe,
        graphs::plan,
        graphs::history,
        graphs::retry,
        control::cancel,
        control::kill,
        migrate::proceed,
        migrate::relocate,
        restart::restart,
        fork::fork,
        remove::remove,
        remove::remove_journal,
        control::halt,
        control::release,
        control::signal,
        replay::replay,
        objects::list,
        objects::describe,
        objects::change,
        objects::call,
        object_promises::promise,
        object_promises::resolve_promise,
        object_promises::reject_promise,
        limits::list,
        limits::describe,
        limits::set,
        limits::clear,
        resources::describe,
        resources::lease,
        resources::write,
        schedules::create,
        schedules::list,
        schedules::describe,
        schedules::delete,
        schedules::pause,
        schedules::resume,
        schedules::trigger,
        schedules::backfill,
        tasks::list,
        tasks::describe,
        promises::create,
        promises::list,
        promises::describe,
        promises::resolve,
        promises::reject,
        promises::cancel,
        tree::tree,
        events::list,
        events::acknowledge,
    ),
    components(schemas(Problem)),
    tags(
        (name = "modules", description = "Components, by alias and digest"),
        (name = "invocations", description = "Runs of functions"),
        (name = "graphs", description = "Plans: graphs of steps, and their runs"),
        (name = "objects", description = "Objects: state by key, which one invocation at a time writes"),
        (name = "limits", description = "How many executions of a function may run, and how fast they begin"),
        (name = "resources", description = "Values that several writers share, under fencing tokens"),
        (name = "schedules", description = "Starting functions at the occurrences of cron expressions"),
        (name = "tasks", description = "Who holds what, and until when"),
        (name = "promises", description = "Values to come, some of them settled from outside"),
        (name = "events", description = "What functions published, until it is acknowledged"),
        (name = "sessions", description = "Sessions of browsers, which stand for a token"),
        (name = "host", description = "The process itself"),
    )
)]
struct Document;

/// Builds the OpenAPI document.
pub fn document() -> openapi::OpenApi {
    let mut document = Document::openapi();
    for item in document.paths.paths.values_mut() {
        let operations =
            [&mut item.get, &mut item.put, &mut item.post, &mut item.patch, &mut item.delete];
        for operation in operations.into_iter().flatten() {
            // Functions of several modules have the same names, but an operation's id must be
            // unique.
            let tag = operation.tags.iter().flatten().next().cloned().unwrap_or_default();
            let name = operation.operation_id.take().unwrap_or_default();
            operation.operation_id = Some(format!("{tag}_{name}"));
            if let Some(RefOr::T(body)) = &mut operation.request_body
                && OPTIONAL_BODIES.contains(&operation.operation_id.as_deref().unwrap_or_default())
            {
                body.required = Some(Required::False);
            }
            for response in operation.responses.responses.values_mut() {
                if let RefOr::T(response) = response
                    && response.description.is_empty()
                {
                    "It is done.".clone_into(&mut response.description);
                }
            }
            for parameter in operation.parameters.iter_mut().flatten() {
                if let RefOr::T(parameter) = parameter {
                    complete(parameter);
                }
            }
        }
    }
    document
}

/// Adds the rules for parameters of a location: a path segment is an id, and a query has no nulls.
fn complete(parameter: &mut Parameter) {
    let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema else { return };
    match parameter.parameter_in {
        ParameterIn::Path => {
            schema.min_length = Some(1);
            schema.max_length = Some(LONGEST_ID);
            schema.pattern = Some(ID.to_owned());
        }
        ParameterIn::Query => {
            if let SchemaType::Array(types) = &schema.schema_type
                && let Some(of_values) = types.iter().find(|kind| **kind != Type::Null)
            {
                schema.schema_type = SchemaType::Type(of_values.clone());
            }
            bound(schema);
        }
        ParameterIn::QueryString | ParameterIn::Header | ParameterIn::Cookie => {}
    }
}

/// Adds the maximum to an unsigned number: OpenAPI defines no formats for unsigned numbers, and
/// those of signed ones end earlier.
fn bound(schema: &mut Object) {
    let (format, largest) = match &schema.format {
        Some(SchemaFormat::KnownFormat(KnownFormat::Int32)) => ("uint32", u64::from(u32::MAX)),
        Some(SchemaFormat::KnownFormat(KnownFormat::Int64)) => ("uint64", u64::MAX),
        Some(SchemaFormat::KnownFormat(_) | SchemaFormat::Custom(_)) | None => return,
    };
    if schema.minimum.is_some() && schema.maximum.is_none() {
        schema.format = Some(SchemaFormat::Custom(format.to_owned()));
        schema.maximum = usize::try_from(largest).ok().map(utoipa::Number::UInt);
    }
}

/// Returns the OpenAPI document of this API.
#[utoipa::path(
    get, path = "/openapi.json", tag = "host", operation_id = "openapi",
    responses((status = 200, body = Object, description = "The document"), Refusals),
)]
pub async fn serve() -> Json<openapi::OpenApi> {
    Json(document())
}
