//! Blobs on real hosts: large ones over HTTP and in activities, processes that are killed, a place
//! that is away, bundles, two hosts, and S3.

mod activities;
mod bundled;
mod command;
mod killed;
mod s3;
mod shared;

use std::{fs, path::Path};

use segno_api::model::BlobView;
use segno_client::{Client, ClientError};
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
const MEBIBYTE: usize = 1 << 20;

/// A host with the module `hoard` and a directory for blobs, removed with the second part.
async fn host(arguments: &[&str]) -> (TestHost, tempfile::TempDir) {
    let place = tempfile::tempdir().expect("there is room for a folder");
    let path = place.path().join("blobs");
    let mut all = vec!["--blobs", path.to_str().expect("a path")];
    all.extend_from_slice(arguments);
    let host = TestHost::with(SEGNO, Default::default(), &all).await;
    host.deploy("hoard", guests::component("hoard")).await;
    (host, place)
}

/// Stores a blob of so many pieces of one MiB, each with its number in every byte.
async fn put(client: &Client, id: &str, mebibytes: usize) -> Result<BlobView, ClientError> {
    let pieces = futures::stream::iter((0..mebibytes).map(|n| Ok(vec![n as u8; MEBIBYTE])));
    client.upload_blob(id, "application/x-numbers", None, pieces).await
}

fn digest(blob: &BlobView) -> &str {
    blob.id.rsplit_once('/').expect("an id of a blob").1
}

/// The files below a directory.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.expect("it can be read").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path.display().to_string()),
        }
    }
    found
}
