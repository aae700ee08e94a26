//! Every example, deployed on a real host and run from start to end.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use segno_api::model::{
    FailureView, GraphQuery, Invocation, InvocationState, ReplayVerdict, SagaState, SendSignal,
    StartInvocation, WaitKind,
};
use segno_core::time::Millis;
use segno_demo::{
    order::{DemoOrder, ExpectedOutcome},
    payments::{
        PaymentsOptions,
        ledger::{PaymentKind, accepted},
    },
};
use serde_json::json;
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

async fn host(example: &str) -> TestHost {
    let host = TestHost::start(SEGNO).await;
    host.deploy(example, guests::component(example)).await;
    host
}

#[tokio::test(flavor = "multi_thread")]
async fn hello_greets() {
    let host = host("hello").await;
    host.start_as("a", "hello/hello", json!("Ada")).await.expect("it starts");
    assert_eq!(host.ended("a").await.output, Some(json!("Hello, Ada!")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_order_is_shipped_and_a_rejected_one_refunded() {
    let host = host("order").await;
    let order = |number, fate| DemoOrder::new(number, fate, host.payments.address(), Millis(1_000));
    let (approved, rejected) =
        (order(1, ExpectedOutcome::Approved), order(2, ExpectedOutcome::Rejected));
    let (forgotten, too_dear) =
        (order(3, ExpectedOutcome::Forgotten), order(4, ExpectedOutcome::TooDear));
    for order in [&approved, &rejected, &forgotten, &too_dear] {
        host.start_as(&order.id, "order/order", order.input.clone()).await.expect("it starts");
    }
    for order in [&approved, &rejected] {
        let promise = order.approval();
        let asks =
            |seen: &segno_api::model::Invocation| seen.waits.iter().any(|wait| wait.id == promise);
        host.until(&order.id, "waiting for its approval", asks).await;
    }
    let client = host.client();
    client.resolve(&approved.approval(), json!(true)).await.expect("it is asked for");
    let no = FailureView { code: 409, message: "too expensive".into(), details: None };
    client.reject(&rejected.approval(), no).await.expect("it is asked for");

    let shipped = host.ended(&approved.id).await;
    let receipt = shipped.output.expect("there is a receipt");
    assert_eq!(receipt["order"], json!(approved.id));
    let items = approved.input["items"].as_array().expect("it is a list").len();
    assert_eq!(receipt["shipments"].as_array().map(Vec::len), Some(items));
    for (order, code) in [(&rejected, 409), (&forgotten, 408), (&too_dear, 402)] {
        let ended = host.ended(&order.id).await;
        assert_eq!(ended.state, InvocationState::Rejected, "{ended:#?}");
        assert_eq!(ended.failure.map(|failure| failure.code), Some(code), "{}", order.id);
    }
    let entries = host.payments.entries();
    let (charges, refunds) =
        (accepted(&entries, PaymentKind::Charge), accepted(&entries, PaymentKind::Refund));
    for order in [&approved, &rejected, &forgotten, &too_dear] {
        assert_eq!(
            charges.get(&order.id).copied().unwrap_or(0),
            order.fate.charges(),
            "{}",
            order.id
        );
        assert_eq!(
            refunds.get(&order.id).copied().unwrap_or(0),
            order.fate.refunds(),
            "{}",
            order.id
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_take_turns_and_an_urgent_one_goes_first() {
    let host = host("reports").await;
    let all = [
        ("ada-1", 2, 0),
        ("ada-2", 3_600, 0),
        ("ada-3", 3_600, 0),
        ("bob-1", 3_600, 0),
        ("bob-2", 3_600, 0),
        ("cleo-1", 3_600, 0),
        ("cleo-2", 3_600, 0),
        ("cleo-3", 3_600, 9),
    ];
    for (id, days, urgency) in all {
        let customer = id.split('-').next().expect("ids name their customer");
        let input = json!({ "customer": customer, "days": days, "urgency": urgency });
        host.start_as(id, "reports/report", input).await.expect("it starts");
    }
    let begun = |seen: &Invocation| seen.journal_len > 0;
    let waits = async |id: &str| !begun(&host.client().invocation(id).await.expect("it is there"));
    for id in ["ada-1", "ada-2", "bob-1", "bob-2", "cleo-1"] {
        host.until(id, "on its way", begun).await;
    }
    assert!(waits("ada-3").await, "two of ada's are on their way");
    assert_eq!(host.ended("ada-1").await.output, Some(json!("2 days of ada")));
    host.until("cleo-3", "on its way, since it is urgent", begun).await;
    assert!(waits("cleo-2").await && waits("ada-3").await, "five are on their way");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_signs_up_once_and_confirms_also_before_the_run_asks_and_after_a_crash() {
    let mut host = host("signup").await;
    let start = |person: &str| StartInvocation {
        target: format!("signup/Signup@{person}/run"),
        input: json!(format!("{person}@example.org")),
        ..StartInvocation::default()
    };
    let started = host.client().start(&start("ada")).await.expect("it starts");
    assert_eq!((&*started.id, started.created), ("signup/Signup@ada/run", true));
    let ada = ["signup", "Signup", "ada"];
    let waits = |seen: &Invocation| {
        seen.waits.iter().any(|wait| wait.id == "signup/Signup@ada/p/confirmed")
    };
    host.until(&started.id, "waiting for the confirmation", waits).await;
    let again = host.client().start(&start("ada")).await.expect("it is answered");
    assert_eq!((again.id, again.created), (started.id.clone(), false));
    let promise = host.client().object_promise(ada, "confirmed").await.expect("it is there");
    assert_eq!(promise.awaited_by, [&*started.id]);

    host.server.kill().unwrap_or_else(|error| panic!("{error}"));
    host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));

    let seen = host.client().object(ada, None).await.expect("it is there");
    let code = seen.state["code"].as_u64().expect("a code was sent");
    host.start_as("wrong", "signup/Signup@ada/confirm", json!(code + 1)).await.expect("it starts");
    assert_eq!(host.ended("wrong").await.failure.map(|failure| failure.code), Some(403));
    host.start_as("right", "signup/Signup@ada/confirm", json!(code)).await.expect("it starts");
    assert_eq!(host.ended("right").await.state, InvocationState::Resolved);
    let confirmed = json!({ "mail": "ada@example.org", "confirmed_by": "code" });
    assert_eq!(host.ended(&started.id).await.output.as_ref(), Some(&confirmed));
    host.start_as("late", "signup/Signup@ada/confirm", json!(code)).await.expect("it starts");
    assert_eq!(host.ended("late").await.failure.map(|failure| failure.code), Some(409));
    host.start_as("status", "signup/Signup@ada/status", json!(null)).await.expect("it starts");
    assert_eq!(host.ended("status").await.output, Some(confirmed));
    for id in [&*started.id, "right", "late", "status"] {
        let replay = host.client().replay(id, None).await.expect("it can be replayed");
        assert_eq!(replay.verdict, ReplayVerdict::Identical, "{id}: {replay:#?}");
    }

    // Support confirms the sign-up before its run begins.
    let bob = ["signup", "Signup", "bob"];
    let by = json!("support");
    let settled = host.client().resolve_object_promise(bob, "confirmed", by).await;
    assert_eq!(settled.expect("it is settled").changed, Some(true));
    let started = host.client().start(&start("bob")).await.expect("it starts");
    let told = host.ended(&started.id).await.output.expect("it is resolved");
    assert_eq!(told["confirmed_by"], "support");
    let second = StartInvocation { id: Some("mine".to_owned()), ..start("bob") };
    let refused = host.client().start(&second).await.expect_err("bob has signed up").to_string();
    assert!(refused.contains("`signup/Signup@bob` has had its run"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_children_are_added_up() {
    let host = host("fan-out").await;
    host.start_as("wide", "fan-out/fan_out", json!({})).await.expect("it starts");
    let ended = host.ended("wide").await;
    let sum: u64 = (1..=1_000_u64).map(|number| number * number).sum();
    assert_eq!(ended.output, Some(json!(sum)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reminder_waits_on_a_timer_that_ends_a_day_later() {
    let host = host("reminder").await;
    let input = json!({ "who": "ada", "what": "practise", "days": 2 });
    host.start_as("later", "reminder/remind", input).await.expect("it starts");
    let asleep = |seen: &segno_api::model::Invocation| seen.state == InvocationState::Suspended;
    let seen = host.until("later", "asleep", asleep).await;
    let [wait] = seen.waits.as_slice() else { panic!("it waits for one thing: {seen:#?}") };
    assert_eq!(wait.kind, WaitKind::Timer);
    let sleeps = wait.until_at_ms.expect("a timer has an end") - seen.created_at_ms;
    assert!((DAY_MS..DAY_MS + 60_000).contains(&sleeps), "{sleeps} ms");
    // Without reminders only the follow-up is left, and it waits for a week.
    let input = json!({ "who": "ada", "what": "practise", "days": 0 });
    host.start_as("now", "reminder/remind", input).await.expect("it starts");
    let ended = host.ended("now").await.output.expect("it ends at once");
    let follow_up = ended["follow_up"].as_str().expect("it names the follow-up").to_owned();
    let follow_up = host.client().invocation(&follow_up).await.expect("it is there");
    let starts = follow_up.start_at_ms.or(follow_up.retry_at_ms).expect("it starts later");
    assert!(starts - follow_up.created_at_ms >= 7 * DAY_MS - 60_000, "{follow_up:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approver_is_reminded_comments_and_decides() {
    let host = host("approval").await;
    let input = json!({ "title": "Score", "approver": "clara", "remind_after_s": 1 });
    host.start_as("doc", "approval/approval", input).await.expect("it starts");
    let comment = |text: &str| SendSignal {
        name: "comment".into(),
        payload: json!(text),
        ..SendSignal::default()
    };
    host.client().signal("doc", &comment("too fast")).await.expect("it takes signals");
    let reminded = |seen: &segno_api::model::Invocation| !seen.children.is_empty();
    host.until("doc", "reminded", reminded).await;
    // A signal that the workflow could not read is refused to its sender, and changes nothing.
    let numbered = SendSignal { payload: json!(5), ..comment("") };
    let misspelt = SendSignal { name: "coment".into(), ..comment("again") };
    for (said, words) in [
        (host.client().signal("doc", &numbered).await.map(drop), "`comment` of `approval`: 5 is"),
        (host.client().signal("doc", &misspelt).await.map(drop), "it takes comment"),
        (
            host.client().resolve("doc/p/decision", json!("maybe")).await.map(drop),
            "the promise `decision` of `approval`: \"maybe\" is not",
        ),
    ] {
        let said = said.expect_err("it does not fit").to_string();
        assert!(said.contains(words), "{said}");
    }
    host.client().resolve("doc/p/decision", json!("approve")).await.expect("it waits for it");
    let verdict = host.ended("doc").await.output.expect("there is a verdict");
    assert_eq!(verdict["decision"], json!("approve"));
    assert_eq!(verdict["comments"], json!(["too fast"]));
    assert!(verdict["reminders"].as_u64() >= Some(1), "{verdict}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_is_charged_until_it_is_cancelled_or_unpaid() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let policy = folder.path().join("policy.toml");
    std::fs::write(&policy, "[subscription]\nhttp.allow = [\"http://127.0.0.1:*\"]\n")
        .expect("it can be written");
    let policy = policy.to_str().expect("it is text");
    let host = TestHost::with(SEGNO, PaymentsOptions::default(), &["--policy", policy]).await;
    host.deploy("subscription", guests::component("subscription")).await;
    // The trial ends immediately, and the next period is far away.
    let plan = |price_cents: u64| {
        let payments = host.payments.address();
        json!({
            "customer": format!("{price_cents}@example.org"), "price_cents": price_cents,
            "payments": payments, "trial_s": 0, "remind_after_s": 0,
        })
    };
    let target = "subscription/subscription";
    host.start_as("paid", target, plan(900)).await.expect("it starts");
    host.start_as("unpaid", target, plan(200_000)).await.expect("it starts");

    let charged =
        |seen: &segno_api::model::Invocation| seen.waits.iter().any(|wait| wait.id == "paid/2");
    host.until("paid", "waiting for the next period", charged).await;
    let cancel = SendSignal { name: "cancel".into(), ..SendSignal::default() };
    host.client().signal("paid", &cancel).await.expect("it takes signals");
    let ended = host.ended("paid").await.output;
    assert_eq!(ended, Some(json!({ "paid": 1, "because": "cancelled" })));
    let ended = host.ended("unpaid").await.output;
    assert_eq!(ended, Some(json!({ "paid": 0, "because": "unpaid" })));
    let entries = host.payments.entries();
    assert_eq!(
        accepted(&entries, PaymentKind::Charge).into_iter().collect::<Vec<_>>(),
        [("900@example.org/1".to_owned(), 1)]
    );
    assert_eq!(entries.iter().filter(|entry| !entry.accepted).count(), 4, "each with its own key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trip_is_booked_as_a_whole_or_undone() {
    // Uses the module name that may call the payment service.
    let host = TestHost::start(SEGNO).await;
    host.deploy("order", guests::component("trip")).await;
    let trip = |who: &str, city: &str, nights: u32| {
        let payments = host.payments.address();
        json!({ "traveller": who, "city": city, "nights": nights, "payments": payments })
    };
    for (id, city, nights) in
        [("well", "Paris", 3), ("no-hotel", "Atlantis", 3), ("long", "Paris", 31)]
    {
        host.start_as(id, "order/trip", trip(id, city, nights)).await.expect("it starts");
    }
    let booking = host.ended("well").await.output.expect("it is booked");
    assert_eq!(booking["flight"], "flight-well/0");
    for (id, undone) in [("no-hotel", "`book_flight` undone"), ("long", "`book_flight` undone")] {
        let failure = host.ended(id).await.failure.expect("it failed");
        assert!(failure.message.ends_with(undone), "{}", failure.message);
        let sagas = host.client().sagas(id).await.expect("it has one").items;
        assert_eq!((sagas.len(), sagas[0].state), (1, SagaState::Undone), "{sagas:#?}");
        let replayed = host.client().replay(id, None).await.expect("it is replayed");
        assert_eq!(replayed.verdict, ReplayVerdict::Identical);
    }
    let entries = host.payments.entries();
    let of = |kind| accepted(&entries, kind).into_keys().collect::<Vec<_>>();
    assert_eq!(
        (of(PaymentKind::Charge), of(PaymentKind::Refund)),
        (names(&["long", "well"]), names(&["long"]))
    );
}

/// Output of `segno` with these arguments against this host. The flag is true if it succeeded.
fn said(host: &TestHost, arguments: &[&str]) -> (String, bool) {
    let mut command = Command::new(SEGNO);
    command.args(arguments).args(["--server", &host.client().server()]);
    let said = command.output().expect("it runs");
    let text = [said.stdout, said.stderr].concat();
    (String::from_utf8_lossy(&text).into_owned(), said.status.success())
}

#[tokio::test(flavor = "multi_thread")]
async fn prices_go_from_files_to_files_as_a_function_and_as_a_plan() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/prices");
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let [data, out] = ["data", "out"].map(|name| folder.path().join(name));
    for made in [&data, &out] {
        std::fs::create_dir(made).expect("a folder");
    }
    std::fs::copy(example.join("data/north.csv"), data.join("north.csv")).expect("a file");
    let policy = std::fs::read_to_string(example.join("policy.toml")).expect("it is there");
    let policy = policy.replace("/srv/prices", &folder.path().display().to_string());
    let place = folder.path().join("policy.toml");
    std::fs::write(&place, policy).expect("a file");
    let place = place.to_str().expect("it is text");
    let host = TestHost::with(SEGNO, PaymentsOptions::default(), &["--policy", place]).await;
    host.deploy("prices", guests::component("prices")).await;

    // Without the list of the south the run fails. A later run takes over the completed nodes.
    let plan = example.join("plan.toml").display().to_string();
    let input = r#"{"north": "/in/north.csv", "south": "/in/south.csv"}"#;
    let run =
        ["graph", "run", &plan, "--module", "prices", "--input", input, "--id", "plan", "--wait"];
    let (told, went_well) = said(&host, &run);
    assert!(!went_well && told.contains("clean_south") && told.contains("not-run"), "{told}");
    assert!(told.contains("segno graph retry-failed plan"), "{told}");
    std::fs::copy(example.join("data/south.csv"), data.join("south.csv")).expect("a file");
    let (told, went_well) = said(&host, &["graph", "retry-failed", "plan", "--wait"]);
    assert!(went_well && told.contains("takes over what plan completed"), "{told}");
    let attempts = host.client().graph("plan-r1", &GraphQuery::default()).await.expect("a run");
    let took = |name: &str| {
        let node = attempts.nodes.iter().find(|node| node.name == name).expect("a node");
        node.settled_at_ms.unwrap_or_default() - node.started_at_ms.unwrap_or_default()
    };
    assert_eq!(took("clean_north"), 0, "its output was taken over");
    let report = |id: &'static str| {
        let host = &host;
        async move { host.ended(id).await.output.expect("a report") }
    };
    let planned = report("plan-r1").await["report"].clone();
    let written = std::fs::read(out.join("report.json")).expect("it was written");
    let written: serde_json::Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!(written, planned);
    assert!(planned["articles"].as_u64().is_some_and(|articles| articles > 4), "{planned}");

    // The typed graph of the module has the same result, and the journal of its workflow replays.
    let input = serde_json::from_str(input).expect("JSON");
    host.start_as("typed", "prices/prices", input).await.expect("it starts");
    assert_eq!(report("typed").await, planned);
    let replayed = host.client().replay("typed", None).await.expect("it is replayed");
    assert_eq!(replayed.verdict, ReplayVerdict::Identical);
    let (told, _) = said(&host, &["graph", "show", "typed/0"]);
    assert!(told.contains("merge") && told.contains("resolved"), "{told}");
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_interrupted_says_what_goes_on_and_it_does() {
    let host = host("approval").await;
    let input = json!({ "title": "Annual report", "approver": "Ada" }).to_string();
    let mut call = Command::new(SEGNO);
    call.args([
        "call",
        "approval/approval",
        &input,
        "--id",
        "it",
        "--server",
        &host.client().server(),
    ]);
    let call = call.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    while host.client().invocation("it").await.is_err() {
        tokio::task::yield_now().await;
    }
    let waits = |seen: &Invocation| !seen.waits.is_empty();
    host.until("it", "waiting for a decision", waits).await;
    let interrupt = Command::new("kill").args(["-INT", &call.id().to_string()]).status();
    assert!(interrupt.expect("there is `kill`").success());
    let said = call.wait_with_output().expect("it ends");
    let error = String::from_utf8_lossy(&said.stderr);
    assert!(error.contains("`it` continues: `segno result it --wait 1h`"), "{error}");
    assert_eq!(said.status.code(), Some(6), "{error}");
    host.client().resolve("it/p/decision", json!("approve")).await.expect("it is settled");
    assert_eq!(host.ended("it").await.state, InvocationState::Resolved);
}
