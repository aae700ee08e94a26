//! Sagas: their display, and answers on steps with an unknown effect.

use segno_core::{
    command::Command,
    promise::Verdict::{Canceled, Resolved},
};

use super::{Exit, host, run};

#[tokio::test]
async fn a_saga_is_shown_and_an_unclear_step_is_settled() {
    let (world, server) = host().await;
    let claim = world.saga("it", &[false, false, false]).await;
    world.settle("it/0", Resolved, "1").await;
    world.settle("it/1", Canceled, "").await;
    world.settle("it/2", Resolved, "1").await;
    let said = run(&server, &["saga", "show", "it"]).await;
    assert!(said.out.starts_with("trip  in progress\n"), "{}", said.out);
    let settle = |seq| ["saga", "settle", "it", "trip", seq, "--acted"];
    let early = run(&server, &settle("1")).await;
    assert_eq!(early.exit, Exit::Error);
    assert!(
        early.err.contains("step 1 of `trip` cannot be settled: the saga is not"),
        "{}",
        early.err
    );

    world.undo(&claim, 2).await;
    let early = run(&server, &settle("1")).await;
    assert!(early.err.contains("steps behind it are undone first"), "{}", early.err);
    world.settle("it/c/trip/2", Resolved, "null").await;
    world.ask_about(&claim, 1).await;
    let said = run(&server, &["saga", "show", "it"]).await;
    for part in [
        "trip  step 1 is unclear",
        "   2  ship      acted    undo       undone",
        "   1  ship      unknown  undo",
        "   0  ship      acted    undo       if need be",
        "step 1 is unclear: segno saga settle it trip 1 --acted, or --not-acted",
    ] {
        assert!(said.out.contains(part), "{part:?} is missing in\n{}", said.out);
    }
    let inspected = run(&server, &["inspect", "it"]).await;
    assert!(
        inspected
            .out
            .contains("sagas  `segno saga show it` shows the steps\n  trip  step 1 is unclear")
    );

    for (arguments, error) in [
        (
            &["saga", "settle", "it", "trop", "1", "--acted"][..],
            "`it` has no saga `trop`; it has trip",
        ),
        (
            &["saga", "settle", "it", "trip", "7", "--acted"],
            "`trip` has 3 steps, and none with the number 7",
        ),
        (
            &["saga", "settle", "it", "trip", "2", "--not-acted"],
            "step 2 of `trip` cannot be settled: it acted",
        ),
    ] {
        let said = run(&server, arguments).await;
        assert_eq!(said.exit, Exit::Error);
        assert!(said.err.contains(error), "{}", said.err);
    }
    let said = run(&server, &settle("1")).await;
    assert_eq!(said.out, "it, step 1 of trip  acted, and is undone now\n");
    let said = run(&server, &["saga", "show", "it", "--json"]).await;
    assert_eq!(said.json()["items"][0]["next_seq"], 1);
    assert_eq!(run(&server, &["saga", "show", "nobody"]).await.exit, Exit::NotFound);
    world.start("plain").await.ok();
    let said = run(&server, &["saga", "show", "plain"]).await;
    assert_eq!(said.out, "`plain` has no sagas\n");
}

#[tokio::test]
async fn after_a_kill_nothing_is_undone_any_more() {
    let (world, server) = host().await;
    world.saga("it", &[false, false]).await;
    world.settle("it/0", Resolved, "1").await;
    world.settle("it/1", Resolved, "1").await;
    world.command(Command::Kill { invocation: "it".into() }).await;
    let said = run(&server, &["saga", "show", "it"]).await;
    for part in [
        "trip  killed: nothing is undone any more",
        "   0  ship      acted  undo       will not be",
        "   1  ship      acted  undo       will not be",
    ] {
        assert!(said.out.contains(part), "{part:?} is missing in\n{}", said.out);
    }
    let inspected = run(&server, &["inspect", "it"]).await;
    assert!(inspected.out.contains("trip  killed: nothing is undone"), "{}", inspected.out);
}
