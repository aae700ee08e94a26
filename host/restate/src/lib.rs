//! The service invocation protocol of Restate, without I/O: bytes and events in, bytes and actions
//! out. No clock, no socket, no randomness, and nothing of Segno.
//!
//! A *runtime* keeps the journals of invocations and calls a *deployment*, which runs the handlers.
//! One request is one attempt at one invocation: the runtime sends what the journal has, then both
//! sides send what happens.
//!
//! In the order a newcomer should read:
//! - [`version`]: the versions in their two families;
//! - [`frame`]: the bytes that all have in common;
//! - [`wire`], [`custom`]: messages that both families have;
//! - [`immutable`]: the messages of V5 to V8; [`mutable`]: those of V1 to V3;
//! - [`runtime`]: the runtime's side of an attempt, one machine a family;
//! - [`deployment`]: the deployment's side, of V5 to V7;
//! - [`violation`], [`failure`]: what is said of breaches;
//! - [`manifest`], [`id`]: what a deployment announces, and ids as texts.

pub mod failure;
pub mod version;
pub mod violation;

pub mod custom;
pub mod frame;
pub mod wire;

pub mod immutable;
pub mod mutable;

pub mod deployment;
pub mod runtime;

pub mod id;
pub mod manifest;

pub use version::{Family, NoCommonVersion, ProtocolVersion, VersionRange};
pub use violation::{FrameType, Violation};
pub use wire::{Failure, Outcome, Start};
