//! The pages of a host by address, each rendered on first request.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
};

use bytes::Bytes;
use segno_asset::Asset;

use crate::{
    address::{of_document, of_picture, of_source},
    code,
    contents::{Document, LOGO, PICTURES, SOURCES, STYLE, SiteFile, documents},
    escape::escaped,
    layout::{PageContent, SiteLocation, framed},
    markdown::render,
};

static PAGES: LazyLock<BTreeMap<String, (SiteEntry, OnceLock<Asset>)>> = LazyLock::new(|| {
    entries().map(|(address, entry)| (address, (entry, OnceLock::new()))).collect()
});

/// The content at an address.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SiteEntry {
    Document(&'static Document),
    /// A document as its source, for programs.
    Markdown(&'static Document),
    Source(&'static SiteFile),
    /// A file, served unchanged.
    File(&'static SiteFile),
}

/// The page or file at this address, which is the path after `/docs/`; the empty address is the
/// first page.
pub fn page(address: &str) -> Option<&'static Asset> {
    let address = if address.is_empty() { "index.html" } else { address };
    let (address, (entry, page)) = PAGES.get_key_value(address)?;
    Some(page.get_or_init(|| Asset::new(address, entry.bytes(address, SiteLocation::Host))))
}

/// All entries of the site except the search, by address.
pub(crate) fn entries() -> impl Iterator<Item = (String, SiteEntry)> {
    let pages =
        documents().map(|document| (of_document(document.path), SiteEntry::Document(document)));
    let texts = documents().map(|document| {
        let address = of_document(document.path).replace(".html", ".md");
        (address, SiteEntry::Markdown(document))
    });
    let sources = SOURCES.iter().map(|file| (of_source(file.path), SiteEntry::Source(file)));
    let pictures = PICTURES.iter().map(|file| (of_picture(file.path), SiteEntry::File(file)));
    let assets = [("assets/logo.svg", &LOGO), ("assets/docs.css", &STYLE)];
    let assets =
        assets.into_iter().map(|(address, file)| (address.to_owned(), SiteEntry::File(file)));
    pages.chain(texts).chain(sources).chain(pictures).chain(assets)
}

impl SiteEntry {
    /// Renders the content for a browser.
    pub(crate) fn bytes(self, address: &str, place: SiteLocation) -> Bytes {
        match self {
            Self::Document(document) => document_page(document, address, place).into(),
            Self::Markdown(document) => Bytes::from_static(document.markdown.as_bytes()),
            Self::Source(file) => source_page(file, address, place).into(),
            Self::File(file) => Bytes::from_static(file.bytes),
        }
    }
}

fn document_page(document: &'static Document, address: &str, place: SiteLocation) -> String {
    let rendered = render(document);
    let title = rendered.headings.first().map_or(document.name, |heading| &heading.text);
    let content = PageContent {
        address,
        title,
        html: &rendered.html,
        headings: &rendered.headings,
        query: "",
        scripts: &[],
    };
    framed(&content, place)
}

fn source_page(file: &SiteFile, address: &str, place: SiteLocation) -> String {
    let text = String::from_utf8_lossy(file.bytes);
    let language = file.path.rsplit_once('.').map_or("sh", |(_, ending)| ending);
    let (path, code) = (escaped(file.path), code::block(language, &text));
    let html = format!(
        "<h1 class=\"file\">{path}</h1>\n<p class=\"soft\">A file of the repository.</p>\n{code}"
    );
    let content = PageContent {
        address,
        title: file.path,
        html: &html,
        headings: &[],
        query: "",
        scripts: &[],
    };
    framed(&content, place)
}
