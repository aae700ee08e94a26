//! The manifest of a deployment: its answer to a discovery request.
//!
//! Reading is strict: an unknown field, a field of a later manifest version, an invalid name or any
//! other violation of a rule results in an [`InvalidManifest`] that names the location.

mod check;
mod media;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use check::{InvalidManifest, ManifestFault};
pub use media::{ManifestVersion, UnknownManifestVersion};

use crate::version::VersionRange;

/// The manifest of a deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// Communication mode; both modes are possible if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_mode: Option<ProtocolMode>,
    /// Oldest protocol version that the deployment supports.
    pub min_protocol_version: u32,
    /// Newest protocol version that the deployment supports.
    pub max_protocol_version: u32,
    /// Compression of requests to a Lambda deployment. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda_compression: Option<LambdaCompression>,
    pub services: Vec<Service>,
}

/// Communication mode between runtime and deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProtocolMode {
    /// Both sides send at the same time.
    BidiStream,
    /// The deployment responds after the request has ended.
    RequestResponse,
}

/// Compression of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LambdaCompression {
    /// Zstandard.
    Zstd,
}

/// Declares services or handlers, with the settings that both have. Those of a handler override
/// those of its service.
macro_rules! with_settings {
    ($(#[$about:meta])* $visibility:vis struct $of:ident { $($own:tt)* } { $($retention:tt)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        $visibility struct $of {
            $($own)*
            /// Documentation for people. From V2.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub documentation: Option<String>,
            /// Metadata for people. From V2.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub metadata: Option<BTreeMap<String, String>>,
            /// Milliseconds without a frame after which the runtime requests a suspension. From V3.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub inactivity_timeout: Option<u64>,
            /// Milliseconds from that request after which the runtime aborts the attempt. From V3.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub abort_timeout: Option<u64>,
            /// Retention period of the journals of ended invocations, in milliseconds. From V3.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub journal_retention: Option<u64>,
            /// Retention period of results of calls with an idempotency key, in milliseconds. Not
            /// for the run of a workflow. From V3.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub idempotency_retention: Option<u64>,
            $($retention)*
            /// True to read state on demand instead of sending it with the start. From V3.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub enable_lazy_state: Option<bool>,
            /// True to allow calls from other handlers only. From V3.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub ingress_private: Option<bool>,
            /// Milliseconds before the first retry. From V4.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub retry_policy_initial_interval: Option<u64>,
            /// Maximum milliseconds between retries. From V4.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub retry_policy_max_interval: Option<u64>,
            /// Maximum number of attempts, including the first. From V4.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub retry_policy_max_attempts: Option<u64>,
            /// Factor by which the interval grows with each retry. From V4.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub retry_policy_exponentiation_factor: Option<f64>,
            /// Action after the last attempt. From V4.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub retry_policy_on_max_attempts: Option<OnMaxAttempts>,
        }
    };
}

with_settings! {
    /// A service: handlers under one name.
    pub struct Service {
        pub name: String,
        /// Kind of the service.
        pub ty: ServiceType,
        pub handlers: Vec<ManifestHandler>,
    } {}
}

with_settings! {
    /// A handler of a service.
    pub struct ManifestHandler {
        pub name: String,
        /// Concurrency with other handlers of the key. [`Service::handler_type`] has the default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ty: Option<HandlerType>,
        /// Accepted requests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub input: Option<HandlerInput>,
        /// Produced responses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub output: Option<HandlerOutput>,
    } {
        /// Retention period of an ended workflow, in milliseconds. Only for the run of a workflow.
        /// From V3.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub workflow_completion_retention: Option<u64>,
    }
}

/// Kind of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ServiceType {
    /// Stateless handlers.
    Service,
    /// Handlers that share a key and its state.
    VirtualObject,
    /// Handlers that share a key and its state, with one run for each key.
    Workflow,
}

/// Concurrency of a handler with others of the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum HandlerType {
    /// Concurrent with shared handlers only.
    Exclusive,
    /// Concurrent with all handlers.
    Shared,
    /// Concurrent with shared handlers only, and run once for each key.
    Workflow,
}

/// Action after the last attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OnMaxAttempts {
    /// Pauses the invocation until an operator resumes it.
    Pause,
    /// Fails the invocation.
    Kill,
}

/// Requests that a handler accepts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HandlerInput {
    /// True if a request must have a body with a content type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// Accepted content types, in the syntax of `accept`. `None`: the handler accepts no body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// JSON schema of the body.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub json_schema: Option<Json>,
}

/// Responses that a handler produces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HandlerOutput {
    /// Content type of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// True to set the content type for an empty body as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_content_type_if_empty: Option<bool>,
    /// JSON schema of the body.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub json_schema: Option<Json>,
}

/// Deserializes a present `null` as a value rather than as an absent field.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(from).map(Some)
}

impl Manifest {
    /// Parses a manifest of this version.
    ///
    /// # Errors
    /// [`InvalidManifest`]: all violations found in one pass, with their locations. Text that is
    /// not JSON of this shape counts as one violation.
    pub fn read(bytes: &[u8], version: ManifestVersion) -> Result<Self, InvalidManifest> {
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let manifest: Self = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let path = error.path().to_string();
            InvalidManifest::of(ManifestFault { path, what: error.into_inner().to_string() })
        })?;
        json.end().map_err(|error| {
            InvalidManifest::of(ManifestFault { path: ".".into(), what: error.to_string() })
        })?;
        manifest.check(version)?;
        Ok(manifest)
    }

    /// Writes the manifest, without the fields that `version` lacks.
    pub fn write(&self, version: ManifestVersion) -> Vec<u8> {
        let mut manifest = self.clone();
        manifest.trim(version);
        serde_json::to_vec(&manifest).expect("a manifest has keys that are texts")
    }

    /// The protocol versions that the deployment supports.
    pub fn protocol_versions(&self) -> VersionRange {
        VersionRange { min: self.min_protocol_version, max: self.max_protocol_version }
    }
}

impl Service {
    /// Returns the type of a handler of this service, with the default applied. `None` for handlers
    /// of a plain service.
    pub fn handler_type(&self, handler: &ManifestHandler) -> Option<HandlerType> {
        match self.ty {
            ServiceType::Service => None,
            ServiceType::VirtualObject => Some(handler.ty.unwrap_or(HandlerType::Exclusive)),
            ServiceType::Workflow => Some(handler.ty.unwrap_or(HandlerType::Workflow)),
        }
    }
}

#[cfg(test)]
mod tests;
