//! The guest contract without the SDK: a module in the text format, wrapped as any toolchain does
//! it, on a real host. `other-languages.sh` tests other languages, and needs their compilers.

use std::path::Path;

use segno_api::model::{
    Invocation, InvocationState, ReplayVerdict, SendQuery, SendUpdate, StartInvocation, UpdateState,
};
use serde_json::{Value as Json, json};
use tests::test_host::TestHost;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

const MODULE: &str = include_str!("../../examples/other-languages/wat/module.wat");

/// `wasm-tools component embed guest-sdk/wit module.wat`, then `wasm-tools component new`.
fn component() -> Vec<u8> {
    let mut core = wat::parse_str(MODULE).expect("the module is well formed");
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk/wit");
    let (package, _) = resolve.push_dir(wit).expect("the contract is well formed");
    let world = resolve.select_world(&[package], Some("module")).expect("it has one world");
    embed_component_metadata(&mut core, &resolve, world, StringEncoding::UTF8)
        .expect("the contract can be embedded");
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true).module(&core).expect("the module fits the contract");
    encoder.encode().expect("it can be wrapped")
}

fn waits_for(promise: &str) -> impl Fn(&Invocation) -> bool {
    move |seen| seen.waits.iter().any(|wait| wait.id == promise)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_written_by_hand_survives_a_kill_and_replays() {
    let mut host = TestHost::start(SEGNO).await;
    host.deploy("hand", component()).await;
    let input = json!({ "text": "žluťoučký", "numbers": [1, 2, 3] });
    host.start_as("one", "hand/main", input.clone()).await.expect("it starts");
    host.until("one", "waiting for its call", waits_for("one/1")).await;

    host.server.kill().unwrap_or_else(|error| panic!("{error}"));
    host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));

    let ended = host.ended("one").await;
    assert_eq!((ended.state, ended.output), (InvocationState::Resolved, Some(input)));
    let replay = host.client().replay("one", None).await.expect("it can be replayed");
    assert_eq!(replay.verdict, ReplayVerdict::Identical, "{replay:#?}");
    // Started, run, call, two completions, finished.
    assert_eq!((replay.matched, replay.journal_len), (6, 6), "{replay:#?}");
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_written_by_hand_hears_that_it_is_cancelled() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("hand", component()).await;
    host.start_as("one", "hand/main", json!(1)).await.expect("it starts");
    host.until("one", "waiting for its call", waits_for("one/1")).await;
    host.client().cancel("one").await.expect("it runs");
    let ended = host.ended("one").await;
    let failure = ended.failure.expect("it failed");
    assert_eq!((failure.code, &*failure.message), (499, "cancelled"));
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

/// A component of every version of the contract, as built when that version was current. These
/// files never change. 0.1.0 was built from `host/bench/guest`. Since 0.2.0 they are built from
/// `tests/guests/parts`, which must use all additions of the version, with the command `segno` of
/// the version's last commit:
///
/// ```text
/// segno build tests/guests/parts --locked --out tests/contract/0.3.0.wasm
/// ```
const GOLDEN: &[(&str, &[u8])] = &[
    ("0.1.0", include_bytes!("../contract/0.1.0.wasm")),
    ("0.2.0", include_bytes!("../contract/0.2.0.wasm")),
];

/// A component that uses the parts of 0.2.0 that were added after the other one was built:
/// functions that run once per key, and promises of objects. It was built from `tests/guests/keys`.
const RUNS: &[u8] = include_bytes!("../contract/0.2.0-runs.wasm");

/// A host with the golden component of a version as the module `old`.
async fn host_of(version: &str) -> TestHost {
    let (_, component) = GOLDEN.iter().find(|(of, _)| *of == version).expect("it is kept");
    host_with(version, component).await
}

async fn host_with(version: &str, component: &[u8]) -> TestHost {
    let names = |name: &[u8]| component.windows(name.len()).any(|part| part == name);
    assert!(names(format!("segno:workflow/functions@{version}").as_bytes()), "{version}");
    let host = TestHost::start(SEGNO).await;
    host.deploy("old", component.to_vec()).await;
    host
}

async fn kill(host: &mut TestHost) {
    host.server.kill().unwrap_or_else(|error| panic!("{error}"));
    host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
}

/// Checks that the invocation resolved with `output`, and that its replay is identical.
async fn resolves(host: &TestHost, id: &str, output: Json) {
    let ended = host.ended(id).await;
    assert_eq!(ended.state, InvocationState::Resolved, "{ended:#?}");
    assert_eq!(ended.output.as_ref().unwrap_or(&Json::Null), &output, "{ended:#?}");
    let replay = host.client().replay(id, None).await.expect("it can be replayed");
    assert_eq!(replay.verdict, ReplayVerdict::Identical, "{replay:#?}");
    assert_eq!(replay.matched, replay.journal_len, "{replay:#?}");
}

/// Waits until a promise is awaited, and resolves it.
async fn let_go(host: &TestHost, id: &str, name: &str) {
    let promise = format!("{id}/p/{name}");
    host.until(id, "waiting", waits_for(&promise)).await;
    host.client().resolve(&promise, Json::Null).await.expect("it is awaited");
}

#[tokio::test(flavor = "multi_thread")]
async fn components_of_every_version_run_go_on_after_a_kill_and_replay() {
    for (version, _) in GOLDEN {
        let mut host = host_of(version).await;
        host.start_as("chain", "old/chain", json!({ "children": 5 })).await.expect("it starts");
        let waiting = json!({ "steps": 3, "turns": 2 });
        host.start_as("turns", "old/turns", waiting).await.expect("it starts");
        host.until("turns", "waiting for its turn", waits_for("turns/p/turn-0")).await;

        kill(&mut host).await;

        let_go(&host, "turns", "turn-0").await;
        let_go(&host, "turns", "turn-1").await;
        resolves(&host, "chain", json!(10)).await;
        resolves(&host, "turns", json!(2)).await;
        host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_0_2_0_keep_their_state_over_a_kill() {
    let mut host = host_of("0.2.0").await;
    host.start_as("add", "old/Tally@a/add", json!(3)).await.expect("it starts");
    resolves(&host, "add", json!(3)).await;

    kill(&mut host).await;

    host.start_as("calls", "old/calls", json!("a")).await.expect("it starts");
    resolves(&host, "calls", json!(["a", 10, ["add", "calls/0"]])).await;
    for (id, all, left) in [("count", false, json!(["add", "calls/0"])), ("all", true, json!([]))] {
        host.start_as(id, "old/Tally@a/forget", json!(all)).await.expect("it starts");
        resolves(&host, id, Json::Null).await;
        let look = format!("after-{id}");
        host.start_as(&look, "old/Tally@a/look", Json::Null).await.expect("it starts");
        resolves(&host, &look, json!(["a", 0, left])).await;
    }
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn workflows_of_0_2_0_answer_queries_and_updates_over_a_kill() {
    let mut host = host_of("0.2.0").await;
    host.start_as("it", "old/collects", Json::Null).await.expect("it starts");
    for (number, word) in ["one", "two", "three"].into_iter().enumerate() {
        let update = || SendUpdate { input: json!(word), ..SendUpdate::default() };
        let answer = host.client().update("it", "add_word", &update()).await.expect("an answer");
        assert_eq!(
            (answer.state, answer.output),
            (UpdateState::Completed, Some(json!(number + 1)))
        );
        let words = host.client().query("it", "words", &SendQuery::default()).await;
        let words = words.expect("an answer").value;
        assert_eq!(words, json!(["one", "two", "three"][..=number]));
        if number == 0 {
            let twice = host.client().update("it", "add_word", &update()).await;
            let twice = twice.expect_err("the validator refuses it");
            assert_eq!(twice.code(), "update-refused", "{twice}");
            kill(&mut host).await;
        }
    }
    resolves(&host, "it", json!(["one", "two", "three"])).await;
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_0_2_0_hold_over_a_kill() {
    let mut host = host_of("0.2.0").await;
    let input = |urgency: u8| json!({ "guest": "ada", "urgency": urgency });
    for (id, function, urgency) in [
        ("first", "visits", 0),
        ("second", "visits", 1),
        ("calm", "settles_down", 1),
        ("calmer", "settles_down", 2),
        ("alone", "alone", 0),
        ("skipped", "alone", 0),
    ] {
        host.start_as(id, &format!("old/{function}"), input(urgency)).await.expect("it starts");
    }
    for (id, said) in [("skipped", "`alone` is under way"), ("calm", "`calmer` came after it")] {
        let failure = host.ended(id).await.failure.expect("it does not begin");
        assert_eq!(failure.code, 409, "{id}");
        assert!(failure.message.contains(said), "{id}: {}", failure.message);
    }
    host.until("first", "waiting", waits_for("first/p/go")).await;

    kill(&mut host).await;

    host.until("first", "waiting", waits_for("first/p/go")).await;
    let second = host.client().invocation("second").await.expect("it is there");
    assert_eq!((second.state, second.journal_len), (InvocationState::Suspended, 0));
    for id in ["first", "second", "alone"] {
        let_go(&host, id, "go").await;
        resolves(&host, id, json!("ada")).await;
    }
    assert_eq!(host.ended("calmer").await.output, Some(json!(2)));
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_0_2_0_run_once_and_their_promises_are_there_over_a_kill() {
    let mut host = host_with("0.2.0", RUNS).await;
    let run = |key: &str| StartInvocation {
        target: format!("old/Visit@{key}/run"),
        input: json!(key),
        ..StartInvocation::default()
    };
    let id = host.client().start(&run("ada")).await.expect("it starts").id;
    host.until(&id, "waiting", waits_for("old/Visit@ada/p/confirmed")).await;
    host.start_as("early", "old/Visit@ada/look", Json::Null).await.expect("it starts");
    resolves(&host, "early", json!(["ada", null])).await;

    kill(&mut host).await;

    host.start_as("yes", "old/Visit@ada/confirm", json!(5)).await.expect("it starts");
    resolves(&host, "yes", json!([null, 5])).await;
    resolves(&host, &id, json!(["ada", 5])).await;
    host.start_as("no", "old/Visit@ada/refuse", Json::Null).await.expect("it starts");
    let late = host.ended("no").await.failure.expect("it is settled");
    assert_eq!(late.code, 409, "{}", late.message);
    host.start_as("late", "old/Visit@ada/look", Json::Null).await.expect("it starts");
    resolves(&host, "late", json!(["ada", 5])).await;
    let again = host.client().start(&run("ada")).await.expect("it is answered");
    assert_eq!((again.id, again.created), (id, false));

    host.start_as("bob-no", "old/Visit@bob/refuse", Json::Null).await.expect("it starts");
    resolves(&host, "bob-no", Json::Null).await;
    let id = host.client().start(&run("bob")).await.expect("it starts").id;
    let refused = host.ended(&id).await.failure.expect("it was refused before it asked");
    assert_eq!((refused.code, &*refused.message), (403, "fully booked"));
    host.start_as("twice", "old/visits_twice", json!("eve")).await.expect("it starts");
    resolves(&host, "twice", json!(["eve", 7, 409])).await;
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}
