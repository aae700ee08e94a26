//! The embedded files by path, and the page that loads them.

use std::{collections::BTreeMap, sync::LazyLock};

use include_dir::{Dir, include_dir};
use segno_asset::{Asset, hex};
use sha2::{Digest as _, Sha256};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/assets");
static FILES: LazyLock<ConsoleFiles> = LazyLock::new(ConsoleFiles::embedded);
/// The page template. `{{assets}}` stands for the path of the files, and `{{preload}}` for the
/// modules that the browser should load in parallel, instead of one after the other as it finds
/// their imports.
const PAGE: &str = "index.html";

struct ConsoleFiles {
    digest: String,
    by_path: BTreeMap<String, Asset>,
    page: Asset,
}

/// The file at `path`, if `digest` is that of this version.
pub fn asset(digest: &str, path: &str) -> Option<&'static Asset> {
    FILES.by_path.get(path).filter(|_| digest == FILES.digest)
}

/// The page, the same for every address of the console.
pub fn page() -> &'static Asset {
    &FILES.page
}

/// The paths of all files but the page.
#[cfg(test)]
pub(crate) fn paths() -> impl Iterator<Item = &'static str> {
    FILES.by_path.keys().map(String::as_str)
}

impl ConsoleFiles {
    fn embedded() -> Self {
        let mut files = Vec::new();
        collect(&EMBEDDED, &mut files);
        files.sort_unstable_by_key(|(path, _)| *path);
        let mut all = Sha256::new();
        for (path, bytes) in &files {
            all.update(path.as_bytes());
            all.update(Sha256::digest(bytes));
        }
        let digest = hex(&all.finalize()[..8]);
        let base = format!("/console/assets/{digest}");
        let modules = files.iter().filter(|(path, _)| path.ends_with("js"));
        let preload: String = modules
            .map(|(path, _)| format!("  <link rel=\"modulepreload\" href=\"{base}/{path}\">\n"))
            .collect();
        let page = EMBEDDED.get_file(PAGE).and_then(|file| file.contents_utf8());
        let page = page.expect("there is a page").replace("{{assets}}", &base);
        let page = page.replace("{{preload}}\n", &preload);
        let asset =
            |(path, bytes): (&str, &'static [u8])| (path.to_owned(), Asset::new(path, bytes));
        Self {
            digest,
            page: Asset::new(PAGE, page),
            by_path: files.into_iter().filter(|(path, _)| *path != PAGE).map(asset).collect(),
        }
    }
}

fn collect(folder: &'static Dir<'static>, files: &mut Vec<(&'static str, &'static [u8])>) {
    for file in folder.files() {
        files.extend(file.path().to_str().map(|path| (path, file.contents())));
    }
    for inner in folder.dirs() {
        collect(inner, files);
    }
}
