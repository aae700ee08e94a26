//! Files of a test, in memory.

use std::collections::BTreeMap;

use crate::{
    bindings::segno::workflow::{files::Entry, types as wit},
    error::Error,
};

/// Contents by path. Every path is writable.
#[derive(Default)]
pub(super) struct MemoryFiles(pub(super) BTreeMap<String, Vec<u8>>);

impl MemoryFiles {
    pub(super) fn read(
        &self,
        path: &str,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, wit::Failure> {
        let content = self.0.get(path).ok_or_else(|| none(path))?;
        let from = content.len().min(offset as usize);
        let to = content.len().min(from.saturating_add(length as usize));
        Ok(content[from..to].to_vec())
    }

    pub(super) fn list(&self, path: &str) -> Result<Vec<Entry>, wit::Failure> {
        let above = format!("{}/", path.trim_end_matches('/'));
        let mut entries = BTreeMap::new();
        for (path, content) in &self.0 {
            let Some(below) = path.strip_prefix(&above) else { continue };
            let (name, directory, size) = match below.split_once('/') {
                Some((name, _)) => (name, true, 0),
                None => (below, false, content.len() as u64),
            };
            entries.insert(name, Entry { name: name.to_owned(), directory, size });
        }
        match entries.is_empty() {
            true => Err(none(path)),
            false => Ok(entries.into_values().collect()),
        }
    }
}

fn none(path: &str) -> wit::Failure {
    let message = format!("`{path}` is not there: a test gives it by `test.file({path:?}, …)`");
    Error::terminal(Error::NOT_FOUND, message).into_failure()
}
