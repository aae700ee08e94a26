//! Blobs in a directory.

use std::{
    fs, io,
    path::{Path as FilePath, PathBuf},
    sync::Arc,
    time::UNIX_EPOCH,
};

use object_store::{local::LocalFileSystem, path::Path};
use segno_core::time::Timestamp;

use super::{
    error::chain,
    key::{BlobKeys, UPLOADS},
    place::{BlobOpenError, OpenedPlace},
};

/// Opens a directory, and makes it if it is missing.
pub(crate) fn open(directory: &FilePath) -> Result<OpenedPlace, BlobOpenError> {
    let shown = || directory.display().to_string();
    let failed = |source| BlobOpenError::Directory { directory: shown(), source };
    fs::create_dir_all(directory.join(UPLOADS)).map_err(failed)?;
    let directory = fs::canonicalize(directory).map_err(failed)?;
    let files = LocalFileSystem::new_with_prefix(&directory)
        .map_err(|error| BlobOpenError::Store { place: shown(), reason: chain(&error) })?;
    // A reference that was given out lasts, also when the machine loses its power.
    let files = files.with_fsync(true).with_automatic_cleanup(true);
    let keys = BlobKeys::new(Path::default());
    Ok(OpenedPlace { objects: Arc::new(files), signer: None, directory: Some(directory), keys })
}

/// Removes files of uploads that were last written before `before`. The store does not list them,
/// because they are of its own. Returns their number.
pub(crate) fn remove_uploads(directory: &FilePath, before: Timestamp) -> io::Result<u64> {
    let folder: PathBuf = directory.join(UPLOADS);
    let mut removed = 0;
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        // Removed when it became empty.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let Ok(metadata) = entry.metadata() else { continue };
        let written = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_old = i64::try_from(written.as_millis()).is_ok_and(|at| Timestamp(at) < before);
        if metadata.is_file() && is_old && fs::remove_file(entry.path()).is_ok() {
            removed += 1;
        }
    }
    Ok(removed)
}
