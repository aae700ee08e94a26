//! The routes of the API.

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Request},
    middleware,
    routing::MethodRouter,
};
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::{PathItemExt as _, router::OpenApiRouter, routes};

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

/// Adds every route to `$router`, with the handlers as the macro `$handlers` gives them. The
/// attribute of a handler declares its method, its path and its description.
macro_rules! with_routes {
    ($router:expr, $handlers:ident) => {
        $router
            .routes($handlers!(modules::list, modules::deploy))
            .routes($handlers!(modules::describe, modules::undeploy))
            .routes($handlers!(modules::component))
            .routes($handlers!(check::check))
            .routes($handlers!(shadow::shadow))
            .routes($handlers!(bundle::in_flight))
            .routes($handlers!(invocations::list, start::start))
            .routes($handlers!(invocations::describe, remove::remove))
            .routes($handlers!(wait::wait))
            .routes($handlers!(why::why))
            .routes($handlers!(journal::journal, remove::remove_journal))
            .routes($handlers!(journal::logs))
            .routes($handlers!(sagas::sagas))
            .routes($handlers!(bundle::of_invocation))
            .routes($handlers!(control::cancel))
            .routes($handlers!(control::kill))
            .routes($handlers!(migrate::proceed))
            .routes($handlers!(migrate::relocate))
            .routes($handlers!(restart::restart))
            .routes($handlers!(fork::fork))
            .routes($handlers!(rerun::rerun))
            .routes($handlers!(control::halt))
            .routes($handlers!(control::release))
            .routes($handlers!(control::signal))
            .routes($handlers!(queries::get, queries::post))
            .routes($handlers!(updates::send))
            .routes($handlers!(replay::replay))
            .routes($handlers!(graphs::start))
            .routes($handlers!(graphs::check))
            .routes($handlers!(graphs::describe))
            .routes($handlers!(graphs::plan))
            .routes($handlers!(graphs::history))
            .routes($handlers!(graphs::retry))
            .routes($handlers!(objects::list))
            .routes($handlers!(objects::describe, objects::change))
            .routes($handlers!(objects::call))
            .routes($handlers!(object_promises::promise))
            .routes($handlers!(object_promises::resolve_promise))
            .routes($handlers!(object_promises::reject_promise))
            .routes($handlers!(budgets::budget, budgets::set_budget))
            .routes($handlers!(limits::list))
            .routes($handlers!(limits::describe, limits::set, limits::clear))
            .routes($handlers!(resources::describe, resources::write))
            .routes($handlers!(resources::lease))
            .routes($handlers!(schedules::list, schedules::create))
            .routes($handlers!(schedules::describe, schedules::delete))
            .routes($handlers!(schedules::pause))
            .routes($handlers!(schedules::resume))
            .routes($handlers!(schedules::trigger))
            .routes($handlers!(schedules::backfill))
            .routes($handlers!(session::describe, session::open, session::close))
            .routes($handlers!(stream::stream))
            .routes($handlers!(streams::list::list))
            .routes($handlers!(blobs::list::list, blobs::upload::upload))
            .routes($handlers!(
                blobs::download::read,
                blobs::download::describe,
                blobs::list::remove
            ))
            .routes($handlers!(events::list))
            .routes($handlers!(events::acknowledge))
            .routes($handlers!(tasks::list))
            .routes($handlers!(tasks::describe))
            .routes($handlers!(promises::list, promises::create))
            .routes($handlers!(promises::describe))
            .routes($handlers!(tree::tree))
            .routes($handlers!(promises::resolve))
            .routes($handlers!(promises::reject))
            .routes($handlers!(promises::cancel))
            .routes($handlers!(index::index))
            .routes($handlers!(health::health))
            .routes($handlers!(health::ready))
            .routes($handlers!(metrics::metrics))
            .routes($handlers!(serve_document))
    };
}

/// The handlers of one path without their description. All descriptions take milliseconds and
/// megabytes: a host describes its routes when it is asked to.
macro_rules! undescribed {
    ($($handler:path),+) => {{
        let mut handlers = MethodRouter::new();
        let paths = [$(utoipa_axum::paste! {{
            for method in utoipa_axum::routes!(@path [methods()] of $handler) {
                handlers = handlers.on(method.to_method_filter(), $handler);
            }
            utoipa_axum::routes!(@path [path()] of $handler)
        }}),+];
        (paths, handlers)
    }};
}

/// A router of routes without descriptions.
struct UndescribedRouter(Router<Api>);

impl UndescribedRouter {
    /// Adds the handlers of one path, which each of them names.
    fn routes<const N: usize>(self, (paths, handlers): ([String; N], MethodRouter<Api>)) -> Self {
        Self(self.0.route(&paths[0], handlers))
    }
}

fn described() -> OpenApiRouter<Api> {
    with_routes!(OpenApiRouter::with_openapi(OpenApiDocument::openapi()), routes)
}

fn undescribed() -> Router<Api> {
    with_routes!(UndescribedRouter(Router::new()), undescribed).0
}

/// Builds the OpenAPI document.
pub fn document() -> OpenApi {
    openapi::complete(described().into_openapi())
}

/// Builds the router of the API.
pub fn router(api: Api) -> Router {
    let beside = api.beside.clone();
    undescribed()
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
