//! A page, or a file that pages load: its bytes, its type, and what a browser may keep it by.

use std::{io::Write as _, sync::OnceLock};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest as _, Sha256};

/// A page or a file.
#[derive(Debug)]
pub struct Page {
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    bytes: Bytes,
    etag: String,
    compressed: OnceLock<Bytes>,
}

impl Page {
    /// What is found at this address; the address says of which type it is.
    pub(crate) fn new(address: &str, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let digest = Sha256::digest(&bytes);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            content_type: content_type(address),
            bytes,
            etag: format!("\"{digest}\""),
            compressed: OnceLock::new(),
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The bytes as gzip, compressed when they are first asked for; none: a picture, which is
    /// compressed already.
    pub fn compressed(&self) -> Option<Bytes> {
        let compress = || {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            let written = encoder.write_all(&self.bytes).and_then(|()| encoder.finish());
            written.expect("a Vec takes everything").into()
        };
        let is_text = self.content_type != "image/png";
        is_text.then(|| self.compressed.get_or_init(compress).clone())
    }

    /// The value of `ETag`: the SHA-256 of the bytes.
    pub fn etag(&self) -> &str {
        &self.etag
    }
}

fn content_type(address: &str) -> &'static str {
    match address.rsplit_once('.').map(|(_, ending)| ending) {
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}
