//! The edits as crates of a separate workspace.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{EDITS, Edit};
use crate::guests;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Components of all edits, in order. The workspace is written to `scratch`, and compiled into
/// `target`, a target folder for guests.
///
/// # Panics
/// If a piece of the source does not occur exactly once, or a crate cannot be built. The message
/// has the reason.
pub fn components(scratch: &Path, target: &Path) -> Vec<Arc<[u8]>> {
    let workspace = scratch.join("order-edits");
    let source = Path::new(REPOSITORY).join("examples/order/src/lib.rs");
    let source = fs::read_to_string(source).expect("the example is there");
    let members: Vec<&str> = EDITS.iter().map(|edit| edit.name).collect();
    write(&workspace.join("Cargo.toml"), &manifest(&members));
    let lock = fs::read_to_string(Path::new(REPOSITORY).join("Cargo.lock"));
    write(&workspace.join("Cargo.lock"), &lock.expect("the versions are fixed"));
    write(&workspace.join("tariff/Cargo.toml"), &package("tariff", ""));
    write(&workspace.join("tariff/src/lib.rs"), TARIFF);
    let folders: Vec<PathBuf> =
        EDITS.iter().map(|edit| crate_of(edit, &source, &workspace)).collect();
    guests::build_into(&folders, target)
}

/// Dependency of an edit.
const TARIFF: &str = "//! What things cost.

/// What so many of these cost.
pub fn times(quantity: u32, price_cents: u64) -> u64 {
    (0..quantity).fold(0, |sum, _| sum + price_cents)
}
";

/// The workspace manifest. One edit is compiled with another optimization level.
fn manifest(members: &[&str]) -> String {
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n[profile.release.package.compiled-otherwise]\nopt-level = 1\n"
    )
}

fn package(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}")
}

fn crate_of(edit: &Edit, source: &str, workspace: &Path) -> PathBuf {
    let mut edited = source.replace("#[cfg(test)]\nmod tests;\n", "");
    for (from, to) in edit.changes {
        let found = edited.matches(from).count();
        assert_eq!(found, 1, "`{}` changes a piece that is there {found} times: {from}", edit.name);
        edited = edited.replace(from, to);
    }
    let folder = workspace.join(edit.name);
    let rest = format!(
        "\n[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n\n[dependencies]\nsegno = {{ package = \"segno-sdk\", path = \"{REPOSITORY}/guest-sdk\" }}\n{}",
        edit.manifest
    );
    write(&folder.join("Cargo.toml"), &package(edit.name, &rest));
    write(&folder.join("src/lib.rs"), &edited);
    folder
}

/// Writes a file if its text differs. Cargo looks at the modification time.
fn write(path: &Path, text: &str) {
    if fs::read(path).is_ok_and(|had| had == text.as_bytes()) {
        return;
    }
    let folder = path.parent().expect("it is in a folder");
    fs::create_dir_all(folder).and_then(|()| fs::write(path, text)).expect("there is room");
}
