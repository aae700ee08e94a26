//! Measures, cuts and wraps texts to a number of columns, and escapes terminal control characters.

use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Returns true if a character controls a terminal instead of being shown: a control character, a
/// line separator, or a change of the writing direction.
pub(super) fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// `text` with a mark for each character that [`steers`] a terminal. Line breaks are kept, and
/// colours if the stream has them.
pub(super) fn tame(text: &str, has_colours: bool) -> String {
    let mut tamed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let colour = if has_colours { colour(rest) } else { 0 };
        let length = colour.max(letter.len_utf8());
        match letter {
            _ if colour > 0 => tamed.push_str(&rest[..colour]),
            '\n' => tamed.push(letter),
            '\t' => tamed.push_str("    "),
            letter => tamed.push_str(&shown(letter)),
        }
        rest = &rest[length..];
    }
    tamed
}

/// A character, or the mark for one that [`steers`] a terminal.
fn shown(letter: char) -> String {
    match letter {
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER.to_string(),
        letter if steers(letter) => letter.escape_unicode().to_string(),
        letter => letter.to_string(),
    }
}

/// Text of guests or clients, with the same marks, on one line.
pub(super) fn plain(text: &str) -> String {
    match text.chars().any(steers) {
        true => text.chars().map(shown).collect(),
        false => text.to_owned(),
    }
}

/// JSON with escapes for the characters that [`steer`](steers) a terminal: all of them are within
/// strings, except the line breaks between tokens.
pub(super) fn tame_json(json: String) -> String {
    let is_in_text = |letter: char| letter != '\n' && steers(letter);
    if !json.chars().any(is_in_text) {
        return json;
    }
    let mut tamed = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            letter if is_in_text(letter) => {
                let _ = write!(tamed, "\\u{:04x}", letter as u32);
            }
            letter => tamed.push(letter),
        }
    }
    tamed
}

/// Length of the colour sequence at the beginning of a text, in bytes; 0 if there is none.
fn colour(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return 0 };
    let is_part = |letter: char| letter.is_ascii_digit() || letter == ';';
    let end = rest.find(|letter| !is_part(letter));
    end.filter(|at| rest[*at..].starts_with('m')).map_or(0, |at| at + 3)
}

/// Number of columns that `text` takes; colour sequences take none.
pub(super) fn width(text: &str) -> usize {
    if text.contains('\u{1b}') {
        return anstream::adapter::strip_str(text).map(|part| part.width()).sum();
    }
    text.width()
}

/// `text`, cut at its end to `columns`.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    format!("{}…", beginning(text, columns.saturating_sub(1)))
}

/// `text`, cut in its middle to `columns`: ids differ at their ends.
pub(super) fn cut_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let kept = columns.saturating_sub(1);
    format!("{}…{}", beginning(text, kept - kept / 2), ending(text, kept / 2))
}

/// `text` in lines of at most `columns`, broken between words if possible.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    wrap_after(0, text, columns)
}

/// Like [`wrap`], for a text whose first line begins after `used` columns.
pub(super) fn wrap_after(used: usize, text: &str, columns: usize) -> Vec<String> {
    let lines = text.split('\n').enumerate();
    let lines = lines.flat_map(|(place, line)| {
        let used = if place == 0 { used } else { 0 };
        wrap_line(used, line, columns.max(1))
    });
    lines.collect()
}

fn wrap_line(used: usize, line: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let (mut open, mut room) = (String::new(), columns.saturating_sub(used));
    for (place, mut word) in line.split(' ').enumerate() {
        let gap = usize::from(place > 0);
        let is_coloured = word.contains('\u{1b}');
        let taken = width(&open) + gap;
        let fits = match is_coloured {
            true => taken + width(word) <= room,
            // Looks at no more than the line: a word can have megabytes.
            false => taken <= room && beginning(word, room - taken).len() == word.len(),
        };
        if !fits && (used > 0 || !open.is_empty()) {
            lines.push(std::mem::take(&mut open).trim_end().to_owned());
            room = columns;
        } else if place > 0 {
            open.push(' ');
        }
        // A word that is longer than a line. One with colours is not split.
        loop {
            let part = beginning(word, room);
            if is_coloured || part.is_empty() || part.len() == word.len() {
                break;
            }
            word = &word[part.len()..];
            lines.push(part.to_owned());
            room = columns;
        }
        open.push_str(word);
    }
    lines.push(open);
    lines
}

/// The longest beginning that fits in `columns`.
fn beginning(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let end = text.char_indices().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > columns
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// The longest ending that fits in `columns`.
fn ending(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let start = text.char_indices().rev().find(|(_, c)| {
        used += c.width().unwrap_or(0);
        used > columns
    });
    &text[start.map_or(0, |(at, c)| at + c.len_utf8())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_others_steers_a_terminal() {
        for letter in [
            "\u{1b}", "\r", "\u{9b}", "\u{7f}", "\u{202e}", "\u{2066}", "\u{200f}", "\u{2028}",
            "\u{61c}",
        ] {
            let text = format!("a{letter}[31mb\nc");
            for shown in [plain(&text), tame(&text, false), tame_json(text.clone())] {
                assert!(!shown.chars().any(|shown| shown != '\n' && steers(shown)), "{shown:?}");
                assert!(shown.contains("[31mb"), "{shown:?}");
            }
        }
        assert_eq!(plain("x\u{202e}y\nz"), "x\\u{202e}y\u{fffd}z");
        assert_eq!(
            tame("\u{1b}[1;31ma\u{1b}[0m\u{1b}[2J\n", true),
            "\u{1b}[1;31ma\u{1b}[0m\u{fffd}[2J\n"
        );
        let json = serde_json::json!({ "a\u{202e}": "\u{7f}\u{1b}é" });
        let tamed = tame_json(json.to_string());
        assert_eq!(tamed, "{\"a\\u202e\":\"\\u007f\\u001bé\"}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&tamed).expect("JSON"), json);
    }

    #[test]
    fn texts_are_cut_to_columns_and_not_to_letters() {
        for (text, columns, end, middle) in [
            ("order-1001", 10, "order-1001", "order-1001"),
            ("order-1001", 7, "order-…", "ord…001"),
            ("größer als", 6, "größe…", "grö…ls"),
            ("東京東京東京", 7, "東京東…", "東…京"),
            ("ab", 1, "…", "…"),
            ("ab", 0, "…", "…"),
        ] {
            assert_eq!(cut(text, columns), end);
            assert_eq!(cut_middle(text, columns), middle);
        }
    }

    #[test]
    fn lines_are_broken_between_words() {
        for (text, columns, lines) in [
            ("", 5, &[""][..]),
            ("one two three", 7, &["one two", "three"]),
            ("one two three", 13, &["one two three"]),
            ("one\n  two three", 6, &["one", "  two", "three"]),
            ("a verylongword b", 6, &["a", "verylo", "ngword", "b"]),
            ("\u{1b}[31mone two\u{1b}[0m", 3, &["\u{1b}[31mone", "two\u{1b}[0m"]),
        ] {
            assert_eq!(wrap(text, columns), lines, "{text:?}");
        }
        assert_eq!(wrap_after(4, "one two three", 9), ["one", "two three"]);
        assert_eq!(wrap_after(8, "one two", 9), ["", "one two"]);
        // Takes minutes if each line looks at the rest of the word.
        assert_eq!(wrap(&"x".repeat(8_000_000), 80).len(), 100_000);
    }
}
