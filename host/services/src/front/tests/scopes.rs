use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{ServicesHost, ask_with};

/// Begins an invocation by this path, and returns its id.
async fn begun(services: &ServicesHost, path: &str) -> String {
    let (status, body) = services.ingress("POST", path, Some(json!("Mary"))).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{path}: {body}");
    body["invocationId"].as_str().expect("an id").to_owned()
}

/// Returns the values of these columns, row by row, sorted by the first.
async fn columns<const N: usize>(
    services: &ServicesHost,
    names: [&str; N],
    from: &str,
) -> Vec<[Value; N]> {
    let sql = format!("SELECT {} FROM {from} ORDER BY {} NULLS FIRST", names.join(", "), names[0]);
    let rows = services.rows(&sql).await;
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| names.map(|name| row[name].clone())).collect()
}

#[tokio::test]
async fn two_scopes_share_no_object_no_workflow_and_no_row_of_a_table() {
    let services = ServicesHost::new().await;
    let plain = begun(&services, "/Cart/x/add/send").await;
    let scoped = begun(&services, "/restate/scope/a/send/Cart/x/add").await;
    let other = begun(&services, "/restate/scope/b/send/Cart/x/add").await;
    for id in [&plain, &scoped, &other] {
        services.world.acquire(id).await;
    }
    let expected =
        [[Value::Null, json!(plain)], [json!("a"), json!(scoped)], [json!("b"), json!(other)]];
    for filter in [
        "target = 'Cart/x/add'",
        "target_service_name = 'Cart' AND target_service_key = 'x' AND target_handler_name = 'add'",
        "target_handler_name = 'add'",
    ] {
        let from = format!("sys_invocation WHERE {filter}");
        assert_eq!(columns(&services, ["scope", "id"], &from).await, expected, "{filter}");
    }
    let of_a = "sys_invocation WHERE target = 'Cart/x/add' AND scope = 'a'";
    assert_eq!(
        columns(&services, ["target", "id"], of_a).await,
        [[json!("Cart/x/add"), json!(scoped)]]
    );
    let turns = "sys_keyed_service_status WHERE service_name = 'Cart' AND service_key = 'x'";
    assert_eq!(columns(&services, ["scope", "invocation_id"], turns).await, expected);
    let waits = begun(&services, "/restate/scope/a/send/Cart/x/add").await;
    let inbox = columns(&services, ["scope", "service_key", "id"], "sys_inbox").await;
    assert_eq!(inbox, [[json!("a"), json!("x"), json!(waits)]]);

    let runs = [None, Some("a"), Some("b")].map(|scope| match scope {
        Some(scope) => format!("/restate/scope/{scope}/send/Sign/k/run"),
        None => "/Sign/k/run/send".to_owned(),
    });
    for (path, scope) in runs.iter().zip([None, Some("a"), Some("b")]) {
        let id = begun(&services, path).await;
        assert_eq!(begun(&services, path).await, id, "{path} runs once");
        let named = json!({ "target": "workflow", "name": "Sign", "key": "k", "scope": scope });
        let (_, found) = services.ingress("POST", "/restate/lookup", Some(named)).await;
        assert_eq!(found["invocationId"], json!(id), "{path}");
    }

    for (scope, value) in [(None, "1"), (Some("a"), "2"), (Some("b"), "3")] {
        let state = json!({ "n": value.as_bytes() });
        let write = json!({ "object_key": "y", "scope": scope, "new_state": state });
        let (status, body) = services.admin("POST", "/services/Cart/state", Some(write)).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{body}");
    }
    let state = "state WHERE service_name = 'Cart' AND service_key = 'y'";
    let rows = columns(&services, ["scope", "value_utf8"], state).await;
    assert_eq!(
        rows,
        [[Value::Null, json!("1")], [json!("a"), json!("2")], [json!("b"), json!("3")]]
    );
    let one = format!("{state} AND scope = 'b'");
    assert_eq!(columns(&services, ["value_utf8"], &one).await, [[json!("3")]]);
}

#[tokio::test]
async fn what_is_no_scope_and_every_limit_key_is_refused_by_name() {
    let services = ServicesHost::new().await;
    let long = "s".repeat(37);
    for (scope, named) in [("a%20b", "a b"), ("a%3Ab", "a:b"), (&*long, &*long), ("", "no scope")] {
        let path = format!("/restate/scope/{scope}/send/Cart/x/add");
        let (status, body) = services.ingress("POST", &path, Some(json!("Mary"))).await;
        let message = body["message"].as_str().unwrap_or_default();
        assert!(status == StatusCode::BAD_REQUEST && message.contains(named), "{scope}: {body}");
    }
    let headers = [("content-type", "application/json"), ("x-restate-limit-key", "gold/1")];
    for path in ["/Cart/x/add/send", "/restate/scope/a/send/Cart/x/add"] {
        let body = Some(json!("Mary"));
        let (status, body) = ask_with(&services.ingress, "POST", path, &headers, body).await;
        let message = body["message"].as_str().unwrap_or_default();
        assert!(status == StatusCode::BAD_REQUEST && message.contains("`gold/1`"), "{body}");
    }
    assert_eq!(services.rows("SELECT id FROM sys_invocation").await, json!([]));
}

#[tokio::test]
async fn a_handler_whose_manifest_does_not_say_takes_any_body() {
    let services = ServicesHost::new().await;
    services.register("http://localhost:9080/bare").await;
    for (headers, body) in [
        (&[("content-type", "text/plain")][..], Some(json!("Mary"))),
        (&[("content-type", "application/json")], Some(json!("Mary"))),
        (&[], Some(json!("Mary"))),
        (&[], None),
    ] {
        let asked = ask_with(&services.ingress, "POST", "/Bare/echo/send", headers, body).await;
        assert_eq!(asked.0, StatusCode::ACCEPTED, "{headers:?}: {}", asked.1);
    }
}
