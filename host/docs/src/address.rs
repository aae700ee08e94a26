//! Addresses of pages and files: from the root of the site, and from one page to another.

pub(crate) fn of_document(path: &str) -> String {
    match path.strip_prefix("docs/").unwrap_or(path).strip_suffix(".md") {
        Some("README") => "index.html".to_owned(),
        Some(name) => format!("{name}.html"),
        None => path.to_owned(),
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
    fn a_page_is_where_its_document_is() {
        for (path, address) in [
            ("README.md", "index.html"),
            ("docs/guide.md", "guide.html"),
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
