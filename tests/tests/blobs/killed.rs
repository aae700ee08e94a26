//! Hosts that are killed while a blob is written.

use futures::StreamExt as _;
use segno_core::time::Millis;
use serde_json::json;

use super::{MEBIBYTE, files, host, put};

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_was_killed_is_not_visible_and_is_repeated() {
    let (mut host, place) = host(&[]).await;
    let (client, env) = (host.client().clone(), host.env.clone());
    let runtime = env.runtime.clone();
    // Never ends: a part is stored, and then nothing comes for a while.
    let pieces = futures::stream::iter(0..400).then(move |n| {
        let runtime = runtime.clone();
        async move {
            if n > 20 {
                runtime.sleep(Millis(50)).await;
            }
            Ok(vec![n as u8; MEBIBYTE])
        }
    });
    let uploading = client.upload_blob("a", "a/b", None, pieces);
    let killing = async {
        let give_up_at = env.clock.now() + Millis(20_000);
        while files(place.path()).is_empty() {
            assert!(env.clock.now() < give_up_at, "nothing was written");
            env.runtime.sleep(Millis(10)).await;
        }
        host.server.kill().expect("it is killed");
    };
    let (uploaded, ()) = futures::join!(uploading, killing);
    uploaded.expect_err("the host was killed");
    host.server.restart().await.expect("it starts");
    assert_eq!(host.client().blobs("a").await.expect("a list").blobs, vec![]);
    let left = files(place.path());
    assert!(left.iter().all(|file| file.contains("_uploads")), "{left:?}");
    let blob = put(host.client(), "a", 8).await.expect("it is repeated");
    assert_eq!(blob.bytes, 8 * MEBIBYTE as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_activity_that_was_killed_writes_its_blob_again() {
    let (mut host, place) = host(&[]).await;
    host.start_as("a", "hoard/store", json!(200)).await.expect("it starts");
    let give_up_at = host.env.clock.now() + Millis(20_000);
    while files(place.path()).is_empty() {
        assert!(host.env.clock.now() < give_up_at, "nothing was written");
        host.env.runtime.sleep(Millis(5)).await;
    }
    host.server.kill().expect("it is killed");
    host.server.restart().await.expect("it starts");
    let output = host.ended("a").await.output.expect("it resolves");
    assert_eq!(output["bytes"], 200 * MEBIBYTE);
    assert_eq!(host.client().blobs("a").await.expect("a list").blobs.len(), 1);
}
