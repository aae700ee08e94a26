//! Standard input and output.

use segno_api::model::InvocationState;
use serde_json::{Value, json};
use tests::{guests, test_host::TestHost};

use super::{host, session::Session};

#[tokio::test(flavor = "multi_thread")]
async fn an_assistant_follows_an_execution_and_gives_its_approval() {
    let host = host().await;
    let mut session = Session::begin(&host.client().server(), &["--allow-writes"]).await;
    let (text, status) = session.call("host_status", json!({})).await;
    assert!(text.contains("1 suspended; modules: 2"), "{text}");
    assert_eq!((&status["ready"], &status["writes_allowed"]), (&json!(true), &json!(true)));

    let (_, list) = session.call("list_executions", json!({"state": "suspended"})).await;
    assert_eq!(list["executions"][0]["id"], "report-1");
    let (text, _) = session.call("inspect_execution", json!({"id": "report-1"})).await;
    assert!(
        text.contains("\"title\":\"Report\"") && text.contains("report-1/p/decision"),
        "{text}"
    );
    let (_, why) = session.call("why_execution", json!({"id": "report-1"})).await;
    assert_eq!(why["chain"][0]["on"], "report-1/p/decision", "{why}");
    let [settle] = why["next"].as_array().expect("next calls").as_slice() else { panic!("{why}") };
    assert_eq!(settle["tool"], "settle_promise");
    let (text, inbox) = session.call("list_inbox", json!({})).await;
    assert!(text.contains("promise report-1/p/decision of report-1"), "{text}");
    assert!(text.contains("signal report-1/s/"), "{text}");
    assert_eq!(inbox["entries"].as_array().map(Vec::len), Some(2), "{inbox}");

    let (_, described) = session
        .call("describe_function", json!({"module": "approval", "function": "approval"}))
        .await;
    assert_eq!(described["function"]["messages"].as_array().map(Vec::len), Some(2), "{described}");
    let signal = json!({"id": "report-1", "name": "comment", "payload": "page 3", "key": "c1"});
    for index in [0, 0] {
        // The same key again sends nothing.
        let (_, sent) = session.call("send_signal", signal.clone()).await;
        assert_eq!(sent["signal"], index);
    }
    let mut approve = settle["arguments"].clone();
    approve["value"] = json!("maybe");
    let refused = session.fails("settle_promise", approve.clone()).await;
    assert!(
        refused.contains("`decision`") && refused.contains("next: inspect_execution"),
        "{refused}"
    );
    approve["value"] = json!("approve");
    let (text, _) = session.call("settle_promise", approve).await;
    assert!(text.contains("report-1/p/decision is now resolved: \"approve\""), "{text}");
    let (_, ended) = session.call("result", json!({"id": "report-1", "wait_ms": 30_000})).await;
    assert_eq!(ended["outcome"]["value"]["value"]["comments"], json!(["page 3"]), "{ended}");

    let (text, journal) = session.call("journal", json!({"id": "report-1", "limit": 3})).await;
    assert!(text.starts_with("0 +0 ms started approval"), "{text}");
    assert_eq!(
        (&journal["from"], journal["records"].as_array().map(Vec::len)),
        (&json!(3), Some(3))
    );
    let (text, _) = session.call("replay_execution", json!({"id": "report-1"})).await;
    assert!(text.contains("identical"), "{text}");
    let (text, other) =
        session.call("replay_execution", json!({"id": "report-1", "module": "hello"})).await;
    assert_eq!(other["verdict"], "failed", "{text}");
    let (text, fork) = session
        .call(
            "fork_dry_run",
            json!({"id": "report-1", "at": 3, "set": [{"command": 0, "value": "refuse"}]}),
        )
        .await;
    assert!(text.contains("nothing was stored"), "{text}");
    assert_eq!(fork["same_end"], false, "{fork}");
    let rerun = json!({"function": "approval/approval", "labels": []});
    let (text, same) = session.call("rerun", rerun.clone()).await;
    assert!(text.starts_with("1 execution: 1 the same. Commands: "), "{text}");
    assert_eq!((&same["verdicts"], &same["groups"]), (&json!({"same": 1}), &json!([])), "{same}");
    let mut other = rerun;
    other["set"] = json!([{"command": 0, "value": "refuse"}]);
    let (text, differs) = session.call("rerun", other).await;
    assert!(text.contains("\"approve\" → \"refuse\""), "{text}");
    let group = &differs["groups"][0];
    assert_eq!((&group["ids"], &group["count"]), (&json!(["report-1"]), &json!(1)), "{differs}");
    let [again] = differs["next"].as_array().expect("next calls").as_slice() else {
        panic!("{differs}")
    };
    assert_eq!(again["tool"], "fork_dry_run");
    let (text, _) = session.call("fork_dry_run", again["arguments"].clone()).await;
    assert!(text.contains("nothing was stored"), "{text}");
    let refused = session.fails("rerun", json!({"function": "approval"})).await;
    assert!(refused.contains("MODULE/FUNCTION"), "{refused}");
    let refused = session.fails("rerun", json!({"module": "nothing"})).await;
    assert!(refused.contains("unknown-module"), "{refused}");
    let (_, checked) = session
        .call("check_module", json!({"module": "approval", "candidate": "approval", "ended": 5}))
        .await;
    assert_eq!((&checked["safe"], &checked["verdicts"]), (&json!(true), &json!({"there": 1})));
    assert!(session.end().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_changed_without_permission() {
    let host = host().await;
    let mut session = Session::begin(&host.client().server(), &["--read-only"]).await;
    let list = session.request("tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().expect("tools");
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true), "{list}");
    let start = json!({"id": "h", "target": "hello/hello", "input": "Ada"});
    let refused = session.fails("start_execution", start.clone()).await;
    assert!(refused.contains("`segno mcp --allow-writes`"), "{refused}");
    assert!(host.client().invocation("h").await.is_err());
    assert!(session.end().await);

    let mut session = Session::begin(&host.client().server(), &["--allow-writes"]).await;
    let mut call = start;
    call["wait_ms"] = json!(30_000);
    for created in [true, false] {
        let (text, started) = session.call("start_execution", call.clone()).await;
        assert!(text.contains("h is resolved: \"Hello, Ada!\""), "{text}");
        assert_eq!(started["created"], created);
    }
    call["input"] = json!("Eve");
    let refused = session.fails("start_execution", call.clone()).await;
    assert!(refused.contains("`h`"), "the id has another input: {refused}");
    call["input"] = json!(7);
    call["id"] = json!("h2");
    let refused = session.fails("start_execution", call).await;
    assert!(refused.contains("string") && refused.contains("next: describe_function"), "{refused}");
    let with = |id: &str, budget: Value| json!({"id": id, "target": "hello/hello", "input": "Ada", "budget": budget});
    session.call("start_execution", with("h4", json!({"tokens": 100, "usd": 2.5}))).await;
    let (text, _) = session.call("inspect_execution", json!({"id": "h4"})).await;
    assert!(text.contains("budget: tokens 0 of 100, usd 0 of 2.5, that of h4"), "{text}");
    for (budget, said) in [
        (json!({"tokens": -1}), "`budget` is refused: `-1` is no amount"),
        (json!({"two words": 1}), "`two words` is no unit"),
        (json!({"usd": 0.0000001}), "at most six decimal places"),
    ] {
        let refused = session.fails("start_execution", with("h5", budget)).await;
        assert!(refused.contains(said), "{refused}");
    }
    assert!(host.client().invocation("h5").await.is_err());
    let (_, restarted) =
        session.call("restart_execution", json!({"id": "h", "new_id": "h3"})).await;
    assert_eq!((&restarted["id"], &restarted["changed"]), (&json!("h3"), &json!(true)));
    let (text, _) = session.call("cancel_execution", json!({"id": "report-1"})).await;
    assert!(text.contains("report-1"), "{text}");
    let ended = host.ended("report-1").await;
    assert_eq!(ended.state, InvocationState::Cancelled);
}

/// Calls the exposed function `approval` with an idempotency key. Returns the id of the request.
async fn approval(session: &mut Session, key: &str) -> u64 {
    let call = json!({
        "name": "approval_approval", "arguments": {"title": "Budget", "approver": "Ada"},
        "_meta": {"progressToken": key, "segno/idempotency-key": key},
    });
    session.ask("tools/call", call).await
}

/// Reads messages up to a notification of progress with this text.
async fn progress(session: &mut Session, part: &str) -> Value {
    let mut last = Value::Null;
    for _ in 0..10 {
        let message = session.next().await;
        assert_eq!(message["method"], "notifications/progress", "{message}");
        if message["params"]["message"].as_str().is_some_and(|text| text.contains(part)) {
            return message;
        }
        last = message;
    }
    panic!("no progress says {part:?}: {last}")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exposed_function_runs_as_a_durable_execution() {
    let host = host().await;
    let exposed = ["--expose", "approval", "--expose", "hello/*", "--expose", "gone/*"];
    let mut session = Session::begin(&host.client().server(), &exposed).await;
    let list = session.request("tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().expect("tools");
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name);
    let tool_of = |name: &str| tool(name).unwrap_or_else(|| panic!("{name}: {list}"));
    let approval_tool = tool_of("approval_approval");
    assert!(approval_tool["inputSchema"]["properties"]["title"].is_object(), "{approval_tool}");
    assert!(approval_tool["outputSchema"]["properties"]["output"].is_object(), "{approval_tool}");
    let about = approval_tool["description"].as_str().unwrap_or_default();
    assert!(about.starts_with("Waits for a decision, collects comments, and reminds."), "{about}");
    assert!(tool("approval_remind").is_none(), "only what the module offers is exposed");
    assert_eq!(tool_of("hello_hello")["inputSchema"]["properties"]["input"]["type"], "string");

    // A short one answers with its output, under a fresh id.
    let (text, hello) = session.call("hello_hello", json!({"input": "Ada"})).await;
    assert_eq!((&hello["output"], &hello["state"]), (&json!("Hello, Ada!"), &json!("resolved")));
    let id = hello["id"].as_str().expect("an id");
    assert!(id.starts_with("mcp-hello_hello-") && text.contains(id), "{text}");
    let refused = session.fails("hello_hello", json!({"input": 7})).await;
    assert!(refused.contains("string"), "{refused}");

    // One that waits for a person tells its progress; the approval is in the inbox.
    let request = approval(&mut session, "b1").await;
    progress(&mut session, "started as mcp-approval_approval-b1").await;
    progress(&mut session, "waits for mcp-approval_approval-b1/p/decision").await;
    let inbox = session
        .request("tools/call", json!({"name": "list_inbox", "arguments": {"prefix": "mcp-"}}))
        .await;
    assert!(inbox.to_string().contains("mcp-approval_approval-b1/p/decision"), "{inbox}");
    host.client()
        .resolve("mcp-approval_approval-b1/p/decision", json!("refuse"))
        .await
        .expect("it is settled");
    let answer = loop {
        let message = session.next().await;
        if message["id"] == request {
            break message;
        }
    };
    let result = &answer["result"]["structuredContent"];
    assert_eq!(result["output"]["decision"], "refuse", "{answer}");
    // The same key again runs nothing.
    let request = approval(&mut session, "b1").await;
    progress(&mut session, "exists as mcp-approval_approval-b1").await;
    let again = session.next().await;
    assert_eq!(
        (&again["id"], &again["result"]["structuredContent"]["created"]),
        (&json!(request), &json!(false))
    );

    // A cancelled request cancels the execution, and the session goes on.
    let request = approval(&mut session, "b2").await;
    progress(&mut session, "/p/decision").await;
    session
        .notify("notifications/cancelled", json!({"requestId": request, "reason": "enough"}))
        .await;
    let ended = host.ended("mcp-approval_approval-b2").await;
    assert_eq!(ended.state, InvocationState::Cancelled);
    // The end of a session does not.
    approval(&mut session, "b3").await;
    progress(&mut session, "/p/decision").await;
    session.end().await;
    let kept = host.client().invocation("mcp-approval_approval-b3").await.expect("it is there");
    assert_eq!(kept.state, InvocationState::Suspended);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_frames_do_not_end_a_session() {
    let host = TestHost::start(super::SEGNO).await;
    let mut session = Session::begin(&host.client().server(), &[]).await;
    for line in [
        "{",
        "no JSON at all",
        "[1, 2]",
        "{\"jsonrpc\": \"2.0\", \"id\": 1.5, \"method\": 7}",
        "\u{1b}[2J",
    ] {
        session.send(line).await;
    }
    let unknown = session.request("tools/dance", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32_601, "{unknown}");
    let missing = session.request("tools/call", json!({"name": "inspect_execution"})).await;
    assert_eq!(missing["error"]["code"], -32_602, "{missing}");
    assert!(
        missing["error"]["message"].as_str().is_some_and(|it| it.contains("`id`")),
        "{missing}"
    );
    let (text, found) =
        session.call("search_docs", json!({"query": "idempotency key activity"})).await;
    assert!(text.to_lowercase().contains("idempotency"), "{text}");
    let (text, _) = session.call("read_doc", found["next"][0]["arguments"].clone()).await;
    assert!(text.len() > 100, "{text}");
    let unknown = session.fails("inspect_execution", json!({"id": "nobody"})).await;
    assert!(unknown.contains("next: list_executions"), "{unknown}");
    assert!(session.end().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_away_is_named() {
    // A port on which nothing listens.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = format!("http://{}", listener.local_addr().expect("it is bound"));
    drop(listener);
    let mut session = Session::begin(&server, &["--expose", "shop/*"]).await;
    let away = session.fails("list_executions", json!({})).await;
    assert!(away.contains(&server) && away.contains("`segno serve`"), "{away}");
    let list = session.request("tools/list", json!({})).await;
    assert!(list["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 10), "{list}");
    // The documentation needs no host.
    let (text, _) = session.call("read_doc", json!({"name": "mcp"})).await;
    assert!(text.starts_with("# Coding assistants"), "{text}");
    assert!(session.end().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_is_verified_on_this_machine() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let component = folder.path().join("reminder.wasm");
    std::fs::write(&component, guests::component("reminder")).expect("there is room");
    let mut session = Session::begin("http://127.0.0.1:1", &[]).await;
    let input = json!({"who": "Ada", "what": "tea", "days": 1});
    let call = json!({"path": component, "function": "remind", "input": input, "runs": 20});
    let (text, verified) = session.call("verify_workflow", call.clone()).await;
    assert!(text.starts_with("0 findings in "), "{text}");
    assert!(verified["runs"].as_u64().is_some_and(|runs| runs > 0), "{verified}");
    let mut other = call;
    other["function"] = json!("goodbye");
    let refused = session.fails("verify_workflow", other).await;
    assert!(refused.contains("goodbye"), "{refused}");
    let project =
        session.fails("verify_workflow", json!({"path": folder.path(), "function": "f"})).await;
    assert!(project.contains("--allow-writes"), "{project}");
}
