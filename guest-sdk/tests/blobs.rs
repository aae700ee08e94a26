//! Blobs in the test kit behave as on a host.

extern crate segno_sdk as segno;

use segno::{Blob, testing::Test};

#[segno::activity]
async fn store(ctx: segno::ActivityContext, kind: String) -> segno::Result<Blob> {
    let blobs = ctx.blobs();
    match kind.as_str() {
        "bytes" => blobs.write("a/b", [1, 2, 3]),
        "pieces" => blobs.write_pieces("a/b", vec![vec![7; 700_000]; 4]),
        "reader" => blobs.write_from("a/b", std::io::repeat(9).take_bytes(3_000_000)),
        "type" => blobs.write("nonsense", b""),
        "open" => {
            let writers: segno::Result<Vec<_>> = (0..17).map(|_| blobs.create("a/b")).collect();
            writers?.pop().expect("there are some").finish()
        }
        _ => {
            drop(blobs.create("a/b")?);
            blobs.write("a/b", b"")
        }
    }
}

trait TakeBytes: std::io::Read + Sized {
    fn take_bytes(self, count: u64) -> std::io::Take<Self> {
        self.take(count)
    }
}

impl TakeBytes for std::io::Repeat {}

#[segno::workflow]
async fn stores(ctx: segno::Context, kind: String) -> segno::Result<Blob> {
    ctx.call(store, &kind).await
}

#[segno::activity]
async fn read(ctx: segno::ActivityContext, blob: Blob) -> segno::Result<String> {
    let end = ctx.blobs().read_part(&blob, 7, 99)?;
    Ok(format!("{} {}", ctx.blobs().read_text(&blob)?, String::from_utf8_lossy(&end)))
}

#[segno::workflow]
async fn reads(ctx: segno::Context, blob: Blob) -> segno::Result<String> {
    ctx.call(read, &blob).await
}

#[test]
fn bytes_pieces_and_readers_are_stored() {
    for (kind, content) in [
        ("bytes", vec![1, 2, 3]),
        ("pieces", vec![7; 2_800_000]),
        ("reader", vec![9; 3_000_000]),
        ("", vec![]),
    ] {
        let mut test = Test::new();
        let blob = test.run(stores, &kind.to_owned()).expect("it is stored");
        assert_eq!((blob.bytes(), blob.content_type()), (content.len() as u64, "a/b"), "{kind}");
        assert!(blob.id() == format!("test/blob/{}", blob.digest()), "{kind}");
        assert!(test.blob_content(&blob) == Some(content), "{kind}");
    }
}

#[test]
fn what_a_host_refuses_fails() {
    for (kind, said) in [("type", "`nonsense`"), ("open", "at most 16")] {
        let failed = Test::new().run(stores, &kind.to_owned()).expect_err("it is refused");
        assert_eq!(failed.code(), 400, "{kind}");
        assert!(failed.message().contains(said), "{failed:?}");
    }
}

#[test]
fn a_test_gives_blobs_and_their_reference_is_that_of_the_contract() {
    let mut test = Test::new();
    let blob = test.blob("text/plain", "0123456789");
    assert_eq!(test.run(reads, &blob).expect("it is read"), "0123456789 789");
    let json = serde_json::to_value(&blob).expect("JSON");
    let digest = "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882";
    assert_eq!(
        json,
        serde_json::json!({
            "segno:blob": format!("test/blob/{digest}"), "bytes": 10, "content_type": "text/plain"
        })
    );
    let failed = Test::new().run(reads, &blob).expect_err("another test does not have it");
    assert_eq!(failed.code(), 404);
}
