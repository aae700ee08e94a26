//! The decoded segments of a path. Invocation ids contain slashes, which clients do not encode. So
//! a path is parsed from both ends, not matched against a pattern.

use std::borrow::Cow;

/// The segments of a path.
pub(super) struct SplitPath(Vec<String>);

impl SplitPath {
    /// Splits and decodes a path; `None` if a segment is not UTF-8.
    pub(super) fn of(path: &str) -> Option<Self> {
        let segments = path.trim_matches('/').split('/');
        let decoded = segments.map(|segment| decoded(segment).map(Cow::into_owned));
        decoded.collect::<Option<Vec<_>>>().map(Self)
    }

    /// Returns all segments.
    pub(super) fn all(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }
}

/// Joins the segments of an id.
pub(super) fn joined(segments: &[&str]) -> String {
    segments.join("/")
}

fn decoded(segment: &str) -> Option<Cow<'_, str>> {
    if !segment.contains('%') {
        return Some(Cow::Borrowed(segment));
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                digit(high).zip(digit(low)).map(|(high, low)| (high * 16 + low) as u8)
            }
            _ => None,
        };
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_decoded_each_by_itself() {
        let all = |path: &str| SplitPath::of(path).map(|segments| segments.0);
        let segments = all("/Cart/a%2Fb%20c/add").expect("a path");
        assert_eq!(segments, ["Cart", "a/b c", "add"]);
        assert_eq!(all("/a%zz/b%").expect("a path"), ["a%zz", "b%"], "no escapes");
        assert_eq!(all("/caf%C3%A9").expect("a path"), ["café"]);
        assert_eq!(all("/%ff"), None);
    }
}
