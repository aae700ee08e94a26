//! Amounts by unit: what an attempt costs, or what a budget allows.

use std::{collections::BTreeMap, fmt, str::FromStr};

use super::{CALLS, UnitAmount, UnitAmountError};
use crate::{
    tags,
    value::{Tags, Text},
};

/// Maximum number of units.
pub const COST_UNITS_MAX: usize = 16;
/// Maximum length of the name of a unit, in bytes.
pub const UNIT_LENGTH_MAX: usize = 64;

/// Amounts by unit. As text, `UNIT=AMOUNT`, several with commas between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs(BTreeMap<Text, UnitAmount>);

/// Reason why amounts by unit are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CostsError {
    #[error(
        "`{0}` is no unit: its name has 1 to {UNIT_LENGTH_MAX} letters, digits, `-`, `_` and `.`"
    )]
    Unit(String),
    #[error("`{0}` is no amount of a unit: write UNIT=AMOUNT, as in `tokens=100000`")]
    Form(String),
    #[error("`{0}` is named twice")]
    Twice(Text),
    #[error(transparent)]
    Amount(#[from] UnitAmountError),
    #[error("there are more than {COST_UNITS_MAX} units")]
    Many,
    #[error("`{CALLS}` is counted by the host and cannot be reported")]
    Counted,
}

impl Costs {
    /// One of a unit.
    pub fn one(unit: &str) -> Self {
        Self(BTreeMap::from([(Text::from(unit), UnitAmount::ONE)]))
    }

    /// The costs that the headers of a value report.
    pub fn of(headers: &Tags) -> Self {
        let reported = headers.get(tags::COST_HEADER);
        reported.and_then(|costs| costs.parse().ok()).unwrap_or_default()
    }

    /// Adds other costs.
    pub fn plus(&mut self, other: &Self) {
        for (unit, amount) in other.iter() {
            // A sum has more units than one attempt may report.
            let known = self.0.entry(unit.clone()).or_default();
            *known = known.plus(amount);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Text, UnitAmount)> {
        self.0.iter().map(|(unit, amount)| (unit, *amount))
    }

    /// The amount of a unit.
    pub fn get(&self, unit: &str) -> UnitAmount {
        self.0.get(unit).copied().unwrap_or_default()
    }

    /// Adds to the amount of a unit, as an attempt reports it.
    ///
    /// # Errors
    /// [`CostsError`]: the unit cannot be reported, or there are too many.
    pub fn report(&mut self, unit: &str, amount: UnitAmount) -> Result<(), CostsError> {
        if unit == CALLS {
            return Err(CostsError::Counted);
        }
        self.add(unit, amount)
    }

    /// Adds to the amount of a unit.
    ///
    /// # Errors
    /// [`CostsError`]: the name is no unit's, or there are too many.
    pub fn add(&mut self, unit: &str, amount: UnitAmount) -> Result<(), CostsError> {
        let is_plain = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_' | b'.');
        let fits = (1..=UNIT_LENGTH_MAX).contains(&unit.len());
        if !fits || !unit.bytes().all(is_plain) {
            return Err(CostsError::Unit(unit.chars().take(UNIT_LENGTH_MAX).collect()));
        }
        if !self.0.contains_key(unit) && self.0.len() == COST_UNITS_MAX {
            return Err(CostsError::Many);
        }
        let known = self.0.entry(Text::from(unit)).or_default();
        *known = known.plus(amount);
        Ok(())
    }
}

impl FromStr for Costs {
    type Err = CostsError;

    fn from_str(text: &str) -> Result<Self, CostsError> {
        let mut costs = Self::default();
        for entry in text.split(',') {
            let (unit, amount) =
                entry.split_once('=').ok_or_else(|| CostsError::Form(entry.to_owned()))?;
            let unit = unit.trim();
            if costs.0.contains_key(unit) {
                return Err(CostsError::Twice(Text::from(unit)));
            }
            costs.add(unit, amount.trim().parse()?)?;
        }
        Ok(costs)
    }
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (unit, amount)) in self.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{unit}={amount}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_read_as_they_are_written() {
        let costs: Costs = "usd=2.50, tokens=100000".parse().expect("costs");
        assert_eq!(costs.to_string(), "tokens=100000,usd=2.5");
        assert_eq!(costs.to_string().parse(), Ok(costs));
        let error = |text: &str| text.parse::<Costs>().map_err(|it| it.to_string()).unwrap_err();
        assert!(error("tokens").contains("UNIT=AMOUNT"));
        assert!(error("").contains("UNIT=AMOUNT"));
        assert!(error("a b=1").contains("`a b` is no unit"));
        assert!(error("=1").contains("is no unit"));
        assert!(error("a=1,a=2").contains("twice"));
        assert!(error("a=-1").contains("`-1` is no amount"));
        let many: Vec<String> = (0..17).map(|n| format!("u{n}=1")).collect();
        assert!(error(&many.join(",")).contains("more than 16"));
    }

    #[test]
    fn reports_add_up() {
        let mut costs = Costs::default();
        costs.report("usd", "0.1".parse().expect("an amount")).expect("a unit");
        costs.report("usd", "0.2".parse().expect("an amount")).expect("a unit");
        assert_eq!(costs.get("usd").to_string(), "0.3");
        assert_eq!(costs.report(CALLS, UnitAmount::ONE), Err(CostsError::Counted));
    }
}
