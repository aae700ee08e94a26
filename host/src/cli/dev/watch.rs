//! Watches a project for changed files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, ModifyKind},
};
use segno_core::time::Millis;
use segno_env::{Runtime as _, SystemRuntime};
use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::sources::SourceFiles;
use crate::cli::{CliError, build::other};

/// Quiet time after the last change: editors write a file in several steps, and several files
/// together.
const QUIET: Millis = Millis(80);

/// Reports changes in some folders, until it is dropped.
pub(super) struct FolderWatch {
    watcher: RecommendedWatcher,
    roots: Vec<SourceFiles>,
    events: UnboundedReceiver<notify::Result<Event>>,
}

impl FolderWatch {
    /// Watches the files in and below `roots`, except those that are built, hidden or ignored by
    /// git.
    ///
    /// # Errors
    /// The system cannot report changes there.
    pub(super) fn new(roots: Vec<PathBuf>) -> Result<Self, CliError> {
        let (sender, events) = mpsc::unbounded_channel();
        let tell = move |event| {
            // The receiver is gone when the command ends.
            let _ = sender.send(event);
        };
        let watcher = notify::recommended_watcher(tell).map_err(|error| unwatched(&error))?;
        let roots: Vec<_> = roots.into_iter().map(SourceFiles::of).collect();
        let mut watch = Self { watcher, roots, events };
        for sources in &watch.roots {
            let root = sources.root();
            add(&mut watch.watcher, root, RecursiveMode::NonRecursive)?;
            let entries = fs::read_dir(root).into_iter().flatten().flatten();
            for folder in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
                if sources.contain(&folder) {
                    add(&mut watch.watcher, &folder, RecursiveMode::Recursive)?;
                }
            }
        }
        Ok(watch)
    }

    /// Waits for a change, and then until nothing has changed for a moment. Returns the file that
    /// changed first.
    ///
    /// # Errors
    /// The system stopped reporting changes.
    pub(super) async fn changed(&mut self) -> Result<PathBuf, CliError> {
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

    /// Waits for the next event. Returns the file if it is a changed source.
    async fn next(&mut self) -> Result<Option<PathBuf>, CliError> {
        let event = self.events.recv().await.expect("the watcher holds the other end");
        let event = event.map_err(|error| unwatched(&error))?;
        if !changes(event.kind) {
            return Ok(None);
        }
        let mut changed = None;
        for path in event.paths {
            let sources = self.roots.iter().find(|sources| path.starts_with(sources.root()));
            let Some(sources) = sources.filter(|sources| sources.contain(&path)) else { continue };
            if path.is_dir() && path.parent() == Some(sources.root()) {
                // A new folder: the next build reads the files that it already contains.
                add(&mut self.watcher, &path, RecursiveMode::Recursive)?;
            }
            changed.get_or_insert(path);
        }
        Ok(changed)
    }
}

fn add(watcher: &mut RecommendedWatcher, path: &Path, mode: RecursiveMode) -> Result<(), CliError> {
    watcher.watch(path, mode).map_err(|error| unwatched(&error))
}

/// Returns true if an event means that a file changed.
fn changes(kind: EventKind) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Any => true,
        EventKind::Modify(how) => !matches!(how, ModifyKind::Metadata(_)),
        // On systems where no other event reports a written file.
        EventKind::Access(how) => {
            matches!(how, AccessKind::Close(notify::event::AccessMode::Write))
        }
        EventKind::Other => false,
    }
}

fn unwatched(error: &notify::Error) -> CliError {
    other("not-watched", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_is_told_once_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        for name in ["src", "target"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let mut watch = FolderWatch::new(vec![root.clone()]).unwrap();
        fs::write(root.join("target/x"), "built").unwrap();
        fs::write(root.join("src/lib.rs"), "one").unwrap();
        fs::write(root.join("src/other.rs"), "two").unwrap();
        assert_eq!(watch.changed().await.unwrap(), root.join("src/lib.rs"));
        // Reading is not a change, and all events of the first change were received.
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
