//! The orders of the demo and of the crash suites, with their expected outcomes.

use segno_core::time::Millis;
use serde::Serialize;
use serde_json::{Value, json};

/// The decision about an order, which determines its expected end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedOutcome {
    /// The order is approved, and shipped.
    Approved,
    /// The order is rejected, and the charge is refunded.
    Rejected,
    /// The approval times out, and the charge is refunded.
    Forgotten,
    /// The order costs more than the payment service accepts: nothing is charged.
    TooDear,
}

impl ExpectedOutcome {
    /// The expected failure code of the workflow. `None` if it must succeed.
    pub fn code(self) -> Option<u32> {
        match self {
            Self::Approved => None,
            Self::Rejected => Some(409),
            Self::Forgotten => Some(408),
            Self::TooDear => Some(402),
        }
    }

    /// The outcome in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approved => "shipped",
            Self::Rejected => "rejected",
            Self::Forgotten => "not approved in time",
            Self::TooDear => "payment declined",
        }
    }

    /// Number of accepted charges that the ledger must hold.
    pub fn charges(self) -> u32 {
        match self {
            Self::Approved | Self::Rejected | Self::Forgotten => 1,
            Self::TooDear => 0,
        }
    }

    /// Number of refunds that the ledger must hold.
    pub fn refunds(self) -> u32 {
        match self {
            Self::Rejected | Self::Forgotten => 1,
            Self::Approved | Self::TooDear => 0,
        }
    }
}

/// An order to place.
#[derive(Debug, Clone, PartialEq)]
pub struct DemoOrder {
    /// The order number, which is also the id of its invocation.
    pub id: String,
    pub fate: ExpectedOutcome,
    /// The workflow's input.
    pub input: Value,
}

impl DemoOrder {
    /// Creates order `number`, paid at the service at `payments`. If the order is forgotten, its
    /// approval times out after `patience`.
    pub fn new(number: usize, fate: ExpectedOutcome, payments: &str, patience: Millis) -> Self {
        let id = format!("order-{number:03}");
        let item = |at: usize| {
            let price_cents = if fate == ExpectedOutcome::TooDear {
                200_000
            } else {
                1_000 + 100 * (number % 100)
            };
            json!({ "sku": SKUS[(number + at) % SKUS.len()], "quantity": 1 + at, "price_cents": price_cents })
        };
        let approve_within = if fate == ExpectedOutcome::Forgotten { patience } else { FOREVER };
        let input = json!({
            "id": id,
            "items": (0..=number % 3).map(item).collect::<Vec<Value>>(),
            "payments": payments,
            "approve_within_s": approve_within.0 / 1_000,
        });
        Self { id, fate, input }
    }

    /// The id of the promise that approves the order.
    pub fn approval(&self) -> String {
        format!("{}/p/approval", self.id)
    }
}

/// A timeout longer than any run.
const FOREVER: Millis = Millis(24 * 60 * 60 * 1_000);

const SKUS: [&str; 5] = ["violin", "bow", "rosin", "strings", "music-stand"];
