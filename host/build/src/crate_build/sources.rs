//! Lists the source folders of a component: those of the crate, and of its local path dependencies.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use cargo_metadata::{Metadata, MetadataCommand, PackageId};

use super::WorkflowCrate;
use crate::cargo::cargo_program;

/// The folders of `one` and of all its path dependencies. If cargo cannot answer, which requires a
/// lock file but no network, only the crate's own folder.
pub fn sources(one: &WorkflowCrate) -> Vec<PathBuf> {
    let mut command = MetadataCommand::new();
    command
        .cargo_path(PathBuf::from(cargo_program()))
        .manifest_path(one.directory.join("Cargo.toml"));
    command.other_options(["--offline".to_owned()]);
    let found = command.exec().ok().and_then(|metadata| folders(&metadata, &one.directory));
    found.unwrap_or_else(|| vec![one.directory.clone()])
}

fn folders(metadata: &Metadata, directory: &Path) -> Option<Vec<PathBuf>> {
    let folder_of = |id: &PackageId| {
        let package = metadata.packages.iter().find(|package| package.id == *id)?;
        // A package with a source comes from a registry or a repository, and does not change.
        let folder = package.manifest_path.parent().filter(|_| package.source.is_none())?;
        Some(folder.as_std_path().to_owned())
    };
    let nodes = &metadata.resolve.as_ref()?.nodes;
    let own = metadata.packages.iter().find(|package| {
        package.manifest_path.parent().is_some_and(|folder| folder.as_std_path() == directory)
    })?;
    let (mut seen, mut next) = (BTreeSet::from([own.id.clone()]), vec![own.id.clone()]);
    let mut folders = BTreeSet::new();
    while let Some(id) = next.pop() {
        let Some(folder) = folder_of(&id) else { continue };
        folders.insert(folder);
        let node = nodes.iter().find(|node| node.id == id)?;
        next.extend(node.dependencies.iter().filter(|id| seen.insert((*id).clone())).cloned());
    }
    Some(folders.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_crate_is_made_of_the_crates_beside_it_that_it_uses() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let package = |name: &str, uses: &[&str]| {
            let uses: String =
                uses.iter().map(|used| format!("{used} = {{ path = \"../{used}\" }}\n")).collect();
            write(
                &format!("{name}/Cargo.toml"),
                &format!(
                    "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n{uses}"
                ),
            );
            write(&format!("{name}/src/lib.rs"), "");
        };
        write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n");
        package("order", &["prices"]);
        package("prices", &["money"]);
        package("money", &[]);
        package("other", &["money"]);
        let one = WorkflowCrate {
            package: "order".to_owned(),
            directory: root.join("order"),
            workspace: root.clone(),
            target: root.join("target"),
        };
        let expected = ["money", "order", "prices"].map(|name| root.join(name));
        assert_eq!(sources(&one), expected);
        fs::write(root.join("order/Cargo.toml"), "no manifest").unwrap();
        assert_eq!(sources(&one), [root.join("order")]);
    }
}
