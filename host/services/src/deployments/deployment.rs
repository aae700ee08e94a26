//! A deployment: its address, its manifest, and the settings of its handlers.

use std::collections::BTreeMap;

use segno_core::{
    address::service_alias, id::Digest, object::ModuleFacts, time::Timestamp, value::Text,
};
use segno_restate::{
    id::DeploymentId,
    manifest::{HandlerType, Manifest, ManifestHandler, ProtocolMode, Service, ServiceType},
    version::{NoCommonVersion, ProtocolVersion, VersionRange},
};
use serde::{Deserialize, Serialize};

use super::{change::ServiceChange, connector::DeploymentAddress, ids::HandlerTarget};

/// The versions of the protocol that hosts support.
pub const SPOKEN: VersionRange = VersionRange { min: 1, max: 7 };
/// A deployment, in its stored form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deployment {
    /// The version of the stored format: `1`.
    format: u32,
    /// The address, without a slash at the end.
    pub uri: String,
    /// Headers that are added to every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// True for HTTP/1.1.
    #[serde(default)]
    pub http11: bool,
    /// The public id, if the deployment was changed after its registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The instant of the registration, in milliseconds since the Unix epoch, if the deployment was
    /// changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_at: Option<i64>,
    /// The number of earlier registrations of services with these names. Absent for services
    /// without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    revisions: BTreeMap<String, u32>,
    /// The SDK and its version, as reported by the deployment.
    #[serde(default)]
    pub sdk: Option<String>,
    /// The services and handlers.
    pub manifest: Manifest,
}

/// The stored document is not a deployment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the deployment cannot be read: {0}")]
pub struct UnreadableDeployment(String);

impl UnreadableDeployment {
    pub(super) fn gone(digest: Digest) -> Self {
        Self(format!("`{digest}` is not stored"))
    }
}

/// The concurrency mode of a handler, by key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerConcurrency {
    /// A handler without a key.
    Plain,
    /// One execution per key at a time.
    Exclusive,
    /// A handler that only reads, and runs concurrently with others.
    Shared,
    /// One execution per key, ever.
    Run,
}

/// The facts about a handler that a caller needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandlerFacts {
    /// True if the handler runs once per key.
    pub runs_once: bool,
    /// True if only other handlers may call the handler.
    pub is_private: bool,
}

impl Deployment {
    /// A newly discovered deployment.
    pub fn new(endpoint: &DeploymentAddress, sdk: Option<String>, manifest: Manifest) -> Self {
        let DeploymentAddress { uri, headers, http11 } = endpoint.clone();
        Self {
            format: 1,
            uri,
            headers,
            http11,
            id: None,
            created_at: None,
            revisions: BTreeMap::new(),
            sdk,
            manifest,
        }
    }

    /// Parses the stored document.
    ///
    /// # Errors
    /// [`UnreadableDeployment`].
    pub fn parse(kept: &[u8]) -> Result<Self, UnreadableDeployment> {
        let deployment: Self = serde_json::from_slice(kept)
            .map_err(|error| UnreadableDeployment(error.to_string()))?;
        match deployment.format {
            1 => Ok(deployment),
            other => Err(UnreadableDeployment(format!("its form {other} is newer than this host"))),
        }
    }

    /// The document to store.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("its keys are texts")
    }

    /// The public id. It stays the same when operators change settings.
    pub fn id(&self) -> String {
        self.id.clone().unwrap_or_else(|| {
            let mut id = [0; 16];
            id.copy_from_slice(&Digest::of(&self.to_bytes()).0[..16]);
            DeploymentId(id).to_string()
        })
    }

    /// The instant of the registration. `None` if the deployment was not changed since: then its
    /// document was stored at that time.
    pub fn created_at(&self) -> Option<Timestamp> {
        self.created_at.map(Timestamp)
    }

    /// The deployment with changed settings of a service. `created_at` is the instant of its
    /// registration. Invocations that have begun keep their settings.
    #[must_use]
    pub fn changed(&self, service: &str, change: &ServiceChange, created_at: Timestamp) -> Self {
        let created_at = Some(created_at.0);
        let mut changed = Self { id: Some(self.id()), created_at, ..self.clone() };
        let services = &mut changed.manifest.services;
        if let Some(service) = services.iter_mut().find(|known| known.name == service) {
            change.apply(service);
        }
        changed
    }

    /// The number of the registration of this service, from 1 on.
    pub fn revision(&self, service: &str) -> u32 {
        self.revisions.get(service).map_or(1, |before| before.saturating_add(1))
    }

    /// The deployment with revisions that follow those of the same services in these deployments.
    #[must_use]
    pub fn following<'a>(&self, known: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let before = |service: &Service| {
            let holders = known.clone().filter(|known| known.service(&service.name).is_some());
            let newest = holders.map(|known| known.revision(&service.name)).max()?;
            Some((service.name.clone(), newest))
        };
        let revisions: BTreeMap<_, _> = self.manifest.services.iter().filter_map(before).collect();
        let id = if revisions.is_empty() { self.id.clone() } else { Some(self.id()) };
        Self { id, revisions, ..self.clone() }
    }

    /// The address and the connection settings.
    pub fn endpoint(&self) -> DeploymentAddress {
        let Self { uri, headers, http11, .. } = self.clone();
        DeploymentAddress { uri, headers, http11 }
    }

    /// True if both sides may send concurrently.
    pub fn is_bidirectional(&self) -> bool {
        !self.http11 && self.manifest.protocol_mode != Some(ProtocolMode::RequestResponse)
    }

    /// The version of new invocations. TypeScript SDKs up to 1.2.1 claim V2 without supporting it.
    ///
    /// # Errors
    /// The two sides have no version in common.
    pub fn version(&self) -> Result<ProtocolVersion, NoCommonVersion> {
        self.manifest.protocol_versions().negotiate(SPOKEN)
    }

    /// The aliases of the deployment, one per service.
    pub fn aliases(&self) -> impl Iterator<Item = Text> {
        self.manifest.services.iter().map(|service| Text::from(service_alias(&service.name)))
    }

    /// The facts about the deployment that decisions use.
    pub fn facts(&self) -> ModuleFacts {
        let of = |wanted: HandlerConcurrency| {
            let named =
                self.handlers().filter(move |(service, handler)| kind(service, handler) == wanted);
            named.map(|(service, handler)| Text::from(format!("{}/{}", service.name, handler.name)))
        };
        ModuleFacts {
            shared: of(HandlerConcurrency::Shared).collect(),
            runs: of(HandlerConcurrency::Run).collect(),
            ..ModuleFacts::default()
        }
    }

    /// All handlers, with their services.
    pub fn handlers(&self) -> impl Iterator<Item = (&Service, &ManifestHandler)> {
        let services = self.manifest.services.iter();
        services.flat_map(|service| service.handlers.iter().map(move |handler| (service, handler)))
    }

    pub fn service(&self, name: &str) -> Option<&Service> {
        self.manifest.services.iter().find(|service| service.name == name)
    }

    pub fn handler(&self, service: &str, handler: &str) -> Option<(&Service, &ManifestHandler)> {
        let service = self.service(service)?;
        let handler = service.handlers.iter().find(|known| known.name == handler)?;
        Some((service, handler))
    }

    /// The name of the `run` handler of a workflow.
    pub fn run_of(&self, workflow: &str) -> Option<String> {
        let service = self.service(workflow)?;
        let run = service
            .handlers
            .iter()
            .find(|handler| kind(service, handler) == HandlerConcurrency::Run);
        run.map(|run| run.name.clone())
    }

    /// The key of a call in the form that SDKs send. They send an empty key for services without
    /// keys.
    pub fn key_of<'a>(&self, service: &str, sent: &'a str) -> Option<&'a str> {
        let is_keyed = self.service(service).is_some_and(|known| known.ty != ServiceType::Service);
        Some(sent).filter(|key| is_keyed || !key.is_empty())
    }

    /// The facts about a called handler.
    ///
    /// # Errors
    /// The handler does not exist, or a key is missing or superfluous.
    pub fn called(
        &self,
        called: &HandlerTarget<'_>,
    ) -> Result<HandlerFacts, super::UnknownHandler> {
        let service = self
            .service(called.service)
            .ok_or_else(|| super::UnknownHandler::Service(called.service.to_owned()))?;
        match (service.ty, called.key) {
            (ServiceType::Service, Some(_)) => {
                let message = format!("`{}` has no keys: leave the key out", called.service);
                return Err(super::UnknownHandler::Key(message));
            }
            (ServiceType::VirtualObject | ServiceType::Workflow, None) => {
                let message = format!("`{}` needs a key", called.service);
                return Err(super::UnknownHandler::Key(message));
            }
            _ => {}
        }
        let Some((_, handler)) = self.handler(called.service, called.handler) else {
            let known: Vec<&str> =
                service.handlers.iter().map(|handler| handler.name.as_str()).collect();
            return Err(super::UnknownHandler::Handler {
                service: called.service.to_owned(),
                handler: called.handler.to_owned(),
                known: known.join(", "),
            });
        };
        Ok(HandlerFacts {
            runs_once: kind(service, handler) == HandlerConcurrency::Run,
            is_private: handler.ingress_private.or(service.ingress_private).unwrap_or_default(),
        })
    }

    /// True if an attempt starts with the state of the object.
    pub fn sends_state(&self, service: &Service, handler: &ManifestHandler) -> bool {
        let is_lazy = handler.enable_lazy_state.or(service.enable_lazy_state).unwrap_or_default();
        service.ty != ServiceType::Service && !is_lazy
    }
}

/// The concurrency mode of a handler.
pub fn kind(service: &Service, handler: &ManifestHandler) -> HandlerConcurrency {
    match service.handler_type(handler) {
        None => HandlerConcurrency::Plain,
        Some(HandlerType::Exclusive) => HandlerConcurrency::Exclusive,
        Some(HandlerType::Shared) => HandlerConcurrency::Shared,
        Some(HandlerType::Workflow) => HandlerConcurrency::Run,
    }
}

#[cfg(test)]
mod tests {
    use segno_core::time::Millis;

    use super::*;

    fn deployment() -> Deployment {
        let manifest = r#"{
            "minProtocolVersion": 5, "maxProtocolVersion": 7,
            "services": [
                { "name": "Cart", "ty": "VIRTUAL_OBJECT", "inactivityTimeout": 1000, "handlers": [
                    { "name": "add", "inactivityTimeout": 7, "retryPolicyMaxAttempts": 2 },
                    { "name": "total", "ty": "SHARED" }
                ] },
                { "name": "Sign", "ty": "WORKFLOW", "handlers": [{ "name": "sign" }] }
            ]
        }"#;
        let endpoint = DeploymentAddress {
            uri: "http://x".to_owned(),
            headers: BTreeMap::new(),
            http11: false,
        };
        let manifest = serde_json::from_str(manifest).expect("a manifest");
        Deployment::new(&endpoint, Some("sdk/1".to_owned()), manifest)
    }

    /// The documents are stored for ever, so every later version must read those of every earlier
    /// one.
    #[test]
    fn the_first_form_is_read_and_another_is_refused() {
        let kept = r#"{"format":1,"uri":"http://x","manifest":{"minProtocolVersion":5,"maxProtocolVersion":5,"services":[]}}"#;
        let read = Deployment::parse(kept.as_bytes()).expect("it is the first form");
        assert_eq!((read.uri.as_str(), read.http11, read.sdk), ("http://x", false, None));
        let newer = kept.replace("\"format\":1", "\"format\":2");
        let refused = Deployment::parse(newer.as_bytes()).expect_err("it is newer").to_string();
        assert!(refused.contains("its form 2 is newer"), "{refused}");
        assert_eq!(Deployment::parse(&deployment().to_bytes()), Ok(deployment()));
    }

    #[test]
    fn a_deployment_of_a_newer_version_is_spoken_to_in_the_newest_one_that_hosts_speak() {
        for (min, max, spoken) in [
            (5, 8, Some(ProtocolVersion::V7)),
            (1, 99, Some(ProtocolVersion::V7)),
            (1, 6, Some(ProtocolVersion::V6)),
            (8, 8, None),
        ] {
            let mut deployment = deployment();
            deployment.manifest.min_protocol_version = min;
            deployment.manifest.max_protocol_version = max;
            assert_eq!(deployment.version().ok(), spoken, "[{min}, {max}]");
        }
    }

    #[test]
    fn what_operators_change_keeps_the_id_and_holds_for_all_handlers() {
        let before = deployment();
        let change = ServiceChange {
            public: Some(false),
            inactivity: Some(Millis(5)),
            ..ServiceChange::default()
        };
        let after = before.changed("Cart", &change, Timestamp(7));
        assert_eq!(after.id(), before.id());
        let again = after.changed("Cart", &change, after.created_at().expect("it was changed"));
        assert_eq!(again.created_at(), Some(Timestamp(7)));
        assert_ne!(after.to_bytes(), before.to_bytes());
        let (service, handler) = after.handler("Cart", "add").expect("it is there");
        assert_eq!(Deployment::timeouts(service, handler).inactivity, Millis(5));
        let (service, handler) = before.handler("Cart", "add").expect("it is there");
        assert_eq!(Deployment::timeouts(service, handler).inactivity, Millis(7));
        assert_eq!(Deployment::timeouts_of(service).inactivity, Millis(1_000));
        let called = HandlerTarget { service: "Cart", scope: None, key: Some("k"), handler: "add" };
        assert!(after.called(&called).expect("it is there").is_private);
        assert!(!before.called(&called).expect("it is there").is_private);
    }

    #[test]
    fn decisions_know_who_only_reads_and_who_runs_once() {
        let facts = deployment().facts();
        assert_eq!(facts.shared, [Text::from("Cart/total")].into());
        assert_eq!(facts.runs, [Text::from("Sign/sign")].into());
        let called = |service, key, handler| {
            deployment()
                .called(&HandlerTarget { service, scope: None, key, handler })
                .map(|facts| facts.runs_once)
        };
        assert!(called("Sign", Some("k"), "sign").expect("it is there"));
        assert!(called("Sign", Some(""), "sign").expect("an empty key is a key"));
        assert_eq!(deployment().key_of("Sign", ""), Some(""));
        for (service, key, handler, says) in [
            ("Sign", None, "sign", "needs a key"),
            ("Cart", Some("k"), "take", "has no handler `take`; it has add, total"),
            ("Card", None, "take", "the service `Card`"),
        ] {
            let refused = called(service, key, handler).expect_err(handler).to_string();
            assert!(refused.contains(says), "{refused}");
        }
    }

    #[test]
    fn waits_grow_to_the_longest() {
        let deployment = deployment();
        let (service, handler) = deployment.handler("Cart", "add").expect("it is there");
        let policy = Deployment::retry_policy(service, handler);
        assert_eq!((policy.most, policy.fails), (Some(2), false));
        let waits: Vec<i64> = [1, 2, 3, 8, 70, u32::MAX].map(|failed| policy.wait(failed).0).into();
        assert_eq!(waits, [500, 1_000, 2_000, 60_000, 60_000, 60_000]);
    }
}
