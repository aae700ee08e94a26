//! The requests and answers of the payment service.

use serde::{Deserialize, Serialize};

use super::ledger::LedgerEntry;

/// The body of `POST /charges`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargeRequest {
    pub order: String,
    /// The amount, in cents.
    pub amount_cents: u64,
}

/// The body of `POST /refunds`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefundRequest {
    /// The charge, as in [`Receipt::charge`].
    pub charge: String,
}

/// The answer to a charge or a refund.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Id of the charge made or refunded. `None` if the request was declined.
    pub charge: Option<String>,
    /// True if money moved.
    pub accepted: bool,
    /// The reason why no money moved; `None` if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The answer of `GET /ledger`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerView {
    /// All requests, in the order of their first arrival.
    pub entries: Vec<LedgerEntry>,
}
