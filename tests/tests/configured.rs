//! Settings, secrets and directories of a module, from the policy file to the function. Secrets
//! must not leak.

use std::path::{Path, PathBuf};

use axum::{Router, http::HeaderMap, routing::post};
use segno_api::model::{Invocation, InvocationState};
use segno_demo::payments::PaymentsOptions;
use segno_env::Env;
use serde_json::{Value, json};
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
/// The secret, as its file contains it.
const SECRET: &str = "pay-0123456789";

/// Starts a service that repeats the credentials it received. Returns its address.
async fn echo(env: &Env) -> String {
    let repeat = |headers: HeaderMap| async move {
        let said = headers.get("authorization").and_then(|value| value.to_str().ok());
        format!("{} bytes: {}", said.map_or(0, str::len), said.unwrap_or("nothing"))
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
    let address = listener.local_addr().expect("it has an address");
    let router = Router::new().route("/", post(repeat));
    let serving = async move { axum::serve(listener, router).await.expect("it serves") };
    env.runtime.spawn("echo", Box::pin(serving));
    format!("http://{address}/")
}

/// A host whose policy grants the module `configured` two directories, a setting and a secret.
async fn host(folder: &Path) -> TestHost {
    for name in ["in", "out"] {
        std::fs::create_dir(folder.join(name)).expect("a directory");
    }
    std::fs::write(folder.join("pay"), format!("{SECRET}\n")).expect("a file");
    std::fs::write(folder.join("in/may.csv"), "1;2").expect("a file");
    let at = folder.display();
    let policy = format!(
        r#"[configured]
        http.allow = ["http://127.0.0.1:*"]
        dirs = [
            {{ host = "{at}/in", guest = "/in" }},
            {{ host = "{at}/out", guest = "/out", write = true }},
        ]
        env = {{ REGION = "eu", UNSET = {{ from = "SEGNO_TEST_NOT_SET" }} }}
        secrets.PAY = {{ file = "{at}/pay" }}
        "#
    );
    let path = folder.join("policy.toml");
    std::fs::write(&path, policy).expect("a file");
    let path = path.to_str().expect("UTF-8");
    let host = TestHost::with(SEGNO, PaymentsOptions::default(), &["--policy", path]).await;
    host.deploy("configured", guests::component("configured")).await;
    host
}

/// Runs a function of the module to its end.
async fn ran(host: &TestHost, id: &str, function: &str, input: Value) -> Invocation {
    host.start_as(id, &format!("configured/{function}"), input).await.expect("it starts");
    host.ended(id).await
}

/// Code and message of the failure.
fn failure(ended: &Invocation) -> (u32, String) {
    let failure = ended.failure.as_ref().unwrap_or_else(|| panic!("it failed: {ended:#?}"));
    (failure.code, failure.message.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_and_directories_reach_activities_in_rust() {
    let folder = tempfile::tempdir().expect("a directory");
    let host = host(folder.path()).await;
    let ended = ran(&host, "region", "setting", json!("REGION")).await;
    assert_eq!(ended.output, Some(json!("eu")));
    // Another attempt would have the same result, so there is only one.
    let ended = ran(&host, "none", "setting", json!("ZONE")).await;
    let (code, message) = failure(&ended);
    assert_eq!(code, 403);
    assert!(message.contains("add `env.ZONE = \"VALUE\"` to `[configured]`"), "{message}");

    let ended = ran(&host, "copy", "copy", json!(["/in/may.csv", "/out/2026/may.csv"])).await;
    assert_eq!(ended.output, Some(json!(["may.csv 10"])), "{ended:#?}");
    let copied = std::fs::read_to_string(folder.path().join("out/2026/may.csv"));
    assert_eq!(copied.expect("it is there"), "1;2\n-- end");
    for (id, from, to, code, words) in [
        ("no-1", "/in/june.csv", "/out/x", 404, "`/in/june.csv` cannot be read"),
        ("no-2", "/in/may.csv", "/in/x", 403, "`write = true`"),
        ("no-3", "/etc/passwd", "/out/x", 403, "there is `/in`, `/out`"),
        ("no-4", "/in/../pay", "/out/x", 403, "outside"),
    ] {
        let (found, message) = failure(&ran(&host, id, "copy", json!([from, to])).await);
        assert_eq!((found, message.contains(words)), (code, true), "{message}");
    }
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_sent_and_stored_nowhere() {
    let folder = tempfile::tempdir().expect("a directory");
    let host = host(folder.path()).await;
    let echo = echo(&host.env).await;
    let bytes = format!("{} bytes: Bearer ", "Bearer ".len() + SECRET.len());
    for (id, function) in [("step", "pay"), ("once", "pay_once")] {
        let ended = ran(&host, id, function, json!(echo)).await;
        assert_eq!(ended.output, Some(json!(format!("{bytes}{{secret:PAY}}"))), "{ended:#?}");
    }
    let ended = ran(&host, "wrong", "pay_wrongly", json!(echo)).await;
    let (code, message) = failure(&ended);
    assert_eq!(code, 403);
    assert!(message.contains("add `secrets.PAID = { from = \"VARIABLE\" }`"), "{message}");

    let ended = ran(&host, "length", "tell", json!("length")).await;
    assert_eq!(ended.output, Some(json!(SECRET.len().to_string())));
    let ended = ran(&host, "other", "tell", json!("PAYED")).await;
    assert_eq!(failure(&ended).0, 403);
    for (id, code, words) in
        [("result", 422, "contains the secret `PAY`"), ("error", 409, "it is {secret:PAY}")]
    {
        let ended = ran(&host, id, "tell", json!(id)).await;
        let (found, message) = failure(&ended);
        assert_eq!((found, message.contains(words)), (code, true), "{message}");
    }
    host.start_as("panic", "configured/tell", json!("panic")).await.expect("it starts");
    let is_halted = |seen: &Invocation| seen.state == InvocationState::Halted;
    let note = host.until("panic", "halted", is_halted).await.note.expect("a reason");
    assert!(note.message.ends_with("it is {secret:PAY}"), "{}", note.message);
    for (id, output) in [("log", "log"), ("progress", "{secret:PAY}")] {
        let ended = ran(&host, id, "tell", json!(id)).await;
        assert_eq!((ended.state, ended.output), (InvocationState::Resolved, Some(json!(output))));
    }

    let data = host.folder().to_owned();
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
    let files_with = |text: &str| {
        let has = |file: &PathBuf| {
            let content = std::fs::read(file).expect("it can be read");
            content.windows(text.len()).any(|part| part == text.as_bytes())
        };
        files_below(&data).into_iter().filter(has).collect::<Vec<_>>()
    };
    assert_eq!(files_with(SECRET), Vec::<PathBuf>::new());
    assert_ne!(files_with("it is {secret:PAY}"), Vec::<PathBuf>::new(), "it would be found");
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}
