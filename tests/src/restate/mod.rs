//! Released Restate SDKs, unmodified, and requests to a runtime that invokes their services: Segno,
//! or the server that the SDKs are made for.
//!
//! - `sdk`: the SDKs, their packages, and the features that each of them lacks;
//! - `service`: a process with the services of `tests/restate`;
//! - `stage`: a client of the runtime's ingress and admin API that records every exchange;
//! - `tool`: the released command, and the canonical form of its output;
//! - `transcript`: the canonical form of a stage's record;
//! - `scenes`: the scripts that are played on a stage;
//! - `player`: plays the scenes;
//! - `golden`: the transcripts of the original server;
//! - `original`: that server;
//! - `agents`: the model and the systems of agents.

mod agents;
mod golden;
mod original;
mod player;
mod scenes;
mod sdk;
mod service;
mod stage;
mod tool;
mod transcript;

pub use agents::AgentWorld;
pub use golden::{faults, faults_of_original, record};
pub use original::Original;
pub use player::{
    Played, play_admin_scenes, play_command_scenes, play_long_scenes, play_patience,
    play_registrations, play_scenes, play_scenes_suspending, play_suites, register,
};
pub use sdk::{Feature, SDKS, Sdk, original, sdk};
pub use service::{Endpoints, Service, identity};
pub use stage::{Answer, Request, Runtime, Stage};
pub use tool::Tool;

/// Folder of the services, lock files and golden transcripts.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/restate");
