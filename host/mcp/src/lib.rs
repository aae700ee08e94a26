//! A server of the Model Context Protocol, through which a coding assistant reads and drives a host.
//!
//! The crate knows the host by its API only. What needs the engine on this machine is a command of
//! `segno`, which the caller runs ([`SegnoCommand`]). Transports are the caller's, too: it gives
//! [`McpServer`] to rmcp.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod answer;
mod excerpt;
mod failure;
mod similar;

mod access;
mod tool;
mod tools;

mod exposed;
mod prompts;
mod resources;
mod server;

pub use access::{CommandOutput, SegnoCommand, WritePermission};
pub use exposed::ExposedPattern;
pub use server::{McpOptions, McpServer};

#[cfg(test)]
mod tests;
