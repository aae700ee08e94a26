use axum::http::StatusCode;
use segno_core::promise::Verdict;
use serde_json::{Value, json};

use super::Services;

#[tokio::test]
async fn what_a_service_says_of_itself_is_changed_in_its_code() {
    let services = Services::new().await;
    for (field, says) in [
        ("inactivity_timeout", "set `inactivityTimeout` among the options"),
        ("public", "set `ingressPrivate` among the options"),
        ("colour", "a service has no `colour`"),
    ] {
        let change = json!({ field: "1s" });
        let (status, body) = services.admin("PATCH", "/services/Greeter", Some(change)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(body["message"].as_str().is_some_and(|text| text.contains(says)), "{body}");
    }
    let (status, body) = services.admin("PATCH", "/services/Greeter", Some(json!({}))).await;
    assert_eq!((status, &body["name"]), (StatusCode::OK, &json!("Greeter")));
    let (status, _) = services.admin("PATCH", "/services/Other", Some(json!({}))).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_deployment_is_removed_when_nothing_refers_to_it() {
    let services = Services::new().await;
    let first = services.register("http://localhost:9081/small").await;
    let path = format!("/deployments/{first}?force=true");
    let remove = async || {
        let (status, body) = services.admin("DELETE", &path, None).await;
        (status, body["message"].as_str().unwrap_or_default().to_owned())
    };
    let (status, message) = remove().await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(message.contains("new invocations of `Greeter` go to"), "{message}");
    let id = services.send("Greeter/greet").await;
    services.register("http://localhost:9082/small").await;
    let (status, message) = remove().await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(message.contains("1 invocations that have not ended"), "{message}");
    services.end(&id, Verdict::Resolved, "1").await;
    let (status, message) = remove().await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(message.contains("have ended and are kept"), "{message}");
    let purge = format!("/invocations/{id}/purge");
    assert_eq!(services.admin("PATCH", &purge, None).await.0, StatusCode::OK);
    assert_eq!(remove().await.0, StatusCode::ACCEPTED);
    assert_eq!(remove().await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn services_are_described_for_tools_that_make_clients() {
    let services = Services::new().await;
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
    assert_eq!(paths["/Cart/{key}/add"]["post"]["requestBody"], Value::Null);
    let (_, one) = services.admin("GET", "/services/Cart/openapi", None).await;
    assert_eq!(one["paths"].as_object().map(|paths| paths.len()), Some(4));
}

#[tokio::test]
async fn the_version_tells_the_key_of_requests() {
    let services = Services::new().await;
    let (_, version) = services.admin("GET", "/version", None).await;
    assert_eq!(version["request_identity_key"], "publickeyv1_test");
}
