//! The conformance suite of the protocol (`@modelcontextprotocol/conformance`) against
//! `segno mcp --http`.
//!
//! Most of its scenarios call tools, resources and prompts with fixed names, which only a server
//! made for the suite has. `expected-failures.yml` lists them with the reason. The suite fails if
//! another scenario fails, and also if one of these passes.
//!
//! It runs with `SEGNO_CLIENTS=1`, which installs it from npm.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use tests::packages::{Packages, node};

use super::{host, http::HttpServer};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/mcp");
const PACKAGES: Packages = Packages { suite: "mcp-suite", scripts: SCRIPTS };
const EXPECTED: &str = "expected-failures.yml";
const PROGRAM: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
/// Scenarios that every server can pass.
const PASSES: [&str; 7] = [
    "server-initialize",
    "ping",
    "tools-list",
    "server-sse-multiple-streams",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
];

fn conformance(folder: &Path) -> Command {
    let mut command = Command::new(node(folder));
    command.arg(folder.join(PROGRAM)).current_dir(folder);
    command
}

/// The scenarios that are expected to fail.
fn expected() -> BTreeSet<String> {
    let text = fs::read_to_string(Path::new(SCRIPTS).join(EXPECTED)).expect("there is a list");
    let entries = text.lines().filter_map(|line| line.trim().strip_prefix("- "));
    entries.map(|entry| entry.split('#').next().unwrap_or_default().trim().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scenarios_that_apply_to_every_server_pass() {
    let folder = PACKAGES.npm("conformance", "", |folder| {
        let mut command = conformance(folder);
        command.arg("list");
        command
    });
    let Some(folder) = folder else { return };
    let listed = conformance(&folder).args(["list", "--server"]).output().expect("node runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let scenarios = listed.lines().filter_map(|line| line.trim().strip_prefix("- "));
    let scenarios: BTreeSet<String> =
        scenarios.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect();
    // Nothing is left out, and nothing is excused that should pass.
    let passing: BTreeSet<String> = scenarios.difference(&expected()).cloned().collect();
    assert_eq!(passing, PASSES.map(str::to_owned).into(), "{listed}");

    let host = host().await;
    let server = HttpServer::start(&["--server", &host.client().server()]).await;
    let mut command = conformance(&folder);
    command.args(["server", "--suite", "all", "--url", &server.url]);
    command.arg("--expected-failures").arg(Path::new(SCRIPTS).join(EXPECTED));
    let ran =
        tokio::task::spawn_blocking(move || command.output()).await.expect("it is waited for");
    let ran = ran.expect("node runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
}
