//! Data directories and ports that a host cannot use. The host names the problem and a remedy, and
//! does not start.

use std::{net::TcpListener, path::PathBuf, process::Command};

use segno_api::model::StartInvocation;
use segno_client::ClientError;
use segno_demo::server::{DemoServer, ServerOptions};
use segno_env::Env;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};
use tests::{
    guests,
    test_host::{TestHost, options, refusal_to_start},
};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

async fn refusal(options: ServerOptions) -> String {
    refusal_to_start(options).await.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_that_cannot_be_made_is_named() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, "in the way").expect("it can be written");
    let data = file.join("data");
    let refusal =
        refusal(ServerOptions { data: data.clone(), ..options(SEGNO, folder.path()) }).await;
    assert!(refusal.contains(&data.display().to_string()), "{refusal}");
    assert!(refusal.contains("choose another"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_that_cannot_be_written_is_named() {
    let folder = folder();
    // Not even root can write here.
    let data = PathBuf::from("/proc/self");
    let refusal = refusal(ServerOptions { data, ..options(SEGNO, folder.path()) }).await;
    assert!(refusal.contains("/proc/self"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_host_on_a_data_directory_is_told_the_pid_of_the_first() {
    let host = TestHost::start(SEGNO).await;
    let second = options(SEGNO, folder().path());
    let second = ServerOptions {
        data: host.server.options().data.clone(),
        log: host.folder().join("second.log"),
        ..second
    };
    let refusal = refusal(second).await;
    assert!(
        refusal.contains("in use") && refusal.contains(&host.server.pid().to_string()),
        "{refusal}"
    );
    host.client().ready().await.expect("the first is unharmed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_is_named() {
    let folder = folder();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let listen = taken.local_addr().expect("it is bound");
    let refusal = refusal(ServerOptions { listen, ..options(SEGNO, folder.path()) }).await;
    assert!(refusal.contains(&listen.to_string()), "{refusal}");
    assert!(refusal.contains("in use") || refusal.contains("taken"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_format_is_left_alone() {
    let folder = folder();
    let options = options(SEGNO, folder.path());
    let server = DemoServer::start(options.clone(), Env::system()).await;
    server.unwrap_or_else(|error| panic!("{error}")).stop().await.expect("it ends when asked");

    let database = options.data.join("segno.db");
    let mut connection =
        SqliteConnection::connect(&database.to_string_lossy()).await.expect("it opens");
    let newer = "
        INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
        SELECT 9999, 'from the future', success, checksum, execution_time FROM _sqlx_migrations LIMIT 1";
    let inserted = sqlx::query(newer).execute(&mut connection).await.expect("it can be written");
    assert_eq!(inserted.rows_affected(), 1);
    connection.close().await.expect("it closes");

    let refusal = refusal(options).await;
    assert!(refusal.contains("9999") && refusal.contains("newer"), "{refusal}");
}

/// A limit on the file size simulates a full disk: writes beyond it fail, and the process
/// continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_work_and_loses_none() {
    let mut host = TestHost::start(SEGNO).await;
    host.deploy("hello", guests::component("hello")).await;
    let acknowledged = fill_up(&mut host).await;
    assert!(!acknowledged.is_empty(), "the limit lets nothing in: it is too small for this test");

    // With room again, every acknowledged execution exists and ends.
    host.server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    for id in acknowledged {
        let ended = host.ended(&id).await;
        assert!(ended.output.is_some(), "{ended:#?}");
    }
}

/// Starts executions on a host with a limited file size until it refuses one. Returns the ids of
/// the accepted ones.
async fn fill_up(host: &mut TestHost) -> Vec<String> {
    let limited = limited_binary(host);
    host.server.kill().expect("it was alive");
    let options = ServerOptions { binary: limited, ..host.server.options().clone() };
    let server = DemoServer::start(options, host.env.clone()).await;
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    let name = "a".repeat(64 << 10);
    let mut acknowledged = Vec::new();
    for number in 0..10_000 {
        let start = StartInvocation {
            id: Some(format!("greeting-{number}")),
            target: "hello/hello".into(),
            input: json!(name),
            ..StartInvocation::default()
        };
        match server.client().start(&start).await {
            Ok(started) => acknowledged.push(started.id),
            Err(ClientError::Refused(problem)) => {
                assert_eq!(problem.status, 503, "{problem:#?}");
                return acknowledged;
            }
            // A host that can no longer write may also end. It must have logged the reason.
            Err(ClientError::Unreachable { .. } | ClientError::Slow { .. }) => {
                let log = std::fs::read_to_string(&server.options().log).expect("there is a log");
                let says = ["space", "full", "disk", "I/O"].iter().any(|word| log.contains(word));
                assert!(says, "the host ended without a reason:\n{log}");
                return acknowledged;
            }
            Err(other) => panic!("{other}"),
        }
    }
    panic!("the disk never got full");
}

/// The command with a limit of 24 MiB per file. The signal that would end it there is ignored.
fn limited_binary(host: &TestHost) -> PathBuf {
    let path = host.folder().join("limited.sh");
    // `ulimit -f` counts blocks of 512 bytes in POSIX shells.
    let script = format!("#!/bin/sh\ntrap '' XFSZ\nulimit -f 49152\nexec '{SEGNO}' \"$@\"\n");
    std::fs::write(&path, script).expect("it can be written");
    let made = Command::new("chmod").arg("+x").arg(&path).status().expect("chmod runs");
    assert!(made.success());
    path
}
