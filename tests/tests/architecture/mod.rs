//! Checks that `ARCHITECTURE.md` lists the crates of the workspace with their dependencies, and
//! that every path in it and in `CONTRIBUTING.md` exists. Submodules check imports and names.

mod imports;
mod names;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use tests::documents::repository;
use toml::{Table, Value};

/// A crate, or a pattern of crates, of the workspace.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    /// Empty for a pattern such as `examples/*`.
    name: String,
    /// The crates of the workspace that it depends on.
    uses: BTreeSet<String>,
}

/// Packages by folder.
type Packages = BTreeMap<String, Package>;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn manifest(folder: &Path) -> Table {
    let path = folder.join("Cargo.toml");
    toml::from_str(&read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The members of the workspace, as Cargo knows them.
fn members(repository: &Path) -> Packages {
    let workspace = manifest(repository);
    let members = workspace["workspace"]["members"].as_array().expect("members are a list");
    let mut manifests = BTreeMap::new();
    let mut packages = Packages::new();
    for member in members {
        let folder = member.as_str().expect("a member is a folder").to_owned();
        if folder.contains('*') {
            packages.insert(folder, Package { name: String::new(), uses: BTreeSet::new() });
        } else {
            let manifest = manifest(&repository.join(&folder));
            let name = manifest["package"]["name"].as_str().expect("a package has a name");
            manifests.insert(folder, (name.to_owned(), manifest));
        }
    }
    let names: BTreeSet<String> = manifests.values().map(|(name, _)| name.clone()).collect();
    for (folder, (name, manifest)) in manifests {
        let uses = dependencies(&manifest).intersection(&names).cloned().collect();
        packages.insert(folder, Package { name, uses });
    }
    packages
}

/// The packages that a manifest names as dependencies, on any target. Dev-dependencies do not
/// count.
fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let on_targets = manifest.get("target").and_then(Value::as_table);
    let on_targets = on_targets.into_iter().flat_map(Table::values);
    let lists = on_targets.filter_map(|target| target.get("dependencies"));
    let lists = manifest.get("dependencies").into_iter().chain(lists);
    let mut names = BTreeSet::new();
    for (key, value) in lists.filter_map(Value::as_table).flatten() {
        let package = value.get("package").and_then(Value::as_str);
        names.insert(package.unwrap_or(key).to_owned());
    }
    names
}

/// The crates that the document lists.
fn described(document: &str) -> Packages {
    document.lines().filter_map(entry).collect()
}

/// The package that an entry of the list describes: ``- `FOLDER` **NAME**. Uses `A`, `B`.``
fn entry(line: &str) -> Option<(String, Package)> {
    let (folder, rest) = line.strip_prefix("- `")?.split_once("` **")?;
    let (name, rest) = rest.split_once("**")?;
    if folder.contains('*') {
        let package = Package { name: String::new(), uses: BTreeSet::new() };
        return Some((folder.to_owned(), package));
    }
    let uses = in_backticks(rest.strip_prefix(". Uses ")?);
    let uses = uses.into_iter().map(str::to_owned).collect();
    Some((folder.to_owned(), Package { name: name.to_owned(), uses }))
}

/// The parts of a text in backticks, without fenced blocks.
fn in_backticks(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    let paragraphs = prose.flat_map(|prose| prose.split("\n\n"));
    paragraphs.flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2)).collect()
}

/// The paths that a document names: parts in backticks that contain a slash and are not commands,
/// addresses or patterns.
fn paths(document: &str) -> Vec<&str> {
    let is_path = |part: &&str| {
        part.contains('/')
            && !part.starts_with('/')
            && !part.contains("://")
            && !part.contains(|letter: char| letter.is_whitespace() || letter == '*')
    };
    in_backticks(document).into_iter().filter(is_path).collect()
}

/// The differences between the described crates and the members of the workspace.
fn differences(described: &Packages, members: &Packages) -> Vec<String> {
    let mut differences = Vec::new();
    for (folder, member) in members {
        match described.get(folder) {
            None => differences.push(format!("`{folder}` is a member, and not described")),
            Some(entry) if entry != member => {
                differences.push(format!("`{folder}` is {member:?}, and described as {entry:?}"));
            }
            Some(_) => {}
        }
    }
    let gone = described.keys().filter(|folder| !members.contains_key(*folder));
    differences.extend(gone.map(|folder| format!("`{folder}` is described, and no member")));
    differences
}

#[test]
fn the_crates_are_those_of_the_workspace() {
    let repository = repository();
    let described = described(&read(&repository.join("ARCHITECTURE.md")));
    let differences = differences(&described, &members(&repository));
    assert!(differences.is_empty(), "ARCHITECTURE.md: {differences:#?}");
}

#[test]
fn every_path_is_in_the_repository() {
    let repository = repository();
    for (file, least) in [("ARCHITECTURE.md", 50), ("CONTRIBUTING.md", 3)] {
        let document = read(&repository.join(file));
        let paths = paths(&document);
        assert!(paths.len() >= least, "{file} names paths: {}", paths.len());
        let missing: Vec<_> =
            paths.into_iter().filter(|path| !repository.join(path).exists()).collect();
        assert!(missing.is_empty(), "{file} names what is not there: {missing:#?}");
    }
}

#[test]
fn a_list_that_is_out_of_date_is_told() {
    let document =
        "- `a` **one**. Uses `two`.\n- `b` **two**. Uses nothing.\n- `c/*` **others**.\n";
    let members = described(document);
    assert_eq!(members.len(), 3, "{members:?}");
    let told = |from: &str, to: &str| {
        let changed = document.replace(from, to);
        differences(&described(&changed), &members).len()
    };
    assert_eq!(told("`b`", "`d`"), 2, "one folder is not described, and another is no member");
    assert_eq!(told("**two**", "**three**"), 1, "another name");
    assert_eq!(told("Uses nothing", "Uses `one`"), 1, "another dependency");
    assert_eq!(told("- `c/*` **others**.\n", ""), 1, "a pattern is missing");
    assert_eq!(told("nobody", "somebody"), 0, "nothing was changed");
}

#[test]
fn paths_are_told_from_commands_and_addresses() {
    let text = "`host/env` and `a b/c`, `/v1`, `wasm://a/b`, `examples/*`\n```\n`x/y`\n```\n`one`, `b/c.rs`";
    assert_eq!(paths(text), ["host/env", "b/c.rs"]);
}
