//! The frame of a page: the search, the navigation, and the table of contents.

use std::fmt::Write as _;

use crate::{
    address::{of_document, up},
    contents::{Document, SECTIONS, documents},
    escape::escaped,
    markdown::Heading,
};

/// Maximum number of headings for a full table of contents; a page with more lists only its
/// sections.
const LONG: usize = 120;

/// The place where the pages are viewed. Only the search differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SiteLocation {
    /// Below `/docs/` on a host, which answers searches and has a console.
    Host,
    /// In a folder, where a script in the page answers searches.
    Folder,
}

impl SiteLocation {
    /// The address of the search.
    pub(crate) fn search(self) -> &'static str {
        match self {
            Self::Host => "search",
            Self::Folder => "search.html",
        }
    }
}

/// A page without its frame.
#[derive(Debug)]
pub(crate) struct PageContent<'a> {
    pub(crate) address: &'a str,
    pub(crate) title: &'a str,
    /// The content, as HTML.
    pub(crate) html: &'a str,
    pub(crate) headings: &'a [Heading],
    /// The search query.
    pub(crate) query: &'a str,
    /// Addresses of the page's scripts.
    pub(crate) scripts: &'a [&'a str],
}

/// Renders the complete page as HTML.
pub(crate) fn framed(content: &PageContent<'_>, place: SiteLocation) -> String {
    let PageContent { address, title, html, headings, query, scripts } = content;
    let up = up(address);
    let (title, query) = (escaped(title), escaped(query));
    let search = place.search();
    let console = match place {
        SiteLocation::Host => format!("<a href=\"{up}../console/\">Console</a>"),
        SiteLocation::Folder => String::new(),
    };
    let scripts: String = scripts
        .iter()
        .map(|script| format!("<script src=\"{up}{script}\" defer></script>\n"))
        .collect();
    let (pages, contents, short, turn) = (
        navigation(address, &up),
        contents(headings, "nav"),
        contents(headings, "details"),
        neighbours(address, &up),
    );
    format!(
        r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} · Segno</title>
<link rel="icon" href="{up}assets/logo.svg" type="image/svg+xml">
<link rel="stylesheet" href="{up}assets/docs.css">
{scripts}</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="{up}index.html"><img src="{up}assets/logo.svg" alt="" width="26" height="26">Segno</a>
<a class="open" href="#pages">All pages</a>
<form action="{up}{search}" role="search">
<label class="unseen" for="q">Search the documentation</label>
<input id="q" name="q" type="search" maxlength="200" placeholder="Search" value="{query}">
<button>Search</button>
</form>
{console}
</header>
<div class="shell">
{pages}<main id="content" tabindex="-1">
{short}{html}{turn}</main>
{contents}</div>
</body>
</html>
"##
    )
}

/// Links to all pages, by section. On a narrow screen it is visible only when a link leads to it.
fn navigation(here: &str, up: &str) -> String {
    let mut html = "<nav id=\"pages\" aria-label=\"Pages\">\n\
        <a class=\"close\" href=\"#content\">Close</a>\n"
        .to_owned();
    for section in &SECTIONS {
        let _ = writeln!(html, "<h2>{}</h2>\n<ul>", section.name);
        for document in section.documents {
            let address = of_document(document.path);
            let current = if address == here { " aria-current=\"page\"" } else { "" };
            let name = document.name;
            let _ = writeln!(html, "<li><a href=\"{up}{address}\"{current}>{name}</a></li>");
        }
        html += "</ul>\n";
    }
    html + "</nav>\n"
}

/// The headings of the page: as `nav` beside it, and as `details` above it on a narrow screen.
fn contents(headings: &[Heading], element: &str) -> String {
    // A long page, such as a reference with hundreds of items, lists only its sections.
    let deepest = if headings.len() > LONG { 2 } else { 3 };
    let listed = headings.iter().filter(|heading| (2..=deepest).contains(&heading.level));
    let items: String = listed
        .map(|Heading { level, text, anchor, .. }| {
            let text = escaped(text);
            format!("<li class=\"level-{level}\"><a href=\"#{anchor}\">{text}</a></li>\n")
        })
        .collect();
    match element {
        _ if items.is_empty() => String::new(),
        "details" => format!(
            "<details class=\"contents\"><summary>On this page</summary>\n<ul>\n{items}</ul>\n</details>\n"
        ),
        _ => format!(
            "<nav class=\"contents\" aria-label=\"On this page\">\n<h2>On this page</h2>\n<ul>\n{items}</ul>\n</nav>\n"
        ),
    }
}

/// Links to the previous and the next page.
fn neighbours(here: &str, up: &str) -> String {
    let all: Vec<&Document> = documents().collect();
    let place = all.iter().position(|document| of_document(document.path) == here);
    let Some(place) = place else { return String::new() };
    let link = |document: &Document, way: &str, class: &str| {
        let (address, name) = (of_document(document.path), document.name);
        format!("<a class=\"{class}\" href=\"{up}{address}\"><span>{way}</span> {name}</a>\n")
    };
    let before = place.checked_sub(1).and_then(|before| all.get(before));
    let before = before.map(|document| link(document, "Previous", "previous"));
    let after = all.get(place + 1).map(|document| link(document, "Next", "next"));
    let links = before.unwrap_or_default() + &after.unwrap_or_default();
    format!("<nav class=\"turn\" aria-label=\"Previous and next page\">\n{links}</nav>\n")
}
