//! A search query: selects and ranks passages that contain its words.

use crate::index::Passage;

/// Maximum length of a query, in characters; the rest is ignored.
const LONGEST: usize = 200;
/// Maximum number of words of a query, so that a search takes a few milliseconds at most.
const MOST_WORDS: usize = 8;
/// Maximum number of results.
const MOST_RESULTS: usize = 25;
/// Maximum number of mentions of a word that count in one text.
const MOST_MENTIONS: usize = 4;

/// The words of a query, in lower case.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SearchQuery {
    words: Vec<String>,
}

impl SearchQuery {
    /// Parses the text that was typed.
    pub(crate) fn new(typed: &str) -> Self {
        let typed: String = typed.chars().take(LONGEST).collect();
        let around = |letter: char| "\"'`()[]{},.;:?!".contains(letter);
        let mut words: Vec<String> = Vec::new();
        for word in typed.split_whitespace() {
            let word = word.trim_matches(around).to_ascii_lowercase();
            if !word.is_empty() && !words.contains(&word) && words.len() < MOST_WORDS {
                words.push(word);
            }
        }
        Self { words }
    }

    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// The passages that contain every word, best first. If no passage contains all, those that
    /// contain some.
    pub(crate) fn find<'a>(&self, passages: &'a [Passage]) -> Vec<&'a Passage> {
        let ranked = passages.iter().map(|passage| (self.rank(passage), passage));
        let mut ranked: Vec<((usize, usize), &Passage)> =
            ranked.filter(|((words, _), _)| *words > 0).collect();
        // A stable order: equal ones stay in the order of the navigation.
        ranked.sort_by(|(one, _), (other, _)| other.cmp(one));
        let most = ranked.first().map_or(0, |((words, _), _)| *words);
        let ranked = ranked.into_iter().take_while(|((words, _), _)| *words == most);
        ranked.map(|(_, passage)| passage).take(MOST_RESULTS).collect()
    }

    /// The number of words that a passage contains, and their total weight in it.
    fn rank(&self, passage: &Passage) -> (usize, usize) {
        let fields = [(passage.page, 6), (&passage.heading, 8), (&passage.text, 1)];
        let fields = fields.map(|(text, weight)| (text.to_ascii_lowercase(), weight));
        let of_word = |word: &String| -> usize {
            let weighed = fields.iter().map(|(text, weight)| weight * mentions(text, word));
            weighed.sum()
        };
        let weights: Vec<usize> = self.words.iter().map(of_word).collect();
        // A page that explains a topic ranks before a reference that lists it.
        let quarters = if passage.address.starts_with("reference/") { 3 } else { 4 };
        let weight = weights.iter().sum::<usize>() * quarters / 4;
        (weights.iter().filter(|weight| **weight > 0).count(), weight)
    }
}

/// The weight of a word in a text: 1 for each word that begins with it, 2 for each exact match.
fn mentions(text: &str, word: &str) -> usize {
    let ends = |at: usize| !text[at..].starts_with(char::is_alphanumeric);
    let counts = places(text, word).map(|at| if ends(at + word.len()) { 2 } else { 1 });
    counts.take(MOST_MENTIONS).sum()
}

/// The offsets at which words of a text begin with `word`. Both are in lower case.
pub(crate) fn places<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let found = text.match_indices(word).map(|(at, _)| at);
    found.filter(|at| !text[..*at].ends_with(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::{Passage, SearchQuery};

    fn passage(page: &'static str, heading: &str, text: &str) -> Passage {
        let address = format!("{page}#{heading}");
        Passage { address, page, heading: heading.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_query_is_bounded() {
        let query = SearchQuery::new("  \"Exit\" code? exit (--wait) ");
        assert_eq!(query.words(), ["exit", "code", "--wait"]);
        assert_eq!(SearchQuery::new(&"é".repeat(10_000)).words()[0].chars().count(), 200);
        assert_eq!(SearchQuery::new(&"a b c d e f g h i j ".repeat(9)).words().len(), 8);
        assert_eq!(SearchQuery::new(" ?! ").words().len(), 0);
    }

    #[test]
    fn headings_come_before_texts_and_all_words_before_some() {
        let passages = [
            passage("Host", "Backups", "how a lease is kept"),
            passage("Engine", "Leases", "A lease ends."),
            passage("Engine", "Time", "A release, no more."),
        ];
        let found = |typed| -> Vec<usize> {
            let found = SearchQuery::new(typed).find(&passages);
            let place = |one: &Passage| passages.iter().position(|other| std::ptr::eq(one, other));
            found.into_iter().filter_map(place).collect()
        };
        assert_eq!(found("lease"), [1, 0], "a release is another word");
        assert_eq!(found("LEASE kept"), [0]);
        assert_eq!(found("lease nowhere"), [1, 0]);
        assert_eq!(found("nowhere"), [0; 0]);
        assert_eq!(found(""), [0; 0]);
    }
}
