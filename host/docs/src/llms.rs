//! The documentation for language models, in the form of <https://llmstxt.org>: `llms.txt` is the
//! list of all documents, `llms-full.txt` their whole text.

use std::{fmt::Write as _, sync::LazyLock};

use segno_asset::Asset;

use crate::document_list::{DocumentText, document_texts};

const ABOUT: &str = "# Segno\n\n> Segno is a durable workflow runtime. Functions are WebAssembly \
    components in Rust, TypeScript, JavaScript or Python; the host records their commands and \
    results in a journal, and resumes them from it after a crash or a restart.\n\nA workflow is \
    deterministic: time, random numbers and everything from outside come through its context, and \
    whatever has an effect is an activity. `segno mcp` is a server of the Model Context Protocol \
    with tools for a running host. The whole text of these pages is in `llms-full.txt`.\n";

static LIST: LazyLock<Asset> = LazyLock::new(|| Asset::new("llms.txt", llms(LlmsLocation::Host)));
static FULL: LazyLock<Asset> = LazyLock::new(|| Asset::new("llms-full.txt", llms_full()));

/// The place of an `llms.txt`, which its links start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlmsLocation {
    /// The root of a host, which serves the documents at `/docs`.
    Host,
    /// The folder `docs` of the repository.
    Repository,
    /// The root of a site without a server.
    Folder,
}

/// The file that a host serves at this path: `/llms.txt` or `/llms-full.txt`.
pub fn llms_file(path: &str) -> Option<&'static Asset> {
    match path {
        "/llms.txt" => Some(&LIST),
        "/llms-full.txt" => Some(&FULL),
        _ => None,
    }
}

/// The list of all documents with a sentence on each.
pub fn llms(location: LlmsLocation) -> String {
    let mut text = ABOUT.to_owned();
    let mut section = "";
    for document in document_texts() {
        if document.section != section {
            section = document.section;
            let _ = write!(text, "\n## {section}\n\n");
        }
        let link = link(&document, location);
        let _ = match document.summary {
            "" => writeln!(text, "- [{}]({link})", document.title),
            summary => writeln!(text, "- [{}]({link}): {summary}", document.title),
        };
    }
    text
}

/// The text of all documents, each under a line with its path.
pub fn llms_full() -> String {
    let mut text = ABOUT.to_owned();
    for document in document_texts() {
        let _ = write!(text, "\n---\n\nDocument: {}\n\n{}", document.path, document.markdown);
    }
    text
}

fn link(document: &DocumentText, location: LlmsLocation) -> String {
    let name = &document.name;
    match (location, document.path.strip_prefix("docs/")) {
        (LlmsLocation::Host, _) => format!("/docs/{name}.md"),
        (LlmsLocation::Folder, _) => format!("{name}.md"),
        (LlmsLocation::Repository, Some(path)) => path.to_owned(),
        (LlmsLocation::Repository, None) => format!("../{}", document.path),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::{export, page};

    /// The links of a list.
    fn links(text: &str) -> Vec<&str> {
        let entries = text.lines().filter(|line| line.starts_with("- ["));
        entries.filter_map(|line| Some(line.split_once("](")?.1.split_once(')')?.0)).collect()
    }

    #[test]
    fn the_list_in_the_repository_is_up_to_date() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/llms.txt");
        let text = llms(LlmsLocation::Repository);
        if std::env::var_os("SEGNO_GOLDEN").is_some_and(|mode| mode == "write") {
            fs::write(&file, &text).expect("the folder can be written");
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(kept, text, "SEGNO_GOLDEN=write writes docs/llms.txt anew");
    }

    #[test]
    fn every_link_of_a_list_leads_to_a_document() {
        let documents = document_texts().count();
        let hosted = llms(LlmsLocation::Host);
        let hosted = links(&hosted);
        assert_eq!(hosted.len(), documents);
        for link in hosted {
            let address = link.strip_prefix("/docs/").expect("it is on the site");
            assert!(page(address).is_some(), "{link}");
        }
        let folder: Vec<String> = export().map(|(path, _)| path).collect();
        for link in links(&llms(LlmsLocation::Folder)) {
            assert!(folder.iter().any(|path| path == link), "{link}");
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        for link in links(&llms(LlmsLocation::Repository)) {
            assert!(root.join(link).exists(), "{link}");
        }
    }

    #[test]
    fn the_full_text_has_every_document_whole() {
        let full = llms_full();
        for document in document_texts() {
            assert!(full.contains(document.markdown), "{}", document.path);
        }
        assert!(llms_file("/llms-full.txt").is_some_and(|file| file.bytes() == full));
        assert!(llms_file("/llms.md").is_none());
    }
}
