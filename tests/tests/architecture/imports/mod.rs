//! Import cycles ("circles") between the files of a crate may contain only a few files: the parts
//! of a larger circle can be neither read nor tested separately.
//!
//! An import is a `use` or a path in code. It leads from its file to the file that defines the
//! name; re-exports are followed. Tests and the roots of crates do not count.

mod graph;
mod source;
mod tree;

use std::{collections::BTreeSet, fs, path::Path};

use tests::documents::repository;

use super::members;
use tree::{Read, Tree};

/// Maximum number of files in a circle.
const LIMIT: usize = 5;

/// Folders of crates with a larger circle, and the number of files in the largest. The numbers may
/// only decrease.
const EXCEPTIONS: &[(&str, usize)] = &[];

/// The number of files in the largest circle of a crate, and a description of all circles above the
/// limit.
fn largest(root: &Path, read: &Read<'_>) -> (usize, String) {
    let graph = Tree::load(root, read).graph();
    let circles = graph.circles();
    let folder = root.parent().expect("the root is a file");
    let too_large = circles.iter().filter(|circle| circle.len() > LIMIT);
    let described = too_large.map(|circle| graph.describe(circle, folder)).collect();
    (circles.first().map_or(0, BTreeSet::len), described)
}

/// The complaint about the size of a crate's largest circle. `None` if the size is as expected.
fn complaint(folder: &str, size: usize, described: &str) -> Option<String> {
    let listed = EXCEPTIONS.iter().find(|(exception, _)| *exception == folder);
    match listed {
        Some((_, listed)) if size < *listed => Some(format!(
            "{folder}: the largest circle has {size} files now, so lower the {listed} in EXCEPTIONS\n"
        )),
        Some((_, listed)) if size == *listed => None,
        _ if size <= LIMIT => None,
        _ => Some(format!("{folder}: a circle is too large\n{described}")),
    }
}

#[test]
fn circles_of_imports_are_small() {
    let repository = repository();
    let mut complaints = String::new();
    for folder in members(&repository).into_keys() {
        let roots = ["src/lib.rs", "src/main.rs"].map(|root| repository.join(&folder).join(root));
        let roots = roots.iter().filter(|root| root.exists());
        let found = roots.map(|root| largest(root, &|path| fs::read_to_string(path).ok())).max();
        let found = found.and_then(|(size, described)| complaint(&folder, size, &described));
        complaints.extend(found);
    }
    assert!(complaints.is_empty(), "{complaints}");
}

/// A crate with a circle of six files: `a`, `b`, `c`, `d`, `folder/e`, `f`. Each import has another
/// form.
const CRATE: &[(&str, &str)] = &[
    ("src/lib.rs", "mod a; mod b; mod c; mod d; mod f; mod folder; mod top; pub use d::D;"),
    ("src/a.rs", "use std::fmt; use crate::b::{self, B as Other}; pub struct A;"),
    ("src/b.rs", "pub struct B; fn b() { let c = vec![super::c::c(1)]; }"),
    ("src/c.rs", "use crate::D; pub fn c(c: u8) -> D { D(c) }"),
    ("src/d.rs", "use super::folder; pub struct D(Vec<folder::E>);"),
    ("src/folder/mod.rs", "mod e; pub use e::E; pub struct Own;"),
    ("src/folder/e.rs", "pub struct E; mod inner { type F = super::super::super::f::F; }"),
    ("src/f.rs", "use crate::a::*; pub struct F { a: A }"),
    // No file imports this one.
    ("src/top.rs", "use crate::a::A;"),
];

/// The number of files in the largest circle of [`CRATE`] after replacements.
fn size_with(replacements: &[(&str, &str)]) -> usize {
    let replaced = |text: &str| {
        let replace = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
        replacements.iter().fold(text.to_owned(), replace)
    };
    let (size, described) = largest(Path::new("src/lib.rs"), &|path| {
        let file = CRATE.iter().find(|(name, _)| Path::new(name) == path);
        file.map(|(_, text)| replaced(text))
    });
    assert_eq!(size > LIMIT, !described.is_empty(), "{described}");
    size
}

#[test]
fn a_circle_is_found_over_every_form_of_import() {
    assert_eq!(size_with(&[]), 6);
    for (import, without) in [
        ("use crate::b::{self, B as Other};", ""),
        ("super::c::c(1)", "1"),
        ("use crate::D;", ""),
        ("folder::E", "u8"),
        ("super::super::super::f::F", "u8"),
        ("use crate::a::*;", ""),
    ] {
        assert_eq!(size_with(&[(import, without)]), 0, "without {import}");
    }
}

#[test]
fn tests_and_maps_of_modules_import_nothing() {
    let cut = ("use crate::b::{self, B as Other};", "");
    for (text, size) in [
        ("use crate::b::B;", 6),
        ("impl A { fn a(&self) { let b = crate::b::B; } }", 6),
        ("#[cfg(test)] use crate::b::{self, B};", 0),
        ("#[cfg(test)] mod tests { use crate::b::B; }", 0),
        ("impl A { #[cfg(test)] fn a(&self) { crate::b::B } }", 0),
        ("macro_rules! b { () => { $crate::b::B } }", 0),
        ("/// [crate::b::B]\nconst A: &str = \"use crate::b::B;\";", 0),
    ] {
        let added = format!("pub struct A; {text}");
        assert_eq!(size_with(&[cut, ("pub struct A;", &added)]), size, "with {text}");
    }
    // `mod.rs` only exports `e`, so an import of `mod.rs` by `e` is no circle.
    let imported = ("mod inner {", "use super::Own; mod inner {");
    assert_eq!(size_with(&[imported]), 6);
    let used = ("pub struct Own;", "pub struct Own(E);");
    assert_eq!(size_with(&[imported, used]), 7);
}

#[test]
fn a_circle_is_described_with_its_cuts() {
    let files = ["a.rs", "b.rs", "c.rs"].map(Into::into);
    let mut graph = graph::Graph::new(&files);
    for (from, to) in [(0, 1), (1, 0), (1, 2), (2, 0)] {
        graph.add(from, to, format!("Name{to}"));
    }
    let described = graph.describe(&graph.circles()[0], Path::new("src"));
    let lines: Vec<&str> = described.lines().collect();
    assert_eq!(lines[0], "3 files: a.rs, b.rs, c.rs");
    assert_eq!(lines[1], "  a.rs → b.rs: Name1 (without it: 0)", "the best cut is first");
    assert_eq!(lines.len(), 5, "{described}");
}

#[test]
fn exceptions_only_fall() {
    for (folder, size) in EXCEPTIONS {
        assert!(*size > LIMIT, "{folder} is no exception any more");
        assert_eq!(complaint(folder, *size, ""), None);
        assert!(complaint(folder, size + 1, "").is_some(), "{folder} grew");
        let fallen = complaint(folder, size - 1, "").expect("the list is out of date");
        assert!(fallen.contains("lower"), "{fallen}");
    }
    assert_eq!(complaint("another", LIMIT, ""), None);
    assert!(complaint("another", LIMIT + 1, "").is_some());
}
