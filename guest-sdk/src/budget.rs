//! Budgets: what an execution may use, and what an activity costs.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::{Error, Result};

/// The built-in function that answers what is left.
pub(crate) const BUDGET: &str = "segno:budget";
/// The label by which a call gets a budget of its own.
pub(crate) const BUDGET_LABEL: &str = "segno:budget";
/// The unit that the host counts.
pub(crate) const CALLS: &str = "calls";
const MILLION: u64 = 1_000_000;

/// An amount of a unit, such as tokens or money: a number from 0, rounded to millionths.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Amount(f64, Option<u64>);

impl Amount {
    /// The amount in millionths.
    ///
    /// # Errors
    /// Code 400 if the number is negative, not finite or too large.
    pub(crate) fn millionths(self) -> Result<u64> {
        let is_stored = |millionths: &u64| i64::try_from(*millionths).is_ok();
        self.1.filter(is_stored).ok_or_else(|| {
            let message = format!("`{}` is no amount: it is a number from 0 to 9e12", self.0);
            Error::terminal(Error::BAD_INPUT, message)
        })
    }
}

impl From<f64> for Amount {
    fn from(amount: f64) -> Self {
        let millionths = (amount * MILLION as f64).round();
        let fits = (0.0..=i64::MAX as f64).contains(&millionths);
        Self(amount, fits.then_some(millionths as u64))
    }
}

impl From<u64> for Amount {
    fn from(amount: u64) -> Self {
        Self(amount as f64, amount.checked_mul(MILLION))
    }
}

impl From<u32> for Amount {
    fn from(amount: u32) -> Self {
        u64::from(amount).into()
    }
}

impl From<i32> for Amount {
    fn from(amount: i32) -> Self {
        f64::from(amount).into()
    }
}

impl From<usize> for Amount {
    fn from(amount: usize) -> Self {
        (amount as u64).into()
    }
}

/// Adds a unit to the amounts of a label.
pub(crate) fn add_to_label(label: &str, unit: &str, millionths: u64) -> String {
    match label {
        "" => format!("{unit}={}", decimal(millionths)),
        _ => format!("{label},{unit}={}", decimal(millionths)),
    }
}

/// Millionths as a decimal number.
fn decimal(millionths: u64) -> String {
    let (whole, part) = (millionths / MILLION, millionths % MILLION);
    match part {
        0 => whole.to_string(),
        _ => format!("{whole}.{}", format!("{part:06}").trim_end_matches('0')),
    }
}

/// Remaining budgets of an execution: for each unit, the budget with the least left.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct RemainingBudget(BTreeMap<String, RemainingUnit>);

/// Limit and use of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct RemainingUnit {
    /// The most that may be used.
    pub limit: f64,
    /// The amount used so far. It exceeds the limit by what the calls in flight used.
    pub spent: f64,
    /// The amount left.
    pub remaining: f64,
}

impl RemainingBudget {
    /// The amount left of a unit. `None` if no budget limits it.
    pub fn remaining(&self, unit: &str) -> Option<f64> {
        self.0.get(unit).map(|unit| unit.remaining)
    }

    /// Limit and use of a unit. `None` if no budget limits it.
    pub fn unit(&self, unit: &str) -> Option<RemainingUnit> {
        self.0.get(unit).copied()
    }

    /// All units that a budget limits, by name.
    pub fn units(&self) -> impl Iterator<Item = (&str, RemainingUnit)> {
        self.0.iter().map(|(name, unit)| (name.as_str(), *unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_to_millionths() {
        let millionths = |amount: Amount| amount.millionths().ok();
        assert_eq!(millionths(3.into()), Some(3_000_000));
        assert_eq!(millionths(7_usize.into()), Some(7_000_000));
        assert_eq!(millionths(0.000_000_4.into()), Some(0));
        assert_eq!(millionths(0.1.into()), Some(100_000));
        for wrong in [-1.0, f64::NAN, f64::INFINITY, 1e13] {
            assert_eq!(millionths(wrong.into()), None, "{wrong}");
        }
        assert_eq!(millionths(u64::MAX.into()), None);
        assert_eq!(millionths((-3).into()), None);
        let label = add_to_label(&add_to_label("", "calls", 3_000_000), "usd", 1_500_000);
        assert_eq!(label, "calls=3,usd=1.5");
    }
}
