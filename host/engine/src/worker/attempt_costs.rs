//! The costs that an attempt of an activity reports.

use std::sync::{Mutex, PoisonError};

use segno_core::{
    budget::{Costs, UnitAmount},
    promise::Verdict,
    tags,
    value::Value,
};
use segno_guest::Failure;

use crate::values::code;

/// The costs of one attempt so far.
#[derive(Default)]
pub(super) struct AttemptCosts(Mutex<Costs>);

impl AttemptCosts {
    /// Adds to the amount of a unit.
    pub(super) fn report(&self, unit: &str, millionths: u64) -> Result<(), Failure> {
        let mut costs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reported = match UnitAmount::of_millionths(millionths) {
            Some(amount) => costs.report(unit, amount).map_err(|error| error.to_string()),
            None => Err(format!("{millionths} millionths are too much")),
        };
        reported.map_err(|why| {
            let message = format!("the cost of `{}` is refused: {why}", unit.escape_debug());
            Failure { code: code::BAD_REQUEST, message, details: None }
        })
    }

    pub(super) fn take(&self) -> Costs {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An outcome that reports these costs.
pub(super) fn with_costs(
    (verdict, mut value): (Verdict, Value),
    costs: &Costs,
) -> (Verdict, Value) {
    if !costs.is_empty() {
        value.headers.insert(tags::COST_HEADER.to_owned(), costs.to_string());
    }
    (verdict, value)
}
