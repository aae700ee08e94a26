//! Hosts that cannot write: on a full disk, and on a PostgreSQL that accepts no writes. They report
//! the problem, refuse new work, lose nothing, and recover without help.

use std::time::Duration;

use segno_api::model::{InvocationState, StartInvocation};
use segno_client::{Client, ClientError};
use segno_core::time::Millis;
use segno_demo::server::{DemoServer, ServerOptions};
use segno_env::Env;
use serde_json::{Value, json};
use tests::{chaos::preload::Preload, test_host};
use throwaway_postgres::Cluster;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Guest of the benchmarks, prebuilt, because building one takes longer than this suite.
const BENCH: &[u8] = include_bytes!("../../host/bench/guest/bench.wasm");
/// Time limit of every operation.
const TIMEOUT: Duration = Duration::from_secs(60);

fn start(id: &str) -> StartInvocation {
    StartInvocation {
        id: Some(id.to_owned()),
        target: "bench/turns".to_owned(),
        input: json!({ "steps": 2, "turns": 1 }),
        ..StartInvocation::default()
    }
}

/// Status and text of `/ready`. `None` if no host answers.
async fn ready(client: &Client) -> Option<(u16, String)> {
    let answer = reqwest::get(format!("{}/ready", client.server())).await.ok()?;
    Some((answer.status().as_u16(), answer.text().await.ok()?))
}

async fn until_ready(client: &Client, status: u16) -> String {
    for _ in 0..600 {
        if let Some((found, said)) = ready(client).await
            && found == status
        {
            return said;
        }
        pause(50).await;
    }
    panic!("`/ready` never says {status}: {:?}", ready(client).await);
}

async fn pause(ms: i64) {
    Env::system().runtime.sleep(Millis(ms)).await;
}

/// Starts a host that cannot write. Once the host has reported that, by `/ready` or by its end,
/// `mend` makes writes possible.
async fn starts_when_mended(server: &mut DemoServer, words: &str, mend: impl FnOnce()) {
    let client = server.client().clone();
    let looking = async {
        // The maximum duration of a start without an answer. By then the host has ended.
        for _ in 0..100 {
            if let Some((status, said)) = ready(&client).await {
                assert!(status == 503 && said.contains(words), "{status}: {said}");
                break;
            }
            pause(50).await;
        }
        mend();
    };
    let (started, ()) = tokio::join!(server.restart(), looking);
    if let Err(error) = started {
        assert!(error.to_string().contains(words), "{error}");
        server.kill().expect_err("it has ended");
        server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    }
    until_ready(&client, 200).await;
}

/// Starts executions until one is refused. Returns the ids of the accepted ones, and the refusal.
async fn fill(client: &Client) -> (Vec<String>, ClientError) {
    let mut taken = Vec::new();
    for number in 0..10_000 {
        let id = format!("filling-{number}");
        match client.start(&start(&id)).await {
            Ok(_) => taken.push(id),
            Err(refused) => return (taken, refused),
        }
    }
    panic!("starts are taken without end");
}

/// Checks that all accepted executions exist and end.
async fn ends(client: &Client, taken: &[String]) {
    for id in taken {
        let promise = format!("{id}/p/turn-0");
        for _ in 0..600 {
            if client.resolve(&promise, Value::Null).await.is_ok() {
                break;
            }
            pause(50).await;
        }
        let ended = client.wait(id, TIMEOUT).await.unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(ended.state, InvocationState::Resolved, "{id}");
    }
}

async fn health_is_well(client: &Client) {
    client.health().await.expect("a restart would not help, so health is well");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_on_a_full_disk_says_so_and_goes_on_when_there_is_room() {
    let place = tempfile::tempdir().expect("there is room for a folder");
    let preload = Preload::build(place.path()).expect("there is a C compiler");
    let mut options = test_host::options(SEGNO, place.path());
    options.environment = preload.environment(&options.data);
    let mut server = DemoServer::start(options, Env::system()).await.expect("it starts");
    let client = server.client().clone();
    client.deploy(BENCH.to_vec(), Some("bench")).await.expect("it is a module");
    client.start(&start("before")).await.expect("there is room");

    preload.fill_disk(true).expect("the file can be written");
    let (mut taken, refused) = fill(&client).await;
    assert!(refused.to_string().contains("no space"), "{refused}");
    let said = until_ready(&client, 503).await;
    assert!(said.contains("no space"), "{said}");
    health_is_well(&client).await;
    client.invocation("before").await.expect("what is there can be read");

    preload.fill_disk(false).expect("the file can be written");
    until_ready(&client, 200).await;
    client.start(&start("after")).await.expect("there is room again");

    // The same from the start on: the host starts and reports the problem, or ends with a message,
    // and the next start continues.
    server.drain().await.expect("it stops");
    preload.fill_disk(true).expect("the file can be written");
    let mend = || preload.fill_disk(false).expect("the file can be written");
    starts_when_mended(&mut server, "no space", mend).await;
    taken.extend(["before".to_owned(), "after".to_owned()]);
    ends(&client, &taken).await;
    server.stop().await.expect("it stops");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_over_a_postgresql_that_takes_no_writes_says_so_and_goes_on_when_it_does() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let database = cluster.database();
    let place = tempfile::tempdir().expect("there is room for a folder");
    let mut options: ServerOptions = test_host::options(SEGNO, place.path());
    options.arguments = ["--store".to_owned(), database.url()].into();
    let mut server = DemoServer::start(options, Env::system()).await.expect("it starts");
    let client = server.client().clone();
    client.deploy(BENCH.to_vec(), Some("bench")).await.expect("it is a module");
    client.start(&start("before")).await.expect("it is taken");

    let writes = |allowed: bool| {
        let name = database.name();
        let value = if allowed { "off" } else { "on" };
        let set = format!("ALTER DATABASE {name} SET default_transaction_read_only = {value}");
        cluster.sql("postgres", &set);
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE application_name LIKE 'segno %'";
        cluster.sql("postgres", end);
    };
    writes(false);
    let (mut taken, refused) = fill(&client).await;
    assert!(refused.to_string().contains("read-only"), "{refused}");
    let said = until_ready(&client, 503).await;
    assert!(said.contains("read-only"), "{said}");
    health_is_well(&client).await;
    writes(true);
    until_ready(&client, 200).await;
    client.start(&start("after")).await.expect("it is taken");

    // A database that is down, and one that is down when the host starts.
    cluster.stop();
    until_ready(&client, 503).await;
    health_is_well(&client).await;
    cluster.up().expect("PostgreSQL starts");
    until_ready(&client, 200).await;
    server.drain().await.expect("it stops");
    writes(false);
    starts_when_mended(&mut server, "read-only", || writes(true)).await;
    taken.extend(["before".to_owned(), "after".to_owned()]);
    ends(&client, &taken).await;
    server.stop().await.expect("it stops");
}
