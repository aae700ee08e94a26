//! Creating, reading and removing schedules.

use super::{Cli, Exit, host, run};

#[tokio::test]
async fn a_schedule_is_made_looked_at_and_removed() {
    let (_world, server) = host().await;
    let create = [
        "schedule",
        "create",
        "nightly",
        "0 3 * * *",
        "shop/ship",
        "{\"no\": 1}",
        "--overlap",
        "queue",
    ];
    let said = run(&server, &create).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.starts_with("nightly  made, first "), "{}", said.out);
    let said = run(&server, &create).await;
    assert!(said.err.contains("warning: it existed before"), "{}", said.err);
    let mut other = create;
    other[3] = "0 4 * * *";
    let said = run(&server, &other).await;
    assert_eq!(said.exit, Exit::Error, "{}", said.out);
    assert!(said.err.contains("another cron expression"), "{}", said.err);
    let said = run(&server, &["schedule", "list"]).await;
    assert!(said.out.contains("0 3 * * *") && said.out.contains("shop/ship"), "{}", said.out);
    let said = run(&server, &["schedule", "show", "nightly"]).await;
    assert!(said.out.starts_with("nightly  shop/ship  0 3 * * * (UTC)\n"), "{}", said.out);
    assert!(said.out.contains("queue: begins when the last has ended"), "{}", said.out);
    assert_eq!(said.out.matches("T03:00:00Z ").count(), 10, "{}", said.out);
    assert_eq!(run(&server, &["schedule", "pause", "nightly"]).await.out, "nightly  paused\n");
    let said = run(&server, &["schedule", "list", "--json"]).await;
    assert_eq!(said.json()["items"][0]["paused"], true);
    let said = run(&server, &["schedule", "resume", "nightly"]).await;
    assert!(said.out.starts_with("nightly  resumed, next in "), "{}", said.out);
    let range = ["--from", "2020-01-01T00:00:00Z", "--to", "2020-06-01T00:00:00Z"];
    let backfill = [&["schedule", "backfill", "nightly"][..], &range].concat();
    let said = run(&server, &backfill).await;
    assert_eq!(said.out, "nightly  152 started, 0 existed before, 0 left out\n", "{}", said.err);
    let said = run(&server, &backfill).await;
    assert_eq!(said.out, "nightly  0 started, 152 existed before, 0 left out\n");
    let late = ["schedule", "backfill", "nightly", "--from", "2231-02-01T00:00:00Z"];
    let said = run(&server, &late).await;
    assert!(said.err.contains("nothing between 2231-02-01T00:00:00Z and 20"), "{}", said.err);
    assert_eq!(run(&server, &["schedule", "delete", "nightly"]).await.out, "nightly  removed\n");
    assert_eq!(run(&server, &["schedule", "show", "nightly"]).await.exit, Exit::NotFound);
    let said = run(&server, &["schedule", "create", "x", "daily", "shop/ship"]).await;
    assert!(said.err.contains("is no cron expression: it has one field"), "{}", said.err);
}

#[tokio::test]
async fn a_schedule_keeps_to_the_clock_of_a_zone_and_can_be_triggered() {
    let (_world, server) = host().await;
    let create =
        ["schedule", "create", "berlin", "30 2 25 10 *", "shop/ship", "--zone", "Europe/Berlin"];
    let said = run(&server, &create).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    let said = run(&server, &["schedule", "show", "berlin"]).await;
    assert!(
        said.out.starts_with("berlin  shop/ship  30 2 25 10 * (Europe/Berlin)\n"),
        "{}",
        said.out
    );
    for part in ["-10-25T02:30:00+02:00", "-10-25T00:30:00.000Z"] {
        assert!(said.out.contains(part), "{}", said.out);
    }
    let shown = run(&server, &["schedule", "show", "berlin", "--json"]).await.json();
    assert_eq!(shown["upcoming"].as_array().map(Vec::len), Some(10));
    let said = run(&server, &["schedule", "list"]).await;
    assert!(said.out.contains("30 2 25 10 * (Europe/Berlin)"), "{}", said.out);

    run(&server, &["schedule", "pause", "berlin"]).await;
    let trigger = ["schedule", "trigger", "berlin", "--at", "2031-01-01T00:00:00Z"];
    let said = run(&server, &trigger).await;
    assert_eq!((said.exit, &*said.out), (Exit::Done, "berlin@1924992000000  started\n"));
    assert_eq!(run(&server, &trigger).await.out, "berlin@1924992000000  exists\n");
    let said = run(&server, &["schedule", "show", "berlin"]).await;
    assert!(said.out.contains("berlin@1924992000000  pending"), "{}", said.out);
    assert_eq!(run(&server, &["schedule", "trigger", "none"]).await.exit, Exit::NotFound);

    for (extra, part) in [
        (
            &["--zone", "Europe/Atlantis"][..],
            "`Europe/Atlantis` is no time zone: write its IANA name",
        ),
        (&["--jitter", "2days"], "is longer than a day"),
    ] {
        let create = ["schedule", "create", "wrong", "0 3 * * *", "shop/ship"];
        let said = run(&server, &[&create[..], extra].concat()).await;
        assert!(said.exit != Exit::Done && said.err.contains(part), "{}", said.err);
    }
    // No host is asked about a length that every host refuses.
    let create = ["segno", "schedule", "create", "wrong", "0 3 * * *", "shop/ship"];
    let refused = Cli::read([&create[..], &["--timeout", "9000y"]].concat());
    let refused = refused.expect_err("it is too long").to_string();
    assert!(refused.contains("--timeout") && refused.contains("after the year 9999"), "{refused}");
    assert_eq!(run(&server, &["schedule", "show", "wrong"]).await.exit, Exit::NotFound);
    let said =
        run(&server, &["schedule", "create", "x", "TZ=Europe/Berlin 0 3 * * *", "shop/ship"]).await;
    assert!(said.err.contains("`--zone Europe/Berlin`"), "{}", said.err);
    let said = run(&server, &["schedule", "create", "x", "0 0 0 1 1 * 2020", "shop/ship"]).await;
    assert!(said.err.contains("the last one was 2020-01-01T00:00:00Z"), "{}", said.err);
}
