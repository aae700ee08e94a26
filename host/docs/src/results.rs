//! The page with the results of a search.

use std::fmt::Write as _;

use segno_asset::Asset;

use crate::{
    escape::escaped,
    index::{Passage, passages},
    layout::{PageContent, SiteLocation, framed},
    query::{SearchQuery, places},
};

/// Approximate size of an excerpt on each side of the first match, in bytes.
const AROUND: usize = 110;

/// Renders the results of a search, at the address `search`. Only the beginning of a long query
/// counts.
pub fn search(query: &str) -> Asset {
    Asset::new("search.html", html(query))
}

fn html(typed: &str) -> String {
    let query = SearchQuery::new(typed);
    let found = query.find(passages());
    let said = match (query.words(), found.len()) {
        ([], _) => "Type one or more words.".to_owned(),
        (_, 0) => "No page has these words.".to_owned(),
        (_, 1) => "1 result".to_owned(),
        (_, count) => format!("{count} results"),
    };
    let mut html = format!("<h1>Search</h1>\n<p class=\"soft\" role=\"status\">{said}</p>\n");
    if !found.is_empty() {
        html += "<ol class=\"results\">\n";
        for passage in found {
            result(&mut html, passage, query.words());
        }
        html += "</ol>\n";
    }
    let shown: String = typed.chars().take(200).collect();
    let content = PageContent {
        address: "search",
        title: "Search",
        html: &html,
        headings: &[],
        query: &shown,
        scripts: &[],
    };
    framed(&content, SiteLocation::Host)
}

fn result(html: &mut String, passage: &Passage, words: &[String]) {
    let Passage { address, page, heading, text } = passage;
    let excerpt = marked(excerpt(text, words), words);
    let (heading, page) = (escaped(heading), escaped(page));
    let _ = writeln!(
        html,
        "<li><a href=\"{address}\">{heading}</a> <span class=\"soft\">{page}</span>\n<p>{excerpt}</p></li>"
    );
}

/// The part of a text around the first match of these words.
pub(crate) fn excerpt<'a>(text: &'a str, words: &[String]) -> &'a str {
    let folded = text.to_ascii_lowercase();
    let first = words.iter().filter_map(|word| places(&folded, word).next()).min().unwrap_or(0);
    let begin = text.floor_char_boundary(first.saturating_sub(AROUND));
    let end = text.ceil_char_boundary((first + AROUND).min(text.len()));
    // Cut at word boundaries, as far as there are spaces.
    let begin = match text[begin..first].split_once(' ') {
        Some((cut, _)) if begin > 0 => begin + cut.len() + 1,
        _ => begin,
    };
    let end = match text[first..end].rsplit_once(' ') {
        Some((kept, _)) if end < text.len() => first + kept.len(),
        _ => end,
    };
    &text[begin..end]
}

/// The text as HTML, with the words marked.
fn marked(text: &str, words: &[String]) -> String {
    let folded = text.to_ascii_lowercase();
    let found = words.iter().flat_map(|word| places(&folded, word).map(|at| (at, at + word.len())));
    let mut found: Vec<(usize, usize)> = found.collect();
    // Of two matches at the same offset, the longer one.
    found.sort_unstable_by_key(|(begin, end)| (*begin, std::cmp::Reverse(*end)));
    let (mut html, mut rest) = (String::new(), 0);
    for (begin, end) in found {
        if begin >= rest {
            let (before, word) = (escaped(&text[rest..begin]), escaped(&text[begin..end]));
            let _ = write!(html, "{before}<mark>{word}</mark>");
            rest = end;
        }
    }
    html + &escaped(&text[rest..])
}

#[cfg(test)]
mod tests {
    use super::{AROUND, excerpt, marked};

    #[test]
    fn an_excerpt_has_whole_words_around_the_first_one_found() {
        let text = format!("{} needle é{}", "hay é ".repeat(40), " straw".repeat(60));
        let words = ["needle".to_owned()];
        let shown = excerpt(&text, &words);
        assert!(shown.contains("needle") && shown.len() <= 2 * AROUND + 2, "{shown}");
        assert!(shown.starts_with("hay") || shown.starts_with('é'), "{shown}");
        assert!(shown.ends_with("straw"), "{shown}");
        assert_eq!(excerpt("short", &words), "short");
    }

    #[test]
    fn words_are_marked_and_everything_is_escaped() {
        let words = ["a".to_owned(), "ab".to_owned(), "<".to_owned()];
        assert_eq!(
            marked("xab ABx <a&", &words),
            "xab <mark>AB</mark>x <mark>&lt;</mark><mark>a</mark>&amp;"
        );
    }
}
