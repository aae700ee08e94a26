//! Which files of a project change.

use std::{
    fs,
    path::{Path, PathBuf},
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, ModifyKind},
};
use segno_core::time::Millis;
use tokio::sync::mpsc::{self, UnboundedReceiver};

use crate::{
    cli::{CliError, build::other},
    runtime::{Runtime as _, SystemRuntime},
};

/// How long nothing has to change: editors write a file in several steps, and several files at once.
const QUIET: Millis = Millis(80);
/// Folders with what is built, installed or stored: thousands of files, and no source.
const NO_SOURCES: [&str; 8] =
    ["target", "build", "dist", "node_modules", "__pycache__", "venv", "segno-data", "segno-dev"];

/// Endings of files that programs write beside a source: what they log, and executions as files. A
/// build that logs into its own project would never end.
const WRITTEN: [&str; 4] = [".log", ".segno-bundle", ".part", ".tmp"];

/// Tells of changes in some folders, until it is dropped.
pub struct Watch {
    watcher: RecommendedWatcher,
    roots: Vec<PathBuf>,
    events: UnboundedReceiver<notify::Result<Event>>,
}

impl Watch {
    /// Watches the files in `roots` and below, but for what is built or hidden.
    ///
    /// # Errors
    /// The system does not tell of changes there.
    pub fn new(roots: Vec<PathBuf>) -> Result<Self, CliError> {
        let (sender, events) = mpsc::unbounded_channel();
        let tell = move |event| {
            // Nobody listens when the command ends.
            let _ = sender.send(event);
        };
        let watcher = notify::recommended_watcher(tell).map_err(|error| unwatched(&error))?;
        let mut watch = Self { watcher, roots, events };
        for root in watch.roots.clone() {
            watch.add(&root, RecursiveMode::NonRecursive)?;
            let entries = fs::read_dir(&root).into_iter().flatten().flatten();
            for folder in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
                if is_source(&root, &folder) {
                    watch.add(&folder, RecursiveMode::Recursive)?;
                }
            }
        }
        Ok(watch)
    }

    fn add(&mut self, path: &Path, mode: RecursiveMode) -> Result<(), CliError> {
        self.watcher.watch(path, mode).map_err(|error| unwatched(&error))
    }

    /// Waits for a change, and until nothing more changes for a moment. Answers the file that changed
    /// first.
    ///
    /// # Errors
    /// The system stopped telling of changes.
    pub async fn changed(&mut self) -> Result<PathBuf, CliError> {
        let first = loop {
            if let Some(path) = self.next().await? {
                break path;
            }
        };
        loop {
            tokio::select! {
                biased;
                next = self.next() => drop(next?),
                () = SystemRuntime.sleep(QUIET) => return Ok(first),
            }
        }
    }

    /// The next event; a file, if it is a source that changed.
    async fn next(&mut self) -> Result<Option<PathBuf>, CliError> {
        let event = self.events.recv().await.expect("the watcher holds the other end");
        let event = event.map_err(|error| unwatched(&error))?;
        if !changes(event.kind) {
            return Ok(None);
        }
        let roots = self.roots.clone();
        let mut changed = None;
        for path in event.paths {
            let root = roots.iter().find(|root| path.starts_with(root));
            let Some(root) = root.filter(|root| is_source(root, &path)) else { continue };
            if path.is_dir() && path.parent() == Some(root) {
                // A new folder; what is in it already is read by the build that follows.
                self.add(&path, RecursiveMode::Recursive)?;
            }
            changed.get_or_insert(path);
        }
        Ok(changed)
    }
}

/// Whether an event says that a file is another.
fn changes(kind: EventKind) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Any => true,
        EventKind::Modify(how) => !matches!(how, ModifyKind::Metadata(_)),
        // Where no other event tells that a file was written.
        EventKind::Access(how) => {
            matches!(how, AccessKind::Close(notify::event::AccessMode::Write))
        }
        EventKind::Other => false,
    }
}

/// Whether a file or folder in `root` may be part of the source.
fn is_source(root: &Path, path: &Path) -> bool {
    let inner = path.strip_prefix(root).unwrap_or(path);
    let names: Vec<_> = inner.iter().map(|name| name.to_string_lossy()).collect();
    let is_built = names.first().is_some_and(|first| NO_SOURCES.contains(&&**first));
    // Hidden files, copies that editors keep beside a file, and files with which they try whether
    // they may write: Vim's are numbers.
    let is_kept = |name: &str| {
        name.starts_with(['.', '#'])
            || name.ends_with('~')
            || name.ends_with("___jb_tmp___")
            || name.ends_with("___jb_old___")
            || name.bytes().all(|byte| byte.is_ascii_digit())
            || WRITTEN.iter().any(|ending| name.ends_with(ending))
    };
    !is_built && !names.iter().any(|name| is_kept(name))
}

fn unwatched(error: &notify::Error) -> CliError {
    other("not-watched", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_hidden_or_a_copy_of_an_editor_is_no_source() {
        let root = Path::new("/order");
        let is = |path: &str| is_source(root, &root.join(path));
        assert!(is("src/lib.rs") && is("Cargo.toml") && is("app.py") && is("src/target/mod.rs"));
        for path in [
            "target/guest/x",
            ".git/index",
            "src/.lib.rs.swp",
            "src/lib.rs~",
            "src/4913",
            "src/lib.rs___jb_tmp___",
            "src/lib.rs.tmp",
            "build/a.js",
            "dev.log",
            "ada.segno-bundle",
            "ada.segno-bundle.part",
        ] {
            assert!(!is(path), "{path}");
        }
    }

    #[tokio::test]
    async fn a_change_is_told_once_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for name in ["src", "target"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let mut watch = Watch::new(vec![root.clone()]).unwrap();
        fs::write(root.join("target/x"), "built").unwrap();
        fs::write(root.join("src/lib.rs"), "one").unwrap();
        fs::write(root.join("src/other.rs"), "two").unwrap();
        assert_eq!(watch.changed().await.unwrap(), root.join("src/lib.rs"));
        // Reading is no change, and all of the first change was told.
        fs::read(root.join("src/lib.rs")).unwrap();
        tokio::select! {
            more = watch.changed() => panic!("{more:?}"),
            () = SystemRuntime.sleep(Millis(300)) => {}
        }
        // A new folder is watched as well.
        fs::create_dir(root.join("more")).unwrap();
        watch.changed().await.unwrap();
        fs::write(root.join("more/new.rs"), "three").unwrap();
        assert_eq!(watch.changed().await.unwrap(), root.join("more/new.rs"));
    }
}
