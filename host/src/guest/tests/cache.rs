//! Compiled code on disk: used again, and never trusted when it is damaged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::*;
use crate::guest::WasmConfig;

fn guest() -> Arc<[u8]> {
    Guest::starting("(call $finish-text (local.get $input) (local.get $length))").component()
}

/// Starts the guest in a new host over `directory`.
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
    let configuration = fs::read_dir(directory).expect("there is a cache").next();
    let configuration = configuration.expect("of one configuration").expect("it can be read");
    let mut files = fs::read_dir(configuration.path()).expect("it is a directory");
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
async fn many_who_need_a_module_at_once_share_one_compilation() {
    let component = guest();
    let wasm = host_with(&[&component], |config| config.limits.instances = 12);
    let digest = Digest::of(&component);
    let all = futures::future::join_all((0..8).map(|_| wasm.instantiate(digest, None))).await;
    assert!(all.iter().all(Result::is_ok));
}
