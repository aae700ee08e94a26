//! Files of activities.

use crate::{
    bindings::segno::workflow::{files::Entry, types as wit},
    error::{Error, Result},
};

/// Bytes of one call of the host.
const PART: u64 = 1 << 20;

/// The file operations of an attempt, implemented by the host or by a test. They block.
pub(crate) trait FileSystem {
    fn read(&self, path: &str, offset: u64, length: u64) -> Result<Vec<u8>, wit::Failure>;
    fn write(&self, path: &str, content: &[u8]) -> Result<(), wit::Failure>;
    fn append(&self, path: &str, content: &[u8]) -> Result<(), wit::Failure>;
    fn list(&self, path: &str) -> Result<Vec<Entry>, wit::Failure>;
    fn remove(&self, path: &str) -> Result<(), wit::Failure>;
}

/// The files in the directories that the host's policy allows this module (`dirs`).
///
/// A path begins with the `guest` path of a directory. Errors: 403 if no directory allows it, 404
/// if there is no such file, 400 if it is a directory (or is none); these are not tried again. 500
/// for anything else, such as a full disk.
#[derive(Clone, Copy)]
pub struct Files<'a>(&'a dyn FileSystem);

/// A file or directory in a listed directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name, without the path of the directory.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Its size, in bytes.
    pub size: u64,
}

impl<'a> Files<'a> {
    pub(crate) fn new(system: &'a dyn FileSystem) -> Self {
        Self(system)
    }

    /// The whole file. What is larger than the memory of a guest is read by
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

    /// The whole file, as text.
    ///
    /// # Errors
    /// See [`Files`]; 400 if it is no UTF-8.
    pub fn read_text(&self, path: &str) -> Result<String> {
        String::from_utf8(self.read(path)?).map_err(|error| {
            Error::terminal(Error::BAD_INPUT, format!("`{path}` is not UTF-8: {error}"))
        })
    }

    /// At most `length` bytes of the file from `offset`, fewer where the host reads in smaller
    /// parts; none at its end.
    ///
    /// # Errors
    /// See [`Files`].
    pub fn read_part(&self, path: &str, offset: u64, length: u64) -> Result<Vec<u8>> {
        self.0.read(path, offset, length).map_err(Error::from_failure)
    }

    /// Replaces the file as a whole, or makes it, and the directories above it. Another reader, and
    /// whoever comes after a crash, sees the old content or the new.
    ///
    /// # Errors
    /// See [`Files`].
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        self.0.write(path, content.as_ref()).map_err(Error::from_failure)
    }

    /// Adds to the end of the file, or makes it. An attempt that is repeated adds again.
    ///
    /// # Errors
    /// See [`Files`].
    pub fn append(&self, path: &str, content: impl AsRef<[u8]>) -> Result<()> {
        self.0.append(path, content.as_ref()).map_err(Error::from_failure)
    }

    /// The content of a directory, by name.
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

    /// Removes a file; it may be gone already.
    ///
    /// # Errors
    /// See [`Files`].
    pub fn remove(&self, path: &str) -> Result<()> {
        self.0.remove(path).map_err(Error::from_failure)
    }
}
