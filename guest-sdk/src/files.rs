//! File access for activities.

use crate::{
    bindings::segno::workflow::{files::Entry, types as wit},
    error::{Error, Result},
};

/// Maximum size of one host call, in bytes.
const PART: u64 = 1 << 20;

/// The file operations of an attempt, implemented by the host or by a test. They block.
pub(crate) trait FileSystem {
    fn read(&self, path: &str, offset: u64, length: u64) -> Result<Vec<u8>, wit::Failure>;
    fn write(&self, path: &str, content: &[u8]) -> Result<(), wit::Failure>;
    fn append(&self, path: &str, content: &[u8]) -> Result<(), wit::Failure>;
    fn list(&self, path: &str) -> Result<Vec<Entry>, wit::Failure>;
    fn remove(&self, path: &str) -> Result<(), wit::Failure>;
}

/// The files in the directories that the host's policy allows for this module (`dirs`).
///
/// A path begins with the `guest` path of a directory. Errors: 403 if no directory allows the path,
/// 404 if the file does not exist, 400 if it is a directory (or is not one); these are not retried.
/// 500 for any other failure, such as a full disk.
#[derive(Clone, Copy)]
pub struct Files<'a>(&'a dyn FileSystem);

/// A file or directory in a directory listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name, without the path of the directory.
    pub name: String,
    /// True for a directory, false for a file.
    pub is_directory: bool,
    /// The size, in bytes.
    pub size: u64,
}

impl<'a> Files<'a> {
    pub(crate) fn new(system: &'a dyn FileSystem) -> Self {
        Self(system)
    }

    /// Reads the whole file. Read files larger than the guest's memory with
    /// [`read_part`](Self::read_part).
    ///
    /// # Errors
    /// See [`Files`].
    pub fn read(&self, path: &str) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        loop {
            let part = self.read_part(path, content.len() as u64, PART)?;
            if part.is_empty() {
                return Ok(content);
            }
            content.extend(part);
        }
    }

    /// Reads the whole file as text.
    ///
    /// # Errors
    /// See [`Files`]; 400 if it is not UTF-8.
    pub fn read_text(&self, path: &str) -> Result<String> {
        String::from_utf8(self.read(path)?).map_err(|error| {
            Error::terminal(Error::BAD_INPUT, format!("`{path}` is not UTF-8: {error}"))
        })
    }

    /// Reads at most `length` bytes from `offset`; fewer if the host reads in smaller parts, and
    /// none at the end of the file.
    ///
    /// # Errors
    /// See [`Files`].
    pub fn read_part(&self, path: &str, offset: u64, length: u64) -> Result<Vec<u8>> {
        self.0.read(path, offset, length).map_err(Error::from_failure)
    }

    /// Atomically replaces the file or creates it, with the directories above it. Concurrent
    /// readers, and readers after a crash, see either the old or the new content.
    ///
    /// # Errors
    /// See [`Files`].
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        self.0.write(path, content.as_ref()).map_err(Error::from_failure)
    }

    /// Appends to the file, or creates it. A retried attempt appends again.
    ///
    /// # Errors
    /// See [`Files`].
    pub fn append(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        self.0.append(path, content.as_ref()).map_err(Error::from_failure)
    }

    /// Lists the entries of a directory, by name.
    ///
    /// # Errors
    /// See [`Files`]; 413 if there are more than 10,000 entries.
    pub fn list(&self, path: &str) -> Result<Vec<DirectoryEntry>> {
        let entries = self.0.list(path).map_err(Error::from_failure)?;
        let entries = entries.into_iter().map(|Entry { name, directory, size }| DirectoryEntry {
            name,
            is_directory: directory,
            size,
        });
        Ok(entries.collect())
    }

    /// Removes a file. Succeeds if it does not exist.
    ///
    /// # Errors
    /// See [`Files`].
    pub fn remove(&self, path: &str) -> Result<()> {
        self.0.remove(path).map_err(Error::from_failure)
    }
}
