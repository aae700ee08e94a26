//! The suite (`@durable-streams/server-conformance-tests`) and the client
//! (`@durable-streams/client`) of the Durable Streams protocol, unmodified.
//!
//! They run with `SEGNO_CLIENTS=1`, which installs them from npm.

use std::process::Command;

use serde_json::json;
use tests::packages::{Packages, node};

use super::host;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/streams");
const PACKAGES: Packages = Packages { suite: "streams-suite", scripts: SCRIPTS };

/// The folder with the packages, and the scripts beside them.
fn installed() -> Option<std::path::PathBuf> {
    let folder = PACKAGES.npm("packages", "", |folder| {
        let mut command = Command::new(node(folder));
        command.arg("--version");
        command
    })?;
    PACKAGES.beside(&folder, &["conformance.test.mjs", "vitest.config.mjs", "client.mjs"]);
    Some(folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_suite_of_the_protocol_passes() {
    let Some(folder) = installed() else { return };
    // The suite asks as a page of another site does.
    let host = host(&["--cors", "*"]).await;
    let mut vitest = Command::new(node(&folder));
    vitest.arg("node_modules/vitest/vitest.mjs").args(["run", "--no-color"]).current_dir(&folder);
    vitest.env("STREAMS_URL", host.client().server()).env("CI", "1");
    let ran = tokio::task::spawn_blocking(move || vitest.output()).await.expect("it is waited for");
    let ran = ran.expect("node runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    let passed = said.lines().find(|line| line.trim_start().starts_with("Tests "));
    let passed = passed.and_then(|line| line.split_whitespace().nth(1)?.parse::<u32>().ok());
    assert!(passed.is_some_and(|passed| passed >= 332), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_of_the_protocol_follows_an_execution_and_writes() {
    let Some(folder) = installed() else { return };
    let host = host(&[]).await;
    let input = json!({ "items": 300, "pause_every": 30, "pause_ms": 20 });
    host.start_as("told", "teller/tell", input).await.expect("it starts");
    let mut client = Command::new(node(&folder));
    client.args(["client.mjs", &host.client().server(), "told", "300"]).current_dir(&folder);
    let ran = tokio::task::spawn_blocking(move || client.output()).await.expect("it is waited for");
    let ran = ran.expect("node runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(said.trim(), "300 500", "{}", String::from_utf8_lossy(&ran.stderr));
}
