//! Screens on terminals of several widths.

use segno_api::testing::ApiWorld;
use segno_core::command::Command;
use serde_json::json;

use super::{Exit, host, run_in};
use crate::cli::text;

/// Long ids and names everywhere.
async fn long_names() -> (ApiWorld, String) {
    let (world, server) = host().await;
    for id in ["subscription-renewal-of-customer-4711-in-europe", "nightly@1794711600000"] {
        world.start(id).await.ok();
        world.halt(id).await;
        let target = "target=poll://any@a-group-of-packers-with-a-long-name";
        for n in 0..4 {
            let child = format!("{id}:step-{n}-of-many");
            let parent = format!("parent={id}");
            let made = ["promise", "create", &child, "--tag", &parent, "--tag", target];
            assert_eq!(run_in(None, &server, &made).await.exit, Exit::Done);
        }
        let failed = format!("{id}:step-3-of-many");
        let message = "the payment service refused the card: it asks for another one, please";
        run_in(None, &server, &["promise", "reject", &failed, message]).await;
    }
    let input = "{\"every\": \"night\", \"with\": \"a rather long input that fits on no line of eighty columns\"}";
    let rule = ["--key", "customer.of.a.long.name", "--rate", "1/h", "--total-concurrency", "100"];
    let limit = [&["limit", "set", "shop/order", "--priority", "urgency"][..], &rule].concat();
    assert_eq!(run_in(None, &server, &limit).await.exit, Exit::Done);
    world.command(Command::LimitDue { name: "shop/order".into() }).await;
    for (id, urgency) in [("o1", 0), ("o2", 0), ("o3", 9)] {
        let key = "the customer with the longest name of all customers that there are in Europe";
        let input = json!({
            "items": [], "urgency": urgency, "customer": {"of": {"a": {"long": {"name": key}}}}
        });
        let start = ["start", "shop/order", &input.to_string(), "--id", id];
        assert_eq!(run_in(None, &server, &start).await.exit, Exit::Done);
    }
    let schedule =
        ["schedule", "create", "a-schedule-with-a-long-name", "0 3 * * *", "shop/ship", input];
    assert_eq!(run_in(None, &server, &schedule).await.exit, Exit::Done);
    (world, server)
}

#[tokio::test]
async fn no_line_is_wider_than_the_terminal() {
    let (_world, server) = long_names().await;
    let id = "subscription-renewal-of-customer-4711-in-europe";
    let failed = format!("{id}:step-3-of-many");
    for arguments in [
        &["list", "--all"][..],
        &["list", "--stuck"],
        &["modules"],
        &["modules", "shop"],
        &["schedule", "list"],
        &["schedule", "show", "a-schedule-with-a-long-name"],
        &["promise", "list"],
        &["promise", "get", &failed],
        &["task", "list"],
        &["task", "get", id],
        &["inspect", id],
        &["tree", id],
        &["tree", id, "--width", "2"],
        &["limit", "list"],
        &["limit", "show", "shop/order", "--keys"],
        &["inspect", "o3"],
        &["recovery", "policy"],
    ] {
        for columns in [60, 80, 120] {
            let said = run_in(Some(columns), &server, arguments).await;
            assert_eq!(said.exit, Exit::Done, "{arguments:?}: {}", said.err);
            for line in said.out.lines().chain(said.err.lines()) {
                let width = text::width(line);
                assert!(
                    width <= columns,
                    "{arguments:?}: {width} columns of {columns}:\n{}",
                    said.out
                );
            }
        }
        let whole = run_in(None, &server, arguments).await.out;
        assert!(!whole.contains("of-customer…"), "{whole}");
        let full = [arguments, &["--full"]].concat();
        assert!(!run_in(Some(60), &server, &full).await.out.contains("…stomer"), "{arguments:?}");
    }
}

#[tokio::test]
async fn headings_stay_on_one_line_and_ids_are_cut_in_the_middle() {
    let (_world, server) = long_names().await;
    let said = run_in(Some(80), &server, &["list", "--all"]).await;
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines[0].starts_with("ID ") && lines[0].contains("STATE"), "{}", said.out);
    assert!(
        lines.iter().any(|line| line.starts_with("subscripti") && line.contains('…')),
        "{}",
        said.out
    );
    assert!(
        lines.iter().any(|line| line.starts_with("nightly@1794711600000  2026-11-15 03:00")),
        "{}",
        said.out
    );
    assert!(said.out.ends_with("\n7 pending, 2 suspended, 2 halted, 2 rejected\n"), "{}", said.out);
    let said = run_in(Some(80), &server, &["tree", "nightly@1794711600000"]).await;
    // A failure that does not fit next to its node is printed whole below it.
    let words: Vec<&str> = said.out.split_whitespace().collect();
    let failure = "the payment service refused the card: it asks for another one, please";
    assert!(words.join(" ").contains(failure), "{}", said.out);
}
