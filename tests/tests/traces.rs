//! A real host that sends traces, and a receiver that reads them. A call tree is one trace, across
//! incarnations of the host.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value, trace::v1::Span,
};
use prost::Message as _;
use segno_api::model::StartGraph;
use segno_core::time::Millis;
use segno_demo::payments::PaymentsOptions;
use segno_env::Env;
use serde_json::json;
use tests::{guests, test_host::TestHost};
use tokio::net::TcpListener;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Trace context from another system.
const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Receives spans, and the names of the services that sent them.
#[derive(Clone, Default)]
struct Collector {
    spans: Arc<Mutex<Vec<Span>>>,
    services: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    async fn start(env: &Env) -> (Self, String) {
        let collector = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let router = Router::new().route("/v1/traces", post(take)).with_state(collector.clone());
        let serving = async move { axum::serve(listener, router).await.expect("it serves") };
        env.runtime.spawn("collector", Box::pin(serving));
        (collector, format!("http://{address}"))
    }

    fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until `enough` accepts the spans. Returns them.
    async fn until(&self, host: &TestHost, enough: impl Fn(&[Span]) -> bool) -> Vec<Span> {
        let give_up_at = host.env.clock.now() + Millis(30_000);
        loop {
            let spans = self.spans();
            if enough(&spans) {
                return spans;
            }
            assert!(host.env.clock.now() < give_up_at, "{:#?}", names(&spans));
            host.env.runtime.sleep(Millis(50)).await;
        }
    }
}

async fn take(State(collector): State<Collector>, headers: HeaderMap, body: Bytes) {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    let request = ExportTraceServiceRequest::decode(body).expect("it is OTLP");
    for resource in request.resource_spans {
        let attributes = resource.resource.into_iter().flat_map(|resource| resource.attributes);
        for attribute in attributes.filter(|attribute| attribute.key == "service.name") {
            if let Some(Value::StringValue(name)) = attribute.value.and_then(|value| value.value) {
                collector.services.lock().unwrap_or_else(PoisonError::into_inner).push(name);
            }
        }
        let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
        collector.spans.lock().unwrap_or_else(PoisonError::into_inner).extend(spans);
    }
}

fn names(spans: &[Span]) -> Vec<&str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

fn attribute(span: &Span, key: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Names from a span up to its root.
fn lineage<'a>(spans: &'a [Span], span: &'a Span) -> Vec<&'a str> {
    let by_id: BTreeMap<&[u8], &Span> =
        spans.iter().map(|span| (span.span_id.as_slice(), span)).collect();
    let mut names = vec![span.name.as_str()];
    let mut at = span;
    while let Some(parent) = by_id.get(at.parent_span_id.as_slice()) {
        names.push(&parent.name);
        at = parent;
    }
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_of_calls_is_one_trace_across_lives() {
    let (collector, url) = Collector::start(&Env::system()).await;
    let mut host = TestHost::with(SEGNO, PaymentsOptions::default(), &["--otlp", &url]).await;
    host.deploy("tune", guests::component("tune-one")).await;
    // Started with an external trace context, so without the client.
    let request = reqwest::Client::new()
        .post(format!("{}/v1/invocations", host.client().server()))
        .header("content-type", "application/json")
        .header("traceparent", GIVEN)
        .body(json!({ "id": "t", "target": "tune/play", "input": "song" }).to_string());
    assert!(request.send().await.expect("the host answers").status().is_success());
    host.until("t", "at its promise", |invocation| invocation.journal_len >= 4).await;
    // The first child has ended in this incarnation. The rest happens in the next.
    collector.until(&host, |spans| names(spans).contains(&"sound")).await;
    host.server.kill().unwrap_or_else(|error| panic!("{error}"));
    host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    let resolved = host.client().resolve("t/p/go", json!(true)).await;
    resolved.unwrap_or_else(|error| panic!("{error}"));
    host.ended("t").await;
    let spans = collector
        .until(&host, |spans| {
            let sounds = names(spans).iter().filter(|name| **name == "sound").count();
            names(spans).contains(&"play") && sounds == 2
        })
        .await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    for span in &spans {
        let hex: String = span.trace_id.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, trace, "{}", span.name);
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "{}", span.name);
    }
    let play = spans.iter().find(|span| span.name == "play").expect("the root");
    let parent: String = play.parent_span_id.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(parent, "00f067aa0ba902b7");
    assert_eq!(attribute(play, "segno.invocation").as_deref(), Some("t"));
    for sound in spans.iter().filter(|span| span.name == "sound") {
        assert_eq!(lineage(&spans, sound), ["sound", "call sound", "play"]);
    }
    let steps: Vec<&str> = spans
        .iter()
        .filter(|span| span.parent_span_id == play.span_id && span.name != "replay")
        .map(|span| span.name.as_str())
        .collect();
    assert_eq!(steps, ["call sound", "promise go", "call sound"]);
    let replay = spans.iter().find(|span| span.name == "replay").expect("the second life replayed");
    assert_eq!(replay.parent_span_id, play.span_id);
    let services = collector.services.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert!(services.iter().all(|service| service == "segno"), "{services:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_away_harms_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let host = TestHost::with(SEGNO, PaymentsOptions::default(), &["--otlp", &url]).await;
    host.deploy("herald", guests::component("herald")).await;
    let started = host.start_as("a", "herald/announce", json!([2, 1])).await;
    started.unwrap_or_else(|error| panic!("{error}"));
    host.ended("a").await;
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_nodes_of_a_graph_lie_below_their_run() {
    let (collector, url) = Collector::start(&Env::system()).await;
    let host = TestHost::with(SEGNO, PaymentsOptions::default(), &["--otlp", &url]).await;
    host.deploy("tune", guests::component("tune-one")).await;
    let inner = json!({ "nodes": { "deep": { "call": "sound", "input": "a" } } });
    let start = StartGraph {
        id: Some("g".to_owned()),
        plan: json!({ "nodes": {
            "low": { "call": "sound", "input": "a" },
            "high": { "graph": inner, "needs": ["low"] },
        } }),
        module: Some("tune".to_owned()),
        ..StartGraph::default()
    };
    host.client().start_graph(&start).await.unwrap_or_else(|error| panic!("{error}"));
    host.ended("g").await;
    let node = |span: &Span| attribute(span, "segno.node");
    let spans = collector
        .until(&host, |spans| {
            spans.len() >= 4 && spans.iter().any(|span| lineage(spans, span) == ["segno:graph"])
        })
        .await;
    let of = |name: &str| {
        let span = spans.iter().find(|span| node(span).as_deref() == Some(name));
        lineage(&spans, span.unwrap_or_else(|| panic!("{name}: {:?}", names(&spans))))
    };
    assert_eq!(of("low"), ["sound", "segno:graph"]);
    assert_eq!(of("deep"), ["sound", "segno:graph", "segno:graph"]);
}
