//! Code blocks: the text unchanged, with comments dimmed.

use crate::escape::escaped;

/// Renders a code block in this language as HTML. The block scrolls by itself, so it takes keyboard
/// focus.
pub(crate) fn block(language: &str, code: &str) -> String {
    let language = language.split([',', ' ']).next().unwrap_or_default();
    let sign = comment_sign(language);
    let lines = code.trim_end_matches('\n').lines();
    let lines: Vec<String> = lines.map(|line| highlighted(line, sign)).collect();
    format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", lines.join("\n"))
}

/// The marker of a line comment in this language.
fn comment_sign(language: &str) -> Option<&'static str> {
    match language {
        "rust" | "rs" | "js" | "ts" | "wit" => Some("//"),
        "console" | "sh" | "toml" | "yaml" | "py" | "python" | "text" | "ini" => Some("#"),
        "sql" => Some("--"),
        _ => None,
    }
}

fn highlighted(line: &str, sign: Option<&str>) -> String {
    let begins = sign.and_then(|sign| comment(line, sign));
    let Some(at) = begins else { return escaped(line) };
    let (before, comment) = line.split_at(at);
    format!("{}<i>{}</i>", escaped(before), escaped(comment))
}

/// Finds the start of the comment in a line: the first comment sign outside quotes that stands at
/// the beginning or after a space, and is followed by a space, the sign once more, or the end of
/// the line.
fn comment(line: &str, sign: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in line.char_indices() {
        if matches!(letter, '"' | '`') && quote.is_none_or(|open| open == letter) {
            quote = quote.xor(Some(letter));
        }
        let alone = at == 0 || line[..at].ends_with(' ');
        let Some(rest) = line[at..].strip_prefix(sign).filter(|_| alone && quote.is_none()) else {
            continue;
        };
        if rest.is_empty() || rest.starts_with([' ', '/', '!']) {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::block;

    #[test]
    fn comments_are_set_back_and_nothing_else() {
        for (language, code, html) in [
            ("rust", "let a = 1; // one", "let a = 1; <i>// one</i>"),
            ("rust,should_panic", "/// <b>", "<i>/// &lt;b&gt;</i>"),
            ("rust", "get(\"http://a // b\")", "get(&quot;http://a // b&quot;)"),
            ("console", "$ segno tree ada   # all", "$ segno tree ada   <i># all</i>"),
            ("console", "$ curl a#b -d '{}'", "$ curl a#b -d &#39;{}&#39;"),
            ("", "# no language", "# no language"),
        ] {
            let expected = format!("<pre tabindex=\"0\"><code>{html}</code></pre>\n");
            assert_eq!(block(language, code), expected);
        }
    }
}
