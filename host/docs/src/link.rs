//! Resolves links of documents to addresses on the site.

use crate::{
    address::{of_document, of_picture, of_source, up},
    contents::{PICTURES, SOURCES, documents},
};

/// The target of a link.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkTarget {
    /// An address: on the same page, on the site, or elsewhere.
    Address(String),
    /// A file that the site does not have.
    Missing(String),
}

/// Resolves a link in the document at `path`, relative to that document's page.
pub(crate) fn target(path: &str, link: &str) -> LinkTarget {
    if link.starts_with('#') || link.contains("://") {
        return LinkTarget::Address(link.to_owned());
    }
    let (file, anchor) = match link.split_once('#') {
        Some((file, anchor)) => (file, format!("#{anchor}")),
        None => (link, String::new()),
    };
    let file = joined(path, file);
    let Some(address) = address(&file) else { return LinkTarget::Missing(file) };
    LinkTarget::Address(format!("{}{address}{anchor}", up(&of_document(path))))
}

fn address(path: &str) -> Option<String> {
    if documents().any(|document| document.path == path) {
        return Some(of_document(path));
    }
    if PICTURES.iter().any(|file| file.path == path) {
        return Some(of_picture(path));
    }
    SOURCES.iter().any(|file| file.path == path).then(|| of_source(path))
}

/// Joins the path `relative` in a document to a path in the repository.
fn joined(document: &str, relative: &str) -> String {
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{LinkTarget, target};

    #[test]
    fn links_lead_to_pages_pictures_and_sources() {
        for (path, link, address) in [
            ("README.md", "docs/reference/api.md#events", "api.html#events"),
            ("docs/reference/api.md", "../../README.md", "index.html"),
            ("docs/reference/api.md", "#looking", "#looking"),
            ("docs/reference/api.md", "https://example.org/a#b", "https://example.org/a#b"),
            ("docs/reference/cli.md", "../concepts/rules.md#limits", "../rules.html#limits"),
            ("docs/operating/console.md", "../images/session.svg", "images/session.svg"),
            ("docs/how-to/sdk.md", "../../CONTRIBUTING.md", "source/CONTRIBUTING.md.html"),
        ] {
            assert_eq!(
                target(path, link),
                LinkTarget::Address(address.to_owned()),
                "{path} {link}"
            );
        }
    }

    #[test]
    fn a_file_that_is_not_on_the_site_is_missing() {
        let missing = target("docs/reference/api.md", "../../host/src/main.rs");
        assert_eq!(missing, LinkTarget::Missing("host/src/main.rs".to_owned()));
    }
}
