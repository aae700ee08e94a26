//! The golden transcripts, from the server that the SDKs are made for.
//!
//! ```console
//! $ SEGNO_CLIENTS=1 cargo test -p tests --test suites restate::original:: -- --ignored
//! $ SEGNO_CLIENTS=1 SEGNO_RECORD=1 cargo test -p tests --test suites restate::original:: -- --ignored
//! ```
//!
//! The first line compares, the second records.

use tests::restate::{
    Endpoints, Original, Played, SDKS, Sdk, Service, Tool, faults_of_original, identity,
    play_admin_scenes, play_command_scenes, play_long_scenes, play_patience, play_registrations,
    play_scenes, play_scenes_suspending, play_suites, record, register,
};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the original server is not a part of the suite"]
async fn the_original_server_answers_as_recorded() {
    let mut wrong = Vec::new();
    for sdk in SDKS.iter().filter(|sdk| sdk.like.is_none()) {
        let Some(played) = played(sdk).await else { return };
        wrong.extend(recorded(sdk, played));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the original server is not a part of the suite"]
async fn the_original_server_answers_the_command_as_recorded() {
    let (sdk, folder) = (&SDKS[0], tempfile::tempdir().expect("there is room for a folder"));
    let Some(server) = Original::start(folder.path()).await else { return };
    let Some(service) = Service::start(sdk, folder.path()) else { return };
    let Some(tool) = Tool::installed() else { return };
    register(&server.runtime, service.url()).await;
    let wrong = recorded(sdk, play_command_scenes(&server.runtime, &service, &tool).await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the original server is not a part of the suite"]
async fn the_original_server_answers_services_that_take_their_time_as_recorded() {
    let (sdk, folder) = (&SDKS[0], tempfile::tempdir().expect("there is room for a folder"));
    let Some(server) = Original::start(folder.path()).await else { return };
    let Some(services) = Endpoints::patience(folder.path()) else { return };
    let Some(tool) = Tool::installed() else { return };
    let wrong = recorded(sdk, play_patience(&server.runtime, &services, &tool).await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the original server is not a part of the suite"]
async fn the_original_server_answers_cases_of_its_suites_as_recorded() {
    let Some(played) = suites_played(false).await else { return };
    let mut wrong = recorded(&SDKS[0], played);
    let Some(played) = suites_played(true).await else { return };
    wrong.extend(faults_of_original(&SDKS[0], played));
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

async fn suites_played(suspending: bool) -> Option<Vec<Played>> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let services = Endpoints::suites(folder.path(), suspending)?;
    let server = Original::signing(folder.path(), &identity(folder.path())).await?;
    Some(play_suites(&server.runtime, &services).await)
}

/// Faults of these scenes. With `SEGNO_RECORD`, first records the complete transcripts.
fn recorded(sdk: &'static Sdk, played: Vec<Played>) -> Vec<String> {
    let records = std::env::var_os("SEGNO_RECORD").is_some();
    for Played { scene, transcript } in played.iter().filter(|_| records) {
        if let Ok(transcript) = transcript {
            record(scene, sdk, transcript);
        }
    }
    faults_of_original(sdk, played)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "the original server is not a part of the suite"]
async fn the_original_server_answers_the_same_when_it_suspends_at_once() {
    for sdk in SDKS.iter().filter(|sdk| sdk.like.is_none()) {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let Some(server) = Original::start(folder.path()).await else { return };
        let Some(service) = Service::start(sdk, folder.path()) else { return };
        register(&server.runtime, service.url()).await;
        let played = play_scenes_suspending(&server.runtime, &service).await;
        let wrong = faults_of_original(sdk, played);
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    }
}

async fn played(sdk: &'static Sdk) -> Option<Vec<Played>> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let server = Original::start(folder.path()).await?;
    let service = Service::start(sdk, folder.path())?;
    register(&server.runtime, service.url()).await;
    let mut played = play_scenes(&server.runtime, &service).await;
    played.extend(play_admin_scenes(&server.runtime, &service).await);
    played.extend(play_long_scenes(&server.runtime, sdk, service.url()).await);
    if sdk.name == SDKS[0].name {
        let others = Endpoints::start(folder.path())?;
        played.extend(play_registrations(&server.runtime, &service, &others).await);
    }
    Some(played)
}
