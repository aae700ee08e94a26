//! Files of an activity, restricted to the directories that the policy allows.
//!
//! Paths are resolved by `cap-std` below the opened directory, so neither `..` nor a link leads out
//! of it.

use std::{
    io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};

use crate::{
    Failure,
    bindings::segno::workflow::files::Entry,
    policy::{Directory, Grants},
};

/// Maximum number of entries of a directory that can be listed.
const MOST_ENTRIES: usize = 10_000;

/// The directories of one module. All methods block.
#[derive(Clone)]
pub(super) struct ActivityFiles(Arc<Grants>);

/// A path below an allowed directory.
struct GrantedPath {
    dir: Dir,
    path: PathBuf,
}

impl ActivityFiles {
    pub(super) fn new(grants: Arc<Grants>) -> Self {
        Self(grants)
    }

    pub(super) fn read(&self, path: &str, offset: u64, length: u64) -> Result<Vec<u8>, Failure> {
        let GrantedPath { dir, path: below } = self.place(path, false)?;
        let read = || {
            let mut file = dir.open(&below)?;
            if file.metadata()?.is_dir() {
                return Err(ErrorKind::IsADirectory.into());
            }
            file.seek(SeekFrom::Start(offset))?;
            let mut content = Vec::new();
            file.take(length).read_to_end(&mut content)?;
            Ok(content)
        };
        read().map_err(|error| failed(path, "read", &error))
    }

    pub(super) fn write(&self, path: &str, content: &[u8]) -> Result<(), Failure> {
        let GrantedPath { dir, path: below } = self.place(path, true)?;
        let write = || {
            let name = below.file_name().ok_or(ErrorKind::IsADirectory)?;
            make_parents(&dir, &below)?;
            // In the same directory, so that it can replace the target by a rename.
            let new = below.with_file_name(format!(".{}.{}.new", name.to_string_lossy(), unique()));
            let written = (|| {
                let mut options = OpenOptions::new();
                let mut file = dir.open_with(&new, options.write(true).create_new(true))?;
                file.write_all(content)?;
                file.sync_all()?;
                dir.rename(&new, &dir, &below)
            })();
            if written.is_err() {
                // The file may never have been created.
                let _ = dir.remove_file(&new);
            }
            written
        };
        write().map_err(|error| failed(path, "written", &error))
    }

    pub(super) fn append(&self, path: &str, content: &[u8]) -> Result<(), Failure> {
        let GrantedPath { dir, path: below } = self.place(path, true)?;
        let append = || {
            make_parents(&dir, &below)?;
            let mut file = dir.open_with(&below, OpenOptions::new().append(true).create(true))?;
            file.write_all(content)?;
            file.sync_all()
        };
        append().map_err(|error| failed(path, "written", &error))
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<Entry>, Failure> {
        let GrantedPath { dir, path: below } = self.place(path, false)?;
        let list = || -> io::Result<Vec<Entry>> {
            let mut entries = Vec::new();
            let below = if below.as_os_str().is_empty() { Path::new(".") } else { &below };
            for entry in dir.read_dir(below)?.take(MOST_ENTRIES + 1) {
                let entry = entry?;
                let metadata = entry.metadata()?;
                entries.push(Entry {
                    name: entry.file_name().to_string_lossy().into_owned(),
                    directory: metadata.is_dir(),
                    size: metadata.len(),
                });
            }
            entries.sort_by(|one, other| one.name.cmp(&other.name));
            Ok(entries)
        };
        let entries = list().map_err(|error| failed(path, "listed", &error))?;
        match entries.len() {
            0..=MOST_ENTRIES => Ok(entries),
            _ => Err(failure(413, format!("`{path}` has more than {MOST_ENTRIES} entries"))),
        }
    }

    pub(super) fn remove(&self, path: &str) -> Result<(), Failure> {
        let GrantedPath { dir, path: below } = self.place(path, true)?;
        match dir.remove_file(below) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(failed(path, "removed", &error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Resolves `path` to the allowed directory that contains it; with several, the one with the
    /// longest path.
    fn place(&self, path: &str, writes: bool) -> Result<GrantedPath, Failure> {
        let module = self.0.module();
        let below = |directory: &Directory| {
            let below = Path::new(path).strip_prefix(&directory.guest).ok()?;
            Some((directory.guest.len(), directory.clone(), below.to_owned()))
        };
        let found = self.0.dirs.iter().filter_map(below).max_by_key(|(length, _, _)| *length);
        let Some((_, directory, below)) = found else {
            let known = self.0.dirs.iter().map(|directory| format!("`{}`", directory.guest));
            let known = known.collect::<Vec<_>>().join(", ");
            let there =
                if known.is_empty() { "there is none".into() } else { format!("there is {known}") };
            return Err(failure(
                403,
                format!(
                    "`{path}` is in no directory that `[{module}]` in policy.toml allows ({there}): add it to `dirs`"
                ),
            ));
        };
        if writes && !directory.write {
            return Err(failure(
                403,
                format!(
                    "`{path}` must not be changed: `{}` in `dirs` of `[{module}]` in policy.toml has no `write = true`",
                    directory.guest
                ),
            ));
        }
        let dir = Dir::open_ambient_dir(&directory.host, ambient_authority()).map_err(|error| {
            failure(500, format!(
                "the directory `{}` in `dirs` of `[{module}]` in policy.toml cannot be opened: {error}",
                directory.host.display()
            ))
        })?;
        Ok(GrantedPath { dir, path: below })
    }
}

fn make_parents(dir: &Dir, path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => dir.create_dir_all(parent),
        _ => Ok(()),
    }
}

/// A suffix that is unique per call of this process and across concurrent processes.
fn unique() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", process::id(), CALLS.fetch_add(1, Ordering::Relaxed))
}

fn failed(path: &str, what: &str, error: &io::Error) -> Failure {
    let code = match error.kind() {
        ErrorKind::NotFound => 404,
        ErrorKind::PermissionDenied => 403,
        ErrorKind::IsADirectory | ErrorKind::NotADirectory | ErrorKind::InvalidInput => 400,
        _ => 500,
    };
    failure(code, format!("`{path}` cannot be {what}: {error}"))
}

fn failure(code: u32, message: String) -> Failure {
    Failure { code, message, details: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;

    fn files(host: &Path) -> ActivityFiles {
        let directory = |name: &str, write| Directory {
            host: host.join(name),
            guest: format!("/{name}"),
            write,
        };
        let dirs = vec![directory("in", false), directory("out", true), directory("gone", true)];
        std::fs::create_dir_all(host.join("in/a")).expect("a directory");
        std::fs::create_dir_all(host.join("out")).expect("a directory");
        std::fs::write(host.join("in/a/b.csv"), "0123456789").expect("a file");
        std::fs::write(host.join("secret"), "s").expect("a file");
        std::os::unix::fs::symlink(host.join("secret"), host.join("in/link")).expect("a link");
        let mut grants = Grants::default();
        grants.dirs = dirs;
        ActivityFiles::new(Arc::new(Policy::default().with("etl", grants).grants("etl")))
    }

    #[test]
    fn files_are_read_in_parts_replaced_listed_and_removed() {
        let host = tempfile::tempdir().expect("a directory");
        let files = files(host.path());
        assert_eq!(files.read("/in/a/b.csv", 3, 4).as_deref(), Ok(b"3456".as_slice()));
        assert_eq!(files.read("/in/a/b.csv", 8, 40).as_deref(), Ok(b"89".as_slice()));
        assert_eq!(files.read("/in/a/b.csv", 80, 40).as_deref(), Ok(b"".as_slice()));

        files.write("/out/x/y.txt", b"one").expect("it is written");
        files.write("/out/x/y.txt", b"two").expect("it is replaced");
        files.append("/out/x/y.txt", b"!").expect("it grows");
        files.append("/out/x/z.txt", b"z").expect("it is made");
        assert_eq!(files.read("/out/x/y.txt", 0, 99).as_deref(), Ok(b"two!".as_slice()));
        let entries = files.list("/out/x").expect("it is listed");
        let listed: Vec<_> = entries
            .iter()
            .map(|entry| (entry.name.as_str(), entry.directory, entry.size))
            .collect();
        assert_eq!(listed, [("y.txt", false, 4), ("z.txt", false, 1)]);
        assert!(files.list("/out").expect("it is listed")[0].directory);

        files.remove("/out/x/y.txt").expect("it goes");
        files.remove("/out/x/y.txt").expect("it is gone already");
        assert_eq!(files.list("/out/x").expect("it is listed").len(), 1);
    }

    #[test]
    fn nothing_else_can_be_reached() {
        let host = tempfile::tempdir().expect("a directory");
        let files = files(host.path());
        for (refused, code, words) in [
            (files.read("/etc/passwd", 0, 1).err(), 403, "`/in`, `/out`, `/gone`"),
            (files.read("relative", 0, 1).err(), 403, "add it to `dirs`"),
            (files.read("/in/../secret", 0, 1).err(), 403, "outside"),
            (files.read("/in/link", 0, 1).err(), 403, "outside"),
            (files.write("/in/new", b"x").err(), 403, "`write = true`"),
            (files.write("/out/../new", b"x").err(), 403, "outside"),
            (files.remove("/in/a/b.csv").err(), 403, "`write = true`"),
            (files.read("/in/no", 0, 1).err(), 404, "cannot be read"),
            (files.read("/in/a", 0, 1).err(), 400, "directory"),
            (files.write("/out", b"x").err(), 400, "directory"),
            (files.list("/in/a/b.csv").err(), 400, "directory"),
            (files.read("/gone/x", 0, 1).err(), 500, "cannot be opened"),
        ] {
            let refused = refused.expect(words);
            assert_eq!(refused.code, code, "{}", refused.message);
            assert!(refused.message.contains(words), "{}", refused.message);
        }
        assert!(!host.path().join("new").exists());
    }
}
