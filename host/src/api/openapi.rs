//! The document that describes the API.

use axum::Json;
use utoipa::{IntoResponses, OpenApi};

use super::{
    control, events, health, invocations, journal, model::Problem, modules, promises, replay,
    resources, schedules, start, tasks, tree, wait,
};

/// What any route may answer besides; `code` in the problem document says more.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "a description: nothing is made of it but the document")]
pub enum Refusals {
    /// Something in the request cannot be read: `invalid-json`, `invalid-query`, `invalid-path`, `invalid-field`,
    /// `invalid-id`, `invalid-target`.
    #[response(status = 400, content_type = "application/problem+json")]
    Bad(Problem),
    /// `unauthorized`: this host asks for a token.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(Problem),
    /// The request was made for another host or by a page of another site: `foreign-host`, `foreign-origin`; or the token
    /// does not allow it: `not-allowed`.
    #[response(status = 403, content_type = "application/problem+json")]
    Foreign(Problem),
    /// `unknown-route`, `unknown-module`, `unknown-function`, `unknown-invocation`, `unknown-promise`, `unknown-task`,
    /// `unknown-schedule`, `unknown-resource`.
    #[response(status = 404, content_type = "application/problem+json")]
    Unknown(Problem),
    /// `method-not-allowed`.
    #[response(status = 405, content_type = "application/problem+json")]
    Method(Problem),
    /// `body-too-slow`.
    #[response(status = 408, content_type = "application/problem+json")]
    Slow(Problem),
    /// It is not in a state for that: `already-settled`, `wrong-state`, `is-an-invocation`, `id-taken`, `no-journal`,
    /// `journal-damaged`, `resource-busy`, `stale-token`.
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(Problem),
    /// `body-too-large`.
    #[response(status = 413, content_type = "application/problem+json")]
    Large(Problem),
    /// `unsupported-media-type`.
    #[response(status = 415, content_type = "application/problem+json")]
    MediaType(Problem),
    /// `invalid-input`, or what is wrong with a module that was uploaded.
    #[response(status = 422, content_type = "application/problem+json")]
    Unfit(Problem),
    /// `internal`.
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(Problem),
    /// Later, perhaps: `not-ready`, `store-unavailable`, `unknown-outcome`, `conflict`.
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
        health::health,
        health::ready,
        modules::deploy,
        modules::list,
        modules::describe,
        modules::component,
        start::start,
        invocations::list,
        invocations::describe,
        wait::wait,
        journal::journal,
        journal::logs,
        control::cancel,
        control::kill,
        control::proceed,
        control::halt,
        control::release,
        control::signal,
        replay::replay,
        resources::describe,
        resources::lease,
        resources::write,
        schedules::create,
        schedules::list,
        schedules::describe,
        schedules::delete,
        schedules::pause,
        schedules::resume,
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
    tags(
        (name = "modules", description = "Components, by alias and digest"),
        (name = "invocations", description = "Runs of functions"),
        (name = "resources", description = "Values that several writers share, under fencing tokens"),
        (name = "schedules", description = "Starting functions at the occurrences of cron expressions"),
        (name = "tasks", description = "Who holds what, and until when"),
        (name = "promises", description = "Values to come, some of them settled from outside"),
        (name = "events", description = "What functions published, until it is acknowledged"),
        (name = "host", description = "The process itself"),
    )
)]
struct Document;

/// The OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

/// `GET /openapi.json`.
pub async fn serve() -> Json<utoipa::openapi::OpenApi> {
    Json(document())
}
