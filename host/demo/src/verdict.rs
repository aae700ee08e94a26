//! Compares the outcomes of orders with the expected ones. For money, the ledger is authoritative.

use segno_model::{Invocation, InvocationState};
use serde::Serialize;

use super::{
    order::DemoOrder,
    payments::ledger::{LedgerEntry, PaymentKind},
};

/// The verdict on one order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OrderVerdict {
    pub order: String,
    /// The outcome in words.
    pub outcome: String,
    /// Number of claims on its task.
    pub claims: u64,
    /// Number of charge requests that reached the payment service.
    pub charge_requests: u32,
    /// Number of accepted charges.
    pub charges: u32,
    /// Number of accepted refunds.
    pub refunds: u32,
    /// Number of records in the journal.
    pub records: u32,
    /// All deviations. Empty if the order is right.
    pub wrong: Vec<String>,
}

/// The verdict on all orders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DemoVerdict {
    /// The verdicts, in the order in which the orders were given.
    pub orders: Vec<OrderVerdict>,
    /// Deviations that concern no particular order.
    pub wrong: Vec<String>,
}

impl DemoVerdict {
    /// Compares `ended` and the ledger with the expected outcomes.
    pub fn of(ended: &[(DemoOrder, Invocation)], entries: &[LedgerEntry]) -> Self {
        let known = |entry: &&LedgerEntry| ended.iter().any(|(order, _)| order.id == entry.order);
        let strangers = entries.iter().filter(|entry| !known(entry));
        Self {
            orders: ended
                .iter()
                .map(|(order, invocation)| judge(order, invocation, entries))
                .collect(),
            wrong: strangers
                .map(|entry| {
                    format!("the ledger has an entry for the unknown order `{}`", entry.order)
                })
                .collect(),
        }
    }

    /// True if everything is exactly as expected.
    pub fn is_right(&self) -> bool {
        self.wrong.is_empty() && self.orders.iter().all(|order| order.wrong.is_empty())
    }

    /// All deviations, one per line.
    pub fn complaints(&self) -> Vec<String> {
        let of_orders = self.orders.iter();
        of_orders
            .flat_map(|judged| {
                judged.wrong.iter().map(|wrong| format!("{}: {wrong}", judged.order))
            })
            .chain(self.wrong.iter().cloned())
            .collect()
    }
}

fn judge(order: &DemoOrder, invocation: &Invocation, entries: &[LedgerEntry]) -> OrderVerdict {
    let count = |kind: PaymentKind| {
        let accepted = entries.iter().filter(|entry| entry.accepted && entry.kind == kind);
        u32::try_from(accepted.filter(|entry| entry.order == order.id).count()).unwrap_or(u32::MAX)
    };
    let charging =
        entries.iter().filter(|entry| entry.kind == PaymentKind::Charge && entry.order == order.id);
    let (outcome, charges, refunds) =
        (outcome(order, invocation), count(PaymentKind::Charge), count(PaymentKind::Refund));

    let mut wrong = Vec::new();
    let mut expect = |what: &str, is: String, must_be: String| {
        if is != must_be {
            wrong.push(format!("{what}: {is} in place of {must_be}"));
        }
    };
    if !is_as_fated(order, invocation) {
        expect("the outcome", outcome.clone(), order.fate.word().to_owned());
    }
    expect("accepted charges", charges.to_string(), order.fate.charges().to_string());
    expect("refunds", refunds.to_string(), order.fate.refunds().to_string());
    OrderVerdict {
        order: order.id.clone(),
        outcome,
        claims: invocation.version,
        charge_requests: charging.map(|entry| entry.requests).sum(),
        charges,
        refunds,
        records: invocation.journal_len,
        wrong,
    }
}

fn is_as_fated(order: &DemoOrder, invocation: &Invocation) -> bool {
    match order.fate.code() {
        None => invocation.state == InvocationState::Resolved,
        Some(code) => {
            let failed = invocation.failure.as_ref().map(|failure| failure.code);
            invocation.state == InvocationState::Rejected && failed == Some(code)
        }
    }
}

/// The expected outcome in a word, if reached; otherwise the state, with the reason if known.
fn outcome(order: &DemoOrder, invocation: &Invocation) -> String {
    if is_as_fated(order, invocation) {
        return order.fate.word().to_owned();
    }
    let failure = invocation.failure.as_ref().map(|failure| failure.message.as_str());
    let reason = failure.or_else(|| invocation.note.as_ref().map(|note| note.message.as_str()));
    match reason {
        Some(reason) => format!("{} ({reason})", invocation.state),
        None => invocation.state.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use segno_core::time::Millis;
    use serde_json::json;

    use super::*;
    use crate::order::ExpectedOutcome;

    fn order(fate: ExpectedOutcome) -> DemoOrder {
        DemoOrder::new(1, fate, "http://127.0.0.1:1", Millis(1))
    }

    fn ended(code: Option<u32>) -> Invocation {
        let state = if code.is_none() { "resolved" } else { "rejected" };
        let failure = code.map(|code| json!({ "code": code, "message": "no" }));
        serde_json::from_value(json!({
            "id": "order-001", "target": "wasm://order/order", "function": "order", "state": state, "attempt": 0,
            "version": 3, "cancel": "none", "signals": 0, "waits": [], "waits_count": 0, "awaited_by": [], "children": [], "labels": {},
            "journal_len": 9, "created_at_ms": 0, "input": null, "failure": failure,
        }))
        .unwrap()
    }

    fn entry(kind: PaymentKind, key: &str) -> LedgerEntry {
        LedgerEntry {
            key: key.into(),
            kind,
            order: "order-001".into(),
            amount_cents: 1,
            charge: Some("ch-1".into()),
            accepted: true,
            requests: 2,
        }
    }

    #[test]
    fn an_order_is_right_when_outcome_and_ledger_agree_with_its_fate() {
        let charge = entry(PaymentKind::Charge, "k");
        let refund = entry(PaymentKind::Refund, "r");
        let cases: [(ExpectedOutcome, Option<u32>, &[&LedgerEntry], bool); 8] = [
            (ExpectedOutcome::Approved, None, &[&charge], true),
            (ExpectedOutcome::Approved, None, &[], false),
            (ExpectedOutcome::Approved, None, &[&charge, &charge], false),
            (ExpectedOutcome::Approved, Some(409), &[&charge], false),
            (ExpectedOutcome::Rejected, Some(409), &[&charge, &refund], true),
            (ExpectedOutcome::Rejected, Some(409), &[&charge], false),
            (ExpectedOutcome::Forgotten, Some(408), &[&charge, &refund, &refund], false),
            (ExpectedOutcome::TooDear, Some(402), &[], true),
        ];
        for (fate, code, entries, right) in cases {
            let entries: Vec<LedgerEntry> = entries.iter().copied().cloned().collect();
            let verdict = DemoVerdict::of(&[(order(fate), ended(code))], &entries);
            assert_eq!(
                verdict.is_right(),
                right,
                "{fate:?} {code:?} {entries:?}: {:?}",
                verdict.complaints()
            );
        }
    }

    #[test]
    fn money_of_nobody_is_wrong() {
        let stranger = LedgerEntry { order: "order-999".into(), ..entry(PaymentKind::Charge, "k") };
        let verdict =
            DemoVerdict::of(&[(order(ExpectedOutcome::TooDear), ended(Some(402)))], &[stranger]);
        assert!(!verdict.is_right());
        assert!(verdict.complaints()[0].contains("order-999"));
    }
}
