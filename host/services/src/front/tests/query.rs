use axum::{
    body::Body,
    http::{Request, StatusCode, header},
};
use segno_core::{command::Command, promise::Verdict};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::ServicesHost;

/// Creates one invocation in each state, and returns their ids by state.
async fn in_each_state(services: &ServicesHost) -> Vec<(&'static str, String)> {
    let world = &services.world;
    let mut all = Vec::new();
    let ready = services.send("Greeter/greet").await;
    all.push(("ready", ready));
    let failed = services.send("Greeter/greet").await;
    services.fail(&failed).await;
    all.push(("backing-off", failed));
    let running = services.send("Greeter/greet").await;
    world.acquire(&running).await;
    all.push(("running", running));
    let completed = services.send("Greeter/greet").await;
    services.end(&completed, Verdict::Resolved, "\"hi\"").await;
    all.push(("completed", completed));
    let paused = services.send("Greeter/greet").await;
    world.halt(&paused).await;
    all.push(("paused", paused));
    let suspended = services.send("Greeter/greet").await;
    let claim = services.journal(&suspended).await;
    world.gate("gate").await;
    let awaits = ["gate".into()].into();
    world.command(Command::TaskSuspend { claim, records: vec![], logs: vec![], awaits }).await;
    all.push(("suspended", suspended));
    let (_, body) =
        services.ingress("POST", "/Greeter/greet/send?delay=1h", Some(json!("Mary"))).await;
    all.push(("scheduled", body["invocationId"].as_str().expect("an id").to_owned()));
    let holder = services.send("Cart/a/add").await;
    world.acquire(&holder).await;
    all.push(("running", holder));
    all.push(("pending", services.send("Cart/a/add").await));
    all
}

fn texts(rows: &Value, column: &str) -> Vec<String> {
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| row[column].as_str().unwrap_or("-").to_owned()).collect()
}

#[tokio::test]
async fn an_invocation_is_found_by_its_id_with_its_columns() {
    let services = ServicesHost::new().await;
    let deployment = services.rows("SELECT id FROM sys_deployment").await[0]["id"].clone();
    let id = &send_once(&services).await;
    services.end(id, Verdict::Rejected, "{\"code\":418,\"message\":\"no tea\"}").await;
    let rows = services.rows(&format!("SELECT * FROM sys_invocation WHERE id = '{id}'")).await;
    let [row] = rows.as_array().expect("rows").as_slice() else { panic!("{rows}") };
    for (column, value) in [
        ("id", json!(id)),
        ("target", json!("Cart/k/1/add")),
        ("target_service_name", json!("Cart")),
        ("target_service_key", json!("k/1")),
        ("target_handler_name", json!("add")),
        ("target_service_ty", json!("virtual_object")),
        ("idempotency_key", json!("once")),
        ("invoked_by", json!("ingress")),
        ("status", json!("completed")),
        ("completion_result", json!("failure")),
        ("completion_failure", json!("[418] no tea")),
        ("pinned_deployment_id", deployment),
        ("last_attempt_server", Value::Null),
        ("retry_count", json!(0)),
        ("journal_size", json!(0)),
        ("invoked_by_id", Value::Null),
        ("last_failure", Value::Null),
    ] {
        assert_eq!(row[column], value, "{column}");
    }
    assert!(row["created_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{row}");
    assert!(row.get("last_failure").is_none(), "what is nothing is left out");
    let none = services.rows("SELECT * FROM sys_invocation WHERE id = 'inv_none'").await;
    assert_eq!(none, json!([]));
    let other = format!("SELECT id FROM sys_invocation WHERE id = '{id}' AND status = 'ready'");
    assert_eq!(services.rows(&other).await, json!([]), "the rest of the condition counts too");
}

/// Begins an invocation with an idempotency key, and returns its id.
async fn send_once(services: &ServicesHost) -> String {
    let (status, id, _) = send_under(services, &["once"], "1").await;
    assert_eq!(status, StatusCode::ACCEPTED);
    id
}

/// Sends a call with these idempotency keys. Returns the status, the id, and the body of the
/// response.
async fn send_under(
    services: &ServicesHost,
    keys: &[&str],
    body: &str,
) -> (StatusCode, String, String) {
    let mut request = Request::post("/Cart/k%2F1/add/send")
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json");
    for key in keys {
        request = request.header("idempotency-key", *key);
    }
    let request = request.body(Body::from(body.to_owned())).expect("a request");
    let response = services.ingress.clone().oneshot(request).await.expect("an answer");
    let id = response.headers().get("x-restate-id").map(|id| id.to_str().expect("text").to_owned());
    let status = response.status();
    let body = axum::body::to_bytes(response.into_body(), 65_536).await.expect("a body");
    (status, id.unwrap_or_default(), String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn a_blank_idempotency_key_is_none_and_a_second_one_is_refused_and_another_body_is_not() {
    let services = ServicesHost::new().await;
    for keys in [&["a", "b"][..], &["a", "a"], &["", "a"]] {
        let (status, _, said) = send_under(&services, keys, "1").await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{keys:?}: {said}");
        assert!(said.contains("idempotency key"), "{said}");
    }
    for blank in [&[""][..], &["  "]] {
        let (_, one, _) = send_under(&services, blank, "1").await;
        let (status, other, _) = send_under(&services, blank, "1").await;
        assert_eq!(status, StatusCode::ACCEPTED);
        assert_ne!(one, other, "{blank:?}");
    }
    let first = send_once(&services).await;
    let (status, again, said) = send_under(&services, &["once"], "2").await;
    assert_eq!((status, again), (StatusCode::ACCEPTED, first));
    assert!(said.contains("PreviouslyAccepted"), "{said}");
    assert_ne!(send_under(&services, &[], "1").await.1, send_under(&services, &[], "1").await.1);
}

#[tokio::test]
async fn invocations_are_found_by_each_state() {
    let services = ServicesHost::new().await;
    let all = in_each_state(&services).await;
    for state in [
        "ready",
        "backing-off",
        "running",
        "completed",
        "paused",
        "suspended",
        "scheduled",
        "pending",
    ] {
        let sql = format!(
            "SELECT id, status FROM sys_invocation WHERE status = '{state}' AND target <> 'Greeter/part' ORDER BY created_at DESC"
        );
        let rows = services.rows(&sql).await;
        let mut found = texts(&rows, "id");
        let expected = all.iter().filter(|(is, _)| *is == state).map(|(_, id)| id.clone());
        let mut expected: Vec<_> = expected.collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{state}");
        assert!(texts(&rows, "status").iter().all(|status| status == state));
    }
    let grouped = "SELECT status, COUNT(*) AS n FROM sys_invocation WHERE target_handler_name != 'none' GROUP BY status \
                   ORDER BY n DESC, status LIMIT 2";
    let rows = services.rows(grouped).await;
    assert_eq!(rows, json!([{ "status": "ready", "n": 2 }, { "status": "running", "n": 2 }]));
    let failed =
        "SELECT retry_count, last_failure FROM sys_invocation WHERE next_retry_at IS NOT NULL";
    let failed = services.rows(failed).await;
    assert_eq!(failed, json!([{ "retry_count": 1, "last_failure": "no answer" }]));
    let paused =
        services.rows("SELECT last_failure FROM sys_invocation WHERE status = 'paused'").await;
    assert_eq!(paused, json!([{ "last_failure": "the replay leaves the journal at record 3" }]));
    let events = "SELECT e.event_type, e.event_json FROM sys_invocation i JOIN sys_journal_events e ON e.id = i.id \
        WHERE i.status = 'backing-off'";
    let event = "{\"error_message\":\"no answer\",\"ty\":\"TransientError\"}";
    let expected = json!([{ "event_type": "TransientError", "event_json": event }]);
    assert_eq!(services.rows(events).await, expected);
    let both =
        services.rows("SELECT id FROM sys_invocation WHERE status IN ('pending', 'ready')").await;
    assert_eq!(both.as_array().map(Vec::len), Some(3), "the call of another is ready: {both}");
}

#[tokio::test]
async fn every_operator_takes_what_it_should() {
    let services = ServicesHost::new().await;
    for target in ["Greeter/greet", "Cart/a/add", "Cart/b/look"] {
        services.send(target).await;
    }
    // An invocation that does not belong to a service is not in the table.
    services.world.upload("shop", "wasm order ship short").await;
    services.world.start("elsewhere").await.ok();
    let all = ["Cart/a/add", "Cart/b/look", "Greeter/greet"];
    for (condition, found) in [
        ("target = 'Cart/a/add'", &all[..1]),
        ("target != 'Cart/a/add'", &all[1..]),
        ("target <> 'Cart/a/add'", &all[1..]),
        ("target < 'Cart/b/look'", &all[..1]),
        ("target <= 'Cart/b/look'", &all[..2]),
        ("target > 'Cart/b/look'", &all[2..]),
        ("target >= 'Cart/b/look'", &all[1..]),
        ("target IN ('Cart/a/add', 'Greeter/greet', 'x') AND target > 'D'", &all[2..]),
        ("target NOT IN ('Cart/a/add')", &all[1..]),
        ("target LIKE 'Cart/_/%'", &all[..2]),
        ("target NOT LIKE 'Cart%'", &all[2..]),
        ("target_service_key IS NULL", &all[2..]),
        ("target_service_key IS NOT NULL", &all[..2]),
        ("target_service_key <> 'a'", &all[1..2]),
        ("NOT target_service_key = 'a'", &all[1..2]),
        ("target_service_name = 'Cart' AND target_service_key = 'a'", &all[..1]),
        (
            "target_service_name = 'Cart' AND target_service_key = 'a' AND target_handler_name = 'add'",
            &all[..1],
        ),
        ("target_handler_name = 'look'", &all[1..2]),
        ("target = 'Cart/a/add' OR target_service_name = 'Greeter'", &[all[0], all[2]]),
        ("created_at > '2020-01-01T00:00:00Z'", &all),
        ("created_at < '2020-01-01T00:00:00Z'", &[]),
        ("target_service_ty = 'service'", &all[2..]),
    ] {
        let sql = format!("SELECT target FROM sys_invocation WHERE {condition} ORDER BY target");
        assert_eq!(texts(&services.rows(&sql).await, "target"), found, "{condition}");
    }
    let page = "SELECT target AS t FROM sys_invocation ORDER BY t DESC LIMIT 1 OFFSET 1";
    assert_eq!(services.rows(page).await, json!([{ "t": "Cart/b/look" }]));
    let newest = "SELECT target FROM sys_invocation ORDER BY created_at DESC LIMIT 2";
    assert_eq!(texts(&services.rows(newest).await, "target").len(), 2);
    let counted = "SELECT COUNT(*), COUNT(target_service_key) AS keys, MIN(target), MAX(target) AS last FROM sys_invocation";
    assert_eq!(
        services.rows(counted).await,
        json!([{ "count(*)": 3, "keys": 2, "min(target)": "Cart/a/add", "last": "Greeter/greet" }])
    );
    let none = "SELECT COUNT(*) AS n FROM sys_invocation WHERE target = 'x'";
    assert_eq!(services.rows(none).await, json!([{ "n": 0 }]));
}

#[tokio::test]
async fn a_journal_is_shown_with_the_names_of_tools() {
    let services = ServicesHost::new().await;
    let id = services.send("Greeter/greet").await;
    let claim = services.journal(&id).await;
    services.ended(claim, Verdict::Resolved, "\"hi\"").await;
    let sql = format!("SELECT * FROM sys_journal WHERE id = '{id}' ORDER BY index");
    let rows = services.rows(&sql).await;
    assert_eq!(
        texts(&rows, "entry_type"),
        [
            "Command: Input",
            "Command: Run",
            "Notification: Run",
            "Command: Sleep",
            "Command: Call",
            "Notification: Signal"
        ]
    );
    assert_eq!((&rows[1]["name"], &rows[1]["completed"]), (&json!("charge"), &json!(true)));
    assert_eq!((&rows[3]["name"], &rows[3]["completed"]), (&Value::Null, &json!(false)));
    assert_eq!(rows[3]["sleep_wakeup_at"], "1970-01-01T00:00:01.000Z");
    assert_eq!(rows[4]["invoked_id"], format!("{id}/2"));
    assert_eq!(rows[4]["invoked_target"], "Greeter/part");
    let entry = |row: usize| -> Value {
        serde_json::from_str(rows[row]["entry_json"].as_str().expect("text")).expect("JSON")
    };
    let input = json!({ "headers": [], "payload": b"\"Mary\"", "name": "" });
    assert_eq!(entry(0), json!({ "Command": { "Input": input } }));
    let run = json!({ "completion_id": 0, "result": { "Success": b"7" } });
    assert_eq!(entry(2), json!({ "Notification": { "Completion": { "Run": run } } }));
    let called = services.rows(&format!("SELECT * FROM sys_invocation WHERE id = '{id}/2'")).await;
    assert_eq!(
        (&called[0]["invoked_by"], &called[0]["invoked_by_id"], &called[0]["invoked_by_target"]),
        (&json!("service"), &json!(id), &json!("Greeter/greet"))
    );
    // Restate's command reads the targets of calls and the wake-up times of sleeps there.
    let request = &entry(4)["Command"]["Call"]["request"];
    assert_eq!(request["invocation_id"], format!("{id}/2"));
    let target = json!({ "name": "Greeter", "handler": "part" });
    assert_eq!(request["invocation_target"]["Service"], target);
    assert_eq!(entry(3)["Command"]["Sleep"]["wake_up_time"], 1_000);
    let joined = format!(
        "SELECT i.target, count(j.index) AS n FROM sys_invocation i LEFT JOIN sys_journal j ON i.id = j.id \
         WHERE i.id = '{id}' GROUP BY i.target"
    );
    assert_eq!(services.rows(&joined).await, json!([{ "target": "Greeter/greet", "n": 6 }]));
    let refusal = services.refused("SELECT * FROM sys_journal").await;
    assert!(refusal.contains("WHERE id ="), "{refusal}");
}

#[tokio::test]
async fn state_turns_and_the_inbox_are_found_by_key() {
    let services = ServicesHost::new().await;
    for (key, state) in [("a", json!({ "n": [49], "bin": [255] })), ("a/b", json!({ "n": [50] }))] {
        let write = json!({ "object_key": key, "new_state": state });
        let (status, body) = services.admin("POST", "/services/Cart/state", Some(write)).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{body}");
    }
    let all = services
        .rows("SELECT service_key, key, value_utf8, value FROM state ORDER BY service_key, key")
        .await;
    assert_eq!(
        all,
        json!([
            { "service_key": "a", "key": "bin", "value": "ff" },
            { "service_key": "a", "key": "n", "value_utf8": "1", "value": "31" },
            { "service_key": "a/b", "key": "n", "value_utf8": "2", "value": "32" },
        ])
    );
    let one = "SELECT key, value_utf8 FROM state WHERE service_name = 'Cart' AND service_key = 'a' AND key = 'n'";
    assert_eq!(services.rows(one).await, json!([{ "key": "n", "value_utf8": "1" }]));
    let sizes = services.rows("SELECT value_length FROM state WHERE service_key = 'a/b'").await;
    assert_eq!(sizes, json!([{ "value_length": 1 }]));
    let none = services.rows("SELECT key FROM state WHERE service_name = 'Other'").await;
    assert_eq!(none, json!([]));

    let holder = services.send("Cart/a/add").await;
    services.world.acquire(&holder).await;
    let waits = services.send("Cart/a/add").await;
    let turns = services.rows("SELECT * FROM sys_keyed_service_status").await;
    let turn = json!({ "service_name": "Cart", "service_key": "a", "invocation_id": holder });
    assert_eq!(turns, json!([turn]));
    let inbox = services.rows("SELECT id, service_name, service_key FROM sys_inbox").await;
    assert_eq!(inbox, json!([{ "id": waits, "service_name": "Cart", "service_key": "a" }]));
}

#[tokio::test]
async fn what_is_registered_is_found() {
    let services = ServicesHost::new().await;
    let rows = services.rows("SELECT * FROM sys_service ORDER BY name").await;
    assert_eq!(texts(&rows, "name"), ["Cart", "Greeter", "Sign"]);
    assert_eq!(texts(&rows, "ty"), ["virtual_object", "service", "workflow"]);
    let rows = services
        .rows("SELECT ty, endpoint, max_service_protocol_version FROM sys_deployment")
        .await;
    let shown = json!({
        "ty": "http", "endpoint": "http://localhost:9080", "max_service_protocol_version": 6
    });
    assert_eq!(rows, json!([shown]));
}

#[tokio::test]
async fn more_rows_than_are_looked_at_are_refused_unless_fewer_are_enough() {
    let services = ServicesHost::new().await;
    for _ in 0..2_001 {
        services.send("Greeter/greet").await;
    }
    let refusal = services.refused("SELECT COUNT(*) FROM sys_invocation").await;
    assert!(refusal.contains("more than 2000 rows of `sys_invocation`"), "{refusal}");
    services.refused("SELECT id FROM sys_invocation ORDER BY id LIMIT 1").await;
    for sql in [
        "SELECT id FROM sys_invocation LIMIT 1",
        "SELECT id FROM sys_invocation ORDER BY created_at DESC LIMIT 1",
        "SELECT id FROM sys_invocation WHERE status <> 'completed' ORDER BY created_at DESC, id LIMIT 1",
        "SELECT id FROM sys_invocation i WHERE target_service_name IN (SELECT name FROM sys_service) LIMIT 1",
    ] {
        assert_eq!(services.rows(sql).await.as_array().map(Vec::len), Some(1), "{sql}");
    }
    let narrow = "SELECT COUNT(*) AS n FROM sys_invocation WHERE status = 'running'";
    assert_eq!(services.rows(narrow).await, json!([{ "n": 0 }]));
    let ended =
        "SELECT COUNT(*) AS n FROM sys_invocation_status WHERE status IN ('completed', 'paused')";
    assert_eq!(services.rows(ended).await, json!([{ "n": 0 }]));
    // Without a match in the first rows, the query has to examine all of them.
    services
        .refused("SELECT id FROM sys_invocation WHERE retry_count = 7 OR id = 'x' LIMIT 1")
        .await;
    let either = "SELECT id FROM sys_invocation WHERE target = 'x' OR id = 'x' LIMIT 1";
    assert_eq!(services.rows(either).await, json!([]), "each is looked for by itself");
}

#[tokio::test]
async fn what_does_not_ask_for_json_is_answered_as_a_stream() {
    let services = ServicesHost::new().await;
    for accept in [None, Some("*/*"), Some("application/vnd.apache.arrow.stream")] {
        let mut request = Request::post("/v4/query").header(header::HOST, "localhost");
        if let Some(accept) = accept {
            request = request.header(header::ACCEPT, accept);
        }
        let request = request.body(Body::from("{\"query\":\"SELECT name FROM sys_service\"}"));
        let request = request.expect("a request");
        let response = services.admin.clone().oneshot(request).await.expect("an answer");
        assert_eq!(response.status(), StatusCode::OK);
        let kind = &response.headers()[header::CONTENT_TYPE];
        assert_eq!(kind, "application/vnd.apache.arrow.stream");
    }
    let (status, _) = services.admin("GET", "/query", None).await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
    assert!(services.refused("SELECT nothing FROM state").await.contains("no column `nothing`"));
}

#[tokio::test]
async fn tables_are_joined_and_named_where_they_are_listed() {
    let services = ServicesHost::new().await;
    let id = services.send("Greeter/greet").await;
    let joined = "SELECT inv.id, dp.id IS NOT NULL AS is_there FROM sys_invocation inv \
        LEFT JOIN sys_deployment dp ON dp.id = inv.pinned_deployment_id ORDER BY inv.created_at DESC";
    let rows = services.rows(joined).await;
    assert_eq!(rows[0]["id"], id.as_str());
    assert!(rows[0]["is_there"].is_boolean(), "{rows}");
    let columns = "SELECT COUNT(*) AS n FROM information_schema.columns WHERE table_name = 'sys_journal' \
        AND column_name IN ('version', 'entry_json', 'appended_at', 'nothing')";
    assert_eq!(services.rows(columns).await, json!([{ "n": 3 }]));
    let tables = "SELECT table_schema AS s, COUNT(*) AS n FROM information_schema.tables GROUP BY s ORDER BY s";
    let expected = json!([{ "s": "information_schema", "n": 2 }, { "s": "public", "n": 12 }]);
    assert_eq!(services.rows(tables).await, expected);
}

#[tokio::test]
async fn invocations_stand_elsewhere_in_the_other_table_of_them() {
    let services = ServicesHost::new().await;
    in_each_state(&services).await;
    let stands = "SELECT status, COUNT(*) AS n FROM sys_invocation_status WHERE target <> 'Greeter/part' GROUP BY status ORDER BY status";
    let stands = services.rows(stands).await;
    assert_eq!(
        texts(&stands, "status"),
        ["completed", "inboxed", "invoked", "paused", "scheduled", "suspended"]
    );
    let open = "SELECT COUNT(*) AS n FROM sys_invocation_status WHERE status IN ('invoked', 'paused') AND target <> 'Greeter/part'";
    assert_eq!(services.rows(open).await, json!([{ "n": 5 }]));
}

#[tokio::test]
async fn a_query_waits_a_bounded_time_for_others_and_is_told_when_to_come_again() {
    let services = ServicesHost::new().await;
    let queries = services.api.queries.clone();
    let all = u32::try_from(queries.available_permits()).expect("there are few");
    let others = queries.acquire_many_owned(all).await.expect("nobody closes it");
    let request = || {
        let request = Request::post("/query").header(header::HOST, "localhost");
        request.body(Body::from("{\"query\":\"SELECT name FROM sys_service\"}")).expect("a request")
    };
    let refused = services.admin.clone().oneshot(request()).await.expect("an answer");
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
    drop(others);
    let answered = services.admin.clone().oneshot(request()).await.expect("an answer");
    assert_eq!(answered.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_delay_beyond_the_year_9999_is_refused_before_anything_is_stored() {
    let services = ServicesHost::new().await;
    for delay in ["9000y", "P9000000D", "PT900000000000S"] {
        let path = format!("/Greeter/greet/send?delay={delay}");
        let (status, body) = services.ingress("POST", &path, Some(json!("Mary"))).await;
        assert_eq!(status, 400, "{delay}: {body}");
        assert!(body.to_string().contains("after the year 9999"), "{body}");
    }
    assert_eq!(services.rows("SELECT id FROM sys_invocation").await, json!([]));
    let (status, body) =
        services.ingress("POST", "/Greeter/greet/send?delay=300y", Some(json!("Mary"))).await;
    assert_eq!(status, 202, "{body}");
    let at = body["executionTime"].as_str().expect("an instant");
    assert!(at.starts_with("23") && at.ends_with('Z'), "{at}");
}
