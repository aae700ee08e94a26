//! Services on released Restate SDKs, unmodified, with a real host as the runtime. The answers must
//! equal those of the server that the SDKs are made for, and must stay the same when the services
//! and the host are killed. `tests::restate::SDKS` lists the SDKs.
//!
//! The suite runs with `SEGNO_CLIENTS=1`. `SEGNO_CLIENTS=required` fails if the SDKs cannot be
//! installed. `SEGNO_SCENES="errors retries"` plays some scenes only.
//!
//! - `agents`: agents on the SDKs of others;
//! - `host`: the host with its services;
//! - `original`: the source of the expected answers.

mod agents;
mod host;
mod original;

use segno_env::Env;
use serde_json::{Value, json};
use tests::restate::{
    Endpoints, Played, Stage, Tool, faults, identity, play_admin_scenes, play_command_scenes,
    play_long_scenes, play_patience, play_registrations, play_scenes, play_scenes_suspending,
    play_suites, sdk,
};
use throwaway_postgres::Cluster;

use self::host::Fixture;

/// Runs each of these tests with every SDK.
macro_rules! with_each_sdk {
    ($($module:ident: $sdk:literal),* $(,)?) => {
        $(mod $module {
            #[tokio::test(flavor = "multi_thread")]
            async fn its_services_are_answered_as_by_the_original_server() {
                super::played_as_recorded($sdk, &[]).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn every_wait_may_be_a_suspension() {
                super::played_suspending($sdk).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn long_work_ends_the_same_when_services_and_host_are_killed() {
                super::played_disturbed($sdk, &[]).await;
            }
        })*
    };
}

with_each_sdk!(
    npm_1_17_2: "npm-1.17.2",
    npm_1_14_5: "npm-1.14.5",
    npm_1_7_3: "npm-1.7.3",
    python_1_3_0: "python-1.3.0",
    rust_0_13_0: "rust-0.13.0",
);

/// V1 to V3, which no current server supports. The answers to later SDKs are expected.
mod earlier_versions {
    #[tokio::test(flavor = "multi_thread")]
    async fn v1() {
        super::played_as_recorded("npm-1.3.0", &[]).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn v2() {
        super::played_as_recorded("npm-1.4.0", &[]).await;
        super::played_as_recorded("python-0.5.1", &[]).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn v3() {
        super::played_as_recorded("python-0.5.1+v3", &[]).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn v1_when_services_and_host_are_killed() {
        super::played_disturbed("npm-1.3.0", &[]).await;
    }
}

/// Checks that no scene has a fault.
#[track_caller]
fn assert_played(fixture: &Fixture, played: Vec<Played>) {
    let faults = faults(fixture.service.sdk(), played);
    assert!(faults.is_empty(), "{} scenes:\n{}", faults.len(), faults.join("\n\n"));
}

async fn played_as_recorded(name: &str, arguments: &[&str]) {
    let Some(fixture) = Fixture::new(sdk(name), arguments).await else { return };
    let mut played = play_scenes(&fixture.runtime, &fixture.service).await;
    played.extend(play_admin_scenes(&fixture.runtime, &fixture.service).await);
    let url = fixture.service.url();
    played.extend(play_long_scenes(&fixture.runtime, sdk(name), url).await);
    assert_played(&fixture, played);
}

async fn played_suspending(name: &str) {
    let Some(fixture) = Fixture::new(sdk(name), &[]).await else { return };
    let played = play_scenes_suspending(&fixture.runtime, &fixture.service).await;
    assert_played(&fixture, played);
}

async fn played_disturbed(name: &str, arguments: &[&str]) {
    let Some(mut fixture) = Fixture::new(sdk(name), arguments).await else { return };
    let (runtime, url) = (fixture.runtime.clone(), fixture.service.url().to_owned());
    let played = fixture.disturbing(play_long_scenes(&runtime, sdk(name), &url)).await;
    assert_played(&fixture, played);
    // A body may run again if its result was not stored, but it must run at least once.
    let ledger = fixture.service.ledger();
    for step in 0..20 {
        let line = format!("long-steps-1 {step}");
        assert!(ledger.contains(&line), "{line}");
    }
}

/// Checks that tenants are isolated. The original server refuses scopes of objects, so there is no
/// transcript.
#[tokio::test(flavor = "multi_thread")]
async fn two_scopes_share_no_object() {
    let Some(fixture) = Fixture::new(sdk("npm-1.17.2"), &[]).await else { return };
    let stage = Stage::new(&fixture.runtime, fixture.service.url());
    let add = async |scope: Option<&str>, amount: u64| {
        let mut call = json!({ "service": "Cell", "key": "x", "handler": "add", "value": amount });
        if let Some(scope) = scope {
            call["scope"] = scope.into();
        }
        stage.call("/Plain/call", call).await.json()
    };
    for scope in ["tenant-a", "tenant-a", "tenant-a", "tenant-b"] {
        add(Some(scope), 1).await;
    }
    let read = [add(Some("tenant-a"), 0).await, add(Some("tenant-b"), 0).await, add(None, 0).await];
    assert_eq!(read, [3, 1, 0].map(Value::from), "{}", stage.transcript());
    let outside = stage.call("/restate/scope/tenant-a/call/Cell/x/add", json!(4)).await;
    assert_eq!(outside.json(), json!(7), "{}", stage.transcript());
}

#[tokio::test(flavor = "multi_thread")]
async fn deployments_are_registered_as_by_the_original_server() {
    let Some(fixture) = Fixture::new(sdk("npm-1.17.2"), &[]).await else { return };
    let Some(others) = Endpoints::start(fixture.folder()) else { return };
    let played = play_registrations(&fixture.runtime, &fixture.service, &others).await;
    assert_played(&fixture, played);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_released_command_is_answered_as_by_the_original_server() {
    let Some(fixture) = Fixture::new(sdk("npm-1.17.2"), &[]).await else { return };
    let Some(tool) = Tool::installed() else { return };
    let played = play_command_scenes(&fixture.runtime, &fixture.service, &tool).await;
    assert_played(&fixture, played);
}

#[tokio::test(flavor = "multi_thread")]
async fn services_that_take_their_time_are_answered_as_by_the_original_server() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let Some(services) = Endpoints::patience(folder.path()) else { return };
    let Some(tool) = Tool::installed() else { return };
    let (_host, runtime) = host::start(folder.path(), &[], &Env::system()).await;
    let played = play_patience(&runtime, &services, &tool).await;
    let faults = faults(sdk("npm-1.17.2"), played);
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// Plays the scenes for the original's suites, on a host that signs its requests.
async fn suites_played(suspending: bool) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let Some(services) = Endpoints::suites(folder.path(), suspending) else { return };
    let identity = identity(folder.path());
    let signing = ["--restate-identity-key", identity.to_str().expect("the path is UTF-8")];
    let (_host, runtime) = host::start(folder.path(), &signing, &Env::system()).await;
    let faults = faults(sdk("npm-1.17.2"), play_suites(&runtime, &services).await);
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn cases_of_the_originals_suites_are_answered_as_by_the_original_server() {
    suites_played(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cases_of_the_originals_suites_end_the_same_when_every_wait_is_a_suspension() {
    suites_played(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_all_the_same_on_postgresql() {
    let Some(cluster) = Cluster::shared() else { return };
    let database = cluster.database();
    played_as_recorded("npm-1.17.2", &["--store", &database.url()]).await;
    let database = cluster.database();
    played_disturbed("npm-1.17.2", &["--store", &database.url()]).await;
}
