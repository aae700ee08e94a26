//! The search index: the text of all documents, one passage per heading.

use std::sync::LazyLock;

use crate::{address::of_document, contents::documents, markdown::render};

static PASSAGES: LazyLock<Vec<Passage>> = LazyLock::new(read);

/// The text below a heading.
#[derive(Debug)]
pub(crate) struct Passage {
    /// The address of the heading, from the root of the site.
    pub(crate) address: String,
    /// The page's name in the navigation.
    pub(crate) page: &'static str,
    pub(crate) heading: String,
    /// The text, with whitespace collapsed.
    pub(crate) text: String,
}

/// All passages, in the order of the navigation. They are built on first use.
pub(crate) fn passages() -> &'static [Passage] {
    &PASSAGES
}

fn read() -> Vec<Passage> {
    let mut passages = Vec::new();
    for document in documents() {
        let address = of_document(document.path);
        passages.extend(render(document).headings.into_iter().map(|heading| {
            let address = match heading.level {
                1 => address.clone(),
                _ => format!("{address}#{}", heading.anchor),
            };
            let words: Vec<&str> = heading.passage.split_whitespace().collect();
            Passage { address, page: document.name, heading: heading.text, text: words.join(" ") }
        }));
    }
    passages
}
