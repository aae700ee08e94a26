//! The page for an address that does not exist.

use segno_asset::Asset;

use crate::{
    escape::escaped,
    layout::{PageContent, SiteLocation, framed},
};

/// Renders the page for an unknown address, with suggestions.
pub fn missing(address: &str) -> Asset {
    let shown: String = address.chars().take(200).collect();
    let words = shown.trim_end_matches(".html").replace(['/', '-', '_', '.'], " ");
    let html = format!(
        "<h1>No such page</h1>\n<p>The documentation of Segno {} has no page <code>{}</code>. Search for what \
         you look for, or choose from the list of pages.</p>\n",
        env!("CARGO_PKG_VERSION"),
        escaped(&shown)
    );
    let content = PageContent {
        address,
        title: "No such page",
        html: &html,
        headings: &[],
        query: words.trim(),
        scripts: &[],
    };
    Asset::new("missing.html", framed(&content, SiteLocation::Host))
}
