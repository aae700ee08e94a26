//! Modules as sources: the files of a module, and the digest of the runtime that runs them.
//!
//! A component begins with `\0asm`, a source module with [`MAGIC`]. The digest of a source module
//! covers its files and its runtime.

use serde::{Deserialize, Serialize};

use crate::id::Digest;

/// The first bytes of an encoded source module: a name, and the version of the format.
const MAGIC: &[u8; 8] = b"\0segno\x00\x01";

/// Files in a language, and the component that runs them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceModule {
    /// The digest of the runtime's component.
    pub runtime: Digest,
    /// Contents by relative path with `/`, sorted by path.
    files: Vec<(String, Vec<u8>)>,
}

/// Reason why bytes are no source module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceModuleError {
    #[error("it is cut off or damaged")]
    Damaged,
    #[error("it has no files")]
    Empty,
    #[error("`{0}` is no path of a file in a module: use relative paths with `/`, without `..`")]
    BadPath(String),
    #[error("it has the file `{0}` twice")]
    Twice(String),
}

impl SourceModule {
    /// A module of these files.
    ///
    /// # Errors
    /// There are no files, or two have the same path, or a path leads out of the module.
    pub fn new(
        runtime: Digest,
        mut files: Vec<(String, Vec<u8>)>,
    ) -> Result<Self, SourceModuleError> {
        files.sort_by(|one, other| one.0.cmp(&other.0));
        let module = Self { runtime, files };
        module.check()?;
        Ok(module)
    }

    /// True if these bytes are meant as a source module.
    pub fn is_meant(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC[..7])
    }

    /// The runtime of a module in its stored form. `None` if these bytes are no source module.
    pub fn runtime_of(bytes: &[u8]) -> Option<Digest> {
        let digest = bytes.strip_prefix(MAGIC)?.first_chunk()?;
        Some(Digest(*digest))
    }

    /// The stored form. Equal modules have equal bytes.
    pub fn encode(&self) -> Vec<u8> {
        let start = MAGIC.to_vec();
        postcard::to_extend(self, start).expect("files and a digest can be written")
    }

    /// The module in its stored form.
    ///
    /// # Errors
    /// The bytes are damaged, or the module is none that [`SourceModule::new`] accepts.
    pub fn decode(bytes: &[u8]) -> Result<Self, SourceModuleError> {
        let body = bytes.strip_prefix(MAGIC).ok_or(SourceModuleError::Damaged)?;
        let (module, rest): (Self, _) =
            postcard::take_from_bytes(body).map_err(|_| SourceModuleError::Damaged)?;
        if !rest.is_empty() || !module.files.is_sorted_by(|one, other| one.0 <= other.0) {
            return Err(SourceModuleError::Damaged);
        }
        module.check()?;
        Ok(module)
    }

    pub fn files(&self) -> &[(String, Vec<u8>)] {
        &self.files
    }

    pub fn into_files(self) -> Vec<(String, Vec<u8>)> {
        self.files
    }

    fn check(&self) -> Result<(), SourceModuleError> {
        if self.files.is_empty() {
            return Err(SourceModuleError::Empty);
        }
        let is_plain = |path: &str| {
            let mut parts = path.split('/');
            parts.all(|part| !matches!(part, "" | "." | "..")) && !path.contains(['\\', '\0'])
        };
        if let Some((path, _)) = self.files.iter().find(|(path, _)| !is_plain(path)) {
            return Err(SourceModuleError::BadPath(path.clone()));
        }
        match self.files.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(SourceModuleError::Twice(pair[0].0.clone())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str) -> (String, Vec<u8>) {
        (path.to_owned(), content.into())
    }

    fn module(files: Vec<(String, Vec<u8>)>) -> Result<SourceModule, SourceModuleError> {
        SourceModule::new(Digest([7; 32]), files)
    }

    #[test]
    fn the_order_of_files_changes_nothing_and_every_byte_counts() {
        let one = module(vec![file("b.js", "2"), file("a/c.js", "1")]).expect("it is one");
        let other = module(vec![file("a/c.js", "1"), file("b.js", "2")]).expect("it is one");
        let bytes = one.encode();
        assert_eq!(bytes, other.encode());
        assert!(SourceModule::is_meant(&bytes) && !SourceModule::is_meant(b"\0asm\x0d\0\x01\0"));
        assert_eq!(SourceModule::runtime_of(&bytes), Some(one.runtime));
        assert_eq!(SourceModule::runtime_of(&bytes[..39]), None);
        assert_eq!(SourceModule::decode(&bytes), Ok(one));
        for cut in 0..bytes.len() {
            assert!(SourceModule::decode(&bytes[..cut]).is_err(), "{cut} bytes");
        }
        let more = [&bytes[..], b"x"].concat();
        assert_eq!(SourceModule::decode(&more), Err(SourceModuleError::Damaged));
    }

    #[test]
    fn paths_stay_inside_the_module_and_differ() {
        for path in ["/a", "a/../b", "", "a//b", "./a", "a\\b"] {
            let refused = module(vec![file(path, "")]);
            assert_eq!(refused, Err(SourceModuleError::BadPath(path.to_owned())));
        }
        let twice = module(vec![file("a", "1"), file("a", "2")]);
        assert_eq!(twice, Err(SourceModuleError::Twice("a".to_owned())));
        assert_eq!(module(vec![]), Err(SourceModuleError::Empty));
    }

    #[test]
    fn bytes_of_the_first_version_are_read() {
        let mut bytes = b"\0segno\x00\x01".to_vec();
        bytes.extend([7; 32]);
        bytes.extend(b"\x01\x04a.js\x03let");
        let read = SourceModule::decode(&bytes).expect("it is one");
        assert_eq!(read, module(vec![file("a.js", "let")]).expect("it is one"));
    }
}
