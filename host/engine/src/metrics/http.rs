//! Metrics of HTTP requests.

use std::time::Duration;

use prometheus_client::{
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

/// Method, route pattern, and class of the status.
type HttpLabels = [(&'static str, String); 3];

/// Requests and their durations.
pub struct HttpMetrics {
    requests: Family<HttpLabels, Counter>,
    duration: Family<[(&'static str, String); 1], Histogram>,
}

impl HttpMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            requests: Family::default(),
            duration: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.000_5, 4.0, 10))
            }),
        };
        registry.register(
            "http_requests",
            "Requests answered, by method, route and class of the status",
            metrics.requests.clone(),
        );
        registry.register_with_unit(
            "http_request_duration",
            "Duration of answers, by route; long polls wait on purpose",
            Unit::Seconds,
            metrics.duration.clone(),
        );
        metrics
    }

    /// Counts a request to `route`, answered with `status` after `took`.
    pub fn answered(&self, method: &str, route: &str, status: u16, took: Duration) {
        let class = format!("{}xx", status / 100);
        let labels =
            [("method", method.to_owned()), ("route", route.to_owned()), ("status", class)];
        self.requests.get_or_create(&labels).inc();
        let route = [("route", route.to_owned())];
        self.duration.get_or_create(&route).observe(took.as_secs_f64());
    }
}
