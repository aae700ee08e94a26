//! The protocol as a client sees it, with a host of canned answers.

mod fake_host;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::fake_host::{McpSession, text};
use crate::WritePermission;

/// A call of every tool that reads, with the part of its text that the host's answer has.
const READS: [(&str, &str, &str); 21] = [
    ("host_status", "{}", "ready; executions: 1 suspended; modules: 1"),
    ("list_executions", "{}", "order-1001  shop/order  suspended"),
    ("inspect_execution", r#"{"id": "order-1001"}"#, "waits for promise order-1001/p/approved"),
    ("why_execution", r#"{"id": "order-1001"}"#, "command: segno resolve order-1001/p/approved"),
    ("result", r#"{"id": "order-1001"}"#, "has not ended; it is suspended"),
    ("execution_tree", r#"{"id": "order-1001"}"#, "order-1001  call  suspended"),
    ("journal", r#"{"id": "order-1001"}"#, "0 +0 ms started {\"order\":\"xxx"),
    ("logs", r#"{"id": "order-1001"}"#, "no lines"),
    ("list_inbox", "{}", "promise order-1001/p/approved of order-1001"),
    ("list_modules", "{}", "shop: order (workflow); 1 unfinished executions"),
    (
        "describe_function",
        r#"{"module": "shop", "function": "order"}"#,
        "shop/order  workflow: Sells.",
    ),
    ("list_schedules", "{}", "no schedules"),
    ("list_objects", "{}", "no objects"),
    ("read_object", r#"{"object": "shop/Cart@ada"}"#, "goods = [1]"),
    ("replay_execution", r#"{"id": "order-1001"}"#, "identical, 3 of 3 records repeated"),
    ("check_module", r#"{"module": "shop", "candidate": "11"}"#, "nothing is in flight"),
    ("fork_dry_run", r#"{"id": "order-1001", "at": 1}"#, "dry run waits; nothing was stored"),
    (
        "rerun",
        r#"{"function": "shop/order", "module": "11"}"#,
        "1 execution: 1 with another outcome. Commands: 3 answered from recordings, 0 new. Recorded in 2 s. Recorded cost: tokens 7; of it taken over: tokens 5.",
    ),
    ("verify_workflow", r#"{"path": "a.wasm", "function": "f"}"#, "1 findings in 7 runs"),
    ("search_docs", r#"{"query": "idempotency key"}"#, "idempotency"),
    ("read_doc", r#"{"name": "rules"}"#, "# The rules of a workflow"),
];

/// A call of every tool that writes, with the part of its text that the host's answer has.
const WRITES: [(&str, &str, &str); 6] = [
    ("start_execution", r#"{"id": "order-1001", "target": "shop/order"}"#, "started: order-1001"),
    (
        "settle_promise",
        r#"{"id": "order-1001/p/approved", "value": true}"#,
        "is now resolved: true",
    ),
    ("send_signal", r#"{"id": "order-1001", "name": "comment", "key": "1"}"#, "has signal 0"),
    ("cancel_execution", r#"{"id": "order-1001"}"#, "the cancellation of order-1001 is requested"),
    ("continue_execution", r#"{"id": "order-1001"}"#, "order-1001 continues"),
    (
        "restart_execution",
        r#"{"id": "order-1001", "new_id": "order-1002"}"#,
        "order-1002 is started",
    ),
];

fn parsed(arguments: &str) -> Value {
    serde_json::from_str(arguments).expect("JSON")
}

/// The tools by name.
async fn tools(session: &mut McpSession) -> BTreeMap<String, Value> {
    let list = session.request("tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().expect("tools").clone();
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    tools.into_iter().map(|tool| (name(&tool), tool)).collect()
}

#[tokio::test]
async fn every_tool_answers_what_its_schema_says() {
    let mut session = McpSession::begin(WritePermission::Allowed, &[]).await;
    let tools = tools(&mut session).await;
    let calls = READS.iter().chain(&WRITES);
    assert_eq!(calls.clone().count(), tools.len(), "each tool is called");
    for (name, arguments, part) in calls {
        let answer = session.call(name, parsed(arguments)).await;
        assert!(text(&answer).contains(part), "{name}: {answer}");
        assert_eq!(answer["result"]["isError"], false, "{name}: {answer}");
        let typed = &answer["result"]["structuredContent"];
        let schema = jsonschema::validator_for(&tools[*name]["outputSchema"]).expect("a schema");
        let faults: Vec<String> =
            schema.iter_errors(typed).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{name}: {faults:?}: {typed}");
        for next in typed["next"].as_array().expect("next calls") {
            let tool = &tools[next["tool"].as_str().expect("a name")];
            let schema = jsonschema::validator_for(&tool["inputSchema"]).expect("a schema");
            let faults: Vec<String> =
                schema.iter_errors(&next["arguments"]).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{name} proposes {next}: {faults:?}");
        }
    }
}

#[tokio::test]
async fn the_schema_of_a_tool_describes_each_argument() {
    let mut session = McpSession::begin(WritePermission::Allowed, &[]).await;
    for (name, tool) in tools(&mut session).await {
        assert!(tool["description"].as_str().is_some_and(|text| text.len() > 20), "{name}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        assert!(!tool.to_string().contains("\"format\":\"uint"), "{name}: {tool}");
        let arguments = tool["inputSchema"]["properties"].as_object();
        for (argument, schema) in arguments.into_iter().flatten() {
            assert!(schema["description"].is_string(), "{name}: `{argument}` has no description");
        }
        let reads = READS.iter().any(|(read, ..)| *read == name);
        assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{name}");
        let decides = ["settle_promise", "cancel_execution"].contains(&name.as_str());
        assert_eq!(tool["annotations"]["destructiveHint"], decides, "{name}");
        let repeatable = name != "continue_execution";
        assert_eq!(tool["annotations"]["idempotentHint"], repeatable, "{name}");
    }
}

#[tokio::test]
async fn a_server_without_permission_has_no_tool_that_writes() {
    let mut session = McpSession::begin(WritePermission::ReadOnly, &[]).await;
    let listed: Vec<String> = tools(&mut session).await.into_keys().collect();
    let mut reads: Vec<&str> = READS.iter().map(|(name, ..)| *name).collect();
    reads.sort_unstable();
    assert_eq!(listed, reads);
    for (name, arguments, _) in WRITES {
        let answer = session.call(name, parsed(arguments)).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(text(&answer).contains("`segno mcp --allow-writes`"), "{answer}");
    }
    assert_eq!(session.host.writes(), 0);
    // Nor is one proposed.
    let answer = session.call("why_execution", json!({"id": "order-1001"})).await;
    assert_eq!(answer["result"]["structuredContent"]["next"], json!([]));
    let project = session.call("verify_workflow", json!({"path": ".", "function": "f"})).await;
    assert!(text(&project).starts_with("error read-only: "), "{project}");
}

#[tokio::test]
async fn a_wrong_argument_is_named() {
    let mut session = McpSession::begin(WritePermission::Allowed, &[]).await;
    for (tool, arguments, field, reason) in [
        ("list_executions", json!({"limit": "ten"}), "limit", "invalid type: string"),
        ("list_executions", json!({"stat": "halted"}), "stat", "unknown field `stat`"),
        ("inspect_execution", json!({}), ".", "missing field `id`"),
        ("start_execution", json!({"target": "shop/order"}), ".", "missing field `id`"),
        (
            "start_execution",
            json!({"id": "a", "target": "shop/order", "budget": {"tokens": "many"}}),
            "budget.tokens",
            "invalid type: string",
        ),
        (
            "fork_dry_run",
            json!({"id": "a", "at": 1, "set": [{"command": -1}]}),
            "set[0].command",
            "invalid number",
        ),
        (
            "fork_dry_run",
            json!({"id": "a", "at": 1, "set": [{"command": 1, "vaule": 2}]}),
            "set[0].vaule",
            "unknown field",
        ),
    ] {
        let answer = session.call(tool, arguments).await;
        assert_eq!(answer["error"]["code"], -32_602, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(&format!("`{tool}`")) && message.contains(reason), "{message}");
        assert_eq!(answer["error"]["data"]["field"], field, "{answer}");
    }
    let answer = session.call("list_everything", json!({})).await;
    assert_eq!(answer["error"]["code"], -32_602, "{answer}");
    assert_eq!(session.host.writes(), 0);
}

#[tokio::test]
async fn an_unknown_id_names_similar_ones() {
    let mut session = McpSession::begin(WritePermission::ReadOnly, &[]).await;
    for tool in
        ["inspect_execution", "why_execution", "journal", "logs", "result", "replay_execution"]
    {
        let answer = session.call(tool, json!({"id": "order-101"})).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(text(&answer).contains("similar ids: order-1001"), "{tool}: {answer}");
        assert!(answer["result"].get("structuredContent").is_none(), "{tool}: {answer}");
        let error = &answer["result"]["_meta"]["segno/error"];
        assert_eq!(error["code"], "unknown-invocation", "{answer}");
        assert_eq!(error["next"][0]["arguments"]["id"], "order-1001", "{answer}");
    }
    let other = session.call("inspect_execution", json!({"id": "zzz"})).await;
    assert!(text(&other).contains("next: list_executions {}"), "{other}");
}

#[tokio::test]
async fn a_long_value_is_cut_and_can_be_had_whole() {
    let mut session = McpSession::begin(WritePermission::ReadOnly, &[]).await;
    let cut = session.call("journal", json!({"id": "order-1001"})).await;
    let request = &cut["result"]["structuredContent"]["records"][0]["request"];
    assert_eq!(request["bytes"], 5_012, "{request}");
    assert_eq!(request["beginning"].as_str().map(str::len), Some(300));
    let more = &cut["result"]["structuredContent"]["next"][0];
    assert_eq!((&more["tool"], &more["arguments"]["from"]), (&json!("journal"), &json!(1)));
    let whole = json!({"id": "order-1001", "from": 0, "limit": 1, "max_value_bytes": 65_536});
    let whole = session.call("journal", whole).await;
    let request = &whole["result"]["structuredContent"]["records"][0]["request"];
    assert_eq!(request["value"]["order"].as_str().map(str::len), Some(5_000));
}

#[tokio::test]
async fn documents_executions_and_the_skill_are_resources() {
    let mut session = McpSession::begin(WritePermission::ReadOnly, &[]).await;
    let list = session.request("resources/list", json!({})).await;
    let uris: Vec<&str> = list["result"]["resources"]
        .as_array()
        .expect("resources")
        .iter()
        .filter_map(|resource| resource["uri"].as_str())
        .collect();
    assert_eq!(uris.len(), segno_docs::document_texts().count() + 1);
    for uri in uris.into_iter().chain(["segno://executions/order-1001"]) {
        let read = session.request("resources/read", json!({ "uri": uri })).await;
        let contents = &read["result"]["contents"][0];
        assert_eq!(contents["uri"], uri, "{read}");
        assert!(contents["text"].as_str().is_some_and(|text| text.len() > 100), "{uri}");
    }
    for (uri, part) in [
        ("segno://docs/nothing", "`nothing`"),
        ("segno://executions/order-101", "order-1001"),
        ("segno://executions/%zz", "percent"),
        ("file:///etc/passwd", "segno://docs/"),
    ] {
        let refused = session.request("resources/read", json!({ "uri": uri })).await;
        assert_eq!(refused["error"]["code"], -32_002, "{refused}");
        assert!(
            refused["error"]["message"].as_str().is_some_and(|it| it.contains(part)),
            "{refused}"
        );
    }
    let templates = session.request("resources/templates/list", json!({})).await;
    let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(template, "segno://executions/{id}");
    let prompts = session.request("prompts/list", json!({})).await;
    assert_eq!(prompts["result"]["prompts"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn an_exposed_function_is_a_durable_execution() {
    let mut session = McpSession::begin(WritePermission::ReadOnly, &["shop/*"]).await;
    let tools = tools(&mut session).await;
    let tool = &tools["shop_order"];
    assert_eq!(tool["inputSchema"]["properties"], json!({"order": {"type": "string"}}));
    assert!(tool["description"].as_str().is_some_and(|text| text.starts_with("Sells.")));
    let call = json!({
        "name": "shop_order", "arguments": {"order": "7"},
        "_meta": {"progressToken": "p", "segno/idempotency-key": "k1"},
    });
    let id = session.begin_request("tools/call", call).await;
    let progress = session.next().await;
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "p");
    assert_eq!(progress["params"]["message"], "started as order-1001");
    let next = session.next().await;
    let message = next["params"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("waits for order-1001/p/approved"), "{next}");
    let [(_, body)] = session.host.requests("POST /v1/invocations").try_into().expect("a start");
    assert_eq!(body["id"], "mcp-shop_order-k1");
    assert_eq!(body["budget"], json!({"tokens": 900}));
    assert_eq!((&body["target"], &body["input"]), (&json!("shop/order"), &json!({"order": "7"})));
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    session.send(&cancelled.to_string()).await;
    while session.host.requests("POST /v1/invocations/order-1001/cancel").is_empty() {
        // Other requests are answered meanwhile.
        session.request("ping", json!({})).await;
    }
    assert_eq!(session.host.writes(), 2);
}

#[tokio::test]
async fn a_malformed_frame_does_not_end_the_session() {
    let mut session = McpSession::begin(WritePermission::ReadOnly, &[]).await;
    for line in
        ["", "{", "nonsense", "[]", "{\"jsonrpc\": \"1.0\"}", "{\"jsonrpc\": \"2.0\", \"id\": {}}"]
    {
        session.send(line).await;
    }
    let unknown = session.request("tools/dance", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32_601, "{unknown}");
    let wrong = session.request("tools/call", json!({"arguments": 3})).await;
    assert!(wrong["error"]["code"].is_i64(), "{wrong}");
    let answer = session.call("host_status", json!({})).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}
