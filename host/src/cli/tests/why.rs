//! The reasons for which executions do not continue: one situation each, with the first line of the
//! answer.

use segno_api::testing::{ApiWorld, new_promise};
use segno_core::{
    command::{Command, FenceOperation},
    id::{Claim, PromiseId},
    promise::{NewPromise, Note, ReleaseReason, Verdict},
    tags,
    time::Millis,
    value::Text,
};
use serde_json::json;

use super::{Exit, host, run, run_in};

async fn held(world: &ApiWorld, id: &str) -> Claim {
    world.start(id).await.ok();
    world.acquire(id).await
}

/// An execution that is suspended on these promises.
async fn suspended(world: &ApiWorld, id: &str, on: &[&str]) {
    let claim = held(world, id).await;
    waits(world, claim, on).await;
}

async fn waits(world: &ApiWorld, claim: Claim, on: &[&str]) {
    world.suspend(claim, on.iter().map(|id| PromiseId::from(*id))).await;
}

async fn timer(world: &ApiWorld, id: &str) {
    let timeout_at = world.api.host.env.clock.now() + Millis(7_200_500);
    let new = NewPromise { timeout_at, ..new_promise(id, &[(tags::TIMER, "true")]) };
    world.command(Command::PromiseCreate(new)).await;
}

async fn fails(world: &ApiWorld, claim: Claim) {
    let error = Note {
        kind: Text::from("failure"),
        message: Text::from("no connection"),
        details: Vec::new().into(),
    };
    let reason = ReleaseReason::Failed { retry_after: Some(Millis(60_000)), error, trap: None };
    world.command(Command::TaskRelease { claim, reason }).await;
}

/// The answer for `id`: its first line, and the whole.
async fn said(server: &str, id: &str) -> (String, String) {
    let said = run(server, &["why", id]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    (said.out.lines().next().unwrap_or_default().to_owned(), said.out)
}

async fn says(server: &str, id: &str, first: &str, parts: &[&str]) {
    let (line, out) = said(server, id).await;
    assert!(line.starts_with(first), "{first}\n{out}");
    for part in parts {
        assert!(out.contains(part), "{part}\n{out}");
    }
}

#[tokio::test]
async fn each_state_has_its_reason_and_its_command() {
    let (world, server) = host().await;
    world.start("offered").await.ok();
    says(&server, "offered", "offered  waits for a host to take it", &["→ segno task list"]).await;
    held(&world, "runs").await;
    says(&server, "runs", "runs  runs on test, whose claim ends in ", &[]).await;
    let delay = ["start", "shop/ship", "{\"no\": 1}", "--id", "later", "--delay", "2h"];
    let delayed = run(&server, &delay).await;
    assert_eq!(delayed.exit, Exit::Done, "{}", delayed.err);
    says(&server, "later", "later  waits for its start in 1 h 59 m", &[]).await;
    let claim = held(&world, "fails").await;
    fails(&world, claim).await;
    let parts = ["failure: no connection"];
    says(&server, "fails", "fails  1 attempt failed; the next comes in ", &parts).await;
    world.start("halted").await.ok();
    world.halt("halted").await;
    let parts = [
        "divergence: the replay leaves",
        "→ segno deploy PROJECT --as shop && segno continue halted --module shop",
    ];
    let first = "halted  is halted, and waits for a person: its code asks for something else";
    says(&server, "halted", first, &parts).await;
    world.start("over").await.ok();
    world.command(Command::Kill { invocation: "over".into() }).await;
    says(
        &server,
        "over",
        "over  has ended (cancelled): it waits for nothing",
        &["→ segno result over"],
    )
    .await;
    let unknown = run(&server, &["why", "nobody"]).await;
    assert_eq!(unknown.exit, Exit::NotFound, "{}", unknown.out);
}

#[tokio::test]
async fn what_is_waited_for_is_named_with_who_can_settle_it() {
    let (world, server) = host().await;
    world.gate("a gate").await;
    suspended(&world, "p", &["a gate"]).await;
    let parts = ["→ segno resolve 'a gate' JSON", "→ segno reject 'a gate' TEXT"];
    says(&server, "p", "p  waits for the promise a gate, which a client settles", &parts).await;
    timer(&world, "alarm").await;
    suspended(&world, "t", &["alarm"]).await;
    says(&server, "t", "t  sleeps: continues in 2 h", &[]).await;
    let claim = held(&world, "s").await;
    world
        .fence(&claim, [FenceOperation::Create { new: new_promise("s/s/0", &[]), request: None }])
        .await;
    waits(&world, claim, &["s/s/0"]).await;
    says(&server, "s", "s  waits for a signal", &["→ segno signal s NAME JSON"]).await;
    // A cause that needs a person has precedence over one that ends by itself.
    suspended(&world, "both", &["alarm", "a gate"]).await;
    says(
        &server,
        "both",
        "both  waits for the promise a gate, which a client settles, or for the end of a sleep in ",
        &[],
    )
    .await;
    let claim = world.saga("saga", &[true]).await;
    world.ask_about(&claim, 0).await;
    waits(&world, claim, &["saga/u/trip/0"]).await;
    let first = "saga  a step of a saga is unclear";
    says(&server, "saga", first, &["→ segno saga settle saga trip 0 --acted", "--not-acted"]).await;
}

#[tokio::test]
async fn a_chain_is_followed_to_the_one_that_has_to_be_acted_on() {
    let (world, server) = host().await;
    world.gate("approval").await;
    suspended(&world, "c", &["approval"]).await;
    suspended(&world, "b", &["c"]).await;
    suspended(&world, "a", &["b"]).await;
    let parts = [
        "→ segno resolve approval JSON",
        "  a  shop/ship  suspended, since ",
        ": waits for the call b",
        ": waits for the call c",
        ": waits for the promise approval, which a client settles",
    ];
    says(&server, "a", "c  waits for the promise approval", &parts).await;
    let shown = run_in(Some(80), &server, &["why", "a"]).await.out;
    assert!(shown.lines().all(|line| crate::cli::text::width(line) <= 80), "{shown}");
    let document = run(&server, &["why", "a", "--json"]).await.json();
    let ids: Vec<_> = document["chain"].as_array().into_iter().flatten().collect();
    assert_eq!(ids.iter().map(|link| &link["id"]).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(document["chain"][2]["reason"], "promise");
    // Of several calls, the halted one is the cause.
    world.start("well").await.ok();
    world.start("ill").await.ok();
    world.halt("ill").await;
    suspended(&world, "join", &["well", "ill"]).await;
    says(&server, "join", "ill  is halted", &[": waits for the call ill, or for the call well"])
        .await;
    world.settle("approval", Verdict::Resolved, "true").await;
    says(&server, "a", "c  waits for a host to take it", &[]).await;
}

#[tokio::test]
async fn a_circle_is_named_whole_and_a_long_chain_ends_somewhere() {
    let (world, server) = host().await;
    let a = held(&world, "a").await;
    let b = held(&world, "b").await;
    waits(&world, a, &["b"]).await;
    waits(&world, b, &["a"]).await;
    let parts = ["→ segno cancel a", "→ segno cancel b"];
    let (line, out) = said(&server, "a").await;
    let named = line.contains("a → b → a") || line.contains("b → a → b");
    assert!(named && parts.iter().all(|part| out.contains(part)), "{out}");
    suspended(&world, "outside", &["a"]).await;
    let (line, out) = said(&server, "outside").await;
    assert!(line.contains("waits for itself"), "{out}");
    let mut claims = Vec::new();
    for number in 0..40 {
        claims.push(held(&world, &format!("l{number}")).await);
    }
    for (number, claim) in claims.into_iter().enumerate() {
        if number < 39 {
            waits(&world, claim, &[&format!("l{}", number + 1)]).await;
        }
    }
    let (_, out) = said(&server, "l0").await;
    assert!(out.contains("the chain continues") && out.contains("l31"), "{out}");
}

#[tokio::test]
async fn one_behind_a_limit_says_what_is_missing() {
    let (world, server) = host().await;
    let set = ["limit", "set", "shop/ship", "--key", "c", "--concurrency", "1"];
    assert_eq!(run(&server, &set).await.exit, Exit::Done);
    world.command(Command::LimitDue { name: "shop/ship".into() }).await;
    for id in ["first", "second"] {
        let start = ["start", "shop/ship", "{\"c\": \"acme\"}", "--id", id];
        assert_eq!(run(&server, &start).await.exit, Exit::Done);
    }
    let behind =
        "waits behind the limit of shop/ship, key acme: 1 of 1 run, none before it, held by first";
    says(&server, "second", "first  waits for a host to take it", &[behind]).await;
    world.halt("first").await;
    let parts = ["held by first (halted)", "→ segno deploy PROJECT"];
    says(&server, "second", "first  is halted, and waits for a person", &parts).await;
    let said = run(&server, &["limit", "show", "shop/ship", "--keys"]).await;
    assert!(said.out.contains("first (halted)"), "{}", said.out);
}

#[tokio::test]
async fn a_circle_through_a_limit_is_named() {
    let (world, server) = host().await;
    run(&server, &["limit", "set", "shop/ship", "--key", "no", "--concurrency", "1"]).await;
    world.command(Command::LimitDue { name: "shop/ship".into() }).await;
    let first = held(&world, "first").await;
    world.start("second").await.ok();
    waits(&world, first, &["second"]).await;
    let (line, out) = said(&server, "second").await;
    assert!(line.contains("waits for itself: second → first → second"), "{out}");
    assert!(out.contains("→ segno cancel first"), "{out}");
}

#[tokio::test]
async fn behind_many_in_the_line_of_an_object_is_who_has_the_turn() {
    let (world, server) = host().await;
    world.upload("bank", "wasm Account/pay-in").await.ok();
    for number in 0..40 {
        let start = json!({ "id": format!("l{number}"), "target": "bank/Account@7/pay-in" });
        world.post("/v1/invocations", start).await.ok();
    }
    world.halt("l0").await;
    says(&server, "l39", "l0  is halted", &["waits for its turn with an object, behind l0"]).await;
}

#[tokio::test]
async fn what_a_module_declares_is_named_with_a_ready_command() {
    let (world, server) = host().await;
    world.upload("desk", "wasm desk").await.ok();
    for (id, awaited) in [("d", "d/s/0"), ("e", "e/p/approved")] {
        let start = json!({ "id": id, "target": "desk/desk", "input": null });
        world.post("/v1/invocations", start).await.ok();
        let claim = world.acquire(id).await;
        world
            .fence(
                &claim,
                [FenceOperation::Create { new: new_promise(awaited, &[]), request: None }],
            )
            .await;
        waits(&world, claim, &[awaited]).await;
    }
    let first = "d  waits for the signal `close` (null)";
    says(&server, "d", first, &["→ segno signal d close null"]).await;
    let parts = ["→ segno resolve e/p/approved true", "→ segno reject e/p/approved TEXT"];
    says(&server, "e", "e  waits for the promise e/p/approved", &parts).await;
}

#[tokio::test]
async fn a_halted_one_is_offered_the_code_that_its_name_stands_for_now() {
    let (world, server) = host().await;
    let digest = world.digest("shop").await;
    world.start("old").await.ok();
    let claim = world.journal("old", digest).await;
    let report = Note {
        kind: Text::from("trap"),
        message: Text::from("it trapped"),
        details: Vec::new().into(),
    };
    world.command(Command::TaskRelease { claim, reason: ReleaseReason::Halt { report } }).await;
    let parts = ["→ segno replay old", "→ segno deploy PROJECT --as shop && segno continue old"];
    says(&server, "old", "old  is halted", &parts).await;
    world.upload("shop", "wasm order ship short mended").await.ok();
    let (_, out) = said(&server, "old").await;
    assert!(out.contains("→ segno continue old --module shop\n"), "{out}");
    assert!(!out.contains("→ segno continue old\n") && !out.contains("PROJECT"), "{out}");
    // An execution without a journal is not replayed.
    world.promise("outside", &[(tags::TARGET, "poll://any@packers")]).await;
    world.command(Command::TaskHalt { id: "outside".into() }).await;
    let (_, out) = said(&server, "outside").await;
    assert!(out.contains("→ segno continue outside\n") && !out.contains("segno replay"), "{out}");
}

#[tokio::test]
async fn what_is_waited_for_may_itself_be_behind_something() {
    let (world, server) = host().await;
    // A call that fails, one that was not claimed, one with a delayed start, and one that runs.
    let claim = held(&world, "ill").await;
    fails(&world, claim).await;
    suspended(&world, "caller", &["ill"]).await;
    says(&server, "caller", "ill  1 attempt failed; the next comes in ", &["no connection"]).await;
    world.promise("packing", &[(tags::TARGET, "poll://any@packers")]).await;
    suspended(&world, "packs", &["packing"]).await;
    let first = "packing  waits for a worker of poll://any@packers to take it";
    says(&server, "packs", first, &["→ segno task list"]).await;
    let delay = ["start", "shop/ship", "{\"no\": 1}", "--id", "later", "--delay", "2h"];
    assert_eq!(run(&server, &delay).await.exit, Exit::Done);
    suspended(&world, "early", &["later"]).await;
    says(&server, "early", "later  waits for its start in 1 h 59 m", &[]).await;
    held(&world, "busy").await;
    suspended(&world, "patient", &["busy"]).await;
    says(&server, "patient", "busy  runs on test, whose claim ends in ", &[]).await;
    // A promise with a deadline.
    let timeout_at = world.api.host.env.clock.now() + Millis(7_200_500);
    let new = NewPromise { timeout_at, ..new_promise("soon", &[]) };
    world.command(Command::PromiseCreate(new)).await;
    suspended(&world, "asks", &["soon"]).await;
    let first = "asks  waits for the promise soon, which a client settles, in 2 h";
    says(&server, "asks", first, &[]).await;
}

#[tokio::test]
async fn one_that_was_halted_says_by_what() {
    let (world, server) = host().await;
    for (id, kind, says_so) in [
        ("trapped", "trap", ": it trapped again and again"),
        ("idle", "waits-for-nothing", ": it neither ended nor waits for anything"),
        ("torn", "damaged", ": what is stored of it contradicts itself"),
        ("other", "refused", ""),
    ] {
        let claim = held(&world, id).await;
        let message = Text::from(format!("why {id} stopped").as_str());
        let report = Note { kind: Text::from(kind), message, details: Vec::new().into() };
        world.command(Command::TaskRelease { claim, reason: ReleaseReason::Halt { report } }).await;
        let first = format!("{id}  is halted, and waits for a person{says_so}");
        let noted = format!("why {id} stopped");
        let (line, out) = said(&server, id).await;
        assert_eq!(line, first, "{out}");
        assert!(out.contains(&noted), "{out}");
    }
    world.start("paused").await.ok();
    world.command(Command::TaskHalt { id: "paused".into() }).await;
    says(&server, "paused", "paused  is halted, and waits for a person", &[]).await;
}
