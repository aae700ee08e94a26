use std::{collections::BTreeSet, io::Read as _, path::Path};

use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};

use segno_asset::hex;

use crate::{POLICY, asset, files::paths, page};

const ASSETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/assets");

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(ASSETS).join(path)).expect("a text")
}

/// The page, and the digests and paths of the files it loads.
fn loaded() -> (String, Vec<(String, String)>) {
    let page = String::from_utf8(page().bytes().to_vec()).expect("a text");
    let named = page.split("\"/console/assets/").skip(1);
    let named = named.filter_map(|rest| rest.split_once('"')?.0.split_once('/'));
    let named: BTreeSet<(String, String)> =
        named.map(|(digest, path)| (digest.to_owned(), path.to_owned())).collect();
    (page, named.into_iter().collect())
}

#[test]
fn what_is_of_others_is_what_they_published() {
    let listed = text("vendor/README.md");
    let mut seen = 0;
    for path in paths().filter(|path| path.starts_with("vendor/") && path.ends_with("js")) {
        let name = path.trim_start_matches("vendor/");
        let row = listed.lines().find(|line| line.starts_with(&format!("| `{name}` ")));
        let row = row.unwrap_or_else(|| panic!("{name} is not in vendor/README.md"));
        let published = text(path).replace("from\"./preact.mjs\"", "from\"preact\"");
        assert!(row.contains(&hex(&Sha256::digest(published))), "{name} was changed");
        let licence = row.split('`').find(|word| word.ends_with(".LICENSE")).expect("a licence");
        assert!(text(&format!("vendor/{licence}")).len() > 500, "{licence}");
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[test]
fn the_first_page_is_small_and_loads_every_module_at_once() {
    let (page, loaded) = loaded();
    assert!(!page.contains("{{"), "{page}");
    let files = loaded
        .iter()
        .map(|(digest, path)| asset(digest, path).unwrap_or_else(|| panic!("{path} is there")));
    let bytes: usize = files.map(|file| file.compressed().expect("it is a text").len()).sum();
    // All console pages together load in about a second on a slow line (1 Mbit/s), once per
    // version.
    assert!(bytes + page.len() < 116 * 1024, "{bytes} bytes");
    let named: BTreeSet<&str> = loaded.iter().map(|(_, path)| path.as_str()).collect();
    for path in paths().filter(|path| path.ends_with("js")) {
        assert!(named.contains(path), "{path} is loaded with the page");
    }
    assert_eq!(asset("0000000000000000", "style.css").map(|_| ()), None, "another version");
}

#[test]
fn a_file_comes_out_of_its_compressed_form_as_it_went_in() {
    let (_, loaded) = loaded();
    for (digest, path) in &loaded {
        let file = asset(digest, path).expect("it is there");
        let mut whole = Vec::new();
        let compressed = file.compressed().expect("it is a text");
        GzDecoder::new(&*compressed).read_to_end(&mut whole).expect("it is whole");
        assert_eq!(whole, file.bytes(), "{path}");
        assert!(compressed.len() < whole.len(), "{path}");
    }
}

#[test]
fn nothing_is_inline_and_nothing_comes_from_elsewhere() {
    let (page, _) = loaded();
    for word in ["<style", "style=", "onclick", "onload", "javascript:"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.matches("<script").count() == 1 && page.contains("<script type=\"module\" src="));
    assert!(!POLICY.contains("unsafe") && !POLICY.contains('*') && !POLICY.contains("http"));
    for path in paths().filter(|path| path.starts_with("app/") || path.ends_with("css")) {
        let source = text(path);
        for word in ["http://", "https://", "eval(", "new Function", "innerHTML", "dangerouslySet"]
        {
            assert!(!source.contains(word), "{path}: {word}");
        }
    }
}
