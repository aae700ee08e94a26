//! The bundles of every version, which every later version must replay.
//!
//! `tests/bundles/VERSION` has one bundle per language. Python's bundle lacks its component, which
//! has 20 MB. The component's source is next to the bundle and is rebuilt with `SEGNO_CLIENTS=1`,
//! as in the suite `languages`. A new version adds a folder, and never changes an existing one.
//! `tests/bundles/make.sh` made the bundles. `contract-0.2.0` has a component from a time when a
//! JavaScript wait that had lost a race still consumed a signal. Its journal records that, and the
//! component still does it.

use std::{
    env, fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{SEGNO, parts, segno, text};

/// Folders of all versions.
pub(super) fn versions() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bundles");
    let entries = fs::read_dir(folder).expect("bundles are kept");
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    assert!(!folders.is_empty(), "bundles are kept");
    folders
}

fn bundles(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("bundles are kept");
    let files = entries.map(|entry| entry.expect("it can be read").path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|kind| kind == "segno-bundle")).collect();
    files.sort();
    files
}

/// Builds the component of a bundle that lacks it. `None` if the bundle has it.
fn component(bundle: &Path, work: &Path) -> Option<PathBuf> {
    let source = bundle.with_extension("");
    if !source.exists() {
        return None;
    }
    let (project, component) = (work.join("project"), work.join("project.wasm"));
    fs::create_dir(&project).expect("there is room");
    for entry in fs::read_dir(&source).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        let name = path.file_name().expect("it has a name");
        fs::copy(&path, project.join(name)).expect("there is room");
    }
    let (out, err, exit) =
        segno(&["build", text(&project), "--prepare", "--out", text(&component)]);
    assert_eq!(exit, Some(0), "{out}{err}");
    Some(component)
}

#[test]
fn what_one_command_compiled_the_next_one_uses() {
    let cache = tempfile::tempdir().expect("there is room for a folder");
    let bundle = versions().remove(0).join("javascript.segno-bundle");
    let replayed = || -> Vec<(PathBuf, u64)> {
        let mut command = Command::new(SEGNO);
        command.args(["replay", text(&bundle), "--quiet"]).env("SEGNO_CACHE_DIR", cache.path());
        let said = command.output().expect("it runs");
        assert!(said.status.success(), "{said:?}");
        let entries = |path: PathBuf| fs::read_dir(path).expect("it is there").flatten();
        let files = entries(cache.path().join("compiled")).flat_map(|entry| entries(entry.path()));
        let files =
            files.filter(|file| file.path().extension().is_some_and(|kind| kind == "cwasm"));
        files.map(|file| (file.path(), file.metadata().expect("it is there").ino())).collect()
    };
    let compiled = replayed();
    assert_eq!(compiled.len(), 1, "the code of one module: {compiled:?}");
    assert_eq!(replayed(), compiled, "it was compiled again");
}

#[test]
fn the_bundles_of_every_version_replay() {
    let has_tools = !env::var("SEGNO_CLIENTS").unwrap_or_default().is_empty();
    for folder in versions() {
        let mut languages = Vec::new();
        for bundle in bundles(&folder) {
            let language =
                bundle.file_stem().expect("it has a name").to_string_lossy().into_owned();
            let journals: Vec<_> =
                parts(&bundle).into_iter().filter(|part| part.records > 0).collect();
            assert!(!journals.is_empty(), "{} has journals", bundle.display());
            languages.push(language);
            if bundle.with_extension("").exists() && !has_tools {
                eprintln!("skipped: {} is replayed with SEGNO_CLIENTS=1", bundle.display());
                continue;
            }
            let work = tempfile::tempdir().expect("there is room for a folder");
            let component = component(&bundle, work.path());
            let module = component.as_ref().map_or(Vec::new(), |file| vec!["--module", text(file)]);
            for part in journals {
                let arguments =
                    [&["replay", text(&bundle), &part.id, "--json"], &module[..]].concat();
                let (out, err, exit) = segno(&arguments);
                assert_eq!(exit, Some(0), "{}: {out}{err}", bundle.display());
                let said: Value = serde_json::from_str(&out).expect("it is JSON");
                let found = (&said["verdict"], &said["matched"]);
                assert_eq!(found, (&"identical".into(), &part.records.into()));
            }
        }
        let all = ["javascript", "python", "rust"];
        let of_contract = folder.ends_with("contract-0.2.0");
        let expected = if of_contract { &all[..1] } else { &all[..] };
        assert_eq!(languages, expected, "{}", folder.display());
    }
}
