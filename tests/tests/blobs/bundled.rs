//! Bundles that carry blobs.

use std::{
    fs,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use tests::test_host::TestHost;

use super::{MEBIBYTE, SEGNO, digest, host, put};

/// Output, error output, exit code and peak of resident memory in MiB of `segno`.
async fn segno(arguments: &[&str]) -> (String, String, Option<i32>, usize) {
    let mut command = Command::new(SEGNO);
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = move || {
        let child = command.spawn().expect("it runs");
        let status = format!("/proc/{}/status", child.id());
        let peak = std::thread::spawn(move || {
            let mut peak = 0;
            while let Some(now) = memory(&status) {
                peak = now.max(peak);
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            peak
        });
        let said = child.wait_with_output().expect("it ended");
        let peak = peak.join().expect("it was read");
        let text = |bytes| String::from_utf8(bytes).expect("it says text");
        (text(said.stdout), text(said.stderr), said.status.code(), peak)
    };
    tokio::task::spawn_blocking(run).await.expect("it is waited for")
}

/// Peak of resident memory of a process, in MiB.
fn memory(status: &str) -> Option<usize> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse::<usize>().ok().map(|kb| kb >> 10)
}

async fn ok(arguments: &[&str]) -> (String, usize) {
    let (out, err, exit, peak) = segno(arguments).await;
    assert_eq!(exit, Some(0), "{arguments:?}: {out}{err}");
    (out, peak)
}

/// Makes a bundle, and returns its blobs.
async fn bundle(host: &TestHost, id: &str, file: &Path, options: &[&str]) -> (Value, usize) {
    let _ = fs::remove_file(file);
    let server = host.client().server();
    let file = file.to_str().expect("a path");
    let arguments = ["bundle", id, "-o", file, "--json", "--server", &server];
    let (out, peak) = ok(&[&arguments[..], options].concat()).await;
    let said: Value = serde_json::from_str(&out).expect("JSON");
    (said["blobs"].clone(), peak)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_carries_300_mb_in_pieces() {
    let (host, folder) = host(&[]).await;
    host.start_as("large", "hoard/store", json!(300)).await.expect("it starts");
    let ended = host.client().wait("large", std::time::Duration::from_secs(300)).await;
    let output = ended.expect("it ends").output.expect("it resolves");
    let reference = &output["blob"];
    let id = reference["segno:blob"].as_str().expect("an id");
    let digest = id.rsplit('/').next().expect("a digest");
    let file = folder.path().join("large.segno-bundle");
    let path = file.to_str().expect("a path");
    let status = format!("/proc/{}/status", host.server.pid());
    let before = memory(&status).expect("it runs");
    let (blobs, made) = bundle(&host, "large", &file, &["--tree", "--blobs"]).await;
    let grown = memory(&status).expect("it runs") - before;
    let mut carried = reference.clone();
    carried["carried"] = json!(true);
    assert_eq!(blobs, json!([carried]));

    let (out, listed) = ok(&["blob", "list", path, "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&out).expect("JSON"), json!({ "blobs": [carried] }));
    let copy = folder.path().join("copy");
    let get = ["blob", "get", path, digest, "--output", copy.to_str().expect("a path")];
    let (_, read) = ok(&get).await;
    let mut content = fs::File::open(&copy).expect("it is written");
    for number in 0..300_usize {
        let mut piece = vec![0; MEBIBYTE];
        content.read_exact(&mut piece).expect("it is whole");
        assert!(piece.iter().all(|byte| *byte == number as u8), "MiB {number}");
    }
    assert_eq!(content.read(&mut [0]).expect("it ends"), 0);
    ok(&["replay", path, "large"]).await;
    eprintln!(
        "300 MiB in a bundle: the host grew by {grown} MiB; peaks: {made}, {listed}, {read} MiB"
    );
    assert!(grown.max(made).max(listed).max(read) < 100, "{grown} {made} {listed} {read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn blobs_are_named_carried_once_and_refused_if_damaged() {
    let (host, folder) = host(&[]).await;
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b'a' + (state >> 59) as u8 % 26
    };
    let noise: Vec<u8> = (0..MEBIBYTE).map(|_| letter()).collect();
    let pieces = futures::stream::iter([Ok(noise.clone()), Ok(noise.clone())]);
    let blob = host.client().upload_blob("a", "text/plain", None, pieces).await;
    let blob = blob.expect("it is stored");
    let same = futures::stream::iter([Ok([noise.clone(), noise].concat())]);
    let same = host.client().upload_blob("b", "text/plain", None, same).await;
    let same = same.expect("it is stored");
    let gone = put(host.client(), "c", 1).await.expect("it is stored");
    host.start_as("a", "hoard/hold", json!([blob, same, gone])).await.expect("it starts");
    host.ended("a").await;
    host.client().remove_blob("c", digest(&gone)).await.expect("it is removed");

    let file = folder.path().join("a.segno-bundle");
    let path = file.to_str().expect("a path");
    let carried = |blobs: &Value| -> Vec<bool> {
        let blobs = blobs.as_array().expect("a list");
        blobs.iter().map(|blob| blob["carried"] == json!(true)).collect()
    };
    let size = || fs::metadata(&file).expect("it is there").len();
    let (blobs, _) = bundle(&host, "a", &file, &[]).await;
    assert_eq!(carried(&blobs), [false, false, false]);
    let named = size();
    let (_, err, exit, _) = segno(&["blob", "get", path, digest(&blob)]).await;
    assert_eq!(exit, Some(1), "{err}");
    assert!(err.contains("does not carry it") && err.contains("--blobs"), "{err}");
    let (blobs, _) = bundle(&host, "a", &file, &["--redact"]).await;
    assert_eq!(blobs, json!([]));
    let (_, err, exit, _) = segno(&["bundle", "a", "--redact", "--blobs"]).await;
    assert_eq!(exit, Some(2), "{err}");

    let (blobs, _) = bundle(&host, "a", &file, &["--blobs"]).await;
    assert_eq!(carried(&blobs), [true, true, false]);
    assert!(size() - named < 3 * MEBIBYTE as u64, "{named} and {}: once", size());
    for id in [&blob, &same] {
        let (out, _) = ok(&["blob", "get", path, digest(id)]).await;
        assert_eq!(out.len(), 2 * MEBIBYTE);
    }
    let (out, _) = ok(&["blob", "list", path]).await;
    assert!(out.contains("carried") && out.contains("named") && out.contains("2.0 MiB"), "{out}");
    let (_, err, exit, _) = segno(&["blob", "get", path, &"0".repeat(64)]).await;
    assert_eq!(exit, Some(1), "{err}");
    assert!(err.contains("has no blob"), "{err}");

    // Damage is named, and no file is left.
    let output = folder.path().join("copy");
    let get = ["blob", "get", path, digest(&blob), "--output", output.to_str().expect("a path")];
    let length = size();
    let mut open = fs::OpenOptions::new().write(true).open(&file).expect("it is there");
    open.set_len(length - 500_000).expect("it is cut");
    for why in ["ends in the middle", "a byte here is not the one that was written"] {
        for arguments in [&get[..], &["blob", "list", path], &["replay", path]] {
            let (_, err, exit, _) = segno(arguments).await;
            assert_eq!(exit, Some(9), "{arguments:?}: {err}");
            assert!(err.contains(": a blob): ") && err.contains(why), "{err}");
        }
        assert!(!output.exists());
        open.seek(SeekFrom::Start(length - 700_000)).expect("it has that byte");
        open.write_all(b"?!").expect("it is written");
    }
    let left = fs::read_dir(folder.path()).expect("it is there").count();
    assert_eq!(left, 2, "the place and the bundle");
}
