//! Guests that misbehave while they run. Each is stopped, its invocation states the reason, and no
//! other execution is affected.

use std::net::TcpListener;

use segno_api::model::{Invocation, InvocationState};
use segno_core::time::Millis;
use segno_demo::payments::PaymentsOptions;
use serde_json::{Value, json};
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Starts a canary on `host`, settles its promise, and checks its outcome.
async fn canary_ends(host: &TestHost, id: &str) {
    let manners = json!({ "name": "Ada", "times": 2 });
    host.start_as(id, "hostile/behave", manners).await.expect("it starts");
    let promise = format!("{id}/p/go");
    let asks = |seen: &Invocation| seen.waits.iter().any(|wait| wait.id == promise);
    host.until(id, "waiting for its promise", asks).await;
    host.client().resolve(&promise, json!("sings")).await.expect("it waits for it");
    assert_eq!(host.ended(id).await.output, Some(json!("Ada sings 2 times")));
}

fn reason(invocation: &Invocation) -> String {
    let note = invocation.note.as_ref().map(|note| note.message.clone());
    let failure = invocation.failure.as_ref().map(|failure| failure.message.clone());
    note.or(failure).unwrap_or_default()
}

/// Runs `hostile/{function}` next to an invocation that waits. The reason must contain one of
/// `words`.
async fn misbehaves(function: &str, input: Value, words: &[&str]) {
    // One second of CPU time is plenty for these tests, and a tenth of the default limit.
    let host = TestHost::with(SEGNO, PaymentsOptions::default(), &["--limit", "cpu_ms=1000"]).await;
    let pid = host.server.pid();
    host.deploy("hostile", guests::component("hostile")).await;
    let manners = json!({ "name": "Ada", "times": 2 });
    host.start_as("bystander", "hostile/behave", manners).await.expect("it starts");
    host.start_as("bad", &format!("hostile/{function}"), input).await.expect("it starts");

    let named = |seen: &Invocation| words.iter().any(|word| reason(seen).contains(word));
    host.until("bad", &format!("stopped because of {words:?}"), named).await;

    // Other executions continue while the bad one is stopped, waits for its next attempt, or runs
    // again.
    host.start_as("polite", "hostile/decline", json!(null)).await.expect("it starts");
    let polite = host.ended("polite").await;
    assert_eq!(polite.failure.map(|failure| failure.code), Some(418));
    let promise = "bystander/p/go";
    let asks = |seen: &Invocation| seen.waits.iter().any(|wait| wait.id == promise);
    host.until("bystander", "waiting for its promise", asks).await;
    host.client().resolve(promise, json!("sings")).await.expect("it waits for it");
    assert_eq!(host.ended("bystander").await.output, Some(json!("Ada sings 2 times")));
    assert_eq!(host.server.pid(), pid);
    host.client().kill("bad").await.expect("it can be given up");
    assert_eq!(host.ended("bad").await.state, InvocationState::Cancelled);
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_is_stopped_by_its_time() {
    misbehaves("spin", json!(null), &["limits.cpu_ms"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_recursion_is_stopped_by_its_stack() {
    misbehaves("recurse", json!(0), &["recursion"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn growth_without_bound_is_stopped_by_the_memory_limit() {
    misbehaves("hoard", json!(null), &["memory"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_above_the_limit_is_not_taken() {
    misbehaves("shout", json!(9 << 20), &["limits.output_bytes"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_a_trap_and_says_where() {
    misbehaves("stumble", json!(null), &["failed at"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_compute_for_ever_leave_slots_to_others_and_end_when_killed() {
    // None of them ends during the test, so each slot that one holds stays taken.
    let arguments = ["--slots", "16", "--limit", "cpu_ms=3600000"];
    let host = TestHost::with(SEGNO, PaymentsOptions::default(), &arguments).await;
    host.deploy("hostile", guests::component("hostile")).await;
    let busy: Vec<String> = (0..48).map(|number| format!("busy-{number}")).collect();
    for id in &busy {
        host.start_as(id, "hostile/spin", json!(null)).await.expect("it starts");
    }
    for number in 0..5 {
        canary_ends(&host, &format!("canary-{number}")).await;
    }
    // They get a quarter of the slots. All others were put off.
    until(&host, "segno_put_off_total", |put_off| put_off >= 44.0).await;
    until(&host, "segno_executions_running", |running| running <= 4.0).await;

    for id in &busy {
        host.client().kill(id).await.expect("it can be given up");
        assert_eq!(host.ended(id).await.state, InvocationState::Cancelled);
    }
    until(&host, "segno_executions_running", |running| running == 0.0).await;
    canary_ends(&host, "canary-at-last").await;
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

/// Waits until `seen` accepts the host's metric `name`.
async fn until(host: &TestHost, name: &str, seen: impl Fn(f64) -> bool) {
    let url = format!("{}/metrics", host.client().server());
    let give_up_at = host.env.clock.now() + Millis(30_000);
    loop {
        let answer = reqwest::get(&url).await.expect("the host answers");
        let text = answer.text().await.expect("it is text");
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let figure = line.unwrap_or_else(|| panic!("there is no {name}: {text}"));
        if seen(figure.parse().expect("it is a number")) {
            return;
        }
        assert!(host.env.clock.now() < give_up_at, "{name} is {figure}");
        host.env.runtime.sleep(Millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_for_ever_is_cut_and_harms_nobody() {
    misbehaves("chatter", json!(null), &["limits.cpu_ms"]).await;
}

/// Address of a server that accepts connections and never answers.
fn silent_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    // The server ends with the process.
    std::thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    format!("http://{address}")
}

/// On a host with these arguments, runs `count` HTTP steps and as many activities against a server
/// that never answers, and then small executions, one after the other. Returns the duration of the
/// slowest of those.
async fn beside_silence(count: usize, arguments: &[&str]) -> Millis {
    let address = silent_server();
    let folder = tempfile::tempdir().expect("a folder");
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, format!("[flows]\nhttp.allow = [\"{address}\"]\n")).expect("a file");
    let policy = ["--policy", policy.to_str().expect("a path")];
    let arguments = [&policy, arguments].concat();
    let mut host = TestHost::with(SEGNO, PaymentsOptions::default(), &arguments).await;
    host.deploy("flows", guests::component("flows")).await;
    host.deploy("hostile", guests::component("hostile")).await;
    host.start_as("warm", "hostile/decline", json!(null)).await.expect("it starts");
    host.ended("warm").await;
    let flow = |number: usize| format!("flow-{number}");
    for number in 0..count {
        let plan = json!({ "ledger": address, "flow": flow(number), "effects": 1 });
        host.start_as(&format!("step-{number}"), "flows/effects", plan).await.expect("it starts");
        let effect = json!({ "ledger": address, "flow": flow(number), "step": 0 });
        let id = format!("activity-{number}");
        host.start_as(&id, "flows/by_activity", effect).await.expect("it starts");
    }
    // None of the other executions ends here. If they held all slots, these would wait for a
    // minute.
    let mut longest = Millis::ZERO;
    let many = async {
        for number in 0..20 {
            let (id, begins_at) = (format!("polite-{number}"), host.env.clock.now());
            host.start_as(&id, "hostile/decline", json!(null)).await.expect("it starts");
            let polite = host.ended(&id).await;
            assert_eq!(polite.failure.map(|failure| failure.code), Some(418));
            longest = longest.max(host.env.clock.now().since(begins_at));
        }
    };
    host.env.within(Millis(20_000), many).await.expect("they are held up");
    let memory = tests::chaos::memory::anonymous_mib(host.server.pid());
    eprintln!("{count} of each: {longest} at the longest, {memory} MiB");
    host.server.kill().unwrap_or_else(|error| panic!("{error}"));
    longest
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_never_answer_hold_up_nobody() {
    // The same number of slots of each kind. The silent steps would take all of them if they could.
    let narrow = ["--slots", "16", "--requests", "16", "--activities", "16"];
    beside_silence(40, &narrow).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "two thousand requests take half a minute"]
async fn eleven_hundred_that_are_never_answered_hold_up_nobody_for_a_second() {
    assert!(beside_silence(1_100, &[]).await < Millis(1_000));
}
