//! The service invocation protocol of Restate, without I/O: bytes and events in, bytes and actions
//! out. It uses no clock, socket or randomness, and does not depend on Segno.
//!
//! A *runtime* keeps the journals of invocations and calls a *deployment*, which runs the handlers.
//! A request is one attempt of one invocation: the runtime sends the journal, then both sides send
//! new events.
//!
//! Reading order:
//! - [`version`]: the versions and their two families;
//! - [`frame`]: the frame layout of all versions;
//! - [`wire`], [`custom`], `operation`: messages of both families;
//! - [`immutable`]: the messages of V5 to V8; [`mutable`]: those of V1 to V3;
//! - [`runtime`]: the runtime's side of an attempt, one state machine for each family;
//! - [`deployment`]: the deployment's side, of V5 to V7;
//! - [`violation`], [`failure`]: violations of the protocol and failure codes;
//! - [`manifest`], [`id`]: the services of a deployment, and textual ids.

#![forbid(unsafe_code)]

pub mod failure;
pub mod version;
pub mod violation;

pub mod custom;
pub mod frame;
pub mod wire;

mod operation;

pub mod immutable;
pub mod mutable;

pub mod deployment;
pub mod runtime;

pub mod id;
pub mod manifest;

pub use version::{NoCommonVersion, ProtocolFamily, ProtocolVersion, VersionRange};
pub use violation::{FrameType, ProtocolViolation};
pub use wire::{Failure, OperationOutcome, StartMessage};
