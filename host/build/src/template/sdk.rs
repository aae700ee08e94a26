//! The SDK's sources, embedded in the binary until the SDK is published.
//!
//! In the repository, the SDK's manifests inherit from the workspace; here the inherited values are
//! written out, so that the manifests are self-contained.

use std::path::PathBuf;

use include_dir::{Dir, include_dir};
use toml::{Table, Value};

/// The source folders of the SDK, without target folders.
const FOLDERS: [(&str, Dir<'_>); 5] = [
    ("src", include_dir!("$CARGO_MANIFEST_DIR/../../guest-sdk/src")),
    ("wit", include_dir!("$CARGO_MANIFEST_DIR/../../guest-sdk/wit")),
    ("macro/src", include_dir!("$CARGO_MANIFEST_DIR/../../guest-sdk/macro/src")),
    ("saga/src", include_dir!("$CARGO_MANIFEST_DIR/../../guest-sdk/saga/src")),
    ("graph/src", include_dir!("$CARGO_MANIFEST_DIR/../../guest-sdk/graph/src")),
];

const MANIFESTS: [(&str, &str); 4] = [
    (
        "Cargo.toml",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest-sdk/Cargo.toml")),
    ),
    (
        "macro/Cargo.toml",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest-sdk/macro/Cargo.toml")),
    ),
    (
        "saga/Cargo.toml",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest-sdk/saga/Cargo.toml")),
    ),
    (
        "graph/Cargo.toml",
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest-sdk/graph/Cargo.toml")),
    ),
];

const WORKSPACE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"));

const LICENSE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../LICENSE"));

/// Workspace packages used by the SDK, with their paths relative to the SDK.
const PATHS: [(&str, &str); 3] =
    [("segno-macro", "macro"), ("segno-saga", "saga"), ("segno-graph", "graph")];

/// All files of the SDK, with paths relative to the SDK's folder.
pub(super) fn files() -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = vec![(PathBuf::from("LICENSE"), LICENSE.into())];
    for (path, manifest) in MANIFESTS {
        let manifest =
            standing_alone(manifest, WORKSPACE).expect("the repository's manifests are whole");
        files.push((path.into(), manifest.into_bytes()));
    }
    for (place, folder) in &FOLDERS {
        add(folder, place, &mut files);
    }
    files
}

fn add(folder: &Dir<'_>, place: &str, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for file in folder.files() {
        files.push((PathBuf::from(place).join(file.path()), file.contents().to_vec()));
    }
    for inner in folder.dirs() {
        add(inner, place, files);
    }
}

/// Returns `manifest` with the values inherited from `workspace` written out, and without the parts
/// that only the repository needs.
fn standing_alone(manifest: &str, workspace: &str) -> Result<String, String> {
    let read = |text: &str| text.parse::<Table>().map_err(|error| error.to_string());
    let (mut manifest, root) = (read(manifest)?, read(workspace)?);
    let workspace = |part: &str| root.get("workspace")?.get(part)?.as_table();
    manifest.remove("lints");
    manifest.remove("dev-dependencies");
    for (inherited, entries) in inheriting(&mut manifest) {
        for (name, entry) in entries.iter_mut() {
            if entry.get("workspace").is_some() {
                let base = workspace(inherited).and_then(|table| table.get(name));
                let base =
                    base.ok_or_else(|| format!("the workspace has no {inherited}.{name}"))?;
                *entry = inherit(base, entry);
            }
            if let Some(path) = entry.get_mut("path") {
                let place = PATHS.iter().find(|(package, _)| package == name);
                let (_, place) = place.ok_or_else(|| format!("{name} is not carried along"))?;
                *path = Value::String((*place).to_owned());
            }
        }
    }
    toml::to_string(&manifest).map_err(|error| error.to_string())
}

/// The tables of a manifest whose entries may inherit, each with the name of the workspace table
/// they inherit from.
fn inheriting(manifest: &mut Table) -> Vec<(&'static str, &mut Table)> {
    let mut parts = Vec::new();
    for (name, part) in manifest.iter_mut() {
        let Some(part) = part.as_table_mut() else { continue };
        match name.as_str() {
            "package" => parts.push(("package", part)),
            "dependencies" => parts.push(("dependencies", part)),
            "target" => {
                let targets = part.iter_mut().filter_map(|(_, target)| target.as_table_mut());
                let dependencies = targets.filter_map(|target| target.get_mut("dependencies"));
                let tables = dependencies.filter_map(Value::as_table_mut);
                parts.extend(tables.map(|table| ("dependencies", table)));
            }
            _ => {}
        }
    }
    parts
}

/// Merges the additions of `entry` into `base`.
fn inherit(base: &Value, entry: &Value) -> Value {
    let additions: Table = entry
        .as_table()
        .into_iter()
        .flatten()
        .filter(|(key, _)| *key != "workspace")
        .map(own)
        .collect();
    if additions.is_empty() {
        return base.clone();
    }
    let mut whole = match base {
        Value::Table(table) => table.clone(),
        version => Table::from_iter([("version".to_owned(), version.clone())]),
    };
    for (key, value) in additions {
        match (whole.get_mut(&key), value) {
            // Feature lists are merged, as cargo does.
            (Some(Value::Array(there)), Value::Array(more)) => there.extend(more),
            (_, value) => {
                whole.insert(key, value);
            }
        }
    }
    Value::Table(whole)
}

fn own((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_inherited_is_written_out_and_features_add_up() {
        let workspace = r#"
            [workspace.package]
            version = "0.1.0"
            [workspace.dependencies]
            plain = "1"
            rich = { version = "2", default-features = false, features = ["a"] }
            segno-macro = { path = "guest-sdk/macro" }
        "#;
        let manifest = r#"
            [package]
            name = "x"
            version.workspace = true
            [dependencies]
            own = "3"
            plain = { workspace = true, optional = true }
            rich = { workspace = true, features = ["b"] }
            segno-macro.workspace = true
            [target.'cfg(unix)'.dependencies]
            plain.workspace = true
            [dev-dependencies]
            plain.workspace = true
            [lints]
            workspace = true
        "#;
        let whole: Table = standing_alone(manifest, workspace).unwrap().parse().unwrap();
        let expected: Table = r#"
            [package]
            name = "x"
            version = "0.1.0"
            [dependencies]
            own = "3"
            plain = { version = "1", optional = true }
            rich = { version = "2", default-features = false, features = ["a", "b"] }
            segno-macro = { path = "macro" }
            [target.'cfg(unix)'.dependencies]
            plain = "1"
        "#
        .parse()
        .unwrap();
        assert_eq!(whole, expected);
    }

    #[test]
    fn a_gap_in_the_workspace_and_a_package_left_behind_are_named() {
        let missing =
            standing_alone("[dependencies]\nx.workspace = true\n", "[workspace.dependencies]\n");
        assert_eq!(missing.unwrap_err(), "the workspace has no dependencies.x");
        let left = standing_alone("[dependencies]\nx = { path = \"../x\" }\n", "");
        assert_eq!(left.unwrap_err(), "x is not carried along");
    }

    #[test]
    fn the_sdk_is_carried_whole_and_without_anything_built() {
        let files = files();
        let has = |path: &str| files.iter().any(|(file, _)| file == path);
        for path in
            ["Cargo.toml", "macro/Cargo.toml", "src/lib.rs", "macro/src/lib.rs", "wit/segno.wit"]
        {
            assert!(has(path), "{path}");
        }
        assert!(
            !files
                .iter()
                .any(|(file, _)| file.components().any(|part| part.as_os_str() == "target"))
        );
        assert!(
            !files
                .iter()
                .filter(|(file, _)| file.ends_with("Cargo.toml"))
                .any(|(_, text)| { String::from_utf8_lossy(text).contains("workspace = true") })
        );
    }
}
