//! Parameters of every listing: limit, cursor, and label.

use super::ApiError;

/// Number of items on a page.
pub(crate) struct PageSize {
    /// Default number.
    pub usual: u32,
    /// Maximum number.
    pub largest: u32,
}

/// Page size of most listings.
pub(crate) const LISTING: PageSize = PageSize { usual: 100, largest: 1000 };

impl PageSize {
    /// Returns the number of items for this request.
    ///
    /// # Errors
    /// The number is zero, or larger than the maximum.
    pub(crate) fn of(&self, asked: Option<u32>) -> Result<u32, ApiError> {
        let (limit, largest) = (asked.unwrap_or(self.usual), self.largest);
        if !(1..=largest).contains(&limit) {
            let reason = format!("is not between 1 and {largest}");
            return Err(ApiError::BadField { field: "limit", reason });
        }
        Ok(limit)
    }
}

/// Parses the cursor of the previous page.
///
/// # Errors
/// The text is not a cursor.
pub(crate) fn cursor(after: &str) -> Result<i64, ApiError> {
    let reason = || "is not a cursor from an earlier page".to_owned();
    after.parse().map_err(|_| ApiError::BadField { field: "after", reason: reason() })
}

/// Parses a label filter.
///
/// # Errors
/// The label has no name.
pub(crate) fn label(text: &str) -> Result<(String, String), ApiError> {
    let reason = || "is not of the form name=value".to_owned();
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| ApiError::BadField { field: "label", reason: reason() })?;
    Ok((name.to_owned(), value.to_owned()))
}
