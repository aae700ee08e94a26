//! Reads PostgreSQL rows by position, and escapes texts for PostgreSQL.

use std::borrow::Cow;

use sqlx::{Row as _, ValueRef as _, postgres::PgRow};

use crate::sql::{RowFields, SqlFailure};

impl RowFields for PgRow {
    fn int(&self, column: usize) -> Result<Option<i64>, SqlFailure> {
        let value = self.try_get_raw(column)?;
        if value.is_null() {
            return Ok(None);
        }
        // Prepared statements return binary values: integers in as many bytes as their type has,
        // big-endian.
        let bytes = value.as_bytes().map_err(|error| SqlFailure::Unreadable(error.to_string()))?;
        let number = match *bytes {
            [truth] => i64::from(truth),
            [a, b] => i16::from_be_bytes([a, b]).into(),
            [a, b, c, d] => i32::from_be_bytes([a, b, c, d]).into(),
            [a, b, c, d, e, f, g, h] => i64::from_be_bytes([a, b, c, d, e, f, g, h]),
            _ => return Err(SqlFailure::Unreadable(format!("column {column} is no number"))),
        };
        Ok(Some(number))
    }

    fn text(&self, column: usize) -> Result<Option<Cow<'_, str>>, SqlFailure> {
        Ok(self.try_get::<Option<&str>, _>(column)?.map(unescape))
    }

    fn blob(&self, column: usize) -> Result<Option<&[u8]>, SqlFailure> {
        Ok(self.try_get(column)?)
    }
}

/// Encodes a text for storage: PostgreSQL has no U+0000, so U+0000 becomes U+0001 U+0001, and
/// U+0001 becomes U+0001 U+0002. The encoding preserves the order and the prefixes of texts.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', '\u{1}']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\u{1}', "\u{1}\u{2}").replace('\0', "\u{1}\u{1}"))
}

/// The inverse of [`escape`].
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1}') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        match next {
            '\u{1}' => plain.push(if rest.next() == Some('\u{2}') { '\u{1}' } else { '\0' }),
            other => plain.push(other),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All texts of up to three of these characters.
    fn texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        for first in 0..3 {
            let longer = texts.iter().filter(|text| text.chars().count() == first);
            let longer =
                longer.flat_map(|text| ['\0', '\u{1}', '\u{2}', 'a'].map(|c| format!("{text}{c}")));
            texts.extend(longer.collect::<Vec<_>>());
        }
        texts
    }

    #[test]
    fn a_stored_text_keeps_its_meaning_and_its_order() {
        let texts = texts();
        assert_eq!(texts.len(), 85);
        for one in &texts {
            let stored = escape(one);
            assert!(!stored.contains('\0'));
            assert_eq!(*unescape(&stored), **one);
            for two in &texts {
                assert_eq!(stored.cmp(&escape(two)), one.cmp(two), "{one:?} and {two:?}");
                assert_eq!(stored.starts_with(&*escape(two)), one.starts_with(two.as_str()));
            }
        }
    }
}
