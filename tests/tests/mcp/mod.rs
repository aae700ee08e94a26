//! `segno mcp` as coding assistants use it: the real command on both transports, with a real host,
//! the conformance suite of the protocol, and the skill that the repository offers.

mod conformance;
mod http;
mod session;
mod skill;
mod stdio;

use serde_json::json;
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// A host with two modules, and an execution that waits for an approval.
async fn host() -> TestHost {
    let host = TestHost::start(SEGNO).await;
    host.deploy("approval", guests::component("approval")).await;
    host.deploy("hello", guests::component("hello")).await;
    let document = json!({"title": "Report", "approver": "Ada"});
    host.start_as("report-1", "approval/approval", document).await.expect("it starts");
    host.until("report-1", "waiting", |it| !it.waits.is_empty()).await;
    host
}
