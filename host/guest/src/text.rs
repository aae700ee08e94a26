//! Texts of limited length.

/// Cuts a log line to at most `limit` bytes, on a character boundary, and marks the cut with `…`.
pub(super) fn cut(mut message: String, limit: usize) -> String {
    if message.len() > limit {
        let end = (0..=limit).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
        message.truncate(end);
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(cut("short".into(), 10), "short");
        assert_eq!(cut("žluťoučký".into(), 4), "žlu…");
        assert_eq!(cut("žluťoučký".into(), 5), "žlu…");
    }
}
