//! The keys of state of services, as names in the state of objects. A name has at least one byte: the empty key is
//! U+0001 there, and stands before every key that begins with that.

use bytes::Bytes;
use segno_core::value::Text;

const ESCAPE: char = '\u{1}';

/// The name of a key; none: it is no UTF-8.
pub fn name(key: &[u8]) -> Option<Text> {
    let key = std::str::from_utf8(key).ok()?;
    let is_plain = !key.is_empty() && !key.starts_with(ESCAPE);
    Some(if is_plain { Text::from(key) } else { Text::from(format!("{ESCAPE}{key}")) })
}

/// The key with this name.
pub fn key(name: &str) -> Bytes {
    let key = name.strip_prefix(ESCAPE).unwrap_or(name);
    Bytes::copy_from_slice(key.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_and_no_two_have_one_name() {
        let keys = ["a", "", "\u{1}", "\u{1}a", "\u{1}\u{1}"];
        let names: Vec<Text> = keys.iter().filter_map(|key| name(key.as_bytes())).collect();
        assert!(names.iter().all(|name| !name.is_empty()));
        let distinct: std::collections::BTreeSet<&Text> = names.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        for (known, name) in keys.iter().zip(&names) {
            assert_eq!(key(name), known.as_bytes());
        }
        assert_eq!(name(&[255]), None);
    }
}
