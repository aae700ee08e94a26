//! Minimal HTML parsing for the tests of the site: tags, their attributes, and link targets.

use std::collections::BTreeSet;

/// Void elements.
const EMPTY: [&str; 5] = ["meta", "link", "input", "img", "br"];

/// The first fault of a page: an element that is not closed where it should be.
pub(super) fn problem(html: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    for tag in html.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(ended) if open.pop() != Some(ended) => {
                return Some(format!("</{ended}> in {open:?}"));
            }
            Some(_) => {}
            None if EMPTY.contains(&name) || name == "hr" || name.starts_with('!') => {}
            None => open.push(name),
        }
    }
    (!open.is_empty()).then(|| format!("{open:?} do not end"))
}

/// The targets of the links and pictures of a page.
pub(super) fn links(html: &str) -> Vec<&str> {
    [" href=\"", " src=\"", " action=\""].iter().flat_map(|name| values(html, name)).collect()
}

/// The anchors of a page.
pub(super) fn anchors(html: &str) -> BTreeSet<&str> {
    values(html, " id=\"").collect()
}

fn values<'a>(html: &'a str, name: &'static str) -> impl Iterator<Item = &'a str> {
    html.split(name).skip(1).filter_map(|rest| rest.split_once('"')).map(|(value, _)| value)
}

/// Resolves a link of the page at `address` to an address and an anchor there.
pub(super) fn resolved<'a>(address: &str, link: &'a str) -> (String, &'a str) {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    if path.is_empty() {
        return (address.to_owned(), anchor);
    }
    let mut parts: Vec<&str> = address.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            (part, _) => parts.push(part),
        }
    }
    (parts.join("/"), anchor)
}
