//! What every listing is asked: how much of it, from where on, and which label.

use super::ApiError;

/// How many lines are on a page.
pub struct PageSize {
    /// Where nothing else is asked for.
    pub usual: u32,
    /// At most.
    pub largest: u32,
}

/// Of most listings.
pub const LISTING: PageSize = PageSize { usual: 100, largest: 1000 };

impl PageSize {
    /// How many lines are wanted.
    ///
    /// # Errors
    /// None, or more than there may be on a page.
    pub fn of(&self, asked: Option<u32>) -> Result<u32, ApiError> {
        let (limit, largest) = (asked.unwrap_or(self.usual), self.largest);
        if !(1..=largest).contains(&limit) {
            let reason = format!("is not between 1 and {largest}");
            return Err(ApiError::BadField { field: "limit", reason });
        }
        Ok(limit)
    }
}

/// The number after which a page begins, from the page before.
///
/// # Errors
/// It is from nowhere.
pub fn cursor(after: &str) -> Result<i64, ApiError> {
    let reason = || "is not a cursor from an earlier page".to_owned();
    after.parse().map_err(|_| ApiError::BadField { field: "after", reason: reason() })
}

/// A label that is asked for.
///
/// # Errors
/// It has no name.
pub fn label(text: &str) -> Result<(String, String), ApiError> {
    let reason = || "is not of the form name=value".to_owned();
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| ApiError::BadField { field: "label", reason: reason() })?;
    Ok((name.to_owned(), value.to_owned()))
}
