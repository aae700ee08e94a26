//! `segno verify --bundle`: a recorded execution of a host provides the world in which other
//! schedules are tried.

use std::{path::Path, process::Command};

use segno_core::time::Millis;
use segno_demo::order::{DemoOrder, ExpectedOutcome};
use serde_json::{Value as Json, json};
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Output and exit code of a command.
fn segno(folder: &Path, arguments: &[&str]) -> (String, i32) {
    let run = Command::new(SEGNO).args(arguments).current_dir(folder).output().expect("it starts");
    let said = [run.stdout, run.stderr].concat();
    (String::from_utf8_lossy(&said).into_owned(), run.status.code().expect("it ends by itself"))
}

fn verified(folder: &Path, arguments: &[&str]) -> Json {
    let arguments = [&["verify", "--json"], arguments].concat();
    let (said, exit) = segno(folder, &arguments);
    assert_eq!(exit, 0, "{said}");
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_of_a_host_is_tried_in_every_order_with_what_it_was_told() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("order", guests::component("order")).await;
    let placed =
        DemoOrder::new(1, ExpectedOutcome::Approved, host.payments.address(), Millis(60_000));
    let item = |sku| json!({ "sku": sku, "quantity": 1, "price_cents": 100 });
    let mut input = placed.input.clone();
    input["items"] = json!([item("tea"), item("cup")]);
    host.start_as(&placed.id, "order/order", input).await.expect("it starts");
    let approval = placed.approval();
    host.until(&placed.id, "waiting for its approval", |seen| {
        seen.waits.iter().any(|wait| wait.id == approval)
    })
    .await;
    host.client().resolve(&approval, json!(true)).await.expect("it is asked for");
    let receipt = host.ended(&placed.id).await.output.expect("it is shipped");
    let (folder, server) = (host.folder(), host.client().server());
    for (name, more) in [("whole", None), ("hidden", Some("--redact"))] {
        let file = format!("{name}.segno-bundle");
        let bundle = ["bundle", &placed.id, "--server", &server, "-o", &file];
        let (said, exit) = segno(folder, &bundle.into_iter().chain(more).collect::<Vec<_>>());
        assert_eq!(exit, 0, "{said}");
    }

    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("there is room");
    };
    // The recorded order made no refund, but a cancelled order does. So the refund's answer is
    // unknown.
    let whole = ["--bundle", "whole.segno-bundle"];
    let (said, exit) = segno(folder, &[&["verify"], &whole[..]].concat());
    assert_eq!(exit, 1, "{said}");
    assert!(
        said.contains("/refunds` has no answer in the script, and nothing is sent outside"),
        "{said}"
    );

    // Two parcels are handed over concurrently. Nothing is sent outside: the charge is the recorded
    // one.
    let payments = host.payments.address();
    let refunds = format!(
        "[[answer]]\nhttp = \"POST {payments}/refunds\"\noutcomes = [{{ body = {{ charge = \"c\", accepted = true }} }}]\n"
    );
    write("refunds.toml", &refunds);
    let report = verified(folder, &[&whole[..], &["--script", "refunds.toml"]].concat());
    assert_eq!(report["function"], "order");
    assert_eq!(report["orders"]["explored"], 2, "{report:#}");
    assert_eq!(report["orders"]["complete"], true);
    assert_eq!(report["failures"], json!([]));
    let charge = receipt["charge"].as_str().expect("it was charged");
    let outcomes = report["outcomes"].as_object().expect("outcomes");
    let shipped = |outcome: &str| outcome.starts_with("resolved") && outcome.contains(charge);
    assert!(outcomes.keys().any(|outcome| shipped(outcome)), "{report:#}");

    // The script takes precedence over the record: the approval is refused.
    write("no.toml", &format!("{refunds}[[send]]\npromise = \"approval\"\nvalue = false\n"));
    let refused = verified(folder, &[&whole[..], &["--script", "no.toml"]].concat());
    let outcomes = refused["outcomes"].as_object().expect("outcomes");
    assert!(!outcomes.keys().any(|outcome| outcome.starts_with("resolved")), "{refused:#}");

    for (arguments, says) in [
        (&["--bundle", "hidden.segno-bundle"][..], "make it without --redact"),
        (&["--bundle", "whole.segno-bundle", "--of", "nobody"], "`nobody` is not in the bundle"),
        (&["--of", "nobody"], "--bundle"),
    ] {
        let (said, exit) = segno(folder, &[&["verify"], arguments].concat());
        assert!(exit != 0 && said.contains(says), "{arguments:?}: {said}");
    }
}
