// Types of the Segno module `shop`; do not edit.
// Digest: 0000000000000000000000000000000000000000000000000000000000000000
// Command: segno types shop

#![allow(dead_code, reason = "a program uses some of the functions")]

use segno_client::{FunctionReference, PromiseReference, QueryReference, SignalReference, UpdateReference};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NightlyOutputDoneKind {
    #[serde(rename = "done")]
    Done,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NightlyOutputDone {
    pub kind: NightlyOutputDoneKind,
    pub last: Option<String>,
    pub orders: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NightlyOutputFailedKind {
    #[serde(rename = "failed")]
    Failed,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NightlyOutputFailed {
    pub kind: NightlyOutputFailedKind,
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OrderColour {
    #[serde(rename = "red")]
    Red,
    #[serde(rename = "dark-green")]
    DarkGreen,
    #[serde(rename = "class")]
    Class,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OrderContact {
    Text(String),
    Integer(i64),
}

/// An order of a customer.
/// Schema: {"if":{"required":["gift"]},"then":{"required":["address"]}}
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<PostalAddress>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anything: Option<serde_json::Value>,
    /// Schema: {"minimum":0}
    pub cents: u64,
    /// Deprecated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<OrderColour>,
    /// Schema: {"format":"email"}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contact: Option<OrderContact>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gift: Option<bool>,
    /// Number of the order.
    /// Schema: {"pattern":"^o-[0-9]+$"}
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<std::collections::BTreeMap<String, String>>,
    /// Schema: {"minItems":1}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<Line>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Json>,
    #[serde(rename = "paid with", default, skip_serializing_if = "Option::is_none")]
    pub paid_with: Option<Payment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<(f64, f64)>,
    /// Schema: {"default":2}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Vec<serde_json::Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PostalAddress {
    pub city: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zip: Option<String>,
    /// All other keys.
    #[serde(flatten)]
    pub other: std::collections::BTreeMap<String, serde_json::Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub cents: i64,
    pub item: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<Line>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum JsonValue {
    Text(String),
    Number(f64),
    List(Vec<Json>),
    Record(std::collections::BTreeMap<String, Json>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(pub Option<JsonValue>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PaymentValue {
    #[serde(rename = "voucher")]
    Voucher,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Payment {
    Literal(PaymentValue),
    Card(PaymentCard),
    Invoice(PaymentInvoice),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PaymentCardKind {
    #[serde(rename = "card")]
    Card,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaymentCard {
    pub kind: PaymentCardKind,
    pub number: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PaymentInvoiceKind {
    #[serde(rename = "invoice")]
    Invoice,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaymentInvoice {
    /// Schema: {"minimum":0}
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u64>,
    pub kind: PaymentInvoiceKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub by: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SendMailInput {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order2>,
    pub to: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order2 {
    pub id: String,
}

/// The object `Cart` with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cart(String);

impl Cart {
    /// The object with this key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// Puts a line into the cart.
    pub fn add(&self) -> FunctionReference<String, Vec<String>> {
        FunctionReference::keyed("wasm://shop/Cart@", &self.0, "/add")
    }

    /// Schema: output {"patternProperties":{"^n":{"type":"number"}}}
    pub fn new_(&self) -> FunctionReference<serde_json::Value, std::collections::BTreeMap<String, f64>> {
        FunctionReference::keyed("wasm://shop/Cart@", &self.0, "/new")
    }
}

pub const DELETE: FunctionReference<serde_json::Value, serde_json::Value> = FunctionReference::new("wasm://shop/delete");

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NightlyOutput {
    Done(NightlyOutputDone),
    Failed(NightlyOutputFailed),
}

pub const NIGHTLY: FunctionReference<(), NightlyOutput> = FunctionReference::new("wasm://shop/nightly");

/// Charges an order when somebody approves it. A comment may end with */ and """.
/// Schema: output {"maxLength":40}
pub const ORDER: FunctionReference<Order, Option<String>> = FunctionReference::new("wasm://shop/order");

/// Sends a mail.
///
/// It may be sent twice.
pub const SEND_MAIL: FunctionReference<SendMailInput, ()> = FunctionReference::new("wasm://shop/send-mail");

pub const CART_ADD_SIZE_QUERY: QueryReference<serde_json::Value, i64> = QueryReference::new("size");

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OrderStatusAnswer {
    #[serde(rename = "waiting")]
    Waiting,
    #[serde(rename = "charged")]
    Charged,
}

pub const ORDER_APPROVED_SIGNAL: SignalReference<Approval> = SignalReference::new("approved");

pub const ORDER_STOP_SIGNAL: SignalReference<()> = SignalReference::new("stop");

pub const ORDER_RECEIPT_SENT_PROMISE: PromiseReference<bool> = PromiseReference::new("receipt-sent");

/// How far it is.
pub const ORDER_STATUS_QUERY: QueryReference<serde_json::Value, OrderStatusAnswer> = QueryReference::new("status");

/// Schema: answer {"minimum":0}
pub const ORDER_ADD_LINE_UPDATE: UpdateReference<Line, u64> = UpdateReference::new("add-line");
