//! The routes of the API.

use axum::{
    Router,
    extract::{DefaultBodyLimit, Request},
    middleware,
    routing::{get, post},
};

use super::{
    Api, access, bundle, check, console, control, docs, error::ApiError, events, fork, graphs,
    health, index, invocations, journal, limits, metrics, migrate, modules, object_promises,
    objects, openapi, promises, queries, remove, replay, resources, restart, sagas, schedules,
    session, shadow, start, stream, tasks, tree, updates, wait, why,
};

/// Builds the router of the API.
pub fn router(api: Api) -> Router {
    let beside = api.beside.clone();
    let v1 = Router::new()
        .route("/modules", get(modules::list).post(modules::deploy))
        .route("/modules/{module}", get(modules::describe).delete(modules::undeploy))
        .route("/modules/{module}/component", get(modules::component))
        .route("/modules/{module}/check", post(check::check))
        .route("/modules/{module}/shadow", post(shadow::shadow))
        .route("/modules/{module}/bundle", get(bundle::in_flight))
        .route("/invocations", get(invocations::list).post(start::start))
        .route("/invocations/{id}", get(invocations::describe).delete(remove::remove))
        .route("/invocations/{id}/wait", get(wait::wait))
        .route("/invocations/{id}/why", get(why::why))
        .route("/invocations/{id}/journal", get(journal::journal).delete(remove::remove_journal))
        .route("/invocations/{id}/logs", get(journal::logs))
        .route("/invocations/{id}/sagas", get(sagas::sagas))
        .route("/invocations/{id}/bundle", get(bundle::of_invocation))
        .route("/invocations/{id}/cancel", post(control::cancel))
        .route("/invocations/{id}/kill", post(control::kill))
        .route("/invocations/{id}/continue", post(migrate::proceed))
        .route("/invocations/{id}/move", post(migrate::relocate))
        .route("/invocations/{id}/restart", post(restart::restart))
        .route("/invocations/{id}/fork", post(fork::fork))
        .route("/invocations/{id}/halt", post(control::halt))
        .route("/invocations/{id}/release", post(control::release))
        .route("/invocations/{id}/signals", post(control::signal))
        .route("/invocations/{id}/queries/{name}", get(queries::get).post(queries::post))
        .route("/invocations/{id}/updates/{name}", post(updates::send))
        .route("/invocations/{id}/replay", post(replay::replay))
        .route("/graphs", post(graphs::start))
        .route("/graphs/check", post(graphs::check))
        .route("/graphs/{id}", get(graphs::describe))
        .route("/graphs/{id}/plan", get(graphs::plan))
        .route("/graphs/{id}/history", get(graphs::history))
        .route("/graphs/{id}/retry", post(graphs::retry))
        .route("/objects", get(objects::list))
        .route("/objects/{module}/{object}/{key}", get(objects::describe).patch(objects::change))
        .route("/objects/{module}/{object}/{key}/{function}", post(objects::call))
        .route("/objects/{module}/{object}/{key}/promises/{name}", get(object_promises::promise))
        .route(
            "/objects/{module}/{object}/{key}/promises/{name}/resolve",
            post(object_promises::resolve_promise),
        )
        .route(
            "/objects/{module}/{object}/{key}/promises/{name}/reject",
            post(object_promises::reject_promise),
        )
        .route("/limits", get(limits::list))
        .route(
            "/limits/{module}/{function}",
            get(limits::describe).put(limits::set).delete(limits::clear),
        )
        .route("/resources/{name}", get(resources::describe).put(resources::write))
        .route("/resources/{name}/lease", post(resources::lease))
        .route("/schedules", get(schedules::list).post(schedules::create))
        .route("/schedules/{id}", get(schedules::describe).delete(schedules::delete))
        .route("/schedules/{id}/pause", post(schedules::pause))
        .route("/schedules/{id}/resume", post(schedules::resume))
        .route("/schedules/{id}/trigger", post(schedules::trigger))
        .route("/schedules/{id}/backfill", post(schedules::backfill))
        .route("/session", get(session::describe).post(session::open).delete(session::close))
        .route("/stream", get(stream::stream))
        .route("/events", get(events::list))
        .route("/events/ack", post(events::acknowledge))
        .route("/tasks", get(tasks::list))
        .route("/tasks/{id}", get(tasks::describe))
        .route("/promises", get(promises::list).post(promises::create))
        .route("/promises/{id}", get(promises::describe))
        .route("/promises/{id}/tree", get(tree::tree))
        .route("/promises/{id}/resolve", post(promises::resolve))
        .route("/promises/{id}/reject", post(promises::reject))
        .route("/promises/{id}/cancel", post(promises::cancel));
    Router::new()
        .nest("/v1", v1)
        .route("/", get(index::index))
        .route("/health", get(health::health))
        .route("/ready", get(health::ready))
        .route("/metrics", get(metrics::metrics))
        .route("/openapi.json", get(openapi::serve))
        .merge(console::routes())
        .merge(docs::routes())
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        // Bodies are limited when they are read.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(api.clone(), access::guard))
        .layer(middleware::from_fn_with_state(api.clone(), metrics::count))
        .with_state(api)
        .merge(beside)
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
