//! Activities write and read blobs.

use std::fs;

use segno_core::time::Millis;
use serde_json::json;

use super::{MEBIBYTE, digest, files, host, put};

#[tokio::test(flavor = "multi_thread")]
async fn an_activity_writes_200_mb_and_another_reads_them() {
    let (host, _place) = host(&[]).await;
    host.start_as("large", "hoard/store", json!(200)).await.expect("it starts");
    let ended = host.ended("large").await;
    let output = ended.output.expect("it resolves");
    assert_eq!(output["bytes"], 200 * MEBIBYTE);
    assert_eq!(output["sum"], (0..200).sum::<usize>() * MEBIBYTE);
    let blob = &output["blob"];
    assert_eq!(
        (&blob["bytes"], &blob["content_type"]),
        (&output["bytes"], &json!("application/x-numbers"))
    );
    let listed = host.client().blobs("large").await.expect("a list").blobs;
    assert_eq!(listed.len(), 1);
    assert_eq!(json!(listed[0].blob), *blob);
    // The journal has the reference, and a replay needs no content.
    host.client().remove_blob("large", digest(&listed[0].blob)).await.expect("it is removed");
    let replay = host.client().replay("large", None).await.expect("it is replayed");
    assert_eq!(replay.matched, replay.journal_len, "{replay:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_of_a_host_does_not_grow_with_a_blob() {
    let (host, place) = host(&[]).await;
    put(host.client(), "warm-up", 20).await.expect("it is stored");
    let status = format!("/proc/{}/status", host.server.pid());
    let peak = || {
        let text = fs::read_to_string(&status).expect("it runs");
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
        line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") >> 10
    };
    let before = peak();
    let blob = put(host.client(), "large", 300).await.expect("it is stored");
    let mut download =
        host.client().download_blob("large", digest(&blob), None).await.expect("it is there");
    let mut bytes = 0;
    while let Some(piece) = download.chunk().await.expect("it is whole") {
        bytes += piece.len();
    }
    assert_eq!(bytes, 300 * MEBIBYTE);
    let grown = peak() - before;
    eprintln!(
        "300 MiB up and down: the peak of resident memory grew by {grown} MiB from {before} MiB"
    );
    assert!(grown < 64, "{grown} MiB");
    assert_eq!(files(place.path()).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn blobs_of_clients_are_read_and_the_place_may_be_away() {
    let (host, place) = host(&["--blob-max-bytes", "2000000"]).await;
    let pieces = futures::stream::iter([Ok(b"some ".to_vec()), Ok(b"text".to_vec())]);
    let blob = host.client().upload_blob("told", "text/plain", Some(9), pieces).await;
    let blob = blob.expect("it is stored before its execution");
    let (there, aside) = (place.path().join("blobs"), place.path().join("aside"));
    fs::rename(&there, &aside).expect("it is moved");
    fs::write(&there, "").expect("a file in its place");
    host.start_as("told", "hoard/tell", json!(blob)).await.expect("it starts");
    host.env.runtime.sleep(Millis(500)).await;
    let waiting = host.client().invocation("told").await.expect("it exists");
    assert!(!waiting.state.is_settled(), "{waiting:#?}");
    let call = host.client().invocation("told/0").await.expect("it exists");
    let said = serde_json::to_string(&call).expect("JSON");
    assert!(said.contains("failed with 503"), "{said}");
    fs::remove_file(&there).expect("it is removed");
    fs::rename(&aside, &there).expect("it is moved back");
    assert_eq!(host.ended("told").await.output, Some(json!("some text")));

    for (rule, code, said) in [
        ("type", 400, "`nonsense`"),
        ("large", 413, "at most 2000000 bytes"),
        ("writers", 400, "at most 16 blobs"),
        ("secret", 403, "`secrets.key` is not set"),
    ] {
        let id = format!("breach-{rule}");
        host.start_as(&id, "hoard/breach", json!(rule)).await.expect("it starts");
        let failure = host.ended(&id).await.failure.expect("it is rejected");
        assert_eq!(failure.code, code, "{rule}: {failure:?}");
        assert!(failure.message.contains(said), "{rule}: {failure:?}");
    }
    host.start_as("abandoned", "hoard/breach", json!("abandoned")).await.expect("it starts");
    host.ended("abandoned").await;
    assert_eq!(host.client().blobs("abandoned").await.expect("a list").blobs, vec![]);

    host.client().remove("told").await.expect("it is removed");
    assert_eq!(files(&there), Vec::<String>::new(), "its blobs go with it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_found_wherever_the_content_of_a_blob_is_cut() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let [policy, key] = ["policy.toml", "key"].map(|name| folder.path().join(name));
    fs::write(&key, "long-enough").expect("it is written");
    let text = format!("[hoard]\nsecrets.key = {{ file = \"{}\" }}\n", key.display());
    fs::write(&policy, text).expect("it is written");
    let (host, _place) = host(&["--policy", policy.to_str().expect("a path")]).await;
    host.start_as("cut", "hoard/breach", json!("cut-secret")).await.expect("it starts");
    let ended = host.ended("cut").await;
    assert_eq!(ended.failure, None);
    assert_eq!(host.client().blobs("cut").await.expect("a list").blobs, vec![]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_without_a_place_fails_attempts_with_501() {
    let host = tests::test_host::TestHost::start(super::SEGNO).await;
    host.deploy("hoard", tests::guests::component("hoard")).await;
    host.start_as("none", "hoard/breach", json!("")).await.expect("it starts");
    let failure = host.ended("none").await.failure.expect("it is rejected");
    assert_eq!(failure.code, 501);
    assert!(failure.message.contains("serve --blobs"), "{failure:?}");
}
