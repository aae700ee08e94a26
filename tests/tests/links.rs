//! Links in the README, the documents and the pages for contributors lead to existing files and
//! headings.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use tests::documents::{files, repository};

/// Checked pages besides the README and the documents.
const PAGES: [&str; 8] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "examples/README.md",
    "examples/agent/README.md",
    "examples/order/README.md",
    ".github/PULL_REQUEST_TEMPLATE.md",
];

/// A link, with its target.
struct Link {
    from: PathBuf,
    path: String,
    heading: Option<String>,
}

fn prose(text: &str) -> Vec<&str> {
    let mut inside = false;
    let is_prose = |line: &&str| {
        let is_fence = line.starts_with("```");
        inside ^= is_fence;
        !inside && !is_fence
    };
    text.lines().filter(is_prose).collect()
}

fn links_of(file: &Path) -> Vec<Link> {
    let text = fs::read_to_string(file).expect("it can be read");
    let targets = prose(&text).join("\n");
    let targets = targets.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target).filter(|target| !target.contains("://"));
    let link = |target: &str| {
        let (path, heading) = target
            .split_once('#')
            .map_or((target, None), |(path, heading)| (path, Some(heading.to_owned())));
        Link { from: file.to_owned(), path: path.to_owned(), heading }
    };
    targets.map(link).collect()
}

/// Anchors of a document's headings, as GitHub generates them.
fn headings_of(file: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(file).expect("it can be read");
    let headings = prose(&text).into_iter().filter(|line| line.starts_with('#'));
    let name = |heading: &str| -> String {
        let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
        let letters = heading.trim_start_matches('#').trim().chars().filter(kept);
        letters
            .map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() })
            .collect()
    };
    headings.map(name).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut files = files();
    files.extend(PAGES.map(|page| repository().join(page)));
    let links: Vec<Link> = files.iter().flat_map(|file| links_of(file)).collect();
    assert!(links.len() > 50, "there are links: {}", links.len());
    let mut broken = Vec::new();
    for Link { from, path, heading } in links {
        let folder = from.parent().expect("a file is in a folder");
        let target = if path.is_empty() { from.clone() } else { folder.join(&path) };
        let place = from.strip_prefix(repository()).expect("it is inside").display().to_string();
        if !target.exists() {
            broken.push(format!("{place}: there is no `{path}`"));
        } else if let Some(heading) =
            heading.filter(|heading| !headings_of(&target).contains(heading))
        {
            broken.push(format!("{place}: `{path}` has no heading `#{heading}`"));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}
