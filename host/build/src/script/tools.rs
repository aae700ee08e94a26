//! Tools from a language's registry, installed into the cache once for all projects.
//!
//! ```text
//! CACHE/tools/{language}-{key}/         one set of versions; always complete, since it is moved into place
//! CACHE/tools/{language}-{key}.lock
//! ```

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{ScriptError, failed};
use crate::{
    BuildProgress, Language, cache,
    process::{ToolOutput, ToolProcessError},
};

/// The tools of a language.
pub(crate) struct Tools {
    pub language: Language,
    /// Names and versions, for people: `esbuild 0.28.2 and componentize-qjs 0.4.5`.
    pub names: String,
    /// The exact versions to install; they determine the key of the cache folder.
    pub versions: String,
    /// The registry's client that installs them.
    pub client: &'static str,
    /// The command that installs them into a project by hand.
    pub by_hand: String,
}

impl Tools {
    /// The cache folder with the tools; calls `install` to fill it if they are missing.
    pub(crate) fn in_cache(
        &self,
        prepare: bool,
        progress: &dyn BuildProgress,
        install: impl FnOnce(&Path) -> Result<(), ScriptError>,
    ) -> Result<PathBuf, ScriptError> {
        self.within(&cache::directory()?.join("tools"), prepare, progress, install)
    }

    fn within(
        &self,
        cache: &Path,
        prepare: bool,
        progress: &dyn BuildProgress,
        install: impl FnOnce(&Path) -> Result<(), ScriptError>,
    ) -> Result<PathBuf, ScriptError> {
        let folder = cache.join(format!("{}-{}", self.language.name(), self.key()));
        if folder.is_dir() {
            return Ok(folder);
        }
        if !prepare {
            let (tools, by_hand) = (self.names.clone(), self.by_hand.clone());
            return Err(ScriptError::Unprepared { tools, by_hand });
        }
        let _lock = cache::Lock::take(&folder.with_extension("lock"), progress)?;
        if folder.is_dir() {
            return Ok(folder);
        }
        progress.step(&format!("installing {} with {}, once", self.names, self.client));
        let unfinished = folder.with_extension("unfinished");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(failed(&unfinished))?;
        }
        fs::create_dir_all(&unfinished).map_err(failed(&unfinished))?;
        install(&unfinished)?;
        fs::rename(&unfinished, &folder).map_err(failed(&folder))?;
        Ok(folder)
    }

    /// An error with the client's output.
    pub(crate) fn refused(&self, finished: &ToolOutput) -> ScriptError {
        let output = format!("{}\n{}", finished.stdout.trim(), finished.stderr.trim());
        let (tools, client) = (self.names.clone(), self.client);
        ScriptError::Install { tools, client, output: output.trim().to_owned() }
    }

    /// The key of these versions on this machine, 16 hexadecimal digits.
    pub(crate) fn key(&self) -> String {
        let machine = format!("{} {} ", env::consts::OS, env::consts::ARCH);
        let digest = Sha256::new_with_prefix(machine).chain_update(&self.versions).finalize();
        digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The trimmed output of a program, or an error message if it is missing or fails.
pub(super) fn asked(
    answer: Result<ToolOutput, ToolProcessError>,
    program: &str,
) -> Result<String, String> {
    match answer {
        Ok(finished) if finished.success => Ok(finished.stdout.trim().to_owned()),
        Ok(finished) => Err(format!("`{program}` fails here: {}", finished.last_words())),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn tools_are_installed_once_on_request_and_completely_or_not_at_all() {
        let cache = tempfile::tempdir().unwrap();
        let tools = |versions: &str| Tools {
            language: Language::JavaScript,
            names: "esbuild 1".to_owned(),
            versions: versions.to_owned(),
            client: "npm",
            by_hand: "npm install esbuild@1".to_owned(),
        };
        let installed = Cell::new(0);
        let get = |versions: &str, prepare: bool, works: bool| {
            let cache = cache.path().join("tools");
            tools(versions).within(&cache, prepare, &|_: &str| (), |folder| {
                installed.set(installed.get() + 1);
                fs::write(folder.join("tool"), "").unwrap();
                let refused =
                    ToolOutput { success: false, stdout: "a\n".into(), stderr: "b\n".into() };
                if works { Ok(()) } else { Err(tools(versions).refused(&refused)) }
            })
        };
        let unasked = get("1", false, true).unwrap_err().to_string();
        assert_eq!(
            unasked,
            "the build needs esbuild 1: add `--prepare` to let segno install that into its cache, or type\n  npm install esbuild@1"
        );
        let refused = get("1", true, false).unwrap_err().to_string();
        assert_eq!(refused, "esbuild 1 could not be installed with npm\na\nb");
        let folder = get("1", true, true).unwrap();
        assert!(folder.join("tool").exists());
        assert_eq!(get("1", false, true).unwrap(), folder);
        assert_ne!(get("2", true, true).unwrap(), folder);
        assert_eq!(installed.get(), 3, "the attempt that failed, and both versions");
    }
}
