//! Blobs in S3, as the server `moto` of PyPI speaks it.
//!
//! The suite runs with `SEGNO_CLIENTS=1`, which installs `moto`.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use segno_api::model::{BlobAddress, StartInvocation};
use segno_client::ClientError;
use segno_core::time::Millis;
use segno_demo::server::DemoServer;
use segno_env::{Env, Proxies, http_client};
use serde_json::json;
use tests::{guests, packages::Packages, test_host};

use super::{MEBIBYTE, SEGNO, digest, put};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/blobs");
const PACKAGES: Packages = Packages { suite: "blobs", scripts: SCRIPTS };

/// A server with the bucket `hoard`.
struct S3Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    address: String,
}

impl S3Server {
    /// `None` if it is not installed.
    fn start() -> Option<Self> {
        let folder = PACKAGES.python("moto", "requirements.txt")?;
        let mut python = Command::new(folder.join("venv/bin/python"));
        python.arg(Path::new(SCRIPTS).join("server.py"));
        python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = python.spawn().expect("python runs");
        let input = process.stdin.take().expect("it is piped");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut server = Self { process, input, output, address: String::new() };
        server.address = server.line();
        assert!(server.address.starts_with("http://127.0.0.1:"), "{}", server.address);
        Some(server)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers");
        line.trim_end().to_owned()
    }

    /// The keys of the objects, and of uploads that have not ended after `upload:`.
    fn keys(&mut self) -> Vec<String> {
        self.input.write_all(b"\n").expect("it listens");
        self.line().split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blobs_are_objects_of_a_bucket() {
    let Some(mut s3) = S3Server::start() else { return };
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let mut options = test_host::options(SEGNO, folder.path());
    options.arguments =
        ["--blobs", "s3://hoard/some/place", "--presign"].map(str::to_owned).to_vec();
    options.environment = [
        ("AWS_ENDPOINT_URL", s3.address.as_str()),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    let host = DemoServer::start(options, Env::system()).await.expect("it starts");
    let (client, env) = (host.client().clone(), Env::system());
    client.deploy(guests::component("hoard"), Some("hoard")).await.expect("it is deployed");

    let large = put(&client, "Order/1", 12).await.expect("it is stored");
    let key = format!(
        "some/place/_4frder_2f1/{}/{}-application_2fx-numbers",
        digest(&large),
        12 * MEBIBYTE
    );
    assert_eq!(s3.keys(), [key], "no upload and no copy is left");
    let mut part = client.download_blob("Order/1", digest(&large), Some("5242879-5242880")).await;
    let piece = part.as_mut().expect("it is there").chunk().await.expect("it comes");
    assert_eq!(piece.as_deref(), Some(&[4, 5][..]));
    let broken = futures::stream::iter((0..12).map(|n| match n {
        11 => Err(std::io::Error::other("gone")),
        n => Ok(vec![n as u8; MEBIBYTE]),
    }));
    client.upload_blob("b", "a/b", None, broken).await.expect_err("it breaks off");
    let give_up_at = env.clock.now() + Millis(20_000);
    while s3.keys().len() > 1 {
        assert!(env.clock.now() < give_up_at, "{:?}", s3.keys());
        env.runtime.sleep(Millis(50)).await;
    }

    let address =
        format!("{}/v1/invocations/Order%2F1/blobs/{}?presign=60", client.server(), digest(&large));
    let http = http_client(Proxies::None).build().expect("a client");
    let signed = http.get(address).send().await.expect("it answers").bytes().await;
    let signed: BlobAddress = serde_json::from_slice(&signed.expect("a body")).expect("an address");
    let content = http.get(&signed.url).send().await.expect("S3 answers");
    assert_eq!(content.headers()["content-type"], "application/x-numbers");
    assert_eq!(content.bytes().await.expect("a body").len(), 12 * MEBIBYTE);

    let start = StartInvocation {
        id: Some("a".to_owned()),
        target: "hoard/store".to_owned(),
        input: json!(11),
        ..StartInvocation::default()
    };
    client.start(&start).await.expect("it starts");
    let give_up_at = env.clock.now() + Millis(30_000);
    let output = loop {
        let found = client.invocation("a").await.expect("it exists");
        if let Some(output) = found.output {
            break output;
        }
        assert!(env.clock.now() < give_up_at, "{found:#?}");
        env.runtime.sleep(Millis(50)).await;
    };
    assert_eq!(output["bytes"], 11 * MEBIBYTE);
    client.remove("a").await.expect("it is removed");
    assert_eq!(s3.keys().len(), 1, "its blob goes with it");

    drop(s3);
    let away = put(&client, "c", 1).await.expect_err("S3 is away");
    let ClientError::Refused(problem) = away else { panic!("{away}") };
    assert_eq!((problem.status, problem.code.as_str()), (503, "blobs-unavailable"));
    assert!(problem.detail.contains("s3://hoard/some/place"), "{}", problem.detail);
}
