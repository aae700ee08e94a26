//! Checks the OpenAPI document: a fuzzer (PyPI `schemathesis`) generates valid and invalid requests
//! from it, and compares every answer of a real host with the document.
//!
//! The suite runs with `SEGNO_CLIENTS=1`, which installs the fuzzer, and
//! `SEGNO_SCHEMATHESIS=SECONDS`, which sets the duration: 300 in the long suite.

use std::{env, process::Command};

use tests::{guests, resonate::schemathesis, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi/schemathesis.toml");

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_one_that_the_document_names() {
    let Ok(seconds) = env::var("SEGNO_SCHEMATHESIS") else {
        eprintln!("skipped: the fuzzer of the API runs with SEGNO_SCHEMATHESIS=SECONDS");
        return;
    };
    let Some(program) = schemathesis() else { return };
    let host = TestHost::start(SEGNO).await;
    // Creates objects under the ids that the document uses as examples.
    host.deploy("shop", guests::component("fan-out")).await;
    host.deploy("reports", guests::component("hello")).await;
    let started = host.start_as("order-1001", "reports/hello", "Ada".into()).await;
    started.expect("it starts");
    host.ended("order-1001").await;
    let document = format!("{}/openapi.json", host.client().server());
    let mut run = Command::new(program);
    run.args(["--config-file", CONFIG, "run", &document, "--max-time", &seconds])
        .args(["--generation-database", "none", "--no-color"])
        .current_dir(host.folder());
    let ran = tokio::task::spawn_blocking(move || run.output()).await.expect("it is waited for");
    let ran = ran.expect("it runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
}
