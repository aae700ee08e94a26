//! The site as a whole, as a browser sees it.

mod html;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::{POLICY, contents::documents, export, markdown::render, page, search, site::entries};
use html::{anchors, links, problem, resolved};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// Maximum size of a first visit, in bytes: the first page, its style and the logo. The picture
/// loads lazily.
const FIRST: usize = 100 * 1024;

/// The pages of a host, by address, including one result page of the search.
fn pages() -> BTreeMap<String, String> {
    let addresses = entries().map(|(address, _)| address).filter(|path| path.ends_with(".html"));
    let text = |address: &str| page(address).expect("it is there").bytes();
    let page = |address: String| {
        let text = String::from_utf8(text(&address).to_vec()).expect("it is text");
        (address, text)
    };
    let mut pages: BTreeMap<String, String> = addresses.map(page).collect();
    pages.insert("search".to_owned(), found("exit codes"));
    pages
}

fn found(query: &str) -> String {
    String::from_utf8(search(query).bytes().to_vec()).expect("it is text")
}

fn documents_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("there are documents");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let of = |path: PathBuf| match path.is_dir() {
        true => documents_in(&path),
        false => vec![path],
    };
    let all = paths.flat_map(of);
    all.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

#[test]
fn every_document_is_in_the_navigation_once() {
    let listed: Vec<&str> = documents().map(|document| document.path).collect();
    let distinct: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(listed.len(), distinct.len(), "{listed:?}");
    for path in documents_in(Path::new(DOCS)) {
        let path = path.strip_prefix(DOCS).expect("it is inside").display().to_string();
        let path = format!("docs/{path}");
        assert!(distinct.contains(path.as_str()), "{path} has no line in contents.rs");
    }
}

#[test]
fn the_list_of_all_pages_is_in_the_order_of_the_navigation() {
    const LIST: &str = "docs/README.md";
    let page = documents().find(|document| document.path == LIST).expect("there is a list");
    let links = page.markdown.lines().filter_map(|line| line.strip_prefix("- [")?.split_once("]("));
    let listed: Vec<String> =
        links.filter_map(|(_, rest)| Some(format!("docs/{}", rest.split_once(')')?.0))).collect();
    let documents = documents().map(|document| document.path);
    let others: Vec<&str> =
        documents.filter(|path| path.starts_with("docs/") && *path != LIST).collect();
    assert_eq!(listed, others);
}

#[test]
fn every_link_and_anchor_leads_somewhere() {
    let pages = pages();
    let anchors: BTreeMap<&str, BTreeSet<&str>> =
        pages.iter().map(|(address, html)| (address.as_str(), anchors(html))).collect();
    let mut broken = Vec::new();
    for (address, html) in &pages {
        for link in links(html).into_iter().filter(|link| !link.contains("://")) {
            let (target, anchor) = resolved(address, link);
            let target = if target.is_empty() { "index.html".to_owned() } else { target };
            let is_file = !target.ends_with(".html") && page(&target).is_some();
            let is_page = anchors
                .get(target.as_str())
                .is_some_and(|anchors| anchor.is_empty() || anchors.contains(anchor));
            // Targets that a host serves beside the documentation.
            if !is_file && !is_page && target != "../console/" {
                broken.push(format!("{address}: {link}"));
            }
        }
    }
    let missing = documents().flat_map(|document| render(document).missing);
    let missing: Vec<String> = missing.collect();
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(missing.is_empty(), "these files have no line in contents.rs: {missing:#?}");
}

#[test]
fn a_folder_has_every_file_that_its_pages_name() {
    let files: BTreeMap<String, _> = export().collect();
    assert_eq!(files.len(), export().count(), "no two have the same path");
    let named = files.iter().filter(|(path, _)| path.ends_with(".html"));
    for (path, bytes) in named {
        let html = std::str::from_utf8(bytes).expect("it is text");
        assert!(!html.contains("/console/\""), "{path}: a folder has no console");
        for link in links(html).into_iter().filter(|link| !link.contains("://")) {
            let (target, _) = resolved(path, link);
            assert!(files.contains_key(&target), "{path}: {link}");
        }
    }
    let index = files.get("assets/search-index.js").expect("there is an index");
    assert!(index.starts_with(b"const passages = [[\"index.html\",\"Overview\",\"Segno\","));
}

#[test]
fn pages_are_well_formed_and_have_nothing_inline() {
    for (address, html) in pages() {
        assert_eq!(problem(&html), None, "{address}");
        for word in ["<script", "<style", " style=", " onclick=", "javascript:"] {
            assert!(!html.contains(word), "{address}: {word}");
        }
        assert_eq!(html.matches("<h1").count(), 1, "{address}: one title");
        assert_eq!(html.matches("<main").count(), 1, "{address}: one content");
    }
    assert!(!POLICY.contains("unsafe") && !POLICY.contains('*') && !POLICY.contains("script"));
}

#[test]
fn a_hostile_query_is_text() {
    let query = "<script>alert(1)</script>\" onfocus=\"x </title> &amp; <img src=x>";
    let html = found(query);
    assert_eq!(problem(&html), None);
    assert!(
        !html.contains("<script") && !html.contains("onfocus=\"") && !html.contains("<img src=x")
    );
    assert!(html.contains("value=\"&lt;script&gt;alert(1)&lt;/script&gt;&quot; onfocus=&quot;x"));
    let long = found(&"<&\"'é".repeat(100_000));
    assert!(long.len() < 20 * 1024, "{} bytes", long.len());
}

#[test]
fn the_page_that_explains_a_thing_comes_first() {
    for (query, first) in [
        ("idempotency key", "sdk.html#activities"),
        ("systemd", "running.html#systemd"),
        ("doctor", "operations.html#4-doctor"),
        ("segno doctor", "reference/cli.html#segno-doctor"),
        ("xyzzy sagas", "sdk.html#sagas"),
        ("continue as new", "sdk.html#generations"),
    ] {
        let html = found(query);
        let result = html.split("<ol class=\"results\">").nth(1).expect("there are results");
        let address = result.split('"').nth(1).expect("there is a link");
        assert_eq!(address, first, "{query}");
    }
    assert!(found("xyzzy").contains("No page has these words."));
    assert!(found(" ").contains("Type one or more words."));
}

#[test]
fn a_first_visit_is_small() {
    let files = ["", "assets/docs.css", "assets/logo.svg"];
    let bytes = files.map(|address| page(address).expect("it is there").bytes().len());
    assert!(bytes.iter().sum::<usize>() < FIRST, "{bytes:?}");
    for (address, _) in entries().filter(|(address, _)| address.ends_with(".html")) {
        let compressed = page(&address).and_then(|page| page.compressed());
        let bytes = compressed.expect("a page is compressed").len();
        assert!(bytes < FIRST, "{address}: {bytes} bytes");
    }
    assert!(page("assets/nothing.css").is_none() && page("../Cargo.toml").is_none());
}
