//! A file for browsers embedded in this binary: its bytes, its media type, and its `ETag`.

#![forbid(unsafe_code)]

use std::{io::Write as _, sync::OnceLock};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest as _, Sha256};

const PNG: &str = "image/png";

/// A page, or a file that pages load.
#[derive(Debug)]
pub struct Asset {
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    bytes: Bytes,
    etag: String,
    compressed: OnceLock<Bytes>,
}

impl Asset {
    /// Creates an asset. The extension of `name` determines the content type.
    pub fn new(name: &str, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let etag = format!("\"{}\"", hex(&Sha256::digest(&bytes)));
        Self { content_type: content_type(name), bytes, etag, compressed: OnceLock::new() }
    }

    pub fn bytes(&self) -> Bytes {
        self.bytes.clone()
    }

    /// The gzip-compressed bytes, compressed on first use. `None` for a PNG image, which is
    /// compressed already.
    pub fn compressed(&self) -> Option<Bytes> {
        let compress = || {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            let written = encoder.write_all(&self.bytes).and_then(|()| encoder.finish());
            written.expect("a Vec takes everything").into()
        };
        (self.content_type != PNG).then(|| self.compressed.get_or_init(compress).clone())
    }

    /// The value of `ETag`: the quoted SHA-256 of the bytes, in hexadecimal.
    pub fn etag(&self) -> &str {
        &self.etag
    }
}

/// Formats bytes as lowercase hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("html") => "text/html; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => PNG,
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_bytes_and_a_picture_is_not_compressed() {
        let [page, same, other] = ["a", "a", "b"].map(|text| Asset::new("a.html", text));
        assert_eq!(page.etag(), same.etag());
        assert_ne!(page.etag(), other.etag());
        assert_eq!(page.content_type, "text/html; charset=utf-8");
        assert!(page.compressed().is_some_and(|bytes| bytes.starts_with(&[0x1f, 0x8b])));
        assert_eq!(Asset::new("a.png", "a").compressed(), None);
        assert_eq!(Asset::new("LICENSE", "a").content_type, "text/plain; charset=utf-8");
    }
}
