use std::sync::Arc;

use axum::{
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use segno_api::{AllowedOrigins, testing::ApiWorld};
use segno_core::{id::PromiseId, promise::Verdict};
use segno_engine::delivery::Reach;
use segno_env::Env;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tower::ServiceExt as _;

use super::{
    super::{admin_router, ingress_router},
    ServicesHost, ask, ask_with, front,
};
use crate::HttpConnector;

#[tokio::test]
async fn a_service_is_changed_for_what_begins_from_now_on() {
    let services = ServicesHost::new().await;
    let change = json!({ "inactivity_timeout": "90s", "public": false });
    let (status, body) = services.admin("PATCH", "/services/Greeter", Some(change)).await;
    assert_eq!((status, &body["public"]), (StatusCode::OK, &json!(false)), "{body}");
    let (_, after) = services.admin("GET", "/services/Greeter", None).await;
    assert_eq!(after, body);
    let (_, other) = services.admin("GET", "/services/Cart", None).await;
    assert_ne!(other["inactivity_timeout"], after["inactivity_timeout"]);
    let (status, _) = services.ingress("POST", "/Greeter/greet/send", Some(json!("Mary"))).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let public = services.rows("SELECT public FROM sys_service WHERE name = 'Greeter'").await;
    assert_eq!(public, json!([{ "public": false }]));
    for (refused, says) in [
        (json!({ "workflow_completion_retention": "1s" }), "is no workflow"),
        (json!({ "idempotency_retention": "soon" }), "is no length of time"),
        (json!({ "colour": 1 }), "cannot be changed here"),
    ] {
        let (status, body) = services.admin("PATCH", "/services/Greeter", Some(refused)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
        assert!(body["message"].as_str().is_some_and(|text| text.contains(says)), "{body}");
    }
    let (status, _) = services.admin("PATCH", "/services/Other", Some(json!({}))).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn how_long_what_has_ended_is_kept_is_shown_and_changed() {
    let services = ServicesHost::new().await;
    let (_, before) = services.admin("GET", "/services/Sign", None).await;
    for name in ["idempotency_retention", "workflow_completion_retention", "journal_retention"] {
        assert_eq!(before[name], "1d", "{name}");
    }
    let change = json!({
        "idempotency_retention": "PT2H", "workflow_completion_retention": "36h", "journal_retention": "0s",
    });
    let (status, after) = services.admin("PATCH", "/services/Sign", Some(change)).await;
    assert_eq!(status, StatusCode::OK, "{after}");
    assert_eq!(after["idempotency_retention"], "2h");
    assert_eq!(after["workflow_completion_retention"], "1d 12h");
    assert_eq!(after["journal_retention"], "0s");
    let (_, greeter) = services.admin("GET", "/services/Greeter", None).await;
    assert_eq!(greeter.get("workflow_completion_retention"), None);
}

#[tokio::test]
async fn a_dry_run_tells_whether_a_deployment_is_new_and_stores_nothing() {
    let services = ServicesHost::new().await;
    let tried = async |uri: &str| {
        let body = json!({ "uri": uri, "dry_run": true, "force": true });
        services.admin("POST", "/deployments", Some(body)).await
    };
    let (status, body) = tried("http://localhost:9081/small").await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    let handler = &body["services"][0]["handlers"][0];
    assert_eq!(handler["retry_policy"], json!({ "max_attempts": null }), "{handler}");
    let path = format!("/deployments/{}", body["id"].as_str().expect("an id"));
    assert_eq!(services.admin("GET", &path, None).await.0, StatusCode::NOT_FOUND);
    assert_eq!(tried("http://localhost:9080").await.0, StatusCode::OK);
}

#[tokio::test]
async fn what_a_host_has_none_of_is_listed_as_nothing() {
    let services = ServicesHost::new().await;
    for (path, name) in [("/v3/subscriptions", "subscriptions"), ("/kafka-clusters", "clusters")] {
        let (status, body) = services.admin("GET", path, None).await;
        assert_eq!((status, &body[name]), (StatusCode::OK, &json!([])), "{body}");
    }
    for table in ["sys_rules", "sys_vqueue_meta"] {
        assert_eq!(services.rows(&format!("SELECT * FROM {table}")).await, json!([]), "{table}");
    }
}

#[tokio::test]
async fn pages_of_other_origins_call_services_only_where_they_may() {
    let page = "http://app.example";
    for (origins, preflight, answer) in [
        (vec![], StatusCode::FORBIDDEN, StatusCode::FORBIDDEN),
        (vec!["http://other.example".to_owned()], StatusCode::OK, StatusCode::FORBIDDEN),
        (vec![page.to_owned()], StatusCode::OK, StatusCode::OK),
        (vec!["*".to_owned()], StatusCode::OK, StatusCode::OK),
    ] {
        let mut api = front(&ApiWorld::new());
        api.settings.origins = AllowedOrigins::new(origins);
        let router = ingress_router(api);
        let asked = async |method: Method, path: &str| {
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header(header::HOST, "localhost")
                .header(header::ORIGIN, page)
                .header(header::ACCESS_CONTROL_REQUEST_METHOD, "POST")
                .header(header::ACCESS_CONTROL_REQUEST_HEADERS, "idempotency-key")
                .body(Body::empty())
                .expect("a request");
            router.clone().oneshot(request).await.expect("an answer")
        };
        let answered = asked(Method::OPTIONS, "/Greeter/greet").await;
        assert_eq!(answered.status(), preflight);
        let allowed = answered.headers().get(header::ACCESS_CONTROL_ALLOW_ORIGIN);
        assert_eq!(allowed.is_some(), answer == StatusCode::OK);
        assert_eq!(asked(Method::GET, "/restate/health").await.status(), answer);
    }
}

#[tokio::test]
async fn a_call_has_the_budget_of_its_header() {
    let services = ServicesHost::new().await;
    let send = async |budgets: &[&str]| {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(budgets.iter().map(|budget| ("segno-budget", *budget)));
        let body = Some(json!("Mary"));
        ask_with(&services.ingress, "POST", "/Greeter/greet/send", &headers, body).await
    };
    let (status, sent) = send(&["calls=2,usd=0.5"]).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{sent}");
    let id = PromiseId::from(sent["invocationId"].as_str().expect("an id"));
    let store = &services.world.api.host.store;
    let budget = store.read().budget(&id).await.expect("a store").expect("it has one");
    let limits: Vec<_> =
        budget.units.iter().map(|(unit, it)| format!("{unit}={}", it.limit)).collect();
    assert_eq!(limits, ["calls=2", "usd=0.5"]);
    let row = store.read().promise(&id).await.expect("a store").expect("a row");
    let passed = &row.promise.spec.param.headers;
    assert!(!passed.keys().any(|name| name.contains("budget")), "{passed:?}");

    for (budgets, says) in [
        (&["calls"][..], "calls"),
        (&["calls=-1"], "-1"),
        (&["calls=1", "calls=2"], "several budgets"),
        (&["calls=ä"], "no text"),
    ] {
        let (status, body) = send(budgets).await;
        let message = body["message"].as_str().unwrap_or_default();
        assert!(status == StatusCode::BAD_REQUEST && message.contains(says), "{body}");
    }
}

#[tokio::test]
async fn what_another_deployment_has_by_now_stays_there() {
    let services = ServicesHost::new().await;
    let small = services.register("http://localhost:9081/small").await;
    let of = async |name: &str| {
        let (_, body) = services.admin("GET", &format!("/services/{name}"), None).await;
        body["deployment_id"].clone()
    };
    assert_eq!(of("Greeter").await, json!(small));
    let change = Some(json!({ "inactivity_timeout": "90s" }));
    assert_eq!(services.admin("PATCH", "/services/Cart", change).await.0, StatusCode::OK);
    assert_eq!(of("Greeter").await, json!(small));
    assert_eq!(of("Sign").await, of("Cart").await);
}

#[tokio::test]
async fn new_code_by_force_takes_nothing_from_other_deployments() {
    let services = ServicesHost::new().await;
    let others = services.register("http://localhost:9082/others").await;
    let less = json!({
        "uri": "http://localhost:9080", "force": true, "additional_headers": { "x-has": "small" },
    });
    let (status, body) = services.admin("POST", "/deployments", Some(less)).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    let (_, cart) = services.admin("GET", "/services/Cart", None).await;
    assert_eq!(cart["deployment_id"], json!(others));
    let (_, greeter) = services.admin("GET", "/services/Greeter", None).await;
    assert_eq!(greeter["deployment_id"], body["id"]);
}

#[tokio::test]
async fn what_a_deployment_was_before_a_change_goes_with_it() {
    let services = ServicesHost::new().await;
    let (_, before) = services.admin("GET", "/deployments", None).await;
    let first = before["deployments"][0]["id"].as_str().expect("an id").to_owned();
    let change = Some(json!({ "inactivity_timeout": "90s" }));
    for service in ["Cart", "Greeter"] {
        let path = format!("/services/{service}");
        assert_eq!(services.admin("PATCH", &path, change.clone()).await.0, StatusCode::OK);
    }
    let path = format!("/deployments/{first}");
    assert_eq!(services.remove(&path).await.0, StatusCode::CONFLICT, "services stand for it");
    services.register("http://localhost:9082/all").await;
    assert_eq!(services.remove(&path).await.0, StatusCode::ACCEPTED);
    let modules = services.world.api.host.store.modules().list().await.expect("a store");
    assert_eq!(modules.len(), 1, "{modules:?}");
}

#[tokio::test]
async fn a_deployment_is_removed_with_its_services_only_if_that_is_asked_for() {
    let services = ServicesHost::new().await;
    let small = services.register("http://localhost:9081/small").await;
    let path = format!("/deployments/{small}");
    let (status, message) = services.remove(&path).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(message.contains("new invocations of `Greeter` go to"), "{message}");
    let (status, message) = services.remove(&format!("{path}?force=true")).await;
    assert_eq!((status, message.as_str()), (StatusCode::ACCEPTED, ""));
    for path in [path.as_str(), "/services/Greeter"] {
        assert_eq!(services.admin("GET", path, None).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    let (status, body) = services.ingress("POST", "/Greeter/greet/send", Some(json!("Mary"))).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{body}");
    assert_eq!(services.admin("GET", "/services/Cart", None).await.0, StatusCode::OK);
    assert_eq!(services.remove(&path).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_runs_keeps_its_deployment_and_what_has_ended_its_document() {
    let services = ServicesHost::new().await;
    let small = services.register("http://localhost:9081/small").await;
    let path = format!("/deployments/{small}?force=true");
    let id = services.send("Greeter/greet").await;
    let (status, message) = services.remove(&path).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(message.contains(&format!("wait for `{id}`")), "{message}");
    assert_eq!(services.admin("GET", "/services/Greeter", None).await.0, StatusCode::OK);
    services.end(&id, Verdict::Resolved, "1").await;
    assert_eq!(services.remove(&path).await.0, StatusCode::ACCEPTED);
    let (_, left) = services.admin("GET", "/deployments", None).await;
    assert_eq!(left["deployments"].as_array().map(Vec::len), Some(1), "{left}");
    let stored = async || {
        let modules = services.world.api.host.store.modules().list().await;
        modules.expect("a store").len()
    };
    assert_eq!(stored().await, 2, "its document is kept with the invocation");
    let purge = format!("/invocations/{id}/purge");
    assert_eq!(services.admin("PATCH", &purge, None).await.0, StatusCode::OK);
    assert_eq!(services.remove(&path).await.0, StatusCode::ACCEPTED);
    assert_eq!(stored().await, 1);
}

#[tokio::test]
async fn services_are_described_for_tools_that_make_clients() {
    let services = ServicesHost::new().await;
    let (status, document) = services.ingress("GET", "/openapi", None).await;
    assert_eq!(status, StatusCode::OK);
    let paths = document["paths"].as_object().expect("paths");
    let names: Vec<&str> = paths.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "/Cart/{key}/add",
            "/Cart/{key}/add/send",
            "/Cart/{key}/look",
            "/Cart/{key}/look/send",
            "/Greeter/greet",
            "/Greeter/greet/send",
            "/Greeter/part",
            "/Greeter/part/send",
            "/Sign/{key}/run",
            "/Sign/{key}/run/send",
        ]
    );
    let greet = &paths["/Greeter/greet"]["post"];
    let takes = &greet["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(takes, &json!({ "type": "string" }));
    assert_eq!(greet["responses"]["200"]["content"]["text/plain"]["schema"], json!({}));
    let add = &paths["/Cart/{key}/add"]["post"]["requestBody"];
    assert_eq!(add, &json!({ "required": false, "content": { "*/*": { "schema": {} } } }));
    let (_, one) = services.admin("GET", "/services/Cart/openapi", None).await;
    assert_eq!(one["paths"].as_object().map(|paths| paths.len()), Some(4));
}

#[tokio::test]
async fn the_version_tells_the_key_of_requests() {
    let services = ServicesHost::new().await;
    let (_, version) = services.admin("GET", "/version", None).await;
    assert_eq!(version["request_identity_key"], "publickeyv1_test");
}

#[tokio::test]
async fn what_tools_say_nothing_of_may_be_null_and_a_deployment_is_described_with_its_handlers() {
    let services = ServicesHost::new().await;
    let nulls = json!({ "uri": "http://localhost:9080", "additional_headers": null, "use_http_11": null, "force": null });
    let (status, body) = services.admin("POST", "/v4/deployments", Some(nulls)).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let path = format!("/deployments/{}", body["id"].as_str().expect("an id"));
    let (_, described) = services.admin("GET", &path, None).await;
    assert_eq!(described["services"][0]["handlers"][0]["name"], "greet", "{described}");
    let (_, listed) = services.admin("GET", "/v3/deployments", None).await;
    let first = &listed["deployments"][0]["services"][0];
    assert_eq!(first, &json!({ "name": "Greeter", "revision": 1 }));
    let (status, _) = services.admin("GET", "/v1/deployments", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (_, version) = services.admin("GET", "/version", None).await;
    assert_eq!((&version["features"], &version["max_admin_api_version"]), (&json!({}), &json!(4)));
}

#[tokio::test]
async fn an_address_is_judged_by_what_its_name_resolves_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let reach = Reach { private: false };
    let world = ApiWorld::new().reaching(reach);
    let connector = HttpConnector::new(reach, None, Env::system()).expect("a connector");
    let api = front(&world);
    api.services.connect(Arc::new(connector));
    let admin = admin_router(api);
    for host in ["localhost", "LOCALHOST", "127.0.0.1", "[::1]", "0x7f.1"] {
        for http11 in [true, false] {
            let body = json!({ "uri": format!("http://{host}:{port}"), "use_http_11": http11 });
            let (status, body) = ask(&admin, "POST", "/deployments", Some(body)).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{host}: {body}");
            let said = body["message"].as_str().expect("a message");
            assert!(said.contains("--allow-private-targets"), "{host}: {said}");
        }
    }
    let nobody = tokio::select! {
        biased;
        _ = listener.accept() => false,
        () = std::future::ready(()) => true,
    };
    assert!(nobody, "it was connected to");
}

/// An error response whose body never ends.
#[tokio::test]
async fn of_the_body_of_an_error_only_the_beginning_is_read() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let uri = format!("http://{}", listener.local_addr().expect("an address"));
    let endless = async {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut asked = [0; 1024];
        assert!(stream.read(&mut asked).await.expect("a request") > 0);
        let head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n\r\n";
        stream.write_all(head.as_bytes()).await.expect("it is read");
        let mut sent = 0;
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {
            sent += 4096;
        }
        sent
    };
    let reach = Reach { private: true };
    let world = ApiWorld::new().reaching(reach);
    let connector = HttpConnector::new(reach, None, Env::system()).expect("a connector");
    let api = front(&world);
    api.services.connect(Arc::new(connector));
    let admin = admin_router(api);
    let body = json!({ "uri": uri, "use_http_11": true });
    let (sent, (status, body)) =
        tokio::join!(endless, ask(&admin, "POST", "/deployments", Some(body)));
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    let said = body["message"].as_str().expect("a message");
    assert!(said.contains("503") && said.contains("xxx"), "{said}");
    assert!(said.len() < 500, "{} bytes: {said}", said.len());
    assert!(sent < 64 << 20, "it was not read to no end");
}

#[tokio::test]
async fn a_deployment_with_too_many_handlers_is_refused_with_their_number() {
    let services = ServicesHost::new().await;
    let many = json!({ "uri": "http://localhost:9082/many" });
    let (status, body) = services.admin("POST", "/deployments", Some(many)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    let said = body["message"].as_str().expect("a message");
    assert!(said.contains("5006 handlers, and 5000 are the maximum"), "{said}");
}
