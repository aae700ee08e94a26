//! Compiled code on disk: reused, and never trusted when damaged.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use super::*;
use crate::WasmConfig;

fn guest() -> Arc<[u8]> {
    Guest::starting("(call $finish-text (local.get $input) (local.get $length))").component()
}

/// Starts the guest on a new host over `directory`.
async fn run(
    directory: &Path,
    components: &[&Arc<[u8]>],
    digest: Digest,
) -> Result<(), GuestError> {
    let wasm =
        host_with(components, |config: &mut WasmConfig| config.cache_dir = Some(directory.into()));
    let mut instance = wasm.instantiate(digest, None).await?;
    instance.start(Script::default().shared(), "main", json("1"), context(1)).await
}

fn compiled(directory: &Path) -> PathBuf {
    // The folder of snapshots is next to the folder of the configuration.
    let folders = fs::read_dir(directory).expect("there is a cache");
    let mut files = folders.flat_map(|folder| {
        fs::read_dir(folder.expect("it can be read").path()).expect("it is a directory")
    });
    let code = files.find_map(|file| {
        let path = file.expect("it can be read").path();
        (path.extension()? == "cwasm").then_some(path)
    });
    code.expect("there is compiled code")
}

#[tokio::test]
async fn compiled_code_is_used_again_without_the_component() {
    let (directory, component) = (tempfile::tempdir().expect("it can be made"), guest());
    let digest = Digest::of(&component);
    run(directory.path(), &[&component], digest).await.expect("it runs");
    run(directory.path(), &[], digest).await.expect("it runs from the cache");
}

#[tokio::test]
async fn damaged_code_is_compiled_again() {
    let (directory, component) = (tempfile::tempdir().expect("it can be made"), guest());
    let digest = Digest::of(&component);
    run(directory.path(), &[&component], digest).await.expect("it runs");
    let path = compiled(directory.path());
    let whole = fs::read(&path).expect("it can be read");
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for damaged in [flipped.as_slice(), &whole[..middle], b"", b"not compiled code"] {
        fs::write(&path, damaged).expect("it can be written");
        let missing = run(directory.path(), &[], digest).await;
        assert!(matches!(missing, Err(GuestError::NoSuchModule(_))), "{missing:?}");
        run(directory.path(), &[&component], digest).await.expect("it is compiled again");
        assert_eq!(fs::read(&path).expect("it can be read"), whole);
    }
}

#[tokio::test]
async fn without_a_directory_to_write_it_still_runs() {
    let component = guest();
    let file = tempfile::NamedTempFile::new().expect("it can be made");
    run(&file.path().join("cache"), &[&component], Digest::of(&component)).await.expect("it runs");
}

#[tokio::test]
async fn a_directory_that_is_deleted_meanwhile_is_made_again() {
    let (directory, component) = (tempfile::tempdir().expect("it can be made"), guest());
    let place = directory.path().join("compiled");
    let wasm = host_with(&[&component], |config| config.cache_dir = Some(place.clone()));
    fs::remove_dir_all(&place).expect("it can be deleted");
    wasm.instantiate(Digest::of(&component), None).await.expect("it is compiled");
    assert!(compiled(&place).is_file());
}

#[tokio::test]
async fn many_who_need_a_module_at_once_share_one_compilation() {
    let component = guest();
    let wasm = host_with(&[&component], |config| config.limits.instances = 12);
    let digest = Digest::of(&component);
    let all = futures::future::join_all((0..8).map(|_| wasm.instantiate(digest, None))).await;
    assert!(all.iter().all(Result::is_ok));
}

#[tokio::test]
async fn code_that_was_used_longest_ago_goes_beyond_the_limit() {
    let directory = tempfile::tempdir().expect("it can be made");
    let components: Vec<Arc<[u8]>> = [1, 2, 3]
        .map(|number| Guest::starting(&format!("(drop (i32.const {number}))")).component())
        .into();
    let all: Vec<&Arc<[u8]>> = components.iter().collect();
    let digests: Vec<Digest> = components.iter().map(|bytes| Digest::of(bytes)).collect();
    let limited = |limit: u64| {
        host_with(&all, |config| {
            config.cache_dir = Some(directory.path().into());
            config.limits.compiled_bytes = limit;
        })
    };
    let wasm = limited(u64::MAX);
    for digest in &digests[..2] {
        wasm.instantiate(*digest, None).await.expect("it can be made");
    }
    // File timestamps have a resolution of some milliseconds.
    std::thread::sleep(std::time::Duration::from_millis(50));
    // Another host reuses the first one.
    run(directory.path(), &[], digests[0]).await.expect("it runs from the cache");
    let size = fs::metadata(compiled(directory.path())).expect("it is there").len();

    let wasm = limited(size * 5 / 2);
    wasm.instantiate(digests[2], None).await.expect("it can be made");
    run(directory.path(), &[], digests[0]).await.expect("it was used a moment ago");
    run(directory.path(), &[], digests[2]).await.expect("it was made just now");
    let gone = run(directory.path(), &[], digests[1]).await;
    assert!(matches!(gone, Err(GuestError::NoSuchModule(_))), "{gone:?}");

    // Code larger than the limit is kept as long as it is the latest.
    let wasm = limited(1);
    wasm.instantiate(digests[1], None).await.expect("it can be made");
    run(directory.path(), &[], digests[1]).await.expect("it was made just now");
}

#[tokio::test]
async fn what_a_crash_left_half_written_goes_when_nobody_can_be_writing_it() {
    let (directory, component) = (tempfile::tempdir().expect("it can be made"), guest());
    let digest = Digest::of(&component);
    run(directory.path(), &[&component], digest).await.expect("it runs");
    let half = compiled(directory.path()).with_file_name(".tmpAbCdEf");
    let file = fs::File::create(&half).expect("it can be written");
    run(directory.path(), &[], digest).await.expect("it runs from the cache");
    assert!(half.exists(), "another process may be writing it");
    let made = file.metadata().and_then(|file| file.modified()).expect("it has a date");
    let long_ago = made - Duration::from_secs(3_700);
    file.set_modified(long_ago).expect("it can be dated");
    run(directory.path(), &[], digest).await.expect("it runs from the cache");
    assert!(!half.exists());
}

#[tokio::test]
async fn nothing_of_a_refused_component_is_kept() {
    let directory = tempfile::tempdir().expect("it can be made");
    let wasm = host_with(&[], |config| config.cache_dir = Some(directory.path().into()));
    let failing =
        Guest { items: "(start $boom) (func $boom unreachable)".into(), ..Guest::default() };
    let fine = guest();
    wasm.inspect(Arc::clone(&fine)).await.expect("it can be deployed");
    wasm.inspect(failing.component()).await.expect_err("it cannot be described");
    let configuration = compiled(directory.path());
    let folder = configuration.parent().expect("it is in a folder");
    let files = fs::read_dir(folder).expect("it can be read").count();
    assert_eq!(files, 2, "the code of one module and its hash");
    run(directory.path(), &[], Digest::of(&fine)).await.expect("it runs from the cache");
}
