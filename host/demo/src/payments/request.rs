//! What the payment service is asked and what it answers.

use serde::{Deserialize, Serialize};

use super::ledger::Entry;

/// The body of `POST /charges`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChargeRequest {
    /// The order that is paid.
    pub order: String,
    /// How much.
    pub amount_cents: u64,
}

/// The body of `POST /refunds`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefundRequest {
    /// What [`Receipt::charge`] said.
    pub charge: String,
}

/// The answer to a charge or a refund.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The charge that was made or given back; none: declined.
    pub charge: Option<String>,
    /// Whether money moved.
    pub accepted: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The answer of `GET /ledger`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerView {
    /// In the order in which they were first asked for.
    pub entries: Vec<Entry>,
}
