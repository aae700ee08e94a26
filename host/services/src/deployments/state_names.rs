//! Maps the keys of state of services to names in the state of objects. A name has at least one
//! byte. The empty key becomes U+0001, which is also put before every key that begins with U+0001.

use bytes::Bytes;
use segno_core::value::Text;

const ESCAPE: char = '\u{1}';

/// The name of a key. `None` if the key is not UTF-8.
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
