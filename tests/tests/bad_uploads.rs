//! Invalid uploads, starts and inputs. Each is refused with a code and a message, and the host and
//! its executions are unharmed.

use std::process::Command;

use segno_api::model::{ImportStatus, Problem};
use segno_client::ClientError;
use serde_json::{Value, json};
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// An empty component.
const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";
/// An empty core module.
const CORE: &[u8] = b"\0asm\x01\0\0\0";
/// `(component (import "acme:mail/send@1.0.0" (instance (export "send" (func)))))`.
const ACME: &str =
    r#"(component (import "acme:mail/send@1.0.0" (instance (export "send" (func)))))"#;

fn refused<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> Problem {
    match answer {
        Err(ClientError::Refused(problem)) => *problem,
        other => panic!("it was not refused: {other:?}"),
    }
}

/// A host on which one execution waits, so that every test can check that it is unharmed.
async fn busy_host() -> TestHost {
    let host = TestHost::start(SEGNO).await;
    host.deploy("hostile", guests::component("hostile")).await;
    let manners = json!({ "name": "Ada", "times": 2 });
    host.start_as("bystander", "hostile/behave", manners).await.expect("it starts");
    waits(&host).await;
    host
}

async fn waits(host: &TestHost) {
    let waits = |seen: &segno_api::model::Invocation| {
        seen.waits.iter().any(|wait| wait.id == "bystander/p/go")
    };
    host.until("bystander", "waiting for its promise", waits).await;
}

/// Checks that the same process still serves, and that the waiting execution continues.
async fn unharmed(host: TestHost, pid: u32) {
    assert_eq!(host.server.pid(), pid);
    host.client().resolve("bystander/p/go", json!("sings")).await.expect("it waits for it");
    assert_eq!(host.ended("bystander").await.output, Some(json!("Ada sings 2 times")));
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn uploads_that_cannot_run_are_refused_by_name() {
    let host = busy_host().await;
    let pid = host.server.pid();
    let acme = wat::parse_str(ACME).expect("it is well formed");
    let cases: [(&str, Vec<u8>, &str, &str); 5] = [
        ("text", b"#!/bin/sh\nexit 0\n".to_vec(), "not-wasm", "not WebAssembly"),
        ("nothing", Vec::new(), "not-wasm", "not WebAssembly"),
        ("core", CORE.to_vec(), "core-module", "segno build"),
        ("empty", EMPTY.to_vec(), "missing-exports", "segno:workflow/functions"),
        ("acme", acme, "unknown-imports", "acme:mail/send@1.0.0"),
    ];
    for (alias, bytes, code, words) in cases {
        let problem = refused(host.client().deploy(bytes, Some(alias)).await);
        assert_eq!((problem.code.as_str(), problem.status), (code, 422), "{alias}: {problem:#?}");
        assert!(problem.detail.contains(words), "{alias}: {}", problem.detail);
    }
    let mut half = guests::component("hostile");
    half.truncate(half.len() / 2);
    let problem = refused(host.client().deploy(half, Some("half")).await);
    assert_eq!(problem.code, "malformed-component", "{problem:#?}");

    let modules = host.client().modules().await.expect("it answers").modules;
    assert_eq!(modules.len(), 1, "nothing of them was kept: {modules:#?}");
    unharmed(host, pid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_above_the_limit_is_refused_before_it_is_read() {
    let host = busy_host().await;
    let pid = host.server.pid();
    let too_large = vec![0; (64 << 20) + 1];
    let problem = refused(host.client().deploy(too_large, Some("large")).await);
    assert_eq!(problem.status, 413, "{problem:#?}");
    assert!(problem.detail.contains("limits.component_bytes"), "{}", problem.detail);
    unharmed(host, pid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn starts_that_make_no_sense_are_refused_by_name() {
    let host = busy_host().await;
    let pid = host.server.pid();
    let problem = refused(host.start_as("a", "nowhere/play", json!(null)).await);
    assert_eq!((problem.code.as_str(), problem.status), ("unknown-module", 404));
    assert!(problem.fields["known"].to_string().contains("hostile"), "{problem:#?}");

    let problem = refused(host.start_as("a", "hostile/dance", json!(null)).await);
    assert_eq!((problem.code.as_str(), problem.status), ("unknown-function", 404));
    assert!(problem.fields["known"].to_string().contains("behave"), "{problem:#?}");

    let problem =
        refused(host.start_as("a", "hostile/behave", json!({ "name": 7, "times": 1 })).await);
    assert_eq!((problem.code.as_str(), problem.status), ("invalid-input", 422));
    assert_eq!(problem.fields["errors"][0]["path"], json!("/name"), "{problem:#?}");

    let problem = refused(host.client().invocation("a").await);
    assert_eq!(problem.status, 404, "nothing was started: {problem:#?}");
    unharmed(host, pid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_used_again_answers_the_first_execution_or_says_what_differs() {
    let host = busy_host().await;
    let pid = host.server.pid();
    let same = json!({ "name": "Ada", "times": 2 });
    let again = host.start_as("bystander", "hostile/behave", same).await.expect("it is the same");
    assert!(!again.created, "{again:#?}");

    let other = json!({ "name": "Bela", "times": 2 });
    let other = refused(host.start_as("bystander", "hostile/behave", other).await);
    assert_eq!((other.code.as_str(), other.status), ("key-reused", 409), "{other:#?}");
    let first = host.client().invocation("bystander").await.expect("it is there");
    assert_eq!(first.input["name"], json!("Ada"));

    let elsewhere = refused(host.start_as("bystander", "hostile/shout", json!(1)).await);
    assert_eq!(elsewhere.code, "key-reused", "{elsewhere:#?}");
    unharmed(host, pid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_sockets_can_be_imported_and_are_refused_when_called() {
    let host = busy_host().await;
    let pid = host.server.pid();
    let deployed = host.client().deploy(guests::component("ambient"), Some("ambient")).await;
    let module = deployed.expect("imports alone do no harm").module;
    let refused = |function: &str| {
        let found = module.description.imports.iter().find(|import| {
            import.status == ImportStatus::Refused
                && import.functions.iter().any(|name| name.contains(function))
        });
        found.unwrap_or_else(|| panic!("`{function}` is not marked as refused: {module:#?}"));
    };
    refused("open-at");
    refused("instance-network");

    host.start_as("fine", "ambient/abstain", json!(null)).await.expect("it starts");
    assert_eq!(host.ended("fine").await.output, Some(json!(true)));
    for (id, target, words) in [
        ("file", "ambient/read", ["activity", "dirs"]),
        ("socket", "ambient/dial", ["ctx.http", "http.allow"]),
    ] {
        host.start_as(id, target, json!("/etc/passwd")).await.expect("it starts");
        let named = |seen: &segno_api::model::Invocation| {
            let message = seen.note.as_ref().map(|note| note.message.as_str());
            let message = message.or(seen.failure.as_ref().map(|failure| failure.message.as_str()));
            message.is_some_and(|message| words.iter().all(|word| message.contains(word)))
        };
        host.until(id, "told what to use instead", named).await;
    }
    unharmed(host, pid).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_says_the_same_with_its_exit_codes() {
    let host = busy_host().await;
    let pid = host.server.pid();
    let file = host.folder().join("core.wasm");
    std::fs::write(&file, CORE).expect("it can be written");
    let file = file.to_string_lossy().into_owned();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(SEGNO);
        command.args(["--server", &host.client().server(), "--json"]).args(arguments);
        let output = command.output().expect("the command runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let document: Value =
            serde_json::from_str(&errors).unwrap_or_else(|_| json!({ "said": errors }));
        (output.status.code(), document)
    };
    let (code, said) = run(&["deploy", &file]);
    assert_eq!((code, &said["code"]), (Some(1), &json!("core-module")), "{said:#}");
    let (code, said) = run(&["start", "nowhere/play"]);
    assert_eq!((code, &said["code"]), (Some(3), &json!("unknown-module")), "{said:#}");
    let (code, said) = run(&["result", "nobody"]);
    assert_eq!((code, &said["code"]), (Some(3), &json!("unknown-invocation")), "{said:#}");
    unharmed(host, pid).await;
}

/// A component that takes minutes to compile: a few functions of several megabytes each.
fn heavy() -> Vec<u8> {
    let sized =
        |id: u8, content: Vec<u8>| [&[id], leb(content.len()).as_slice(), &content].concat();
    // `(func (param i64) (result i64))`: changes the parameter repeatedly.
    let mut body = vec![0];
    for step in 0_u32..300_000 {
        let factor = (step % 63) as u8;
        // local.get 0, i64.const, i64.mul, i64.const, i64.xor, local.set 0
        body.extend([0x20, 0, 0x42, factor, 0x7e, 0x42, 63 - factor, 0x85, 0x21, 0]);
    }
    body.extend([0x20, 0, 0x0b]);
    let count = 16;
    let code: Vec<u8> = [leb(body.len()), body].concat();
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        sized(1, vec![1, 0x60, 1, 0x7e, 1, 0x7e]),
        sized(3, [vec![count], vec![0; count.into()]].concat()),
        sized(10, [vec![count], code.repeat(count.into())].concat()),
    ];
    [EMPTY.to_vec(), sized(1, module.concat())].concat()
}

fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Names of the files with compiled code under `data`.
fn compiled_files(data: &std::path::Path) -> Vec<String> {
    let entries = |path: &std::path::Path| {
        let entries = std::fs::read_dir(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        entries.map(|entry| entry.expect("it can be read").path()).collect::<Vec<_>>()
    };
    let files = entries(&data.join("compiled")).into_iter().flat_map(|path| entries(&path));
    // Skips the folders of snapshots.
    let files = files.filter(|path| path.is_file());
    files.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_compiles_goes_on_and_stops_at_once() {
    let host = busy_host().await;
    let data = host.server.options().data.clone();
    let client = host.client().clone();
    let mut upload = tokio::task::JoinSet::new();
    upload.spawn(async move { client.deploy(heavy(), Some("heavy")).await });
    // Waits until the compiler is running.
    host.env.runtime.sleep(segno_core::time::Millis(2_000)).await;
    assert!(upload.try_join_next().is_none(), "it was compiled in no time");
    host.start_as("polite", "hostile/decline", json!(null)).await.expect("it starts");
    let failure = host.ended("polite").await.failure;
    assert_eq!(failure.map(|failure| failure.code), Some(418));
    waits(&host).await;
    // Returns an error if the host had to be killed.
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
    let answer = upload.join_next().await.expect("it was begun").expect("no panic");
    assert!(answer.is_err(), "{answer:?}");
    let files = compiled_files(&data);
    assert_eq!(files.len(), 2, "more than the code of one module and its hash is left: {files:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_takes_too_much_of_the_compiler_is_refused_by_name() {
    let limits = ["--limit", "compile_ms=3000", "--limit", "component_functions=20000"];
    let host = TestHost::with(SEGNO, Default::default(), &limits).await;
    let problem = refused(host.client().deploy(heavy(), Some("heavy")).await);
    assert_eq!(problem.code, "malformed-component", "{problem:#?}");
    assert!(problem.detail.contains("limits.compile_ms"), "{}", problem.detail);

    let functions = "(func)".repeat(20_001);
    let many = format!("(component (core module {functions}))");
    let many = wat::parse_str(many).expect("it is well formed");
    let problem = refused(host.client().deploy(many, Some("many")).await);
    assert_eq!(problem.code, "malformed-component", "{problem:#?}");
    assert!(
        problem.detail.contains("20001 functions")
            && problem.detail.contains("limits.component_functions"),
        "{}",
        problem.detail
    );
    let files = compiled_files(&host.server.options().data);
    assert!(files.is_empty(), "of refused components nothing is left: {files:?}");
    // The next compilation is not delayed.
    host.deploy("hostile", guests::component("hostile")).await;
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}
