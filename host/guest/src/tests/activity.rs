//! Activities: their imports, WASI by policy, and cancellation at any point.

use std::sync::Mutex;

use async_trait::async_trait;

use super::*;
use crate::{
    ActivityContext, ActivityHost, Failure, HttpRequest, HttpResponse, Level, Outcome, Policy,
};

/// Records the progress and log lines of an activity. If `hangs`, its heartbeats never return.
#[derive(Default)]
pub(super) struct Spy {
    said: Mutex<Vec<String>>,
    hangs: bool,
}

#[async_trait]
impl ActivityHost for Spy {
    async fn heartbeat(&self, progress: Option<Payload>) -> bool {
        if self.hangs {
            std::future::pending::<()>().await;
        }
        self.said.lock().expect("not poisoned").push(format!("{progress:?}"));
        true
    }

    async fn http(&self, request: HttpRequest) -> Result<HttpResponse, Failure> {
        self.said.lock().expect("not poisoned").push(request.url);
        Ok(HttpResponse { status: 200, headers: Vec::new(), body: Vec::new() })
    }

    fn log(&self, _level: Level, message: String) {
        self.said.lock().expect("not poisoned").push(message);
    }
}

fn attempt() -> ActivityContext {
    ActivityContext {
        invocation: "order-1".into(),
        idempotency_key: "order-1/0".into(),
        fence_token: 1,
        attempt: 1,
        last_progress: None,
        started_at_ms: 1_000,
        deadline_ms: None,
    }
}

fn performing(imports: &str, perform: &str) -> Guest {
    Guest { imports: imports.into(), perform: perform.into(), ..Guest::default() }
}

pub(super) async fn perform(
    wasm: &Wasm,
    component: &Arc<[u8]>,
    host: Arc<Spy>,
) -> Result<Outcome, GuestError> {
    wasm.perform(Digest::of(component), "orders", "work", json("\"in\""), attempt(), host).await
}

async fn perform_once(guest: &Guest) -> (Arc<Spy>, Result<Outcome, GuestError>) {
    let component = guest.component();
    let spy = Arc::new(Spy::default());
    let ended = perform(&host(&[&component]), &component, Arc::clone(&spy)).await;
    (spy, ended)
}

const HEARTBEAT: &str = r#"(import "segno:workflow/activity@0.2.0" "heartbeat"
    (func $heartbeat (param i32 i32 i32 i32) (result i32)))"#;
const BEAT: &str =
    "(drop (call $heartbeat (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))";
/// Returns the input of `perform` unchanged.
const ECHO: &str = "(call $succeed (i32.load offset=12 (local.get $parameters)) (i32.load offset=16 (local.get $parameters)))";

#[tokio::test]
async fn an_activity_beats_and_returns() {
    let guest = performing(HEARTBEAT, &format!("{BEAT} {ECHO}"));
    let (spy, ended) = perform_once(&guest).await;
    assert_eq!(ended.expect("it ends well"), Outcome::Success(json("\"in\"")));
    assert_eq!(*spy.said.lock().expect("not poisoned"), ["None"]);
}

#[tokio::test]
async fn a_dropped_attempt_leaves_nothing_behind() {
    let component = performing(HEARTBEAT, &format!("{BEAT} {ECHO}")).component();
    let wasm = host_with(&[&component], |config| config.limits.instances = 1);
    let hanging = Arc::new(Spy { hangs: true, ..Spy::default() });
    for _ in 0..20 {
        let mut attempt = Box::pin(perform(&wasm, &component, Arc::clone(&hanging)));
        while wasm.free_slots() > 0 {
            assert!(futures::poll!(&mut attempt).is_pending());
            tokio::task::yield_now().await;
        }
        assert!(futures::poll!(&mut attempt).is_pending());
        drop(attempt);
        assert_eq!(wasm.free_slots(), 1);
    }
    let ended = perform(&wasm, &component, Arc::new(Spy::default())).await;
    assert!(ended.is_ok(), "{ended:?}");
}

#[tokio::test]
async fn an_activity_that_uses_an_import_for_workflows_is_told() {
    let guest = performing(
        r#"(import "segno:workflow/journal@0.2.0" "sleep-until" (func $sleep (param i64) (result i32)))"#,
        "(drop (call $sleep (i64.const 1))) unreachable",
    );
    let (_, ended) = perform_once(&guest).await;
    let message = ended.unwrap_err().to_string();
    assert!(message.contains("`segno:workflow/journal.sleep-until` is for workflows"), "{message}");
}

#[tokio::test]
async fn a_workflow_s_name_is_no_activity() {
    let component = Guest::default().component();
    let wasm = host(&[&component]);
    let spy = Arc::new(Spy::default());
    let ended =
        wasm.perform(Digest::of(&component), "orders", "main", json("1"), attempt(), spy).await;
    let message = ended.unwrap_err().to_string();
    assert_eq!(message, "the module has no activity `main`; it has `work`");
}

/// Opens `/data/f` (with flags to create it if `create`) and returns the result's discriminant and
/// error code as two bytes of text.
fn opening(create: bool) -> Guest {
    let (open, flags) = if create { (1, 3) } else { (0, 1) };
    Guest {
        imports: r#"
            (import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $directories (param i32)))
            (import "wasi:filesystem/types@0.2.0" "[method]descriptor.open-at"
              (func $open (param i32 i32 i32 i32 i32 i32 i32)))"#
            .into(),
        items: r#"(data (i32.const 20000) "f")"#.into(),
        perform: format!(
            "(call $directories (i32.const 30000))
             (call $open (i32.load (i32.load (i32.const 30000))) (i32.const 0) (i32.const 20000) (i32.const 1)
               (i32.const {open}) (i32.const {flags}) (i32.const 30032))
             (i32.store8 (i32.const 30064) (i32.add (i32.const 48) (i32.load8_u (i32.const 30032))))
             (call $succeed (i32.const 30064) (i32.const 1))"
        ),
        wasi: true,
        ..Guest::default()
    }
}

async fn open(create: bool, policy: &str) -> Result<Outcome, GuestError> {
    let component = opening(create).component();
    let policy = toml::from_str::<Policy>(policy).expect("the policy is valid");
    let wasm = host_with(&[&component], |config| config.policy = policy.into());
    perform(&wasm, &component, Arc::new(Spy::default())).await
}

/// The message of an attempt that failed.
fn failure(ended: Result<Outcome, GuestError>) -> String {
    match ended {
        Ok(Outcome::Failure(failure)) => failure.message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn directories_follow_the_policy() {
    let refused = open(false, "").await.unwrap_err().to_string();
    assert!(refused.contains("open-at is refused") && refused.contains("`dirs`"), "{refused}");

    let directory = tempfile::tempdir().expect("it can be made");
    std::fs::write(directory.path().join("f"), "x").expect("it can be written");
    let policy = |write: bool| {
        let host = directory.path().display();
        format!("[orders]\ndirs = [{{ host = \"{host}\", guest = \"/data\", write = {write} }}]")
    };
    let opened = Outcome::Success(json("0"));
    assert_eq!(open(false, &policy(false)).await.expect("it runs"), opened);
    std::fs::remove_file(directory.path().join("f")).expect("it can be removed");
    assert_ne!(open(true, &policy(false)).await.expect("it runs"), opened);
    assert_eq!(open(true, &policy(true)).await.expect("it runs"), opened);
    assert!(directory.path().join("f").exists());

    let missing = "[orders]\ndirs = [{ host = \"/nowhere/at/all\", guest = \"/data\" }]";
    let refused = failure(open(false, missing).await);
    assert!(refused.contains("/nowhere/at/all") && refused.contains("[orders]"), "{refused}");
}

#[tokio::test]
async fn the_environment_follows_the_policy() {
    let guest = Guest {
        imports: r#"(import "wasi:cli/environment@0.2.0" "get-environment" (func $environment (param i32)))"#
            .into(),
        perform: "(call $environment (i32.const 30000))
            (i32.store8 (i32.const 30064) (i32.add (i32.const 48) (i32.load (i32.const 30004))))
            (call $succeed (i32.const 30064) (i32.const 1))"
            .into(),
        wasi: true,
        ..Guest::default()
    };
    let component = guest.component();
    for (policy, variables) in [("", "0"), ("[orders]\nenv = { A = \"1\", B = \"2\" }", "2")] {
        let policy = toml::from_str::<Policy>(policy).expect("the policy is valid");
        let wasm = host_with(&[&component], |config| config.policy = policy.into());
        let ended = perform(&wasm, &component, Arc::new(Spy::default())).await;
        assert_eq!(ended.expect("it runs"), Outcome::Success(json(variables)));
    }
    let policy =
        toml::from_str::<Policy>("[orders]\nenv = { A = { from = \"SEGNO_NO_SUCH_VARIABLE\" } }");
    let wasm =
        host_with(&[&component], |config| config.policy = policy.expect("it is valid").into());
    let refused = failure(perform(&wasm, &component, Arc::new(Spy::default())).await);
    assert!(refused.contains("SEGNO_NO_SUCH_VARIABLE"), "{refused}");
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_is_told_to_the_author() {
    let component = performing(HEARTBEAT, ECHO).component();
    let folder = tempfile::tempdir().expect("it can be made");
    let file = folder.path().join("pay");
    std::fs::write(&file, "short").expect("it can be written");
    let policy = format!("[orders]\nsecrets = {{ PAY = {{ file = \"{}\" }} }}", file.display());
    let policy = toml::from_str::<Policy>(&policy).expect("the policy is valid");
    let wasm = host_with(&[&component], |config| config.policy = policy.into());
    let refused = failure(perform(&wasm, &component, Arc::default()).await);
    assert!(refused.contains("secrets.PAY") && refused.contains("5 bytes"), "{refused}");
    std::fs::write(&file, "long enough").expect("it can be written");
    let ended = perform(&wasm, &component, Arc::default()).await.expect("it runs");
    assert_eq!(ended, Outcome::Success(json("\"in\"")));
}

#[tokio::test]
async fn raw_sockets_are_refused_by_name() {
    let guest = Guest {
        imports: r#"(import "wasi:sockets/instance-network@0.2.0" "instance-network" (func $network (result i32)))"#
            .into(),
        perform: "(drop (call $network)) unreachable".into(),
        wasi: true,
        ..Guest::default()
    };
    let (_, ended) = perform_once(&guest).await;
    let message = ended.unwrap_err().to_string();
    assert!(
        message.contains("instance-network is refused") && message.contains("http.allow"),
        "{message}"
    );
}

#[tokio::test]
async fn requests_of_wasi_http_follow_the_policy() {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
    };

    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be bound");
    let address = listener.local_addr().expect("it is bound").to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client comes");
        let _ = stream.read(&mut [0; 4_096]);
        let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
    });
    // Builds a request to the address, sends it, waits, and returns the status, or 0 for an error.
    let guest = Guest {
        imports: r#"
            (import "wasi:http/types@0.2.0" "[constructor]fields" (func $fields (result i32)))
            (import "wasi:http/types@0.2.0" "[constructor]outgoing-request" (func $request (param i32) (result i32)))
            (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-scheme"
              (func $scheme (param i32 i32 i32 i32 i32) (result i32)))
            (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-authority"
              (func $authority (param i32 i32 i32 i32) (result i32)))
            (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-path-with-query"
              (func $path (param i32 i32 i32 i32) (result i32)))
            (import "wasi:http/outgoing-handler@0.2.0" "handle" (func $handle (param i32 i32 i32 i32)))
            (import "wasi:http/types@0.2.0" "[method]future-incoming-response.subscribe"
              (func $subscribe (param i32) (result i32)))
            (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
            (import "wasi:http/types@0.2.0" "[method]future-incoming-response.get" (func $get (param i32 i32)))
            (import "wasi:http/types@0.2.0" "[method]incoming-response.status" (func $status (param i32) (result i32)))"#
            .into(),
        items: format!(r#"(data (i32.const 20000) "{address}") (global $held (mut i32) (i32.const 0))"#),
        perform: format!(
            "(global.set $held (call $request (call $fields)))
             (drop (call $scheme (global.get $held) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
             (drop (call $authority (global.get $held) (i32.const 1) (i32.const 20000) (i32.const {})))
             (i32.store8 (i32.const 20100) (i32.const 47))
             (drop (call $path (global.get $held) (i32.const 1) (i32.const 20100) (i32.const 1)))
             (call $handle (global.get $held) (i32.const 0) (i32.const 0) (i32.const 30000))
             (if (i32.load8_u (i32.const 30000)) (then (return (call $succeed (i32.const 20000) (i32.const 0)))))
             (global.set $held (i32.load offset=8 (i32.const 30000)))
             (call $block (call $subscribe (global.get $held)))
             (call $get (global.get $held) (i32.const 30000))
             (if (i32.load8_u offset=16 (i32.const 30000)) (then (return (call $succeed (i32.const 20000) (i32.const 0)))))
             (i32.store8 (i32.const 20000) (i32.add (i32.const 48)
               (i32.rem_u (call $status (i32.load offset=24 (i32.const 30000))) (i32.const 200))))
             (call $succeed (i32.const 20000) (i32.const 1))",
            address.len()
        ),
        wasi: true,
        ..Guest::default()
    };
    let component = guest.component();
    let spy = Arc::new(Spy::default());
    let wasm = host_with(&[&component], |config| config.limits.log_line_bytes = 1_000);
    let ended = perform(&wasm, &component, Arc::clone(&spy)).await;
    assert_eq!(ended.expect("it runs"), Outcome::Success(json("")));
    let said = spy.said.lock().expect("not poisoned").join("\n");
    assert!(said.contains(&address) && said.contains("`http.allow` of `[orders]`"), "{said}");

    let policy = toml::from_str::<Policy>("[orders]\nhttp.allow = [\"http://127.0.0.1:*\"]");
    let wasm =
        host_with(&[&component], |config| config.policy = policy.expect("it is valid").into());
    let ended = perform(&wasm, &component, Arc::new(Spy::default())).await;
    assert_eq!(ended.expect("it runs"), Outcome::Success(json("4")));
}

#[tokio::test]
async fn what_an_attempt_logs_is_kept_up_to_a_limit() {
    let guest = performing(
        r#"(import "segno:workflow/activity@0.2.0" "log" (func $log (param i32 i32 i32)))"#,
        "(loop $again (call $log (i32.const 2) (i32.const 20000) (i32.const 36)) (br $again))
         unreachable",
    );
    let (spy, ended) = perform_once(&guest).await;
    assert!(matches!(ended, Err(GuestError::OutOfTime { .. })), "{ended:?}");
    let said = spy.said.lock().expect("not poisoned");
    assert_eq!(said.len(), 10_000 / 100 + 1);
    assert!(said[100].contains("10000 bytes (`limits.log_bytes`)"), "{}", said[100]);
}
