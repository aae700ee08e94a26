//! Addresses of pages and files: from the root of the site, and from one page to another.

/// References generated from the code. Only their addresses have a folder, as `sdk.html` is the
/// page with examples.
const GENERATED: [&str; 4] = ["cli", "http", "sdk", "wit"];

/// The address of a document: its name without its folder, so a document that moves to another
/// folder keeps it.
pub(crate) fn of_document(path: &str) -> String {
    let path = path.strip_suffix(".md").unwrap_or(path);
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match (folder, name) {
        ("", "README") => "index.html".to_owned(),
        ("docs", "README") => "pages.html".to_owned(),
        ("docs/reference", name) if GENERATED.contains(&name) => format!("reference/{name}.html"),
        (_, name) => format!("{name}.html"),
    }
}

pub(crate) fn of_picture(path: &str) -> String {
    path.strip_prefix("docs/").unwrap_or(path).to_owned()
}

pub(crate) fn of_source(path: &str) -> String {
    format!("source/{path}.html")
}

/// The relative path from a page to the root of the site: `../` for each folder that the page is
/// in.
pub(crate) fn up(from: &str) -> String {
    "../".repeat(from.matches('/').count())
}

#[cfg(test)]
mod tests {
    use super::{of_document, of_picture, of_source, up};

    #[test]
    fn an_address_is_the_name_of_a_page_and_not_its_folder() {
        for (path, address) in [
            ("README.md", "index.html"),
            ("docs/README.md", "pages.html"),
            ("docs/reference/api.md", "api.html"),
            ("docs/start/guide.md", "guide.html"),
            ("docs/reference/cli.md", "reference/cli.html"),
        ] {
            assert_eq!(of_document(path), address);
        }
        assert_eq!(of_picture("docs/images/list.png"), "images/list.png");
        assert_eq!(of_source("examples/a/src/lib.rs"), "source/examples/a/src/lib.rs.html");
    }

    #[test]
    fn the_root_is_one_folder_up_for_each_folder_of_a_page() {
        for (from, way) in [("index.html", ""), ("reference/cli.html", "../"), ("a/b/c", "../../")]
        {
            assert_eq!(up(from), way);
        }
    }
}
