//! The options of `segno serve` for blobs.

use clap::Args;
use segno_blobs::{BlobPlace, BlobSettings, DEFAULT_BYTES_MAX};
use segno_engine::host::Host;

use super::{CliError, build::other};

/// The place for blobs.
#[derive(Debug, Args)]
pub(super) struct BlobOptions {
    /// Place for blobs, which are large values passed by reference: a directory, or
    /// s3://BUCKET/PREFIX with the usual AWS_ variables (AWS_ENDPOINT_URL for other servers). Hosts
    /// of one database need the same place
    #[arg(long, value_name = "DIR|s3://BUCKET", env = "SEGNO_BLOBS")]
    blobs: Option<BlobPlace>,
    /// Maximum size of a blob
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_BYTES_MAX, value_parser = clap::value_parser!(u64).range(1..))]
    blob_max_bytes: u64,
    /// Give clients that may read a blob signed addresses of S3, which need no token
    #[arg(long, requires = "blobs")]
    presign: bool,
}

impl BlobOptions {
    /// Opens the place, if there is one.
    pub(super) fn open(&self, host: &Host) -> Result<(), CliError> {
        let Some(place) = &self.blobs else { return Ok(()) };
        let settings = BlobSettings { bytes_max: self.blob_max_bytes, presign: self.presign };
        let blobs =
            place.open(settings, &host.env).map_err(|error| other("invalid-blobs", &error))?;
        tracing::info!(place = blobs.place(), "blobs are stored");
        host.keep_blobs(blobs);
        Ok(())
    }
}
