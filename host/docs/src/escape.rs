//! Text that is safe within HTML.

use pulldown_cmark_escape::escape_html;

/// Escapes `<`, `>`, `&` and quotes: the result is safe between tags and in quoted attributes.
pub(crate) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    escape_html(&mut html, text).expect("a String takes everything");
    html
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_in_a_text_is_a_tag_or_ends_an_attribute() {
        assert_eq!(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
    }
}
