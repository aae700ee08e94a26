//! Metrics for Prometheus, and request counters.

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::header,
    middleware::Next,
    response::{IntoResponse, Response},
    routing::get,
};
use segno_engine::metrics::CONTENT_TYPE;

use super::{Api, ApiError, reads, refusals::Refusals};

/// Metrics in the OpenMetrics format.
#[utoipa::path(
    get, path = "/metrics", tag = "host",
    responses((status = 200, body = String, content_type = "application/openmetrics-text"), Refusals),
)]
pub(crate) async fn metrics(State(api): State<Api>) -> Result<Response, ApiError> {
    let metrics = &api.host.metrics;
    metrics.gauges.quarantined(&api.host.quarantine.counts());
    // Monitoring is answered even while the host is busy, one request after the other.
    let _alone = api.counts.lock().await;
    metrics.gauges.read(&reads::store(&api.host).read().counts().await?);
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], metrics.text()).into_response())
}

/// A router with the metrics only, to serve them on a separate address.
pub(crate) fn metrics_only(api: Api) -> Router {
    Router::new().route("/metrics", get(metrics)).with_state(api)
}

/// Middleware that counts a request and its answer.
pub(crate) async fn count(State(api): State<Api>, request: Request, next: Next) -> Response {
    let method = match request.method().as_str() {
        known @ ("GET" | "POST" | "PUT" | "DELETE" | "HEAD" | "OPTIONS") => known.to_owned(),
        // Clients can invent any number of methods, which must not create as many time series.
        _ => "other".to_owned(),
    };
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let clock = &api.host.env.clock;
    let began = clock.elapsed();
    let answer = next.run(request).await;
    let took = clock.elapsed().saturating_sub(began);
    let route = route.as_deref().unwrap_or("none");
    api.host.metrics.http.answered(&method, route, answer.status().as_u16(), took);
    answer
}
