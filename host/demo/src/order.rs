//! The orders that the demo and the crash suites place, and what must become of each.

use segno_core::time::Millis;
use serde::Serialize;
use serde_json::{Value, json};

/// What is decided about an order from outside, and so how it has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedOutcome {
    /// Somebody approves it: it is shipped.
    Approved,
    /// Somebody rejects it: the charge is given back.
    Rejected,
    /// Nobody answers in time: the charge is given back.
    Forgotten,
    /// It costs more than the payment service accepts: nothing is charged.
    TooDear,
}

impl ExpectedOutcome {
    /// How the workflow must end: the code of its failure, or none where it succeeds.
    pub fn code(self) -> Option<u32> {
        match self {
            Self::Approved => None,
            Self::Rejected => Some(409),
            Self::Forgotten => Some(408),
            Self::TooDear => Some(402),
        }
    }

    /// The same in a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approved => "shipped",
            Self::Rejected => "rejected",
            Self::Forgotten => "not approved in time",
            Self::TooDear => "payment declined",
        }
    }

    /// Accepted charges that the ledger must hold.
    pub fn charges(self) -> u32 {
        match self {
            Self::Approved | Self::Rejected | Self::Forgotten => 1,
            Self::TooDear => 0,
        }
    }

    /// Refunds that the ledger must hold.
    pub fn refunds(self) -> u32 {
        match self {
            Self::Rejected | Self::Forgotten => 1,
            Self::Approved | Self::TooDear => 0,
        }
    }
}

/// An order to place.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Its number, also the id of its invocation.
    pub id: String,
    /// What is going to happen to it.
    pub fate: ExpectedOutcome,
    /// The workflow's input.
    pub input: Value,
}

impl Order {
    /// Order number `number`, paid at the service at `payments`; if it is forgotten, then after `patience`.
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

    /// The id of the promise with which it is approved.
    pub fn approval(&self) -> String {
        format!("{}/p/approval", self.id)
    }
}

/// Longer than any run.
const FOREVER: Millis = Millis(24 * 60 * 60 * 1_000);

const SKUS: [&str; 5] = ["violin", "bow", "rosin", "strings", "music-stand"];
