//! The routes of the API.

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Request},
    middleware,
};
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Api, access, blobs, budgets, bundle, check, console, control, docs,
    error::ApiError,
    events, fork, graphs, health, index, invocations, journal, limits, metrics, migrate, modules,
    object_promises, objects,
    openapi::{self, OpenApiDocument},
    promises, queries,
    refusals::Refusals,
    remove, replay, rerun, resources, restart, sagas, schedules, session, shadow, start, stream,
    streams, tasks, tree, updates, wait, why,
};

/// The routes. The attribute of a handler declares its method, its path and its description.
fn described() -> OpenApiRouter<Api> {
    OpenApiRouter::with_openapi(OpenApiDocument::openapi())
        .routes(routes!(modules::list, modules::deploy))
        .routes(routes!(modules::describe, modules::undeploy))
        .routes(routes!(modules::component))
        .routes(routes!(check::check))
        .routes(routes!(shadow::shadow))
        .routes(routes!(bundle::in_flight))
        .routes(routes!(invocations::list, start::start))
        .routes(routes!(invocations::describe, remove::remove))
        .routes(routes!(wait::wait))
        .routes(routes!(why::why))
        .routes(routes!(journal::journal, remove::remove_journal))
        .routes(routes!(journal::logs))
        .routes(routes!(sagas::sagas))
        .routes(routes!(bundle::of_invocation))
        .routes(routes!(control::cancel))
        .routes(routes!(control::kill))
        .routes(routes!(migrate::proceed))
        .routes(routes!(migrate::relocate))
        .routes(routes!(restart::restart))
        .routes(routes!(fork::fork))
        .routes(routes!(rerun::rerun))
        .routes(routes!(control::halt))
        .routes(routes!(control::release))
        .routes(routes!(control::signal))
        .routes(routes!(queries::get, queries::post))
        .routes(routes!(updates::send))
        .routes(routes!(replay::replay))
        .routes(routes!(graphs::start))
        .routes(routes!(graphs::check))
        .routes(routes!(graphs::describe))
        .routes(routes!(graphs::plan))
        .routes(routes!(graphs::history))
        .routes(routes!(graphs::retry))
        .routes(routes!(objects::list))
        .routes(routes!(objects::describe, objects::change))
        .routes(routes!(objects::call))
        .routes(routes!(object_promises::promise))
        .routes(routes!(object_promises::resolve_promise))
        .routes(routes!(object_promises::reject_promise))
        .routes(routes!(budgets::budget, budgets::set_budget))
        .routes(routes!(limits::list))
        .routes(routes!(limits::describe, limits::set, limits::clear))
        .routes(routes!(resources::describe, resources::write))
        .routes(routes!(resources::lease))
        .routes(routes!(schedules::list, schedules::create))
        .routes(routes!(schedules::describe, schedules::delete))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(schedules::trigger))
        .routes(routes!(schedules::backfill))
        .routes(routes!(session::describe, session::open, session::close))
        .routes(routes!(stream::stream))
        .routes(routes!(streams::list::list))
        .routes(routes!(blobs::list::list, blobs::upload::upload))
        .routes(routes!(blobs::download::read, blobs::download::describe, blobs::list::remove))
        .routes(routes!(events::list))
        .routes(routes!(events::acknowledge))
        .routes(routes!(tasks::list))
        .routes(routes!(tasks::describe))
        .routes(routes!(promises::list, promises::create))
        .routes(routes!(promises::describe))
        .routes(routes!(tree::tree))
        .routes(routes!(promises::resolve))
        .routes(routes!(promises::reject))
        .routes(routes!(promises::cancel))
        .routes(routes!(index::index))
        .routes(routes!(health::health))
        .routes(routes!(health::ready))
        .routes(routes!(metrics::metrics))
        .routes(routes!(serve_document))
}

/// Builds the OpenAPI document.
pub fn document() -> OpenApi {
    openapi::complete(described().into_openapi())
}

/// Builds the router of the API.
pub fn router(api: Api) -> Router {
    let beside = api.beside.clone();
    let (routes, _) = described().split_for_parts();
    routes
        .merge(console::routes())
        .merge(docs::routes())
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        // Bodies are limited when they are read.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(api.clone(), access::guard))
        .layer(middleware::from_fn_with_state(api.clone(), metrics::count))
        .with_state(api.clone())
        .merge(streams::routes(api))
        .merge(beside)
}

/// Returns the OpenAPI document of this API.
#[utoipa::path(
    get, path = "/openapi.json", tag = "host", operation_id = "openapi",
    responses((status = 200, body = Object, description = "The document"), Refusals),
)]
async fn serve_document() -> Json<OpenApi> {
    Json(document())
}

async fn unknown(request: Request) -> ApiError {
    ApiError::UnknownRoute { path: request.uri().path().to_owned() }
}

async fn wrong_method(request: Request) -> ApiError {
    ApiError::WrongMethod {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
    }
}
