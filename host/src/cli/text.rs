//! Texts in a limited number of columns: measured, cut and wrapped. Terminals are unknown here.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The number of columns that `text` takes; colours take none.
pub fn width(text: &str) -> usize {
    if text.contains('\u{1b}') {
        return anstream::adapter::strip_str(text).map(|part| part.width()).sum();
    }
    text.width()
}

/// `text`, cut at its end to `columns`.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    format!("{}…", beginning(text, columns.saturating_sub(1)))
}

/// `text`, cut in its middle to `columns`: ids differ at their ends.
pub fn cut_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let kept = columns.saturating_sub(1);
    format!("{}…{}", beginning(text, kept - kept / 2), ending(text, kept / 2))
}

/// `text` in lines of at most `columns`, broken between words where that is possible.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    wrap_after(0, text, columns)
}

/// The same, of a text whose first line begins behind `used` columns.
pub fn wrap_after(used: usize, text: &str, columns: usize) -> Vec<String> {
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
        if width(&open) + gap + width(word) > room && (used > 0 || !open.is_empty()) {
            lines.push(std::mem::take(&mut open).trim_end().to_owned());
            room = columns;
        } else if place > 0 {
            open.push(' ');
        }
        // A word that is longer than a line. One with colours is not divided.
        while width(word) > room && !word.contains('\u{1b}') {
            let part = beginning(word, room);
            if part.is_empty() {
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
    }
}
