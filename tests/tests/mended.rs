//! Fixed code reaches halted executions. Ended executions are started again, and removed.

use segno_api::model::{
    DryEnd, ForkInvocation, ForkedFrom, GivenResult, InvocationQuery, InvocationState,
    ReplayVerdict, RestartInvocation, UnansweredPolicy,
};
use segno_client::ClientError;
use serde_json::json;
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// A host with `tune`, whose workflows are halted by their defects, and with the fixed module as
/// `tune2`. Returns the digest of the fixed module.
async fn halted(ids: &[(&str, &str)]) -> (TestHost, String) {
    let host = TestHost::start(SEGNO).await;
    host.deploy("tune", guests::component("tune-one")).await;
    for (id, function) in ids {
        host.start_as(id, &format!("tune/{function}"), json!("waltz")).await.expect("it starts");
        until_halted(&host, id).await;
    }
    let mended = host.deploy("tune2", guests::component("tune-two")).await;
    (host, mended)
}

async fn until_halted(host: &TestHost, id: &str) {
    host.until(id, "halted", |seen| seen.state == InvocationState::Halted).await;
}

/// Code and detail of a refusal.
fn refusal<T: std::fmt::Debug>(answer: Result<T, ClientError>) -> (String, String) {
    match answer.expect_err("it is refused") {
        ClientError::Refused(problem) => (problem.code.clone(), problem.detail.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_halted_execution_goes_on_with_mended_code_if_that_repeats_its_journal() {
    let (mut host, mended) = halted(&[("enc", "encore"), ("ove", "overture")]).await;
    let client = host.client();
    let old = client.invocation("enc").await.expect("it is there").module.expect("it has one");

    // The same code fails again. A module without the function, or an unknown module, is refused.
    client.resume("enc", None).await.expect("it was halted");
    until_halted(&host, "enc").await;
    host.deploy("hello", guests::component("hello")).await;
    let (code, why) = refusal(client.resume("enc", Some("hello".to_owned())).await);
    assert!(code == "diverges" && why.contains("encore"), "{code}: {why}");
    let (code, _) = refusal(client.resume("enc", Some("nothing".to_owned())).await);
    assert_eq!(code, "unknown-module");
    let still = client.invocation("enc").await.expect("it is there");
    assert_eq!((still.state, still.module.as_deref()), (InvocationState::Halted, Some(&*old)));

    let moved = client.resume("enc", Some("tune2".to_owned())).await.expect("it repeats it");
    assert_eq!(moved.module.as_deref(), Some(&*mended));
    assert_eq!(moved.records, Some(still.journal_len));
    let ended = host.ended("enc").await;
    assert_eq!(ended.output, Some(json!(["do", "mi"])));
    assert_eq!(ended.module.as_deref(), Some(&*mended));
    // The later calls use the new module, and so does the replay.
    let calls = client.invocation("enc").await.expect("it is there").children;
    let pinned = client.invocation(&calls[0].id).await.expect("it is there").module;
    assert_eq!(pinned.as_deref(), Some(&*mended));
    let replay = client.replay("enc", None).await.expect("it can be replayed");
    assert_eq!((replay.verdict, &replay.module), (ReplayVerdict::Identical, &mended));

    // Nothing was recorded, so nothing must be repeated.
    let moved = client.resume("ove", Some("tune2".to_owned())).await.expect("it may begin");
    assert_eq!(moved.module.as_deref(), Some(&*mended));
    host.server.kill().expect("it was alive");
    host.server.restart().await.expect("it comes back");
    assert_eq!(host.ended("ove").await.output, Some(json!("waltz")));
}

#[tokio::test(flavor = "multi_thread")]
async fn code_that_asks_for_something_else_does_not_take_over() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("tune", guests::component("tune-one")).await;
    host.start_as("ply", "tune/play", json!("waltz")).await.expect("it starts");
    host.until("ply", "waiting", |seen| !seen.waits.is_empty() && seen.journal_len > 2).await;
    let client = host.client();
    host.deploy("tune2", guests::component("tune-two")).await;
    let (code, _) = refusal(client.resume("ply", Some("tune2".to_owned())).await);
    assert_eq!(code, "wrong-state", "it is not halted");
    client.halt("ply").await.expect("it runs");
    let (code, why) = refusal(client.resume("ply", Some("tune2".to_owned())).await);
    assert!(code == "diverges" && why.contains("segno replay ply --module tune2"), "{code}: {why}");
    client.resume("ply", None).await.expect("it is halted");
    client.resolve("ply/p/go", json!(true)).await.expect("it waits for it");
    assert_eq!(host.ended("ply").await.output, Some(json!(["waltz", "one", "do", "mi"])));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_is_started_once_more_and_the_old_one_removed() {
    let (host, mended) = halted(&[("enc", "encore")]).await;
    let client = host.client();
    let (code, why) = refusal(client.remove("enc").await);
    assert!(code == "not-removable" && why.contains("cancel or kill `enc` first"), "{code}: {why}");

    let on = RestartInvocation { module: Some("tune2".to_owned()), ..Default::default() };
    let again = client.restart("enc", &on).await.expect("it is started");
    assert!(again.created && again.id == "enc-r1", "{again:?}");
    assert_eq!(host.ended("enc-r1").await.output, Some(json!(["do", "mi"])));
    let new = client.invocation("enc-r1").await.expect("it is there");
    assert_eq!(new.labels.get("restart-of").map(String::as_str), Some("enc"));
    assert_eq!((new.module.as_deref(), new.input), (Some(&*mended), json!("waltz")));
    let named = RestartInvocation { id: Some("other".to_owned()), module: None };
    assert!(client.restart("enc", &named).await.expect("it is started").created);
    assert!(!client.restart("enc", &named).await.expect("it is there").created);
    assert_eq!(refusal(client.restart("nothing", &named).await).0, "unknown-invocation");

    let removed = client.remove("enc-r1").await.expect("it ended");
    assert_eq!(removed.promises, 3, "with both calls");
    assert_eq!(refusal(client.invocation("enc-r1").await).0, "unknown-invocation");
    assert_eq!(refusal(client.remove("enc-r1").await).0, "unknown-invocation");
    let again = client.restart("enc", &on).await.expect("the id is free");
    assert!(again.created && again.id == "enc-r1", "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_goes_on_from_a_record_as_another_one() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("tune", guests::component("tune-one")).await;
    host.start_as("ply", "tune/play", json!("waltz")).await.expect("it starts");
    host.until("ply", "waiting", |seen| !seen.waits.is_empty() && seen.journal_len > 2).await;
    let client = host.client();
    // An open command's reason to wait includes its place in the code.
    let why = client.why("ply").await.expect("it is there");
    let place = why.chain.last().and_then(|link| link.place.clone()).expect("it waits in its code");
    assert!(place.to_string().contains("play"), "{place}");
    client.resolve("ply/p/go", json!(true)).await.expect("it waits for it");
    let ended = host.ended("ply").await;
    let at = ended.journal_len - 1;
    let from = ForkInvocation { at, ..Default::default() };
    let tried = ForkInvocation { dry_run: true, ..from.clone() };
    let tried = client.fork("ply", &tried).await.expect("it is tried").dry_run.expect("it was");
    assert_eq!((tried.end, tried.same_end), (DryEnd::Ended, true));
    let forked = client.fork("ply", &from).await.expect("it goes on from there");
    assert!(forked.created && forked.id == "ply-f1", "{forked:?}");
    assert_eq!(host.ended("ply-f1").await.output, ended.output);
    let same = ForkInvocation { id: Some("ply-f1".to_owned()), ..from.clone() };
    assert!(!client.fork("ply", &same).await.expect("it is there").created);
    let listed = client.list(&InvocationQuery::default()).await.expect("there are some").items;
    let origin = ForkedFrom { id: "ply".to_owned(), records: at, set: Vec::new() };
    let shown = listed.iter().find(|item| item.id == "ply-f1").expect("it is listed");
    assert_eq!(shown.forked_from.as_ref(), Some(&origin));

    let refused = async |fork: ForkInvocation| refusal(client.fork("ply", &fork).await).0;
    let with = |at| ForkInvocation { at, id: Some("new".to_owned()), ..Default::default() };
    assert_eq!(refused(with(0)).await, "no-fork-there");
    assert_eq!(refused(with(at + 1)).await, "no-fork-there");
    assert_eq!(refused(with(at + 9)).await, "no-such-record");
    let given = GivenResult { command: 99, value: Some(json!(1)), failure: None };
    assert_eq!(refused(ForkInvocation { set: vec![given], ..with(at) }).await, "no-such-command");
    let neither = GivenResult { command: 0, value: None, failure: None };
    assert_eq!(refused(ForkInvocation { set: vec![neither], ..with(at) }).await, "invalid-field");
    let unanswered = UnansweredPolicy::Fail;
    assert_eq!(refused(ForkInvocation { unanswered, ..with(at) }).await, "invalid-field");
    let taken = ForkInvocation { id: Some("ply".to_owned()), ..from.clone() };
    assert_eq!(refused(taken).await, "key-reused");
    host.deploy("tune2", guests::component("tune-two")).await;
    let other = ForkInvocation { module: Some("tune2".to_owned()), ..with(at) };
    assert_eq!(refused(other).await, "diverges");
    assert_eq!(refusal(client.fork("nobody", &from).await).0, "unknown-invocation");
    assert_eq!(refusal(client.invocation("new").await).0, "unknown-invocation");
}
