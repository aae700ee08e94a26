//! `segno blob`.

use std::{
    fs,
    process::{Command, Output},
};

use serde_json::Value;
use tests::test_host::TestHost;

use super::{SEGNO, host};

async fn blob(host: &TestHost, arguments: &[&str]) -> Output {
    let mut command = Command::new(SEGNO);
    command.arg("blob").args(arguments).args(["--server", &host.client().server()]);
    let ran = tokio::task::spawn_blocking(move || command.output()).await;
    ran.expect("it is waited for").expect("it runs")
}

async fn printed(host: &TestHost, arguments: &[&str]) -> String {
    let ran = blob(host, arguments).await;
    assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_stored_listed_read_and_removed() {
    let (host, folder) = host(&[]).await;
    let file = folder.path().join("letter.txt");
    fs::write(&file, "0123456789").expect("it is written");
    let file = file.to_str().expect("a path");
    let reference = printed(&host, &["put", "scan/1", file, "--content-type", "text/plain"]).await;
    let reference = reference.trim_end();
    let fields: Value = serde_json::from_str(reference).expect("one line of JSON");
    assert_eq!((&fields["bytes"], &fields["content_type"]), (&10.into(), &"text/plain".into()));
    let id = fields["segno:blob"].as_str().expect("an id");
    let digest = id.strip_prefix("scan/1/blob/").expect("of the invocation");
    for named in [&[reference][..], &[id], &["scan/1", digest]] {
        assert_eq!(printed(&host, &[&["get"], named].concat()).await, "0123456789");
    }
    assert_eq!(printed(&host, &["get", id, "--range", "2-4"]).await, "234");
    assert_eq!(printed(&host, &["get", id, "--range", "-3"]).await, "789");
    let output = folder.path().join("copy.txt");
    let output = output.to_str().expect("a path");
    assert_eq!(printed(&host, &["get", id, "--output", output]).await, "");
    assert_eq!(fs::read_to_string(output).expect("it is there"), "0123456789");
    let listed = printed(&host, &["list", "scan/1"]).await;
    assert!(listed.contains(&digest[..12]) && listed.contains("text/plain"), "{listed}");
    assert!(listed.contains("10 B"), "{listed}");

    let exists = blob(&host, &["get", id, "--output", output]).await;
    assert_eq!(exists.status.code(), Some(2));
    let bad = blob(&host, &["get", id, "--range", "4-2"]).await;
    assert!(String::from_utf8_lossy(&bad.stderr).contains("0-1023"));
    assert_eq!(blob(&host, &["get", "scan/1"]).await.status.code(), Some(2));
    assert_eq!(printed(&host, &["rm", id]).await, "");
    let gone = blob(&host, &["get", id]).await;
    assert_eq!(gone.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&gone.stderr).contains(&format!("there is no blob `{id}`")));
    assert!(printed(&host, &["list", "scan/1"]).await.contains("has no blobs"));
}
