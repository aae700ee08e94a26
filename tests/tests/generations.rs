//! Workflows that continue as new, on a real host that is killed meanwhile. No accepted signal is
//! lost, the id of the invocation leads to the newest generation, and each generation replays. Also
//! messages that arrive before a workflow is ready for them.

use std::time::Duration;

use segno_api::model::{
    InvocationState, ReplayVerdict, SendSignal, StartFirst, StartInvocation, Unread,
};
use serde_json::{Value as Json, json};
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

async fn signal(host: &TestHost, id: &str, name: &str, payload: Json, key: &str) -> String {
    let key = Some(key.to_owned());
    let signal = SendSignal { name: name.to_owned(), payload, key, ..SendSignal::default() };
    loop {
        match host.client().signal(id, &signal).await {
            Ok(taken) => return taken.id,
            Err(error) if error.to_string().contains("unknown") => panic!("{error}"),
            Err(_) => host.env.runtime.sleep(segno_core::time::Millis(50)).await,
        }
    }
}

async fn replays(host: &TestHost, id: &str) {
    let replay = host.client().replay(id, None).await.expect("it can be replayed");
    assert_eq!(replay.verdict, ReplayVerdict::Identical, "{id}: {replay:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_signal_is_lost_between_generations() {
    let mut host = TestHost::start(SEGNO).await;
    host.deploy("herald", guests::component("herald")).await;
    let relayed = host.start_as("told", "herald/relay", json!(1)).await.expect("it starts");
    assert!(relayed.created);
    let start = StartInvocation {
        id: Some("sum".to_owned()),
        target: "herald/tally".to_owned(),
        input: json!([2, 0, "told"]),
        labels: [("for".to_owned(), "ada".to_owned())].into(),
        ..StartInvocation::default()
    };
    host.client().start(&start).await.expect("it starts");
    let mut third = String::new();
    for number in 1..=20 {
        let taken = signal(&host, "sum", "add", json!(number), &format!("k{number}")).await;
        if number == 3 {
            third = taken;
        }
        if number % 7 == 0 {
            host.server.kill().unwrap_or_else(|error| panic!("{error}"));
            host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
        }
    }
    signal(&host, "sum", "end", Json::Null, "end").await;
    let ended = host.client().wait("sum", Duration::from_secs(60)).await.expect("it is there");
    assert_eq!((ended.state, ended.output), (InvocationState::Resolved, Some(json!(210))));

    // Ten generations received two signals each. The next one received the signal to end.
    let newest = host.client().invocation("sum").await.expect("it is there");
    let generation = newest.generation.expect("there are several");
    assert_eq!((&*newest.id, generation.number, generation.generations), ("sum/g/11", 11, 11));
    assert_eq!((newest.labels.get("for").map(String::as_str), newest.unread), (Some("ada"), None));
    for number in 1..=11 {
        let id = format!("sum/g/{number}");
        let one = host.client().invocation(&id).await.expect("it is there");
        assert_eq!(one.parent, None, "no generation is called by another");
        let generation = one.generation.expect("there are several");
        assert_eq!((&*generation.of, generation.number), ("sum", number));
        assert_eq!(generation.next, (number < 11).then(|| format!("sum/g/{}", number + 1)));
        replays(&host, &id).await;
        assert!(!host.client().kill(&id).await.expect("it is there").changed, "{id} has ended");
    }
    let first = host.client().wait("sum/g/1", Duration::ZERO).await.expect("it is there");
    assert_eq!(first.output, Some(json!(210)), "the first generation lasts to the end");
    assert_eq!(
        signal(&host, "sum", "add", json!(3), "k3").await,
        third,
        "a key is answered as the first time"
    );
    // One workflow sent the sum to another.
    host.client().resolve("told/p/done", json!(1)).await.expect("it waits");
    let told = host.ended("told").await;
    assert_eq!(told.output, Some(json!(["210"])));
    replays(&host, "told").await;
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_before_a_workflow_is_ready_is_kept_and_what_it_leaves_is_shown() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("herald", guests::component("herald")).await;
    // One request starts the workflow and sends the first signal.
    let input = json!(1);
    let start =
        Some(StartFirst { target: "herald/relay".to_owned(), input, ..StartFirst::default() });
    let first = |name: &str| SendSignal {
        name: name.to_owned(),
        payload: json!("one"),
        key: Some("first".to_owned()),
        start: start.clone(),
    };
    let taken = host.client().signal("early", &first("text")).await.expect("it is taken");
    assert_eq!((taken.signal, taken.started), (0, true));
    let again = host.client().signal("early", &first("text")).await.expect("it is taken");
    assert_eq!((again.signal, again.started), (0, false));
    // A promise may be settled before the workflow, which begins later, creates it. So may one that
    // the workflow never creates.
    let later = StartInvocation {
        id: Some("later".to_owned()),
        target: "herald/relay".to_owned(),
        input: json!(0),
        start_at_ms: Some(host.env.clock.now().0 + 1_500),
        ..StartInvocation::default()
    };
    host.client().start(&later).await.expect("it starts");
    for id in ["early", "later"] {
        // The signal that ends the workflow is sent last.
        for name in ["never", "done"] {
            let promise = format!("{id}/p/{name}");
            let settled = host.client().resolve(&promise, json!(7)).await.expect("it is kept");
            assert_eq!(settled.changed, Some(true), "{promise}");
        }
    }
    signal(&host, "later", "text", json!("nobody listens"), "lost").await;
    let refused = host.client().resolve("nobody/p/done", json!(7)).await;
    assert!(refused.is_err(), "there is no such workflow");
    let (early, later) = (host.ended("early").await, host.ended("later").await);
    assert_eq!((early.output, later.output), (Some(json!(["one"])), Some(json!([]))));
    let never = vec!["never".to_owned()];
    assert_eq!(early.unread, Some(Unread { signals: 0, promises: never.clone() }));
    assert_eq!(later.unread, Some(Unread { signals: 1, promises: never }));
    let metrics = reqwest::get(format!("{}/metrics", host.client().server())).await;
    let metrics = metrics.expect("the host answers").text().await.expect("it is text");
    for (name, count) in [("segno_unread_signals_total", 1), ("segno_unmade_promises_total", 2)] {
        assert!(metrics.contains(&format!("{name} {count}\n")), "{metrics}");
    }
    replays(&host, "early").await;
    replays(&host, "later").await;
    host.server.stop().await.unwrap_or_else(|error| panic!("{error}"));
}
