//! The documents as Markdown, for programs that read text: by name, and by a search.

use crate::{
    address::of_document,
    contents::{Document, SECTIONS},
    index::passages,
    query::SearchQuery,
    results::excerpt,
};

/// The list of all pages, with a sentence on each of them.
const LIST: &str = "docs/README.md";

/// A document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentText {
    /// The name: the address on the site without `.html`, for example `reference/cli`.
    pub name: String,
    /// The title in the navigation.
    pub title: &'static str,
    /// The group in the navigation.
    pub section: &'static str,
    /// The path in the repository.
    pub path: &'static str,
    /// A sentence on its contents; empty for the pages that are lists themselves.
    pub summary: &'static str,
    /// The text.
    pub markdown: &'static str,
}

/// A passage that contains the words of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPassage {
    /// Name of the document.
    pub document: String,
    /// Title of the document.
    pub title: &'static str,
    /// The heading above the passage.
    pub heading: String,
    /// The text around the first word that was found.
    pub excerpt: String,
}

/// All documents, in the order of the navigation.
pub fn document_texts() -> impl Iterator<Item = DocumentText> {
    let of = |section: &'static str, document: &Document| DocumentText {
        name: name(document.path),
        title: document.name,
        section,
        path: document.path,
        summary: summary(document.path),
        markdown: document.markdown,
    };
    SECTIONS.iter().flat_map(move |section| {
        section.documents.iter().map(move |document| of(section.name, document))
    })
}

/// The document with this name.
pub fn document_text(name: &str) -> Option<DocumentText> {
    document_texts().find(|document| document.name == name)
}

/// The passages that contain all words of `query`, or else some of them, best first; at most 25.
pub fn find_passages(query: &str) -> Vec<FoundPassage> {
    let query = SearchQuery::new(query);
    let found = query.find(passages()).into_iter();
    let found = found.map(|passage| {
        let address = passage.address.split('#').next().unwrap_or_default();
        FoundPassage {
            document: address.trim_end_matches(".html").to_owned(),
            title: passage.page,
            heading: passage.heading.clone(),
            excerpt: excerpt(&passage.text, query.words()).to_owned(),
        }
    });
    found.collect()
}

fn name(path: &str) -> String {
    of_document(path).trim_end_matches(".html").to_owned()
}

/// The sentence on a document in the list of all pages.
fn summary(path: &str) -> &'static str {
    let list = SECTIONS.iter().flat_map(|section| section.documents);
    let list = list.into_iter().find(|document| document.path == LIST);
    let link = format!("]({}): ", path.strip_prefix("docs/").unwrap_or("no link"));
    let mut lines = list.map_or("", |list| list.markdown).lines();
    lines.find_map(|line| Some(line.split_once(link.as_str())?.1)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_document_has_a_name_of_its_own_and_a_summary() {
        let documents: Vec<DocumentText> = document_texts().collect();
        let names: BTreeSet<&str> = documents.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names.len(), documents.len());
        for document in &documents {
            assert_eq!(document_text(&document.name).as_ref(), Some(document));
            let is_list = matches!(document.path, "README.md" | LIST);
            assert_eq!(document.summary.is_empty(), is_list, "{}", document.path);
        }
        assert_eq!(document_text("nowhere"), None);
    }

    #[test]
    fn a_search_names_documents_and_shows_the_words() {
        let found = find_passages("retention rules");
        let first = found.first().expect("the words are in the documents");
        assert!(document_text(&first.document).is_some(), "{first:?}");
        assert!(first.excerpt.to_lowercase().contains("retention"), "{first:?}");
        assert_eq!(find_passages("qqqqzzzz"), []);
    }
}
