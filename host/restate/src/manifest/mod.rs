//! The manifest of a deployment: what it answers when it is asked for its services.
//!
//! It is read strictly: an unknown field, a field of a later version of the manifest, a name that
//! is none and whatever else breaks a rule is an [`InvalidManifest`] that says where.

mod check;
mod media;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use check::{Fault, InvalidManifest};
pub use media::{ManifestVersion, UnknownManifestVersion};

use crate::version::VersionRange;

/// A deployment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// Whether both sides send at once. Both may if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_mode: Option<ProtocolMode>,
    /// The oldest version of the protocol that it speaks.
    pub min_protocol_version: u32,
    /// The newest.
    pub max_protocol_version: u32,
    /// How requests to it are compressed, if it is a Lambda. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda_compression: Option<LambdaCompression>,
    /// Its services.
    pub services: Vec<Service>,
}

/// Whether both sides send at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ProtocolMode {
    /// They do.
    BidiStream,
    /// The deployment answers when the request has ended.
    RequestResponse,
}

/// How requests are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LambdaCompression {
    /// With Zstandard.
    Zstd,
}

/// A service: handlers under one name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Service {
    /// The name.
    pub name: String,
    /// What its handlers have in common.
    pub ty: ServiceType,
    /// The handlers.
    pub handlers: Vec<Handler>,
    /// For people. From V2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation: Option<String>,
    /// For people. From V2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Milliseconds without a frame until the deployment is asked to suspend. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inactivity_timeout: Option<u64>,
    /// Milliseconds from then until the attempt is given up. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort_timeout: Option<u64>,
    /// Milliseconds for which journals of ended invocations are kept. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_retention: Option<u64>,
    /// Milliseconds for which results of calls with an idempotency key are kept. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_retention: Option<u64>,
    /// Whether state is read when it is asked for, and not sent along. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_lazy_state: Option<bool>,
    /// Whether only other handlers may call it. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress_private: Option<bool>,
    /// Milliseconds before the first retry. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy_initial_interval: Option<u64>,
    /// The most milliseconds between retries. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy_max_interval: Option<u64>,
    /// Attempts, the first included. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy_max_attempts: Option<u64>,
    /// By how much the interval grows each time. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy_exponentiation_factor: Option<f64>,
    /// What happens after the last attempt. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy_on_max_attempts: Option<OnMaxAttempts>,
}

/// What the handlers of a service have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ServiceType {
    /// Nothing.
    Service,
    /// A key, and its state.
    VirtualObject,
    /// A key, its state, and one run.
    Workflow,
}

/// A handler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Handler {
    /// The name.
    pub name: String,
    /// With which others it may run at once; see [`Service::handler_type`] for what absence means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ty: Option<HandlerType>,
    /// What it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    /// What it gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// For people. From V2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation: Option<String>,
    /// For people. From V2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    /// As of the service, instead of it. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inactivity_timeout: Option<u64>,
    /// As of the service, instead of it. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort_timeout: Option<u64>,
    /// As of the service, instead of it. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal_retention: Option<u64>,
    /// As of the service, instead of it. Not of a workflow's run. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_retention: Option<u64>,
    /// Milliseconds for which a workflow that ended is kept. Of a workflow's run only. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_completion_retention: Option<u64>,
    /// As of the service, instead of it. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_lazy_state: Option<bool>,
    /// As of the service, instead of it. From V3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress_private: Option<bool>,
    /// As of the service, instead of it. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy_initial_interval: Option<u64>,
    /// As of the service, instead of it. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy_max_interval: Option<u64>,
    /// As of the service, instead of it. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy_max_attempts: Option<u64>,
    /// As of the service, instead of it. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy_exponentiation_factor: Option<f64>,
    /// As of the service, instead of it. From V4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_policy_on_max_attempts: Option<OnMaxAttempts>,
}

/// With which others of its key a handler may run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum HandlerType {
    /// With shared ones.
    Exclusive,
    /// With all.
    Shared,
    /// With shared ones, and once for each key.
    Workflow,
}

/// What happens after the last attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OnMaxAttempts {
    /// The invocation waits for a person.
    Pause,
    /// The invocation fails.
    Kill,
}

/// What a handler takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// Whether a request has to have a body with a type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
    /// The types that it takes, as in `accept`. None: it takes no body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The schema of the body.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub json_schema: Option<Json>,
}

/// What a handler gives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Output {
    /// The type of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Whether the type is said of an empty body as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_content_type_if_empty: Option<bool>,
    /// The schema of the body.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub json_schema: Option<Json>,
}

/// `null` is a value where any is, and no absence.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(from).map(Some)
}

impl Manifest {
    /// Reads a manifest of this version.
    ///
    /// # Errors
    /// [`InvalidManifest`]: every breach that is found in one reading, with its place. What is not
    /// JSON of that shape is one.
    pub fn read(bytes: &[u8], version: ManifestVersion) -> Result<Self, InvalidManifest> {
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let manifest: Self = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let path = error.path().to_string();
            InvalidManifest::of(Fault { path, what: error.into_inner().to_string() })
        })?;
        json.end().map_err(|error| {
            InvalidManifest::of(Fault { path: ".".into(), what: error.to_string() })
        })?;
        manifest.check(version)?;
        Ok(manifest)
    }

    /// Writes the manifest without what `version` does not have.
    pub fn write(&self, version: ManifestVersion) -> Vec<u8> {
        let mut manifest = self.clone();
        manifest.trim(version);
        serde_json::to_vec(&manifest).expect("a manifest has keys that are texts")
    }

    /// The versions of the protocol that the deployment speaks.
    pub fn protocol_versions(&self) -> VersionRange {
        VersionRange { min: self.min_protocol_version, max: self.max_protocol_version }
    }
}

impl Service {
    /// What a handler of this service is, whether it says so or not. `None` of a plain service.
    pub fn handler_type(&self, handler: &Handler) -> Option<HandlerType> {
        match self.ty {
            ServiceType::Service => None,
            ServiceType::VirtualObject => Some(handler.ty.unwrap_or(HandlerType::Exclusive)),
            ServiceType::Workflow => Some(handler.ty.unwrap_or(HandlerType::Workflow)),
        }
    }
}

#[cfg(test)]
mod tests;
