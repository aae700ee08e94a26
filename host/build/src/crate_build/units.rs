//! A store of compiled dependencies shared by crates, so that only the first crate compiles them.
//!
//! Cargo stores each compilation result, a *unit*, under a name that ends with a hash of all its
//! inputs. A target folder cannot be shared as a whole: cargo names the module of a crate without
//! that hash, and computes the hash relative to the workspace, so two crates with one name would
//! receive each other's module. Therefore each crate has its own target folder, and only units of
//! dependencies are copied: from a built crate into the store, and from the store into the target
//! folder of a crate that was never built. Cargo decides as usual if a unit is up to date.
//!
//! ```text
//! STORE/lock
//! STORE/{key}/used          its modification time is the last use
//! STORE/{key}/{release,TARGET/release}/
//!     deps/libserde-{hash}.rlib  build/serde-{hash}/  .fingerprint/serde-{hash}/
//! ```

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use cargo_metadata::Message;
use sha2::{Digest, Sha256};

use crate::{BuildProgress, CacheError, TARGET, cache::Lock, toolchain::Toolchain};

/// The folders with units in a target folder.
const PROFILES: [&str; 2] = ["release", "wasm32-unknown-unknown/release"];

/// The files of units, in the order of copying. Cargo trusts a unit whose fingerprint exists, so
/// the fingerprint comes last.
const PARTS: [&str; 3] = ["deps", "build", ".fingerprint"];

/// The folder of the SDK in a crate created from the template.
const SDK: &str = ".segno/sdk";

/// Time after which units of an unused key are removed.
const KEPT_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Maximum bytes of the units of one key; above it, they are deleted and collected anew.
const MOST_BYTES: u64 = 1 << 30;

/// The stored units for one toolchain.
pub(super) struct Units {
    store: PathBuf,
    /// Folder of units of packages from a registry or git.
    packages: PathBuf,
    /// Folder of units of the SDK, for crates with equal copies of the SDK.
    sdk_units: PathBuf,
    /// The crate's copy of the SDK.
    sdk: PathBuf,
    /// Taken before the SDK is read, so that sources changed later are newer than the units.
    stamp: SystemTime,
}

impl Units {
    /// The units in `store` for crates of `workspace`.
    pub(super) fn new(store: &Path, workspace: &Path, toolchain: &Toolchain) -> io::Result<Self> {
        let stamp = now();
        let sdk = workspace.join(SDK);
        let mut hash = Sha256::new_with_prefix(format!("{TARGET} {toolchain:?} "));
        let packages = store.join(key(&hash));
        if sdk.is_dir() {
            digest(&sdk, &mut hash)?;
        }
        let sdk_units = store.join(format!("{}-sdk", key(&hash)));
        Ok(Self { store: store.to_owned(), packages, sdk_units, sdk, stamp })
    }

    /// Copies all units into `target`, unless something was compiled there before. Returns true if
    /// there were any.
    pub(super) fn lend(
        &self,
        target: &Path,
        progress: &dyn BuildProgress,
    ) -> Result<bool, CacheError> {
        let is_new = PROFILES.iter().all(|profile| !target.join(profile).exists());
        if !is_new || !self.packages.is_dir() {
            return Ok(false);
        }
        let _lock = self.lock(progress)?;
        for folder in [&self.packages, &self.sdk_units] {
            self.copy(folder, target, &|_| true)
                .and_then(|()| mark_used(folder))
                .map_err(failed(target))?;
        }
        Ok(true)
    }

    /// Copies the units of dependencies from `target` into the store, according to cargo's
    /// messages, if cargo compiled any of them in this run.
    pub(super) fn keep(
        &self,
        target: &Path,
        messages: &[Message],
        progress: &dyn BuildProgress,
    ) -> Result<(), CacheError> {
        let dependencies = self.dependencies(messages);
        if !dependencies.any_compiled {
            return Ok(());
        }
        let _lock = self.lock(progress)?;
        self.remove_unused().map_err(failed(&self.store))?;
        for (folder, hashes) in
            [(&self.packages, &dependencies.packages), (&self.sdk_units, &dependencies.sdk)]
        {
            let wanted = |name: &str| hash_in(name).is_some_and(|hash| hashes.contains(hash));
            self.copy(target, folder, &wanted)
                .and_then(|()| mark_used(folder))
                .map_err(failed(folder))?;
        }
        Ok(())
    }

    /// The units of packages that do not belong to the user.
    fn dependencies(&self, messages: &[Message]) -> Dependencies {
        let mut found = Dependencies::default();
        for message in messages {
            let (package, fresh, names) = match message {
                Message::CompilerArtifact(artifact) => {
                    // `deps/libserde-{hash}.rlib`, or `build/serde-{hash}/build-script-build`.
                    let files = artifact.filenames.iter();
                    let names = files.flat_map(|file| [Some(&**file), file.parent()]);
                    (&artifact.package_id, artifact.fresh, names.collect())
                }
                Message::BuildScriptExecuted(script) => {
                    (&script.package_id, true, vec![script.out_dir.parent()])
                }
                _ => continue,
            };
            let hashes = match self.origin(&package.repr) {
                UnitOrigin::Package => &mut found.packages,
                UnitOrigin::Sdk => &mut found.sdk,
                UnitOrigin::User => continue,
            };
            found.any_compiled |= !fresh;
            let names = names.into_iter().flatten().filter_map(|path| path.file_name());
            hashes.extend(names.filter_map(hash_in).map(str::to_owned));
        }
        found
    }

    /// The origin of a package, from cargo's package id such as
    /// `path+file:///home/ada/flow/.segno/sdk#segno-sdk@0.1.0`.
    fn origin(&self, package: &str) -> UnitOrigin {
        let Some(rest) = package.strip_prefix("path+file://") else { return UnitOrigin::Package };
        let path = rest.split('#').next().unwrap_or_default();
        if Path::new(path).starts_with(&self.sdk) { UnitOrigin::Sdk } else { UnitOrigin::User }
    }

    fn lock(&self, progress: &dyn BuildProgress) -> Result<Lock, CacheError> {
        Lock::take(&self.store.join("lock"), progress)
    }

    /// Copies files that `to` lacks and that belong to the units with `wanted` names.
    fn copy(&self, from: &Path, to: &Path, wanted: &dyn Fn(&str) -> bool) -> io::Result<()> {
        for part in PARTS {
            for profile in PROFILES {
                let (from, to) = (from.join(profile).join(part), to.join(profile).join(part));
                if !from.is_dir() {
                    continue;
                }
                for entry in fs::read_dir(&from)? {
                    let entry = entry?;
                    let to = to.join(entry.file_name());
                    if wanted(&entry.file_name().to_string_lossy()) && !to.exists() {
                        copy_whole(&entry.path(), &to, self.stamp)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Removes units that were unused for [`KEPT_FOR`], and this toolchain's packages if they
    /// exceed [`MOST_BYTES`].
    fn remove_unused(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.store)? {
            let folder = entry?.path();
            let used = fs::metadata(folder.join("used")).and_then(|used| used.modified());
            let Ok(used) = used else { continue };
            if used + KEPT_FOR < self.stamp
                || (folder == self.packages && size(&folder)? > MOST_BYTES)
            {
                fs::remove_dir_all(&folder)?;
            }
        }
        Ok(())
    }
}

/// Hashes of the units in cargo's messages.
#[derive(Default)]
struct Dependencies {
    packages: BTreeSet<String>,
    sdk: BTreeSet<String>,
    any_compiled: bool,
}

enum UnitOrigin {
    Package,
    Sdk,
    User,
}

#[expect(clippy::disallowed_methods, reason = "it is compared with the times of files")]
fn now() -> SystemTime {
    SystemTime::now()
}

fn key(hash: &Sha256) -> String {
    hash.clone().finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn mark_used(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("used"), "")
}

/// The hash at the end of a unit's name, before any extension.
fn hash_in(name: &str) -> Option<&str> {
    let (_, hash) = name.split('.').next()?.rsplit_once('-')?;
    (hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(hash)
}

/// Copies a file or folder atomically, with `stamp` as modification time: cargo recompiles a unit
/// that is older than its sources or than a unit it depends on.
fn copy_whole(from: &Path, to: &Path, stamp: SystemTime) -> io::Result<()> {
    let mut unfinished = to.as_os_str().to_owned();
    unfinished.push(".copy");
    let unfinished = PathBuf::from(unfinished);
    if unfinished.is_dir() {
        fs::remove_dir_all(&unfinished)?;
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    copy_tree(from, &unfinished, stamp)?;
    fs::rename(&unfinished, to)
}

fn copy_tree(from: &Path, to: &Path, stamp: SystemTime) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_tree(&entry.path(), &to.join(entry.file_name()), stamp)?;
        }
        return Ok(());
    }
    fs::copy(from, to)?;
    File::options().append(true).open(to)?.set_modified(stamp)
}

/// Adds the names and contents of all files below `folder` to `hash`, in sorted order.
fn digest(folder: &Path, hash: &mut Sha256) -> io::Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            hash.update(format!("folder {name}\n"));
            digest(&path, hash)?;
            hash.update("end\n");
        } else {
            let bytes = fs::read(&path)?;
            hash.update(format!("file {name} {}\n", bytes.len()));
            hash.update(bytes);
        }
    }
    Ok(())
}

fn size(path: &Path) -> io::Result<u64> {
    if !path.is_dir() {
        return Ok(fs::symlink_metadata(path)?.len());
    }
    fs::read_dir(path)?.map(|entry| size(&entry?.path())).sum()
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    move |source| CacheError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_unit_is_read_from_each_of_its_names() {
        for (name, hash) in [
            ("libserde_core-0123456789abcdef.rlib", Some("0123456789abcdef")),
            ("proc-macro2-0123456789abcdef", Some("0123456789abcdef")),
            ("serde-0123456789abcdef.d", Some("0123456789abcdef")),
            ("flow.wasm", None),
            ("libflow.rlib", None),
            ("build-script-build", None),
            ("deps", None),
        ] {
            assert_eq!(hash_in(name), hash, "{name}");
        }
    }

    #[test]
    fn units_that_were_not_used_for_a_month_are_removed_and_others_stay() {
        let store = tempfile::tempdir().unwrap();
        let units = |stamp| Units {
            store: store.path().to_owned(),
            packages: store.path().join("packages"),
            sdk_units: store.path().join("sdk"),
            sdk: PathBuf::new(),
            stamp,
        };
        let (now, names) = (now(), ["packages", "other"]);
        names.iter().for_each(|name| mark_used(&store.path().join(name)).unwrap());
        units(now).remove_unused().unwrap();
        assert!(names.iter().all(|name| store.path().join(name).exists()));
        units(now + KEPT_FOR + Duration::from_secs(60)).remove_unused().unwrap();
        assert!(!names.iter().any(|name| store.path().join(name).exists()));
    }
}
