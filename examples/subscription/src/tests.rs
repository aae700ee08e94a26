//! Months of a subscription, in milliseconds.

use segno::{
    http::Response,
    serde_json::{Value, json},
    testing::Test,
};

use super::*;

const DAY: Duration = Duration::from_secs(DAY_S);
const INVOICE: &str = "wasm://subscription/invoice";
const PAYMENTS: &str = "http://payments.test";

fn plan() -> Plan {
    let plan = json!({ "customer": "ada@example.org", "price_cents": 900, "payments": PAYMENTS });
    segno::serde_json::from_value(plan).unwrap()
}

#[test]
fn each_period_is_charged_until_the_customer_cancels() {
    let mut test = Test::new();
    test.on_named(INVOICE, |_: Invoice| Ok(true));
    test.signal("cancel", &()).after(80 * DAY);
    let ended = test.run(subscription, &plan()).unwrap();

    // The trial ends on day 14; the periods begin on days 14, 44 and 74.
    assert_eq!(ended, Ended { paid: 3, because: Reason::Cancelled });
    assert_eq!(test.elapsed(), 80 * DAY);
    test.replay_check();
}

#[test]
fn a_trial_that_is_cancelled_costs_nothing() {
    let mut test = Test::new();
    test.signal("cancel", &()).after(3 * DAY);
    let ended = test.run(subscription, &plan()).unwrap();
    assert_eq!(ended, Ended { paid: 0, because: Reason::Cancelled });
    assert_eq!(test.calls_named(INVOICE), [] as [Value; 0]);
    test.replay_check();
}

#[test]
fn an_unpaid_invoice_ends_it() {
    let mut test = Test::new();
    test.on_named(INVOICE, |invoice: Invoice| Ok(invoice.number < 2));
    let ended = test.run(subscription, &plan()).unwrap();
    assert_eq!(ended, Ended { paid: 1, because: Reason::Unpaid });
    test.replay_check();
}

/// Makes the payment service accept the `n`-th charge, from 0, and decline those before.
fn accept_charge(test: &mut Test, n: usize) {
    let mut charges = 0;
    test.on_http("POST", PAYMENTS, move |_| {
        charges += 1;
        Ok(Response::new(if charges > n { 200 } else { 402 }, ""))
    });
}

fn texts(test: &Test) -> Vec<String> {
    test.calls(send_mail).into_iter().map(|mail| mail.text).collect()
}

#[test]
fn a_declined_charge_is_tried_again_after_a_reminder() {
    let mut test = Test::new();
    accept_charge(&mut test, 1);
    assert!(test.run(invoice, &Invoice { number: 1, plan: plan() }).unwrap());
    assert_eq!(texts(&test), ["Invoice 1 is due.", "Reminder 1: please pay."]);
    assert_eq!(test.elapsed(), 3 * DAY);
    test.replay_check();
}

#[test]
fn reminders_have_an_end() {
    let mut test = Test::new();
    accept_charge(&mut test, usize::MAX);
    assert!(!test.run(invoice, &Invoice { number: 1, plan: plan() }).unwrap());
    assert_eq!(test.requests().len(), 4);
    assert_eq!(test.elapsed(), 9 * DAY);
    test.replay_check();
}

#[test]
fn a_request_without_an_answer_is_repeated_with_one_key() {
    let mut test = Test::new();
    let mut failures = 2;
    test.on_http("POST", PAYMENTS, move |request| {
        assert_eq!(request.header("idempotency-key"), Some("test/1"));
        if failures > 0 {
            failures -= 1;
            return Ok(Response::new(503, "come back later"));
        }
        Ok(Response::new(200, ""))
    });
    assert!(test.run(invoice, &Invoice { number: 1, plan: plan() }).unwrap());
    assert_eq!(test.requests().len(), 3);
    test.replay_check();
}

#[test]
fn a_discount_above_the_price_costs_nothing() {
    let mut test = Test::new();
    accept_charge(&mut test, 0);
    let generous = Plan { discount_cents: 1_000, ..plan() };
    assert!(test.run(invoice, &Invoice { number: 1, plan: generous }).unwrap());
    let body: Value = test.requests()[0].json().unwrap();
    assert_eq!(body["amount_cents"], 0);
}
