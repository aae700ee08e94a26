//! `segno verify` finds planted defects, and passes correct workflows.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use segno_core::object::ModuleFacts;
use segno_verify::{
    ExplorationBounds, RunSchedule, VerifiedComponent, VerifyError, VerifyReport, VerifyScript,
    VerifySetup, explore, repeat,
};
use serde_json::{Value as Json, json};
use tests::guests;

const BOUNDS: ExplorationBounds = ExplorationBounds { runs: 400, seed: 1 };

/// Default script: payments are accepted.
const PAYMENTS: &str = r#"
    [[answer]]
    http = "POST http://payments/"
    outcomes = [{ body = { charge = "c-1", refund = "r-1", accepted = true } }]
"#;

fn component(name: &str) -> VerifiedComponent {
    let bytes = guests::component(name).into();
    VerifiedComponent { alias: name.to_owned(), bytes, facts: ModuleFacts::default() }
}

fn try_set_up(
    module: &str,
    function: &str,
    input: Json,
    script: &str,
) -> Result<Arc<VerifySetup>, VerifyError> {
    let script = VerifyScript::read(script)?;
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime
        .block_on(VerifySetup::new(
            vec![component(module)],
            function,
            input,
            script,
            None,
            None,
            BTreeMap::new(),
        ))
        .map(Arc::new)
}

fn set_up(module: &str, function: &str, input: Json, script: &str) -> Arc<VerifySetup> {
    try_set_up(module, function, input, script).unwrap_or_else(|error| panic!("{error}"))
}

fn verified(setup: &Arc<VerifySetup>) -> VerifyReport {
    explore(setup, BOUNDS, &mut |_, _| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// Kinds of findings in a workflow of `planted`. Checks that each schedule repeats its finding
/// exactly, and that a shorter one does not.
fn found(function: &str, input: Json, script: &str) -> BTreeSet<&'static str> {
    let setup = set_up("planted", function, input, script);
    let report = verified(&setup);
    for failure in &report.failures {
        let again = repeat(&setup, &failure.schedule(), BOUNDS).expect("the schedule fits");
        let found = again.failures.iter().find(|again| again.kind == failure.kind);
        let found = found.unwrap_or_else(|| panic!("{failure:#?} is not repeated: {again:#?}"));
        assert_eq!(found.text, failure.text, "{function}");
        assert_eq!(again.journal, failure.journal, "{function}");
        assert_eq!(
            serde_json::to_string(&again).ok(),
            repeat(&setup, &failure.schedule(), BOUNDS)
                .ok()
                .and_then(|again| serde_json::to_string(&again).ok()),
            "byte for byte"
        );
        let schedule = failure.schedule();
        if let Some((_, shorter)) = schedule.0.split_last() {
            let shorter = repeat(&setup, &RunSchedule(shorter.to_vec()), BOUNDS).expect("it fits");
            assert!(
                shorter
                    .failures
                    .iter()
                    .all(|other| other.kind != failure.kind || other.text != failure.text),
                "{failure:#?}"
            );
        }
    }
    println!("{function}: {report:#?}");
    report.failures.iter().map(|failure| failure.kind).collect()
}

#[track_caller]
fn sound(module: &str, function: &str, input: Json, script: &str) -> VerifyReport {
    let report = verified(&set_up(module, function, input, script));
    assert!(report.failures.is_empty(), "{module}/{function}: {:#?}", report.failures);
    report
}

const ROOMS: &str = "[compensates]\nbook = \"cancel_booking\"\n";
const SAGAS: &str = "[compensates]\nbook = \"unbook\"\ncharge = \"uncharge\"\n";

#[test]
fn state_in_a_static_is_found() {
    // The number in the replayed command differs. If a wait was replayed before the command, the
    // outcome differs.
    let kinds = found("counts_in_static", json!(null), "");
    assert_eq!(kinds, BTreeSet::from(["divergence", "fault-dependence"]));
    let kinds = found("answers_from_static", json!(null), "");
    assert!(kinds.contains("fault-dependence"), "{kinds:?}");
    sound("planted", "counts_in_results", json!(null), "");
}

#[test]
fn a_workflow_that_ends_before_any_event_is_killed_at_its_commits() {
    // The second one is refused, because its input is no text.
    for (input, outcome) in [(json!("Ada"), "resolved"), (json!(7), "rejected")] {
        let report = sound("hello", "hello", input, "");
        assert!(report.outcomes.keys().all(|end| end.starts_with(outcome)), "{report:#?}");
        // Before and after each.
        assert!(report.faults.get("deaths at commits") >= Some(&2), "{report:#?}");
    }
}

#[test]
fn dependence_on_the_order_of_completions_is_found() {
    let parts = json!(["a", "b", "c"]);
    let kinds = found("first_come", parts.clone(), "");
    assert_eq!(kinds, BTreeSet::from(["order-dependence"]));
    sound("planted", "first_come", parts.clone(), "orders_may_differ = true");
    let report = sound("planted", "in_order", parts, "");
    // Three concurrent calls have 3! orders.
    assert_eq!((report.orders.explored, report.orders.complete), (6, true));
}

#[test]
fn a_request_without_a_key_or_with_a_new_one_is_found() {
    assert_eq!(found("pays_without_key", json!(null), PAYMENTS), ["repeated-effect"].into());
    assert_eq!(found("pays_with_new_key", json!(null), PAYMENTS), ["repeated-effect"].into());
    sound("planted", "pays_with_key", json!(null), PAYMENTS);
}

#[test]
fn a_race_of_a_timer_and_a_completion_is_found() {
    assert_eq!(found("expects_the_answer", json!(null), ""), ["trap"].into());
    // The booking completes after the timer, and is never undone.
    assert_eq!(found("gives_up", json!(null), ROOMS), ["lost-compensation"].into());
    let strict = "timers_must_not_differ = true";
    assert_eq!(found("gives_up", json!(null), strict), ["timer-dependence"].into());
    sound("planted", "gives_up_carefully", json!(null), SAGAS);
}

#[test]
fn a_lost_compensation_is_found() {
    assert_eq!(found("keeps_the_booking", json!("bad"), ROOMS), ["lost-compensation"].into());
    // The workflow handles a failed payment, but not a cancellation.
    assert_eq!(found("undoes_failures_only", json!("bad"), ROOMS), ["lost-compensation"].into());
    sound("planted", "undoes_everything", json!("bad"), SAGAS);
    sound("planted", "undoes_everything", json!("good"), SAGAS);
}

#[test]
fn a_wait_for_nothing_is_found_unless_the_script_ends_it() {
    assert_eq!(found("waits_for_ever", json!(null), ""), ["deadlock"].into());
    let script = "[[send]]\npromise = \"word\"\nvalue = \"yes\"";
    sound("planted", "waits_for_ever", json!(null), script);
}

#[test]
fn of_orders_that_only_children_could_tell_apart_one_is_explored() {
    let report = sound("planted", "two_children", json!(null), "");
    // Each child has three events (its start, and two results), of which the root sees only the
    // last. There are 6! / (3! 3!) = 20 orders. The root can tell two apart: the child that ends
    // first.
    assert_eq!((report.orders.explored, report.orders.complete), (2, true));
}

const ORDER: &str = r#"
    [[answer]]
    http = "POST http://payments/"
    outcomes = [{ body = { charge = "c-1", refund = "r-1", accepted = true } }]

    [[send]]
    promise = "approval"
    value = true

    [compensates]
    reserve = "release"
    "POST http://payments/charges" = "POST http://payments/refunds"
"#;

fn order(items: &[&str]) -> Json {
    let item = |sku: &&str| json!({ "sku": sku, "quantity": 1, "price_cents": 1250 });
    let items: Vec<Json> = items.iter().map(item).collect();
    json!({ "id": "o-1", "items": items, "payments": "http://payments" })
}

#[test]
fn order_with_three_items_has_as_many_orders_as_counted_by_hand() {
    let setup = set_up("order", "order", order(&["tea", "cup", "pot"]), ORDER);
    let report = verified(&setup);
    println!("{report:#?}");
    // The reservation, the payment and the approval each complete before the next is requested.
    // Then three parcels are shipped concurrently, in any of 3! = 6 orders.
    assert_eq!((report.orders.explored, report.orders.complete), (6, true));
    assert!(report.failures.is_empty(), "{:#?}", report.failures);
    for (word, least) in [
        ("crashes at waits", 6 * 5),
        ("claims lost, the old host continues", 6 * 5),
        ("cancellations at waits", 6 * 5),
        ("deliveries twice", 6 * 4),
        ("timers before completions", 1),
        ("deaths at commits", 20),
    ] {
        let tried = report.faults.get(word).copied().unwrap_or_default();
        assert!(tried >= least, "{word}: {tried} of {least}");
    }
}

#[test]
fn the_examples_are_sound() {
    let document = json!({ "title": "Annual report", "approver": "Ada" });
    let approval = "
        [[send]]
        promise = \"decision\"
        value = \"approve\"
        [[send]]
        signal = \"comment\"
        value = \"page 3 is empty\"
    ";
    // The order of the comment and the decision determines if the comment is part of the verdict.
    let meant = format!("orders_may_differ = true\n{approval}");
    sound("approval", "approval", document.clone(), &meant);
    let report = verified(&set_up("approval", "approval", document, approval));
    assert_eq!(report.failures.len(), 1, "{report:#?}");
    assert_eq!(report.failures[0].kind, "order-dependence");

    let report = sound("fan-out", "fan_out", json!({ "children": 4 }), "");
    assert_eq!((report.orders.explored, report.orders.complete), (24, true));
}

#[test]
fn more_orders_than_runs_are_sampled() {
    let setup = set_up("fan-out", "fan_out", json!({ "children": 8 }), "");
    let report =
        explore(&setup, ExplorationBounds { runs: 300, seed: 7 }, &mut |_, _| {}).expect("it runs");
    assert!(!report.orders.complete && report.orders.explored < 40_320, "{report:#?}");
    assert!(report.failures.is_empty(), "{report:#?}");
    let again =
        explore(&setup, ExplorationBounds { runs: 300, seed: 7 }, &mut |_, _| {}).expect("it runs");
    assert_eq!(serde_json::to_string(&again).ok(), serde_json::to_string(&report).ok());
}

#[test]
fn retries_are_those_of_the_script() {
    let script = format!(
        "{}\n[[answer]]\nfunction = \"ship\"\noutcomes = [{{ fails = 503, message = \"busy\" }}, {{ value = \"parcel\" }}]",
        ORDER
    );
    let setup = set_up("order", "order", order(&["tea"]), &script);
    let report = repeat(&setup, &RunSchedule::default(), BOUNDS).expect("it runs");
    let (outcome, _) = report.outcomes.first_key_value().expect("an outcome");
    assert!(outcome.starts_with("resolved") && outcome.contains("parcel"), "{report:#?}");
    let shipped = report.steps.iter().filter(|(_, label)| label.contains("`ship`")).count();
    assert_eq!(shipped, 2, "{report:#?}");
    assert!(report.steps.iter().any(|(_, label)| label.contains("attempt 2")), "{report:#?}");
}

#[test]
fn what_cannot_be_verified_is_refused_by_name() {
    let refused =
        |function: &str, script: &str| match try_set_up("planted", function, json!(null), script) {
            Ok(_) => panic!("`{function}` was taken with {script}"),
            Err(error) => error.to_string(),
        };
    let unknown = refused("pays", "");
    assert!(
        unknown.contains("no workflow `pays`") && unknown.contains("`pays_with_key`"),
        "{unknown}"
    );
    let activity = refused("work", "");
    assert!(activity.contains("no workflow `work`"), "{activity}");
    let script = refused("pays_with_key", "[[answer]]\nfunction = \"chrage\"\noutcomes = [{}]");
    assert!(script.contains("`chrage`") && script.contains("`charge`"), "{script}");

    let setup = set_up("planted", "pays_with_key", json!(null), "");
    let silent = explore(&setup, BOUNDS, &mut |_, _| {}).expect_err("nothing answers").to_string();
    assert!(
        silent.contains("POST http://payments/charges") && silent.contains("[[answer]]"),
        "{silent}"
    );

    let setup = set_up("planted", "in_order", json!(["a", "b"]), "");
    let misfit = |schedule: &str| {
        let schedule = schedule.parse().expect("a schedule");
        repeat(&setup, &schedule, BOUNDS).expect_err("it does not fit").to_string()
    };
    let other = misfit("go:0 go:7");
    assert!(other.contains("entry 2, `go:7`") && other.contains("possible is `go:1`"), "{other}");
    let long = misfit("go:0 go:1 go:1");
    assert!(long.contains("entry 3, `go:1`") && long.contains("possible is nothing"), "{long}");
    let fault = misfit("again:9 go:0");
    assert!(fault.contains("entry 1, `again:9`"), "{fault}");
}
