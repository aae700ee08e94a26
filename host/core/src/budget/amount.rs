//! Amounts of a unit, in millionths.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Millionths of one.
const ONE: u64 = 1_000_000;
/// Largest amount, in millionths: stores keep signed numbers of 64 bits.
const MILLIONTHS_MAX: u64 = i64::MAX as u64;

/// An amount of a unit: a number that is not negative, with at most six decimal places.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct UnitAmount(u64);

/// A text that is no amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no amount: write a number from 0 to 9223372036854, with at most six decimal places"
)]
pub struct UnitAmountError(pub String);

impl UnitAmount {
    pub const ZERO: Self = Self(0);
    pub const ONE: Self = Self(ONE);

    /// An amount in millionths. `None` if it is too large.
    pub fn of_millionths(millionths: u64) -> Option<Self> {
        (millionths <= MILLIONTHS_MAX).then_some(Self(millionths))
    }

    pub fn millionths(self) -> u64 {
        self.0
    }

    /// The sum, or the largest amount.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0).min(MILLIONTHS_MAX))
    }

    /// The difference, or zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl FromStr for UnitAmount {
    type Err = UnitAmountError;

    fn from_str(text: &str) -> Result<Self, UnitAmountError> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        let amount = || {
            let whole: u64 = whole.parse().ok()?;
            let part: u64 = format!("{part:0<6}").parse().ok()?;
            Self::of_millionths(whole.checked_mul(ONE)?.checked_add(part)?)
        };
        let is_number = digits(whole) && digits(part) && part.len() <= 6;
        is_number.then(amount).flatten().ok_or_else(|| UnitAmountError(text.to_owned()))
    }
}

impl fmt::Display for UnitAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / ONE, self.0 % ONE);
        match part {
            0 => write!(f, "{whole}"),
            _ => write!(f, "{whole}.{}", format!("{part:06}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_read_as_it_is_written() {
        for (text, millionths) in [
            ("0", 0),
            ("1", ONE),
            ("2.5", 2_500_000),
            ("0.000001", 1),
            ("007.10", 7_100_000),
            ("9223372036854.775807", MILLIONTHS_MAX),
        ] {
            let amount: UnitAmount = text.parse().expect(text);
            assert_eq!(amount.millionths(), millionths, "{text}");
            assert_eq!(amount.to_string().parse(), Ok(amount), "{text}");
        }
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "0.0000001", "9223372036854.775808"] {
            assert_eq!(text.parse::<UnitAmount>(), Err(UnitAmountError(text.to_owned())));
        }
    }

    #[test]
    fn sums_and_differences_stay_within_bounds() {
        let largest = UnitAmount(MILLIONTHS_MAX);
        assert_eq!(largest.plus(UnitAmount::ONE), largest);
        assert_eq!(UnitAmount::ONE.minus(largest), UnitAmount::ZERO);
    }
}
