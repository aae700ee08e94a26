//! Blobs are removed with their roots, and by the sweep.

use segno_blobs::{BlobPlace, BlobReference, BlobSettings, BlobStore};
use segno_core::time::Timestamp;
use segno_env::Env;

use super::{DAY, Fixture};
use crate::recovery::{blobs, retention::Retention};

/// A fixture at the present time, because blobs have the times of their store.
async fn fixture() -> (Fixture, BlobStore, tempfile::TempDir) {
    let fixture = Fixture::new().await;
    let now = Env::system().clock.now();
    fixture.wait(now.0 - fixture.host.env.clock.now().0);
    let directory = tempfile::tempdir().expect("a directory");
    let place = BlobPlace::Directory(directory.path().to_owned());
    let store = place.open(BlobSettings::default(), &Env::system()).expect("it opens");
    fixture.host.keep_blobs(store.clone());
    (fixture, store, directory)
}

async fn put(store: &BlobStore, owner: &str, content: &[u8]) -> BlobReference {
    let mut writer = store.create(owner.into(), "a/b").expect("it begins");
    writer.write(content).await.expect("it is written");
    writer.finish(None).await.expect("it is stored")
}

async fn owners(store: &BlobStore) -> Vec<String> {
    let owners = store.owners().await.expect("a list");
    owners.into_iter().map(|found| found.owner.to_string()).collect()
}

#[tokio::test]
async fn the_blobs_of_a_root_go_with_it() {
    let (fixture, store, _directory) = fixture().await;
    let child = fixture.tree("old", &[]).await;
    fixture.fulfill(child).await;
    let _running = fixture.tree("runs", &[]).await;
    for owner in ["old", "runs", "older"] {
        put(&store, owner, b"x").await;
    }
    let retention: Retention = toml::from_str("default = \"1d\"").expect("valid rules");
    fixture.round(&retention).await;
    assert_eq!(owners(&store).await, ["old", "older", "runs"], "it ended just now");
    fixture.wait(2 * DAY);
    fixture.round(&retention).await;
    assert_eq!(owners(&store).await, ["older", "runs"]);
    let text = fixture.host.metrics.text();
    assert!(text.contains("segno_blobs_removed_total{cause=\"owner\"} 1"), "{text}");
}

#[tokio::test]
async fn the_sweep_removes_what_no_execution_owns_after_a_day() {
    let (fixture, store, _directory) = fixture().await;
    let _running = fixture.tree("runs", &[]).await;
    put(&store, "runs", b"x").await;
    put(&store, "never-began", b"x").await;
    blobs::turn(fixture.host.clone()).await.expect("a turn");
    assert_eq!(owners(&store).await, ["never-began", "runs"], "it may begin");
    fixture.wait(DAY + 60_000);
    blobs::turn(fixture.host.clone()).await.expect("a turn");
    assert_eq!(owners(&store).await, ["runs"]);
    let text = fixture.host.metrics.text();
    assert!(text.contains("segno_blobs_removed_total{cause=\"sweep\"} 1"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_removed_is_counted_and_left_to_the_sweep() {
    let (fixture, store, directory) = fixture().await;
    put(&store, "gone", b"x").await;
    let aside = directory.path().with_extension("aside");
    std::fs::rename(directory.path(), &aside).expect("it is moved");
    std::fs::write(directory.path(), "").expect("a file in its place");
    blobs::owners_removed(&fixture.host, vec![("gone".into(), Timestamp::NEVER)]).await;
    fixture.wait(2 * DAY);
    blobs::turn(fixture.host.clone()).await.expect("a turn");
    let text = fixture.host.metrics.text();
    assert!(text.contains("segno_blob_removal_failures_total 2"), "{text}");
    std::fs::remove_file(directory.path()).expect("it is removed");
    std::fs::rename(&aside, directory.path()).expect("it is moved back");
    blobs::turn(fixture.host.clone()).await.expect("a turn");
    assert_eq!(owners(&store).await, Vec::<String>::new());
}
