//! Validation rules of a manifest, and the manifest version that introduced each field.

use std::{collections::BTreeSet, fmt};

use super::{HandlerType, Manifest, ManifestHandler, ManifestVersion, Service, ServiceType};

/// Highest protocol version that a manifest can announce.
const HIGHEST_PROTOCOL: u32 = i32::MAX as u32;

/// A violated rule, with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFault {
    /// The location, for example `services[2].handlers[0].name`.
    pub path: String,
    /// The violation, as a clause.
    pub what: String,
}

impl fmt::Display for ManifestFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.path, self.what)
    }
}

/// A manifest that violates rules, with all violations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InvalidManifest {
    /// The violations, in the order of the text; at least one.
    pub faults: Vec<ManifestFault>,
}

impl InvalidManifest {
    pub(super) fn of(fault: ManifestFault) -> Self {
        Self { faults: vec![fault] }
    }
}

impl fmt::Display for InvalidManifest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, fault) in self.faults.iter().enumerate() {
            write!(out, "{}{fault}", if position == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

/// A field introduced after V1: its name, its version, and its value.
type LaterField<'a> = (&'static str, ManifestVersion, &'a mut dyn OptionalField);

/// A field that can be removed.
trait OptionalField {
    fn is_present(&self) -> bool;
    fn take_away(&mut self);
}

impl<T> OptionalField for Option<T> {
    fn is_present(&self) -> bool {
        self.is_some()
    }

    fn take_away(&mut self) {
        *self = None;
    }
}

/// The later fields shared by services and handlers.
macro_rules! later_fields {
    ($of:ident, $($own:ident $name:literal $since:ident),*) => {{
        use ManifestVersion::{V2, V3, V4};
        vec![
            ("documentation", V2, &mut $of.documentation),
            ("metadata", V2, &mut $of.metadata),
            ("inactivityTimeout", V3, &mut $of.inactivity_timeout),
            ("abortTimeout", V3, &mut $of.abort_timeout),
            ("journalRetention", V3, &mut $of.journal_retention),
            ("idempotencyRetention", V3, &mut $of.idempotency_retention),
            $(($name, $since, &mut $of.$own),)*
            ("enableLazyState", V3, &mut $of.enable_lazy_state),
            ("ingressPrivate", V3, &mut $of.ingress_private),
            ("retryPolicyInitialInterval", V4, &mut $of.retry_policy_initial_interval),
            ("retryPolicyMaxInterval", V4, &mut $of.retry_policy_max_interval),
            ("retryPolicyMaxAttempts", V4, &mut $of.retry_policy_max_attempts),
            ("retryPolicyExponentiationFactor", V4, &mut $of.retry_policy_exponentiation_factor),
            ("retryPolicyOnMaxAttempts", V4, &mut $of.retry_policy_on_max_attempts),
        ]
    }};
}

impl Service {
    fn later_fields(&mut self) -> Vec<LaterField<'_>> {
        later_fields!(self,)
    }
}

impl ManifestHandler {
    fn later_fields(&mut self) -> Vec<LaterField<'_>> {
        later_fields!(self, workflow_completion_retention "workflowCompletionRetention" V3)
    }
}

impl Manifest {
    /// Checks a manifest of `version` against all rules.
    ///
    /// # Errors
    /// [`InvalidManifest`], with all violations.
    pub fn check(&self, version: ManifestVersion) -> Result<(), InvalidManifest> {
        let mut checker = Checker { version, faults: Vec::new() };
        // Reading and removing share one list of mutable fields, so reading needs a copy.
        checker.manifest(&mut self.clone());
        if checker.faults.is_empty() {
            return Ok(());
        }
        Err(InvalidManifest { faults: checker.faults })
    }

    /// Removes the fields that `version` does not have.
    pub(super) fn trim(&mut self, version: ManifestVersion) {
        let mut fields = self.top_later_fields();
        fields.retain(|(_, since, _)| version < *since);
        fields.into_iter().for_each(|(_, _, field)| field.take_away());
        for service in &mut self.services {
            take_away(service.later_fields(), version);
            for handler in &mut service.handlers {
                take_away(handler.later_fields(), version);
            }
        }
    }

    fn top_later_fields(&mut self) -> Vec<LaterField<'_>> {
        vec![("lambdaCompression", ManifestVersion::V4, &mut self.lambda_compression)]
    }
}

fn take_away(fields: Vec<LaterField<'_>>, version: ManifestVersion) {
    for (_, since, field) in fields {
        if version < since {
            field.take_away();
        }
    }
}

struct Checker {
    version: ManifestVersion,
    faults: Vec<ManifestFault>,
}

impl Checker {
    fn fault(&mut self, path: impl Into<String>, what: impl Into<String>) {
        self.faults.push(ManifestFault { path: path.into(), what: what.into() });
    }

    fn manifest(&mut self, manifest: &mut Manifest) {
        let (min, max) = (manifest.min_protocol_version, manifest.max_protocol_version);
        for (path, number) in [("minProtocolVersion", min), ("maxProtocolVersion", max)] {
            if !(1..=HIGHEST_PROTOCOL).contains(&number) {
                self.fault(path, format!("{number} is not between 1 and {HIGHEST_PROTOCOL}"));
            }
        }
        if min > max {
            self.fault("minProtocolVersion", format!("{min} is above maxProtocolVersion, {max}"));
        }
        let fields = manifest.top_later_fields();
        self.later("", fields);
        let mut names = BTreeSet::new();
        for (position, service) in manifest.services.iter_mut().enumerate() {
            let path = format!("services[{position}]");
            if !names.insert(service.name.clone()) {
                self.fault(format!("{path}.name"), format!("`{}` is there twice", service.name));
            }
            self.service(&path, service);
        }
    }

    fn service(&mut self, path: &str, service: &mut Service) {
        // Names of services may contain a namespace.
        self.name(path, &service.name, |byte| matches!(byte, b'.' | b'_' | b'-'));
        self.later(&format!("{path}."), service.later_fields());
        self.factor(path, service.retry_policy_exponentiation_factor);
        let mut names = BTreeSet::new();
        let mut runs = 0;
        for position in 0..service.handlers.len() {
            let path = format!("{path}.handlers[{position}]");
            let ty = service.handler_type(&service.handlers[position]);
            let handler = &mut service.handlers[position];
            if !names.insert(handler.name.clone()) {
                self.fault(format!("{path}.name"), format!("`{}` is there twice", handler.name));
            }
            runs += usize::from(ty == Some(HandlerType::Workflow));
            self.handler(&path, service.ty, ty, handler);
        }
        if service.ty == ServiceType::Workflow && runs != 1 {
            let what = format!("a workflow has one WORKFLOW handler, not {runs}");
            self.fault(format!("{path}.handlers"), what);
        }
    }

    /// Checks a handler of type `ty` in a service of type `service`.
    fn handler(
        &mut self,
        path: &str,
        service: ServiceType,
        ty: Option<HandlerType>,
        handler: &mut ManifestHandler,
    ) {
        self.name(path, &handler.name, |byte| byte == b'_');
        self.later(&format!("{path}."), handler.later_fields());
        self.factor(path, handler.retry_policy_exponentiation_factor);
        let refused = match (service, handler.ty) {
            (ServiceType::Service, Some(_)) => Some("a handler of a SERVICE has none"),
            (ServiceType::VirtualObject, Some(HandlerType::Workflow)) => {
                Some("a handler of a VIRTUAL_OBJECT is EXCLUSIVE or SHARED")
            }
            (ServiceType::Workflow, Some(HandlerType::Exclusive)) => {
                Some("a handler of a WORKFLOW is WORKFLOW or SHARED")
            }
            _ => None,
        };
        if let Some(what) = refused {
            self.fault(format!("{path}.ty"), what);
        }
        let run = ty == Some(HandlerType::Workflow);
        if run && handler.idempotency_retention.is_some() {
            let what = "is not of a WORKFLOW handler, but of others";
            self.fault(format!("{path}.idempotencyRetention"), what);
        }
        if !run && handler.workflow_completion_retention.is_some() {
            let what = "is of a WORKFLOW handler alone";
            self.fault(format!("{path}.workflowCompletionRetention"), what);
        }
    }

    /// Checks `^([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9…]*$`, where `…` stands for the bytes that `more`
    /// accepts.
    fn name(&mut self, path: &str, name: &str, more: impl Fn(u8) -> bool) {
        let bytes = name.as_bytes();
        let rest = match bytes {
            [first, rest @ ..] if first.is_ascii_alphabetic() => Some(rest),
            [b'_', second, rest @ ..] if second.is_ascii_alphanumeric() => Some(rest),
            _ => None,
        };
        let valid =
            |rest: &[u8]| rest.iter().all(|byte| byte.is_ascii_alphanumeric() || more(*byte));
        if !rest.is_some_and(valid) {
            let what = format!(
                "`{name}` is no name: those have a letter first, then letters, digits and {}",
                if more(b'.') { "`._-`" } else { "`_`" }
            );
            self.fault(format!("{path}.name"), what);
        }
    }

    fn factor(&mut self, path: &str, factor: Option<f64>) {
        if let Some(factor) = factor.filter(|factor| *factor <= 0.0) {
            let path = format!("{path}.retryPolicyExponentiationFactor");
            self.fault(path, format!("{factor} is not above 0"));
        }
    }

    fn later(&mut self, prefix: &str, fields: Vec<LaterField<'_>>) {
        for (name, since, field) in fields {
            if field.is_present() && self.version < since {
                let version = self.version;
                let what = format!("is not part of a manifest of {version}, but of {since}");
                self.fault(format!("{prefix}{name}"), what);
            }
        }
    }
}
