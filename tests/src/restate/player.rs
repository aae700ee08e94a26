//! Plays scenes, one after the other or concurrently.

use std::{env, panic::AssertUnwindSafe};

use futures::{FutureExt, future::join_all};
use reqwest::Method;
use serde_json::json;

use super::{
    Runtime, Sdk, Service, Stage, Tool,
    scenes::{ADMIN, COMMAND, CONNECTED, PATIENCE, REGISTRATIONS, SCENES, SUITES, Scene, long},
    sdk,
    service::Endpoints,
};

/// Result of a scene.
#[derive(Debug)]
pub struct Played {
    /// Name of the scene.
    pub scene: &'static str,
    /// Complete transcript, or the reason why the scene ended early.
    pub transcript: Result<String, String>,
}

/// Registers the services at `url`.
///
/// # Panics
/// If the runtime refuses them.
pub async fn register(runtime: &Runtime, url: &str) {
    let stage = Stage::new(runtime, url);
    let answer = stage.manage(Method::POST, "/deployments", json!({ "uri": url })).await;
    assert_eq!(answer.status, 201, "{}", stage.transcript());
}

/// Plays the scenes that suit the SDK of `service`.
pub async fn play_scenes(runtime: &Runtime, service: &Service) -> Vec<Played> {
    let mut played = play_all(SCENES, runtime, service).await;
    played.extend(play_all(CONNECTED, runtime, service).await);
    played
}

/// Plays the same scenes with every invocation suspended as soon as it waits, so that it is
/// replayed on each wake-up.
///
/// # Panics
/// If the runtime refuses the setting.
pub async fn play_scenes_suspending(runtime: &Runtime, service: &Service) -> Vec<Played> {
    let stage = Stage::new(runtime, service.url());
    for name in ["Plain", "Cell", "LazyCell", "Approval"] {
        let at_once = json!({ "inactivity_timeout": "0s" });
        let answer = stage.manage(Method::PATCH, &format!("/services/{name}"), at_once).await;
        assert_eq!(answer.status, 200, "{}", stage.transcript());
    }
    play_all(SCENES, runtime, service).await
}

/// Plays the scenes about registered services.
pub async fn play_admin_scenes(runtime: &Runtime, service: &Service) -> Vec<Played> {
    play_all(ADMIN, runtime, service).await
}

/// Plays the scenes that register other endpoints.
pub async fn play_registrations(
    runtime: &Runtime,
    service: &Service,
    others: &Endpoints,
) -> Vec<Played> {
    let mut played = Vec::new();
    for scene in suitable(REGISTRATIONS, service.sdk()) {
        let stage = Stage::new(runtime, service.url()).with_others(others.url());
        played.push(play(scene, stage).await);
    }
    played
}

/// Plays the scenes of the services of `patience.mjs`, which are not registered at first.
pub async fn play_patience(runtime: &Runtime, services: &Endpoints, tool: &Tool) -> Vec<Played> {
    let mut played = Vec::new();
    for scene in suitable(PATIENCE, sdk("npm-1.17.2")) {
        let stage = Stage::new(runtime, services.url()).with_others(services.url());
        played.push(play(scene, stage.with_tool(tool.clone())).await);
    }
    played
}

/// Plays the scenes of the services of `suites.mjs`.
///
/// # Panics
/// If the runtime refuses the services.
pub async fn play_suites(runtime: &Runtime, services: &Endpoints) -> Vec<Played> {
    register(runtime, services.url()).await;
    let mut played = Vec::new();
    for scene in suitable(SUITES, sdk("npm-1.17.2")) {
        played.push(play(scene, Stage::new(runtime, services.url())).await);
    }
    played
}

/// Plays the scenes of the released command.
pub async fn play_command_scenes(runtime: &Runtime, service: &Service, tool: &Tool) -> Vec<Played> {
    let mut played = Vec::new();
    for scene in suitable(COMMAND, service.sdk()) {
        let stage = Stage::new(runtime, service.url()).with_tool(tool.clone());
        played.push(play(scene, stage).await);
    }
    played
}

/// Plays the long scenes concurrently, with the services at `url`. The processes may be killed
/// meanwhile.
pub async fn play_long_scenes(runtime: &Runtime, sdk: &Sdk, url: &str) -> Vec<Played> {
    let scenes = suitable(long::SCENES, sdk);
    join_all(scenes.map(|scene| play(scene, Stage::new(runtime, url).patient()))).await
}

async fn play_all(scenes: &[Scene], runtime: &Runtime, service: &Service) -> Vec<Played> {
    let mut played = Vec::new();
    for scene in suitable(scenes, service.sdk()) {
        played.push(play(scene, Stage::new(runtime, service.url())).await);
    }
    played
}

async fn play(scene: &Scene, stage: Stage) -> Played {
    let end = AssertUnwindSafe(scene.play(&stage)).catch_unwind().await;
    let transcript = stage.transcript();
    let transcript = end.map(|()| transcript.clone()).map_err(|why| {
        let why = why.downcast_ref::<String>().map(String::as_str);
        format!("{transcript}\n{}", why.unwrap_or("it panicked"))
    });
    Played { scene: scene.name, transcript }
}

/// Scenes that suit the SDK. If `SEGNO_SCENES` is set, only those that it names.
fn suitable<'a>(scenes: &'a [Scene], sdk: &'a Sdk) -> impl Iterator<Item = &'a Scene> {
    let wanted = env::var("SEGNO_SCENES").unwrap_or_default();
    let wanted: Vec<_> = wanted.split_whitespace().map(str::to_owned).collect();
    scenes.iter().filter(move |scene| {
        scene.suits(sdk) && (wanted.is_empty() || wanted.iter().any(|name| name == scene.name))
    })
}
