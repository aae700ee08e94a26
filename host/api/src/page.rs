//! The parameters of every listing: limit, cursor, and label.

use super::ApiError;

/// The number of lines on a page.
pub struct PageSize {
    /// The default.
    pub usual: u32,
    /// The maximum.
    pub largest: u32,
}

/// The sizes of most listings.
pub const LISTING: PageSize = PageSize { usual: 100, largest: 1000 };

impl PageSize {
    /// The number of lines for this request.
    ///
    /// # Errors
    /// The number is zero, or larger than the maximum.
    pub fn of(&self, asked: Option<u32>) -> Result<u32, ApiError> {
        let (limit, largest) = (asked.unwrap_or(self.usual), self.largest);
        if !(1..=largest).contains(&limit) {
            let reason = format!("is not between 1 and {largest}");
            return Err(ApiError::BadField { field: "limit", reason });
        }
        Ok(limit)
    }
}

/// The number after which a page begins, from the cursor of the page before.
///
/// # Errors
/// The text is no cursor.
pub fn cursor(after: &str) -> Result<i64, ApiError> {
    let reason = || "is not a cursor from an earlier page".to_owned();
    after.parse().map_err(|_| ApiError::BadField { field: "after", reason: reason() })
}

/// Parses a label filter.
///
/// # Errors
/// The label has no name.
pub fn label(text: &str) -> Result<(String, String), ApiError> {
    let reason = || "is not of the form name=value".to_owned();
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| ApiError::BadField { field: "label", reason: reason() })?;
    Ok((name.to_owned(), value.to_owned()))
}
