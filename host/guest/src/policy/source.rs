//! The policy in force: a fixed one, or the one of a file, which is read again when the file
//! changes.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use super::{Policy, PolicyError};

/// The policy in force. Clones share it.
///
/// A file that cannot be used changes nothing: the policy that was read last stays in force, an
/// error is logged, and refusals mention it. The same applies to a deleted file: to withdraw all
/// grants, empty the file.
#[derive(Debug, Clone)]
pub struct PolicySource(Arc<PolicySourceState>);

#[derive(Debug)]
struct PolicySourceState {
    /// `None` if the policy is fixed.
    file: Option<PathBuf>,
    latest: Mutex<LatestPolicy>,
}

#[derive(Debug)]
struct LatestPolicy {
    policy: Arc<Policy>,
    /// The state of the file when it was last read, usable or not.
    stamp: Option<FileStamp>,
    /// The reason that the current file cannot be used.
    problem: Option<String>,
}

/// Metadata that tells two versions of a file apart. A missing file has no stamp (`None`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

impl PolicySource {
    /// The policy of the file at `path`. A missing file allows nothing until it appears.
    ///
    /// # Errors
    /// See [`PolicyError`].
    pub fn file(path: &Path) -> Result<Self, PolicyError> {
        let stamp = stamp(path);
        let policy = Arc::new(Policy::load(path)?);
        let latest = Mutex::new(LatestPolicy { policy, stamp, problem: None });
        Ok(Self(Arc::new(PolicySourceState { file: Some(path.into()), latest })))
    }

    /// The policy of the current file. Costs one `stat` call.
    pub fn get(&self) -> Arc<Policy> {
        let mut latest = self.0.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &self.0.file {
            let stamp = stamp(path);
            if stamp != latest.stamp {
                latest.read(path, stamp);
            }
        }
        Arc::clone(&latest.policy)
    }

    /// The reason that the file, as last seen, is not in force.
    pub fn problem(&self) -> Option<String> {
        self.0.latest.lock().unwrap_or_else(PoisonError::into_inner).problem.clone()
    }
}

impl LatestPolicy {
    fn read(&mut self, path: &Path, stamp: Option<FileStamp>) {
        self.stamp = stamp;
        let read = match stamp {
            Some(_) => Policy::load(path).map_err(|error| with_source(&error)),
            None => Err(format!("the policy `{}` is gone", path.display())),
        };
        match read {
            Ok(policy) => {
                tracing::info!(path = %path.display(), "the policy has changed and is in force");
                self.policy = Arc::new(policy);
                self.problem = None;
            }
            Err(problem) => {
                tracing::error!("{problem}; the policy that was read before stays in force");
                self.problem = Some(problem);
            }
        }
    }
}

impl From<Policy> for PolicySource {
    fn from(policy: Policy) -> Self {
        let latest = LatestPolicy { policy: Arc::new(policy), stamp: None, problem: None };
        Self(Arc::new(PolicySourceState { file: None, latest: Mutex::new(latest) }))
    }
}

impl Default for PolicySource {
    fn default() -> Self {
        Policy::default().into()
    }
}

fn with_source(error: &PolicyError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn stamp(path: &Path) -> Option<FileStamp> {
    use std::os::unix::fs::MetadataExt as _;

    match std::fs::metadata(path) {
        Ok(data) => {
            Some(FileStamp { modified: data.modified().ok(), bytes: data.len(), inode: data.ino() })
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            None
        }
        // The file exists; reading it reports why it is unreadable.
        Err(_) => Some(FileStamp { modified: None, bytes: 0, inode: 0 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: &str = "[orders]\nhttp.allow = [\"http://127.0.0.1:1\"]";

    fn allows(source: &PolicySource) -> bool {
        source.get().allows_http("orders", "http://127.0.0.1:1/pay").is_ok()
    }

    #[test]
    fn a_changed_file_is_in_force_at_the_next_request() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("policy.toml");
        let source = PolicySource::file(&path).expect("it may be absent");
        assert!(!allows(&source));
        std::fs::write(&path, ALLOWED).expect("it is written");
        assert!(allows(&source), "a file that appears is read");
        std::fs::write(&path, "").expect("it is written");
        assert!(!allows(&source), "what was taken out is refused");
    }

    #[test]
    fn a_file_that_cannot_be_used_leaves_the_former_policy_in_force() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("policy.toml");
        std::fs::write(&path, ALLOWED).expect("it is written");
        let source = PolicySource::file(&path).expect("it is valid");
        std::fs::write(&path, "[orders]\nhttp.allowed = []").expect("it is written");
        assert!(allows(&source));
        let problem = source.problem().expect("it is invalid");
        assert!(problem.contains("policy.toml") && problem.contains("allowed"), "{problem}");
        std::fs::remove_file(&path).expect("it is there");
        assert!(allows(&source));
        assert!(source.problem().expect("it is gone").contains("is gone"));
        std::fs::write(&path, "[other]").expect("it is written");
        assert!(!allows(&source));
        assert_eq!(source.problem(), None);
    }
}
