//! The blobs of a bundle: those that it carries, and those that it only names.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Read},
    path::Path,
};

use segno_bundle::{BundleBlob, BundleError, BundleItem, BundleReader};
use segno_core::id::Digest;
use serde::Serialize;

use super::{CliError, show::plain};

/// A blob that a bundle carries or names.
#[derive(Debug, Serialize)]
pub(super) struct BundledBlob {
    #[serde(flatten)]
    pub(super) blob: BundleBlob,
    /// True if the content is in the bundle.
    pub(super) carried: bool,
}

impl BundledBlob {
    /// The blobs of a bundle that was read to its end, by id.
    pub(super) fn all<R: Read>(carried: Vec<BundleBlob>, reader: &BundleReader<R>) -> Vec<Self> {
        let entry = |blob: BundleBlob, carried| (blob.id.clone(), Self { blob, carried });
        let named = reader.references().map(|blob| entry(blob.clone(), false));
        let all: BTreeMap<_, _> =
            named.chain(carried.into_iter().map(|blob| entry(blob, true))).collect();
        all.into_values().collect()
    }

    /// Reads a bundle to its end, and lists its blobs.
    pub(super) fn list(file: &Path) -> Result<Vec<Self>, CliError> {
        let refused = |error| refused(file, &error);
        let mut reader = open(file)?;
        let mut carried = Vec::new();
        while let Some(item) = reader.next_item().map_err(refused)? {
            if let BundleItem::Blob(blob) = item {
                carried.push(blob);
            }
        }
        Ok(Self::all(carried, &reader))
    }
}

/// Writes the content of a blob, and reads the bundle to its end.
pub(super) fn write_content(
    file: &Path,
    digest: Digest,
    mut write: impl FnMut(&[u8]) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let refused = |error| refused(file, &error);
    let mut reader = open(file)?;
    let (mut is_it, mut found) = (false, false);
    while let Some(item) = reader.next_item().map_err(refused)? {
        match item {
            BundleItem::Blob(blob) => {
                is_it = blob.parts().is_some_and(|(_, it)| it == digest);
                found |= is_it;
            }
            BundleItem::BlobPiece(piece) if is_it => write(&piece)?,
            _ => {}
        }
    }
    if found {
        return Ok(());
    }
    let is_named = |blob: &BundleBlob| blob.parts().is_some_and(|(_, it)| it == digest);
    let message = match reader.references().find(|blob| is_named(blob)) {
        Some(blob) => format!(
            "the bundle names the blob `{}` and does not carry it: make it with `segno bundle --blobs`, or read the \
             blob from the host",
            plain(&blob.id)
        ),
        None => format!(
            "the bundle has no blob {digest}; `segno blob list FILE` lists those that it has"
        ),
    };
    Err(CliError::Other { code: "unknown-blob", message })
}

fn open(file: &Path) -> Result<BundleReader<BufReader<File>>, CliError> {
    let from = File::open(file).map_err(|source| CliError::File {
        what: "read",
        path: file.display().to_string(),
        source,
    })?;
    BundleReader::begin(BufReader::new(from)).map_err(|error| refused(file, &error))
}

fn refused(file: &Path, error: &BundleError) -> CliError {
    CliError::BadBundle { path: file.display().to_string(), reason: error.to_string() }
}
