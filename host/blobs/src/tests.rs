use std::{fs, path::Path};

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use segno_core::{id::Digest, time::Timestamp};
use segno_env::Env;
use tempfile::TempDir;

use super::*;

const MEBIBYTE: usize = 1 << 20;

/// The same test on a directory and in memory.
fn stores(bytes_max: u64) -> (TempDir, [BlobStore; 2]) {
    let directory = TempDir::new().expect("a directory");
    let place = BlobPlace::Directory(directory.path().to_owned());
    let settings = BlobSettings { bytes_max, presign: true };
    let local = place.open(settings, &Env::system()).expect("it opens");
    (directory, [local, BlobStore::in_memory(bytes_max, Env::system())])
}

async fn written(
    store: &BlobStore,
    owner: &str,
    content: &[u8],
) -> Result<BlobReference, BlobError> {
    let mut writer = store.create(owner.into(), "text/plain")?;
    for piece in content.chunks(MEBIBYTE / 2 + 1) {
        writer.write(piece).await?;
    }
    writer.finish(None).await
}

async fn whole(store: &BlobStore, blob: &BlobReference) -> Result<Vec<u8>, BlobError> {
    let pieces: Vec<Bytes> = store.read_whole(blob).await?.try_collect().await?;
    Ok(pieces.concat())
}

fn content(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at / 7 + at / 1_000) as u8).collect()
}

/// The files below a directory.
fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("it can be read") {
        let path = entry.expect("it can be read").path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path.display().to_string()),
        }
    }
    found
}

#[tokio::test]
async fn blobs_are_read_as_they_were_written() {
    let (_directory, stores) = stores(DEFAULT_BYTES_MAX);
    for store in stores {
        for bytes in [0, 1, 5 * MEBIBYTE, 5 * MEBIBYTE + 1, 17 * MEBIBYTE] {
            let content = content(bytes);
            let blob = written(&store, "Order/1", &content).await.expect("it is stored");
            assert_eq!((blob.digest, blob.bytes), (Digest::of(&content), bytes as u64));
            assert_eq!(store.find(&"Order/1".into(), blob.digest).await.expect("it").blob, blob);
            assert!(whole(&store, &blob).await.expect("it is read") == content, "{bytes}");
            let (from, to) = (bytes / 3, bytes / 2);
            let part = store.read_bytes(&blob, from as u64..to as u64).await.expect("a part");
            assert!(part == content[from..to], "{bytes}");
        }
        let listed = store.list(&"Order/1".into(), 3).await.expect("a list");
        assert_eq!(listed.len(), 3);
        assert_eq!(store.list(&"order/1".into(), 9).await, Ok(vec![]), "another owner");
        assert_eq!(store.list(&"Order".into(), 9).await, Ok(vec![]));
    }
}

#[tokio::test]
async fn the_same_content_of_two_owners_is_two_blobs() {
    let (_directory, stores) = stores(DEFAULT_BYTES_MAX);
    for store in stores {
        let one = written(&store, "a", b"x").await.expect("it is stored");
        let again = written(&store, "a", b"x").await.expect("it is stored");
        let other = written(&store, "b", b"x").await.expect("it is stored");
        assert_eq!(one, again);
        assert_eq!(store.list(&"a".into(), 9).await.expect("a list").len(), 1);
        assert_eq!(store.remove(&"a".into(), one.digest).await, Ok(true));
        assert_eq!(store.remove(&"a".into(), one.digest).await, Ok(false));
        let absent = whole(&store, &one).await.expect_err("it is gone");
        assert!(matches!(absent, BlobError::Absent(_)), "{absent}");
        assert_eq!(whole(&store, &other).await.expect("it stays"), b"x");
        assert_eq!(store.presign(&other, std::time::Duration::from_secs(1)).await, Ok(None));
    }
}

#[tokio::test]
async fn what_is_refused_leaves_nothing() {
    let (directory, stores) = stores(6 * MEBIBYTE as u64);
    for store in stores {
        let large = written(&store, "a", &content(6 * MEBIBYTE + 1)).await;
        assert_eq!(large, Err(BlobError::TooLarge { limit: 6 * MEBIBYTE as u64 }));
        let mut writer = store.create("a".into(), "a/b").expect("it begins");
        writer.write(&content(6 * MEBIBYTE)).await.expect("it fits");
        let wrong = writer.finish(Some(Digest::of(b"other"))).await.expect_err("it differs");
        assert_eq!(wrong.code(), 422, "{wrong}");
        let mut dropped = store.create("a".into(), "a/b").expect("it begins");
        dropped.write(&content(6 * MEBIBYTE)).await.expect("it fits");
        drop(dropped);
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(store.list(&"a".into(), 9).await, Ok(vec![]));
        assert!(store.create("a".into(), "text").is_err());
        assert!(store.create("X".repeat(500).as_str().into(), "a/b").is_err());
    }
    for _ in 0..100 {
        if files(directory.path()).is_empty() {
            break;
        }
        Env::system().runtime.sleep(segno_core::time::Millis(20)).await;
    }
    assert_eq!(files(directory.path()), Vec::<String>::new());
}

#[tokio::test]
async fn damage_is_told_before_the_last_piece() {
    let (directory, [store, _]) = stores(DEFAULT_BYTES_MAX);
    let blob = written(&store, "a", &content(MEBIBYTE)).await.expect("it is stored");
    let [file] = &files(directory.path())[..] else { panic!("one file") };
    let mut changed = content(MEBIBYTE);
    changed[3] ^= 1;
    fs::write(file, &changed).expect("it is written");
    let mut pieces = store.read_whole(&blob).await.expect("it begins");
    let (mut read, mut damage) = (0, None);
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(piece) => read += piece.len(),
            Err(error) => damage = Some(error),
        }
    }
    assert!(read < MEBIBYTE, "the last piece is held back");
    assert!(matches!(damage, Some(BlobError::Damaged { .. })), "{damage:?}");
    fs::write(file, &changed[..100]).expect("it is written");
    for range in [0..10, 200..300, 0..blob.bytes] {
        let cut = store.read_bytes(&blob, range).await.expect_err("it was cut");
        assert_eq!(cut.code(), 422, "{cut}");
    }
    let cut = store.find(&"a".into(), blob.digest).await.expect_err("it was cut");
    assert!(cut.to_string().contains("it has 100 of 1048576 bytes"), "{cut}");
}

#[tokio::test]
async fn a_place_that_is_away_is_named() {
    let (directory, [store, _]) = stores(DEFAULT_BYTES_MAX);
    let blob = written(&store, "a", b"x").await.expect("it is stored");
    let place = directory.path().to_owned();
    let aside = place.with_extension("aside");
    fs::rename(&place, &aside).expect("it is moved");
    fs::write(&place, b"").expect("a file in its place");
    for error in [
        written(&store, "b", b"x").await.expect_err("no place"),
        written(&store, "b", &content(6 * MEBIBYTE)).await.expect_err("no place"),
        whole(&store, &blob).await.expect_err("no place"),
    ] {
        assert_eq!(error.code(), 503, "{error}");
        assert!(error.to_string().contains(store.place()), "{error}");
    }
    fs::remove_file(&place).expect("it is removed");
    fs::rename(&aside, &place).expect("it is moved back");
    assert_eq!(whole(&store, &blob).await.expect("nothing is lost"), b"x");
}

#[tokio::test]
async fn owners_are_listed_with_their_age_and_removed() {
    let (directory, stores) = stores(DEFAULT_BYTES_MAX);
    let ever = Timestamp::NEVER;
    for store in stores {
        for (owner, content) in
            [("a", &b"1"[..]), ("a", b"2"), ("A", b"1"), (&"ab".repeat(200), b"1")]
        {
            written(&store, owner, content).await.expect("it is stored");
        }
        let owners = store.owners().await.expect("a list");
        let names: Vec<_> = owners.iter().map(|it| it.owner.as_str()).collect();
        assert_eq!(names, ["A", "a", &"ab".repeat(200)]);
        assert!(owners.iter().all(|it| it.newest > Timestamp(1_600_000_000_000)));
        assert_eq!(store.remove_owner(&"a".into(), Timestamp(0)).await, Ok(0), "they are newer");
        assert_eq!(store.remove_owner(&"a".into(), ever).await, Ok(2));
        assert_eq!(store.remove_owner(&"ab".repeat(200).as_str().into(), ever).await, Ok(1));
        let left = store.owners().await.expect("a list");
        assert_eq!(left.len(), 1);
    }
    // A process that was killed leaves such a file, which the store does not list.
    let uploads = directory.path().join("_uploads");
    fs::create_dir_all(&uploads).expect("a directory");
    fs::write(uploads.join("0000000000000001#1"), b"x").expect("it is written");
    let place = BlobPlace::Directory(directory.path().to_owned());
    let store = place.open(BlobSettings::default(), &Env::system()).expect("it opens");
    assert_eq!(store.remove_uploads(Timestamp(0)).await, Ok(0));
    assert_eq!(store.remove_uploads(ever).await, Ok(1));
    assert!(!uploads.join("0000000000000001#1").exists());
}
