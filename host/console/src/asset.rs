//! A file of the console: its bytes, its type, and what a browser may keep it by.

use std::{io::Write as _, sync::OnceLock};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest as _, Sha256};

/// A file.
#[derive(Debug)]
pub struct Asset {
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    bytes: Bytes,
    etag: String,
    compressed: OnceLock<Bytes>,
}

impl Asset {
    pub(crate) fn new(name: &str, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let etag = format!("\"{}\"", hex(&Sha256::digest(&bytes)));
        Self { content_type: content_type(name), bytes, etag, compressed: OnceLock::new() }
    }

    /// The bytes.
    pub fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The bytes as gzip, compressed when they are first asked for.
    pub fn compressed(&self) -> Bytes {
        let compress = || {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            let written = encoder.write_all(&self.bytes).and_then(|()| encoder.finish());
            written.expect("a Vec takes everything").into()
        };
        self.compressed.get_or_init(compress).clone()
    }

    /// The value of `ETag`: the SHA-256 of the bytes.
    pub fn etag(&self) -> &str {
        &self.etag
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}
