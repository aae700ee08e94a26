//! A disk that is temporarily full.

use std::{fs, io::Write as _, process};

use segno_core::{command::Command, config::Config, id::HostName, time::Millis};

use super::{HandClock, create, sqlite};
use crate::Store as _;

/// A small file system that can be filled, mounted until this is dropped. `new` returns `None` if
/// this process may not mount one.
struct Small(tempfile::TempDir);

impl Small {
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let mounted = process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=6m", "tmpfs"])
            .arg(dir.path())
            .status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(dir))
    }

    /// Fills the file system completely.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.path().join("ballast")).expect("a file");
        while file.write_all(&[1; 4_096]).is_ok() {}
    }

    fn free(&self) {
        fs::remove_file(self.0.path().join("ballast")).expect("it is there");
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[tokio::test]
async fn a_store_on_a_full_disk_says_so_and_goes_on_when_there_is_room() {
    let Some(disk) = Small::new() else { return };
    let clock = HandClock::new();
    let store = sqlite(&disk.0.path().join("data"), &clock, &Config::default()).await;
    let node = HostName::from("local");
    let start = Command::HostStart { node };
    store.execute(vec![start]).await.expect("there is room");
    store.check_writes().await.expect("it writes");
    disk.fill();
    let mut made = 0;
    while store.execute(vec![create(&format!("p{made}"), &[])]).await.is_ok() {
        made += 1;
    }
    for _ in 0..3 {
        let refused = store.check_writes().await.expect_err("nothing is written").to_string();
        assert!(refused.contains("no space is left"), "{refused}");
        clock.advance(Millis(2_000));
    }
    assert!(store.read().promise(&"p0".into()).await.is_ok(), "what is there can be read");
    disk.free();
    clock.advance(Millis(2_000));
    store.check_writes().await.expect("it found out by itself");
    store.execute(vec![create("after", &[])]).await.expect("and goes on");
    store.close().await;
}
