//! The first difference of the data of two streams.

/// Maximum number of items, or lines, of each side that a difference shows.
const ITEMS_SHOWN: usize = 3;
/// Maximum length of a shown item, in characters.
const SHOWN_CHARS: usize = 200;
/// Maximum number of bytes that are shown of data that is not text.
const SHOWN_BYTES: usize = 24;

/// The first difference of two streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamDifference {
    /// Position of the first message that differs, or of the first byte.
    pub position: u64,
    /// The messages of the first stream from there on, or its text from the beginning of that line,
    /// shortened.
    pub first: Vec<String>,
    /// The same of the second stream.
    pub second: Vec<String>,
}

/// Compares the data of two streams. `is_json`: the data is messages, one a line.
pub fn stream_difference(first: &[u8], second: &[u8], is_json: bool) -> Option<StreamDifference> {
    if first == second {
        return None;
    }
    let equal = first.iter().zip(second).take_while(|(a, b)| a == b).count();
    let line = first[..equal].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let position = match is_json {
        true => first[..equal].iter().filter(|byte| **byte == b'\n').count(),
        false => equal,
    };
    let (rest, other) = (&first[line..], &second[line..]);
    let is_text =
        is_json || std::str::from_utf8(rest).is_ok() && std::str::from_utf8(other).is_ok();
    let shown = |rest: &[u8], from: usize| match is_text {
        true => lines(rest),
        false => hexadecimal(&rest[from..]),
    };
    Some(StreamDifference {
        position: position as u64,
        first: shown(rest, equal - line),
        second: shown(other, equal - line),
    })
}

fn lines(rest: &[u8]) -> Vec<String> {
    let lines = rest.split_inclusive(|byte| *byte == b'\n').take(ITEMS_SHOWN);
    let lines = lines.map(|line| {
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(line));
        match text.char_indices().nth(SHOWN_CHARS) {
            None => text.into_owned(),
            Some((end, _)) => format!("{}…", &text[..end]),
        }
    });
    lines.collect()
}

fn hexadecimal(rest: &[u8]) -> Vec<String> {
    if rest.is_empty() {
        return Vec::new();
    }
    let bytes = rest.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x}"));
    let more = if rest.len() > SHOWN_BYTES { "…" } else { "" };
    vec![format!("{}{more}", bytes.collect::<Vec<_>>().join(" "))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(first: &[u8], second: &[u8], is_json: bool) -> Option<(u64, String, String)> {
        let found = stream_difference(first, second, is_json)?;
        Some((found.position, found.first.join("|"), found.second.join("|")))
    }

    fn at(position: u64, first: &str, second: &str) -> Option<(u64, String, String)> {
        Some((position, first.to_owned(), second.to_owned()))
    }

    #[test]
    fn the_first_item_that_differs_is_found() {
        assert_eq!(found(b"1\n2\n", b"1\n2\n", true), None);
        assert_eq!(found(b"1\n2\n3\n", b"1\n20\n3\n", true), at(1, "2|3", "20|3"));
        assert_eq!(found(b"1\n", b"1\n2\n", true), at(1, "", "2"));
        assert_eq!(found(b"", b"1\n", true), at(0, "", "1"));
        assert_eq!(found(b"1\n2\n3\n4\n", b"", true), at(0, "1|2|3", ""));
        // The line of text is shown from its beginning, and the position is that of the byte.
        assert_eq!(found(b"a\nbcd\n", b"a\nbxd\n", false), at(3, "bcd", "bxd"));
        assert_eq!(found("é".as_bytes(), "è".as_bytes(), false), at(1, "é", "è"));
        assert_eq!(found(&[0xff, 1], &[0xff, 2, 3], false), at(1, "01", "02 03"));
        let long = "x".repeat(SHOWN_CHARS + 1);
        let shown = found(long.as_bytes(), b"", false).expect("they differ").1;
        assert_eq!(shown.chars().count(), SHOWN_CHARS + 1);
        assert!(shown.ends_with('…'));
    }
}
