//! The order against a payment service that keeps a ledger, as a real one does.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use segno::{
    http::Response,
    serde_json::{Value, json},
    testing::Test,
};

use super::*;

const PAYMENTS: &str = "http://payments.test";

/// Charges and refunds by idempotency key.
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<BTreeMap<String, Value>>>);

impl Ledger {
    /// Answers the test's requests. The first `failures` responses fail after the request was
    /// entered, like a lost response.
    fn serve(&self, test: &mut Test, accept: bool, mut failures: u32) {
        for path in ["charges", "refunds"] {
            let ledger = self.0.clone();
            test.on_http("POST", &format!("{PAYMENTS}/{path}"), move |request| {
                let key =
                    request.header("idempotency-key").expect("the host adds a key").to_owned();
                let body: Value = request.json()?;
                ledger
                    .lock()
                    .unwrap()
                    .entry(key.clone())
                    .or_insert(json!({ "path": path, "body": body }));
                if failures > 0 {
                    failures -= 1;
                    return Ok(Response::new(503, "come back later"));
                }
                Ok(Response::with_json(
                    200,
                    &json!({ "charge": format!("charge-{key}"), "accepted": accept }),
                ))
            });
        }
    }

    fn entries(&self, path: &str) -> Vec<Value> {
        self.0
            .lock()
            .unwrap()
            .values()
            .filter(|entry| entry["path"] == path)
            .map(|entry| entry["body"].clone())
            .collect()
    }
}

fn two_items() -> Order {
    let item =
        |sku: &str, quantity, price_cents| Item { sku: sku.to_owned(), quantity, price_cents };
    let items = vec![item("hat", 1, 2_500), item("glove", 2, 900)];
    Order {
        id: "o-1".to_owned(),
        items,
        payments: PAYMENTS.to_owned(),
        approve_within_s: three_days(),
    }
}

#[test]
fn an_approved_order_is_charged_once_and_shipped() {
    let (mut test, ledger) = (Test::new(), Ledger::default());
    ledger.serve(&mut test, true, 2);
    test.promise("approval").after(Duration::from_secs(3_600)).resolve(&true);
    let receipt = test.run(order, &two_items()).unwrap();

    assert_eq!(receipt.amount_cents, 4_300);
    assert_eq!(receipt.charge, "charge-test/charge");
    assert_eq!(receipt.shipments, ["parcel-test/3", "parcel-test/4"]);
    assert_eq!(test.requests().len(), 3, "two answers were lost");
    assert_eq!(ledger.entries("charges"), [json!({ "order": "o-1", "amount_cents": 4_300 })]);
    assert!(ledger.entries("refunds").is_empty());
    assert!(test.calls(release).is_empty());
    test.replay_check();
}

/// Checks that the charge was refunded and the stock released, each once.
fn assert_undone(test: &Test, ledger: &Ledger) {
    assert_eq!(ledger.entries("charges").len(), 1);
    assert_eq!(ledger.entries("refunds"), [json!({ "charge": "charge-test/charge" })]);
    assert_eq!(test.calls(release), ["reservation-test"]);
    test.replay_check();
}

#[test]
fn an_order_that_is_not_approved_is_undone() {
    let refusals: [fn(&mut Test); 4] = [
        |test| test.promise("approval").resolve(&false),
        |test| test.promise("approval").reject(Error::terminal(403, "not this customer")),
        |test| {
            test.cancel_after(Duration::from_secs(60));
        },
        |_| {}, // the approval is never answered
    ];
    for (refuse, code) in refusals.iter().zip([409, 403, 499, 408]) {
        let (mut test, ledger) = (Test::new(), Ledger::default());
        ledger.serve(&mut test, true, 0);
        refuse(&mut test);
        assert_eq!(test.run(order, &two_items()).unwrap_err().code(), code);
        assert!(test.calls(ship).is_empty());
        assert_undone(&test, &ledger);
    }
}

#[test]
fn an_order_that_cannot_be_shipped_is_undone() {
    let (mut test, ledger) = (Test::new(), Ledger::default());
    ledger.serve(&mut test, true, 0);
    test.promise("approval").resolve(&true);
    test.on(ship, |item| match item.sku.as_str() {
        "glove" => Err(Error::terminal(410, "the carrier went out of business")),
        _ => Ok("parcel".to_owned()),
    });
    assert_eq!(test.run(order, &two_items()).unwrap_err().code(), 410);
    assert_undone(&test, &ledger);
}

#[test]
fn a_cancelled_order_gives_back_what_was_under_way() {
    // While the stock is being reserved, no request has been sent to the payment service.
    let (mut test, ledger) = (Test::new(), Ledger::default());
    ledger.serve(&mut test, true, 0);
    test.on(reserve, |_| Err(Error::retryable("the warehouse does not answer")));
    test.cancel_after(Duration::from_millis(50));
    assert_eq!(test.run(order, &two_items()).unwrap_err().code(), 499);
    assert_eq!(test.calls(release), ["reservation-test"]);
    assert!(ledger.entries("charges").is_empty());

    // While the charge is in flight, the first response is lost.
    let (mut test, ledger) = (Test::new(), Ledger::default());
    ledger.serve(&mut test, true, 1);
    test.cancel_after(Duration::from_millis(50));
    assert_eq!(test.run(order, &two_items()).unwrap_err().code(), 499);
    assert_eq!(ledger.entries("charges").len(), 1);
    assert_eq!(ledger.entries("refunds"), [json!({ "charge": "charge-test/charge" })]);
    assert_eq!(test.calls(release), ["reservation-test"]);
    test.replay_check();
}

#[test]
fn a_declined_payment_releases_the_stock() {
    let (mut test, ledger) = (Test::new(), Ledger::default());
    ledger.serve(&mut test, false, 0);
    assert_eq!(test.run(order, &two_items()).unwrap_err().code(), 402);
    assert_eq!(test.calls(release), ["reservation-test"]);
    assert!(ledger.entries("refunds").is_empty());
}

#[test]
fn what_is_sold_out_is_not_charged() {
    let (mut test, ledger) = (Test::new(), Ledger::default());
    ledger.serve(&mut test, true, 0);
    let mut wanted = two_items();
    wanted.items[0].sku = "sold-out".to_owned();
    assert_eq!(test.run(order, &wanted).unwrap_err().code(), 409);
    assert!(ledger.entries("charges").is_empty());
}
