//! Blobs of a test, in memory.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::sha256;
use crate::{bindings::segno::workflow::types as wit, error::Error};

/// Maximum number of open writers of an attempt.
const WRITERS_MAX: usize = 16;

/// The blobs of all invocations, by id.
#[derive(Default)]
pub(super) struct TestBlobs {
    stored: BTreeMap<String, Vec<u8>>,
    /// Writers that are open, with their types.
    writers: BTreeMap<u32, (String, Vec<u8>)>,
    next: u32,
}

impl TestBlobs {
    /// Stores a blob, and returns its reference as JSON.
    pub(super) fn store(&mut self, owner: &str, content_type: &str, content: Vec<u8>) -> String {
        let id = format!("{owner}/blob/{}", sha256::hex(&content));
        let bytes = content.len();
        self.stored.insert(id.clone(), content);
        json!({ "segno:blob": id, "bytes": bytes, "content_type": content_type }).to_string()
    }

    pub(super) fn content(&self, id: &str) -> Option<&Vec<u8>> {
        self.stored.get(id)
    }

    pub(super) fn create(&mut self, content_type: &str) -> Result<u32, wit::Failure> {
        let is_type = content_type
            .split_once('/')
            .is_some_and(|(kind, rest)| !kind.is_empty() && !rest.is_empty());
        if !is_type {
            let message = format!(
                "the content type `{content_type}` cannot be used: write one such as image/png"
            );
            return Err(Error::terminal(400, message).into_failure());
        }
        if self.writers.len() >= WRITERS_MAX {
            let message = format!("an attempt has at most {WRITERS_MAX} blobs open for writing");
            return Err(Error::terminal(400, message).into_failure());
        }
        self.next += 1;
        self.writers.insert(self.next, (content_type.to_owned(), Vec::new()));
        Ok(self.next)
    }

    pub(super) fn write(&mut self, writer: u32, piece: &[u8]) -> Result<(), wit::Failure> {
        let (_, content) = self.writers.get_mut(&writer).ok_or_else(|| not_open(writer))?;
        content.extend_from_slice(piece);
        Ok(())
    }

    pub(super) fn finish(&mut self, owner: &str, writer: u32) -> Result<String, wit::Failure> {
        let (content_type, content) =
            self.writers.remove(&writer).ok_or_else(|| not_open(writer))?;
        Ok(self.store(owner, &content_type, content))
    }

    pub(super) fn abandon(&mut self, writer: u32) {
        self.writers.remove(&writer);
    }

    pub(super) fn read(
        &self,
        reference: &str,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, wit::Failure> {
        let fields: Value = serde_json::from_str(reference).unwrap_or_default();
        let Some(id) = fields["segno:blob"].as_str() else {
            let message = format!("this is no reference of a blob: {reference}");
            return Err(Error::terminal(400, message).into_failure());
        };
        let content = self.stored.get(id).ok_or_else(|| {
            let message = format!("there is no blob `{id}`: a test gives one by `test.blob(…)`");
            Error::terminal(Error::NOT_FOUND, message).into_failure()
        })?;
        let from = content.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let to = content.len().min(from.saturating_add(length));
        Ok(content[from..to].to_vec())
    }
}

fn not_open(writer: u32) -> wit::Failure {
    let message = format!("the writer {writer} of a blob is not open");
    Error::terminal(400, message).into_failure()
}
