//! Selects the source files of a folder.

use std::path::{Path, PathBuf};

use ignore::{Match, gitignore::Gitignore};

/// Folders of built, installed or stored files: thousands of files, and no sources.
const NO_SOURCES: [&str; 8] =
    ["target", "build", "dist", "node_modules", "__pycache__", "venv", "segno-data", "segno-dev"];

/// Extensions of files that programs write next to sources: logs, and exported executions. Without
/// this, a build that logs into its own project would never end.
const WRITTEN: [&str; 4] = [".log", ".segno-bundle", ".part", ".tmp"];

/// The source files of a folder: all that are neither built, hidden nor ignored by git.
pub(super) struct SourceFiles {
    root: PathBuf,
    /// The rules of the `.gitignore` files of the folder and of its parents within the repository,
    /// nearest first.
    ignored: Vec<Gitignore>,
}

impl SourceFiles {
    /// The source files in `root`. An invalid line of a `.gitignore` is skipped, as in git. The
    /// `.gitignore` files of folders inside `root` are not read.
    pub(super) fn of(root: PathBuf) -> Self {
        let repository = root.ancestors().find(|folder| folder.join(".git").exists());
        let above = root.ancestors().take_while(|folder| {
            repository.is_some_and(|repository| folder.starts_with(repository))
        });
        let folders = above.chain(repository.is_none().then_some(&*root));
        let ignored = folders
            .map(|folder| folder.join(".gitignore"))
            .filter(|file| file.is_file())
            .map(|file| Gitignore::new(file).0)
            .collect();
        Self { root, ignored }
    }

    /// The folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns true if a file or folder may be part of the source. `path` must be in the folder.
    pub(super) fn contain(&self, path: &Path) -> bool {
        let inner = path.strip_prefix(&self.root).unwrap_or(path);
        let names: Vec<_> = inner.iter().map(|name| name.to_string_lossy()).collect();
        let is_built = names.first().is_some_and(|first| NO_SOURCES.contains(&&**first));
        !is_built && !names.iter().any(|name| is_kept(name)) && !self.ignores(path)
    }

    fn ignores(&self, path: &Path) -> bool {
        let is_folder = path.is_dir();
        let verdicts =
            self.ignored.iter().map(|ignored| ignored.matched_path_or_any_parents(path, is_folder));
        matches!(verdicts.into_iter().find(|verdict| !verdict.is_none()), Some(Match::Ignore(_)))
    }
}

/// Returns true for the name of a hidden file, of an editor's backup, or of a file that tests for
/// write access: Vim's are numbers.
fn is_kept(name: &str) -> bool {
    name.starts_with(['.', '#'])
        || name.ends_with('~')
        || name.ends_with("___jb_tmp___")
        || name.ends_with("___jb_old___")
        || name.bytes().all(|byte| byte.is_ascii_digit())
        || WRITTEN.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_built_hidden_or_a_copy_of_an_editor_is_no_source() {
        let sources = SourceFiles::of("/order".into());
        let is = |path: &str| sources.contain(&sources.root().join(path));
        assert!(is("src/lib.rs") && is("Cargo.toml") && is("app.py") && is("src/target/mod.rs"));
        for path in [
            "target/guest/x",
            ".git/index",
            "src/.lib.rs.swp",
            "src/.#lib.rs",
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

    #[test]
    fn what_git_ignores_is_no_source_whichever_folder_says_so() {
        let repository = tempfile::tempdir().unwrap();
        let root = repository.path().join("flows/order");
        fs::create_dir_all(root.join("made/deep")).unwrap();
        fs::create_dir(repository.path().join(".git")).unwrap();
        let write = |path: &str, text: &str| fs::write(repository.path().join(path), text).unwrap();
        write(".gitignore", "*.out\n/src/\n*.gen.rs\n");
        write("flows/order/.gitignore", "# comment\nmade/\n!keep.gen.rs\n");

        let sources = SourceFiles::of(root.clone());
        let is = |path: &str| sources.contain(&root.join(path));
        for path in ["x.out", "src/x.out", "made", "made/a.rs", "made/deep/b.rs", "src/a.gen.rs"] {
            assert!(!is(path), "{path}");
        }
        // `/src/` is relative to the repository; the nearest file has precedence.
        assert!(is("src/lib.rs") && is("src/keep.gen.rs") && is("Cargo.toml"));
    }

    #[test]
    fn a_project_that_is_in_no_repository_has_its_own_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("order");
        fs::create_dir(&root).unwrap();
        fs::write(folder.path().join(".gitignore"), "*\n").unwrap();
        fs::write(root.join(".gitignore"), "out\n").unwrap();
        let sources = SourceFiles::of(root.clone());
        assert!(sources.contain(&root.join("app.py")));
        assert!(!sources.contain(&root.join("out/app.py")));
    }
}
