//! Two hosts on one database and one place for blobs.

use segno_api::model::StartInvocation;
use segno_client::ClientError;
use segno_demo::payments::PaymentsOptions;
use segno_env::{Proxies, http_client};
use serde_json::json;
use tests::{guests, host_group::HostGroup};
use throwaway_postgres::Cluster;

use super::{MEBIBYTE, SEGNO, digest, files, put};

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_a_database_share_their_blobs() {
    let Some(cluster) = Cluster::shared() else { return };
    let database = cluster.database();
    let place = tempfile::tempdir().expect("there is room for a folder");
    let path = place.path().join("blobs");
    let arguments = ["--blobs", path.to_str().expect("a path")];
    let group =
        HostGroup::start(SEGNO, &database.url(), 2, PaymentsOptions::default(), &arguments).await;
    let (one, other) = (group.client(0), group.client(1));
    group.deploy("hoard", guests::component("hoard")).await;

    let blob = put(one, "a", 64).await.expect("it is stored");
    let mut part = other.download_blob("a", digest(&blob), Some("1048575-1048576")).await;
    let piece = part.as_mut().expect("it is there").chunk().await.expect("it comes");
    assert_eq!(piece.as_deref(), Some(&[0, 1][..]));
    let start = StartInvocation {
        id: Some("a".to_owned()),
        target: "hoard/sum".to_owned(),
        input: json!(blob),
        ..StartInvocation::default()
    };
    other.start(&start).await.expect("it starts");
    let ended = one.wait("a", std::time::Duration::from_secs(60)).await.expect("it ends");
    assert_eq!(ended.output.expect("it resolves")["bytes"], 64 * MEBIBYTE);

    // One host removes the execution while the other one sends the blob.
    let address = format!("{}/v1/invocations/a/blobs/{}", other.server(), digest(&blob));
    let http = http_client(Proxies::None).build().expect("a client");
    let mut sent = http.get(address).send().await.expect("it answers");
    let mut received = sent.chunk().await.expect("it begins").expect("it has bytes").len();
    one.remove("a").await.expect("it is removed");
    let broken = loop {
        match sent.chunk().await {
            Ok(Some(piece)) => received += piece.len(),
            ended => break ended,
        }
    };
    assert!(broken.is_err() && received < 64 * MEBIBYTE, "{received} bytes: {broken:?}");
    for client in [one, other] {
        let gone = client.download_blob("a", digest(&blob), None).await.map(drop);
        let Err(ClientError::Refused(problem)) = gone else { panic!("{gone:?}") };
        assert_eq!((problem.status, problem.code.as_str()), (404, "unknown-blob"));
        assert!(problem.detail.contains(&blob.id), "{}", problem.detail);
        assert_eq!(client.blobs("a").await.expect("a list").blobs, vec![]);
    }
    let start = StartInvocation { id: Some("late".to_owned()), ..start };
    other.start(&start).await.expect("it starts");
    let ended = one.wait("late", std::time::Duration::from_secs(60)).await.expect("it ends");
    let failure = ended.failure.expect("it is rejected");
    assert_eq!(failure.code, 404);
    assert!(failure.message.contains(&blob.id), "{failure:?}");
    assert_eq!(files(&path), Vec::<String>::new());
}
