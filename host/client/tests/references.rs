//! A program over what `segno types` writes: it compiles, and its values are those of the schemas.

#[path = "../../types/tests/golden/shop.rs"]
#[rustfmt::skip]
#[expect(unreachable_pub, reason = "it is written for other crates")]
mod shop;

use segno_client::FunctionReference;
use serde_json::{Value, json};
use shop::{Json, Order, Payment, PaymentCard};

fn order(payment: Value) -> Result<Order, serde_json::Error> {
    serde_json::from_value(json!({
        "id": "o-1",
        "cents": 1200,
        "lines": [{"item": "tea", "cents": 1, "parts": [{"item": "leaf", "cents": 0}]}],
        "colour": "dark-green",
        "paid with": payment,
        "notes": {"any": ["thing", null, {"deep": 1.0}]},
        "place": [1.0, 2.0],
        "address": {"city": "Ghent", "street": 7},
        "class": "a",
    }))
}

#[test]
fn a_value_of_the_schemas_is_read_and_written_unchanged() {
    let card = json!({"kind": "card", "number": "4"});
    let order = order(card.clone()).expect("an order");
    let Some(Payment::Card(PaymentCard { number, .. })) = &order.paid_with else {
        panic!("{:?}", order.paid_with);
    };
    assert_eq!(number, "4");
    let parts = order.lines.as_ref().and_then(|lines| lines[0].parts.as_ref()).expect("parts");
    assert_eq!(parts[0].item, "leaf");
    assert_eq!(order.address.as_ref().map(|address| &address.other["street"]), Some(&json!(7)));
    assert!(matches!(order.notes, Some(Json(Some(_)))));
    let start = shop::ORDER.start(&order).expect("JSON");
    assert_eq!(start.target, "wasm://shop/order");
    assert_eq!(start.input["paid with"], card);
    assert_eq!(start.input["notes"]["any"], json!(["thing", null, {"deep": 1.0}]));
    assert_eq!(start.input.get("contact"), None);
    let again: Order = serde_json::from_value(start.input).expect("an order");
    assert_eq!(again, order);
}

#[test]
fn the_types_of_a_union_are_told_apart() {
    let invoice = order(json!({"kind": "invoice", "days": 14})).expect("an order");
    assert!(matches!(invoice.paid_with, Some(Payment::Invoice(_))));
    let voucher = order(json!("voucher")).expect("an order");
    assert!(matches!(voucher.paid_with, Some(Payment::Literal(_))));
    assert!(order(json!({"kind": "cash"})).is_err());
}

#[test]
fn functions_of_objects_have_a_key() {
    let add: FunctionReference<String, Vec<String>> = shop::Cart::new("ada").add();
    assert_eq!(add.address(), "wasm://shop/Cart@ada/add");
    let signal = shop::ORDER_STOP_SIGNAL.send(&()).expect("JSON");
    assert_eq!((signal.name.as_str(), signal.payload), ("stop", json!(null)));
    assert_eq!(shop::ORDER_ADD_LINE_UPDATE.name(), "add-line");
}
