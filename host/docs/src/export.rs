//! Exports the site as a folder of files, for any file server or for a browser to open directly.

use bytes::Bytes;
use serde_json::json;

use crate::{
    contents::SCRIPT,
    index::passages,
    layout::{PageContent, SiteLocation, framed},
    llms::{LlmsLocation, llms, llms_full},
    site::entries,
};

/// The search index, stored as a script: browsers load no other data from a folder.
const INDEX: &str = "assets/search-index.js";
const SEARCH: &str = "assets/search.js";

/// Yields each file of the site: its path in the folder and its contents.
pub fn export() -> impl Iterator<Item = (String, Bytes)> {
    let pages = entries().map(|(address, entry)| {
        let bytes = entry.bytes(&address, SiteLocation::Folder);
        (address, bytes)
    });
    let search = [
        (SiteLocation::Folder.search(), Bytes::from(search_page())),
        (INDEX, Bytes::from(index())),
        (SEARCH, Bytes::from_static(SCRIPT.bytes)),
        ("llms.txt", Bytes::from(llms(LlmsLocation::Folder))),
        ("llms-full.txt", Bytes::from(llms_full())),
    ];
    pages.chain(search.map(|(path, bytes)| (path.to_owned(), bytes)))
}

fn search_page() -> String {
    let html = "<h1>Search</h1>\n\
        <p class=\"soft\" role=\"status\" id=\"said\">The search needs a script.</p>\n\
        <ol class=\"results\" id=\"results\"></ol>\n";
    let content = PageContent {
        address: SiteLocation::Folder.search(),
        title: "Search",
        html,
        headings: &[],
        query: "",
        scripts: &[INDEX, SEARCH],
    };
    framed(&content, SiteLocation::Folder)
}

fn index() -> String {
    let passages = passages().iter();
    let passages: Vec<_> = passages
        .map(|passage| json!([passage.address, passage.page, passage.heading, passage.text]))
        .collect();
    format!("const passages = {};\n", json!(passages))
}
