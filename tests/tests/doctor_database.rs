//! `segno doctor --database` says of a server what hosts can use, and leaves nothing behind.

use std::{collections::BTreeMap, process::Command};

use serde_json::Value;
use throwaway_postgres::{Cluster, Pooler, StrictServer, Strictness};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Examines the server at `url`. Returns the exit code, and the result and detail of each check.
pub(crate) fn examined(url: &str) -> (i32, BTreeMap<String, (String, String)>) {
    let mut command = Command::new(SEGNO);
    command.args(["doctor", "--json", "--steps", "60", "--database", url]);
    let output = command.output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let document: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    let text = |finding: &Value, field: &str| finding[field].as_str().expect(field).to_owned();
    let findings = document["findings"].as_array().expect("a list").iter().map(|finding| {
        (text(finding, "check"), (text(finding, "result"), text(finding, "detail")))
    });
    let findings = findings.collect();
    let code = output.status.code().expect("it ended by itself");
    assert_eq!(document["usable"], code == 0, "{findings:?}");
    (code, findings)
}

/// The schemas of a database that the doctor made.
fn left(cluster: &Cluster, name: &str) -> String {
    cluster.sql(name, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'segno%'")
}

#[test]
fn a_server_a_pooler_and_a_server_that_knows_less_are_told_apart() {
    let Some(cluster) = Cluster::shared() else { return };
    let few = ["default_pool_size = 4"];
    let Some(pooler) = Pooler::start(cluster, cluster.socket(), &few) else { return };
    let strict = StrictServer::before(cluster, Strictness { keeps_sessions: false, conflicts: 20 });
    let name = cluster.database().name();
    for (url, sessions, listen, identity) in [
        (cluster.url(&name), "works", "works", "works"),
        (pooler.url(&name), "not needed", "not needed", "works"),
        (strict.url(cluster, &name), "not needed", "not needed", "works"),
    ] {
        let (code, findings) = examined(&url);
        assert_eq!(code, 0, "{findings:#?}");
        let result = |check: &str| findings[check].0.as_str();
        assert_eq!(result("sessions"), sessions, "{findings:#?}");
        assert_eq!(result("LISTEN"), listen, "{findings:#?}");
        assert_eq!(result("identity"), identity, "{findings:#?}");
        assert!(findings["version"].1.starts_with("PostgreSQL"), "{findings:#?}");
        for scripts in ["scripts", "scripts, serializable"] {
            assert_eq!(result(scripts), "works", "{findings:#?}");
            assert!(findings[scripts].1.starts_with("60 commands"), "{findings:#?}");
        }
        assert_eq!(left(cluster, &name), "0");
    }
}

#[test]
fn a_server_that_cannot_be_used_is_said_to_be_so() {
    let Some(cluster) = Cluster::shared() else { return };
    let name = cluster.database().name();
    // No transaction writes.
    let strict = StrictServer::before(cluster, Strictness { keeps_sessions: true, conflicts: 0 });
    strict.refuse_writes(std::time::Duration::from_secs(3_600));
    let (code, findings) = examined(&strict.url(cluster, &name));
    assert_eq!((code, findings["scripts"].0.as_str()), (9, "fails"), "{findings:#?}");
    assert!(findings["scripts"].1.contains("read-only"), "{findings:#?}");
    assert_eq!(left(cluster, &name), "0");

    let mut command = Command::new(SEGNO);
    command.args(["doctor", "--database", "postgres://segno:hush@127.0.0.1:9/segno"]);
    let output = command.output().expect("the command runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("no database answers"), "{said}");
    assert!(!said.contains("hush"), "{said}");
}
