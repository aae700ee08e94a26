//! Locates the workflow crate at a path, using cargo's metadata.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cargo_metadata::{CrateType, Metadata, MetadataCommand, Package, Target};

use super::BuildError;
use crate::cargo::cargo_program;

/// A crate that can become a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowCrate {
    pub package: String,
    /// The folder with its Cargo.toml.
    pub directory: PathBuf,
    /// The root folder of the workspace, or the crate's own folder if it has no workspace.
    pub workspace: PathBuf,
    /// The workspace's target folder.
    pub target: PathBuf,
}

impl WorkflowCrate {
    fn of(package: &Package, metadata: &Metadata) -> Result<Self, BuildError> {
        if !package.targets.iter().any(is_module) {
            return Err(BuildError::NotCdylib {
                package: package.name.to_string(),
                manifest: package.manifest_path.clone().into(),
            });
        }
        let manifest = package.manifest_path.as_std_path();
        Ok(Self {
            package: package.name.to_string(),
            directory: manifest.parent().unwrap_or(manifest).to_owned(),
            workspace: metadata.workspace_root.clone().into(),
            target: metadata.target_directory.clone().into(),
        })
    }
}

/// True if cargo builds this target as a wasm module.
pub(super) fn is_module(target: &Target) -> bool {
    target.crate_types.contains(&CrateType::CDyLib)
}

/// The crate at `path`, which is its folder or its Cargo.toml.
///
/// # Errors
/// Fails if there is none, cargo cannot read it, it is a workspace of several crates, or it is not
/// a `cdylib`.
pub fn locate(path: &Path) -> Result<WorkflowCrate, BuildError> {
    let manifest = manifest_at(path)?;
    let metadata = metadata(&manifest)?;
    let package = metadata.packages.iter().find(|package| is_at(package, &manifest));
    match package {
        Some(package) => WorkflowCrate::of(package, &metadata),
        None => Err(BuildError::Workspace { manifest, members: module_folders(&metadata) }),
    }
}

/// All workflow crates of the workspace at `path`: the members that are a `cdylib`, by name.
///
/// # Errors
/// Fails if there is no workspace, or cargo cannot read it.
pub fn members(path: &Path) -> Result<Vec<WorkflowCrate>, BuildError> {
    let metadata = metadata(&manifest_at(path)?)?;
    let mut members: Vec<WorkflowCrate> = modules(&metadata)
        .map(|package| WorkflowCrate::of(package, &metadata))
        .collect::<Result<_, _>>()?;
    members.sort_by(|one, other| one.package.cmp(&other.package));
    Ok(members)
}

fn manifest_at(path: &Path) -> Result<PathBuf, BuildError> {
    let found = fs::canonicalize(path).map_err(|_| BuildError::NoSuchPath(path.to_owned()))?;
    if found.is_dir() {
        let manifest = found.join("Cargo.toml");
        if manifest.is_file() { Ok(manifest) } else { Err(BuildError::NoManifest(path.to_owned())) }
    } else if found.file_name().is_some_and(|name| name == "Cargo.toml") {
        Ok(found)
    } else {
        Err(BuildError::NotAManifest(path.to_owned()))
    }
}

fn metadata(manifest: &Path) -> Result<Metadata, BuildError> {
    let mut command = MetadataCommand::new();
    command.cargo_path(PathBuf::from(cargo_program())).manifest_path(manifest).no_deps();
    command.exec().map_err(|error| {
        let output = match error {
            cargo_metadata::Error::CargoMetadata { stderr } => stderr.trim_end().to_owned(),
            other => other.to_string(),
        };
        BuildError::Metadata { manifest: manifest.to_owned(), output }
    })
}

fn is_at(package: &Package, manifest: &Path) -> bool {
    fs::canonicalize(&package.manifest_path).is_ok_and(|path| path == manifest)
}

fn modules(metadata: &Metadata) -> impl Iterator<Item = &Package> {
    metadata
        .workspace_packages()
        .into_iter()
        .filter(|package| package.targets.iter().any(is_module))
}

fn module_folders(metadata: &Metadata) -> Vec<String> {
    let folders = modules(metadata).filter_map(|package| package.manifest_path.parent());
    let mut folders: Vec<String> = folders
        .map(|folder| folder.strip_prefix(&metadata.workspace_root).unwrap_or(folder).to_string())
        .collect();
    folders.sort();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn package(name: &str, rest: &str) -> String {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}")
    }

    const MODULE: &str = "[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n";

    fn workspace() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            &[
                (
                    "Cargo.toml",
                    "[workspace]\nresolver = \"3\"\nmembers = [\"flows/*\", \"plain\"]\n",
                ),
                ("flows/refund/Cargo.toml", &package("refund", MODULE)),
                ("flows/refund/src/lib.rs", ""),
                ("flows/order/Cargo.toml", &package("order", MODULE)),
                ("flows/order/src/lib.rs", ""),
                ("plain/Cargo.toml", &package("plain", "")),
                ("plain/src/lib.rs", ""),
            ],
        );
        folder
    }

    #[test]
    fn a_crate_is_found_by_its_folder_and_by_its_manifest() {
        let workspace = workspace();
        let folder = workspace.path().join("flows/order");
        let by_folder = locate(&folder).unwrap();
        assert_eq!(by_folder.package, "order");
        assert_eq!(by_folder.workspace, fs::canonicalize(workspace.path()).unwrap());
        assert_eq!(locate(&folder.join("Cargo.toml")).unwrap(), by_folder);
    }

    #[test]
    fn the_members_of_a_workspace_are_its_modules_by_name() {
        let workspace = workspace();
        let names: Vec<String> =
            members(workspace.path()).unwrap().into_iter().map(|member| member.package).collect();
        assert_eq!(names, ["order", "refund"]);
    }

    #[test]
    fn each_wrong_path_is_answered_with_what_is_wrong() {
        let workspace = workspace();
        let at = |name: &str| locate(&workspace.path().join(name)).unwrap_err().to_string();
        assert!(at("nowhere").starts_with("there is no `"));
        assert!(at("flows").contains("has no Cargo.toml"));
        assert!(at("plain/src/lib.rs").contains("is not a manifest"));
        assert!(at("").ends_with(
            "is a workspace; name one of its workflow crates: flows/order, flows/refund"
        ));
        let plain = at("plain");
        assert!(
            plain.contains("crate-type = [\"cdylib\", \"rlib\"]")
                && plain.contains("plain/Cargo.toml"),
            "{plain}"
        );
    }

    #[test]
    fn a_manifest_that_cargo_cannot_read_is_shown_in_cargos_words() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &[("Cargo.toml", "[package]\nname = 3\n")]);
        let error = locate(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("cargo cannot read"), "{error}");
        assert!(error.contains("name = 3"), "{error}");
    }
}
