//! Streams on real hosts: the protocol's own suite and client, writers that are killed, and the
//! command line.

mod client;
mod command;
mod forked;
mod killed;
mod objects;
mod rate;
mod read;

use serde_json::Value;
use tests::{guests, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// A host with the module `teller`.
async fn host(arguments: &[&str]) -> TestHost {
    let host = TestHost::with(SEGNO, Default::default(), arguments).await;
    host.deploy("teller", guests::component("teller")).await;
    host
}

/// The messages of an answer.
fn messages(body: &[u8]) -> Vec<Value> {
    match body {
        [] => Vec::new(),
        body => serde_json::from_slice(body).expect("a list"),
    }
}
