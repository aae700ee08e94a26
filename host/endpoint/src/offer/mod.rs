//! The services and handlers of a component, and the manifest that announces them.
//!
//! ```text
//! order            a workflow or an activity of the module NAME: the handler `order` of the service NAME
//! Cart/add         a function of an object: the handler `add` of the virtual object `Cart`
//! Signup/run       a function that runs once per key: the run of the workflow `Signup`. Its other
//!                  functions are its shared handlers
//! ```

mod handler;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use segno_guest::{AccessReport, FunctionReport, ModuleReport, Schemas};
use segno_restate::manifest::{
    InvalidManifest, Manifest, ManifestVersion, ProtocolMode, Service, ServiceType,
};

pub use self::handler::OfferedHandler;
use super::SPOKEN;

/// The services of a component.
#[derive(Debug)]
pub struct ServiceOffer {
    /// The name of the module, which policies refer to.
    pub module: String,
    /// The name of the service of the plain functions.
    pub service: String,
    pub manifest: Manifest,
    /// The input and output schemas of the functions.
    pub(super) schemas: Schemas,
    handlers: BTreeMap<(String, String), Arc<OfferedHandler>>,
}

/// The reason why a component cannot be offered as services.
#[derive(Debug, thiserror::Error)]
pub enum OfferRefusal {
    /// A name is invalid in the protocol or occurs twice, or a service of that kind cannot have the
    /// function.
    #[error("the functions of the module `{module}` make no services: {reason}")]
    Names {
        module: String,
        /// The offending names and the fault.
        reason: String,
    },
    /// The module has no functions.
    #[error("the module `{0}` has no functions")]
    Nothing(String),
}

impl ServiceOffer {
    /// The offer of the component in this report, under the name `module`. Plain functions belong
    /// to the service `service`.
    ///
    /// # Errors
    /// [`OfferRefusal`].
    pub fn new(module: &str, service: &str, report: &ModuleReport) -> Result<Self, OfferRefusal> {
        let runs = runs(report);
        let names = |reason: String| OfferRefusal::Names { module: module.to_owned(), reason };
        let mut services: BTreeMap<String, Service> = BTreeMap::new();
        let mut handlers = BTreeMap::new();
        for function in &report.functions {
            let run = object(function).and_then(|object| runs.get(object));
            let ty = match (function.access, run) {
                (None, _) => ServiceType::Service,
                (Some(_), None) => ServiceType::VirtualObject,
                (Some(AccessReport::Exclusive), Some(run)) if *run != function.name => {
                    return Err(names(format!(
                        "`{}` is exclusive, and of an object with `{run}`, which runs once a key: besides its run, a workflow \
                         has only shared handlers",
                        function.name
                    )));
                }
                (Some(_), Some(_)) => ServiceType::Workflow,
            };
            let handler = OfferedHandler::new(service, function, ty == ServiceType::Workflow);
            let of = services
                .entry(handler.service.clone())
                .or_insert_with(|| described(&handler.service, ty, module, &report.digest));
            if of.ty != ty {
                return Err(names(format!(
                    "`{}` would be the service of its plain functions and an object; give the service \
                     another name with --service",
                    handler.service
                )));
            }
            of.handlers.push(handler.announced(function));
            let place = (handler.service.clone(), handler.name.clone());
            handlers.insert(place, Arc::new(handler));
        }
        if services.is_empty() {
            return Err(OfferRefusal::Nothing(module.to_owned()));
        }
        let manifest = Manifest {
            protocol_mode: Some(ProtocolMode::BidiStream),
            min_protocol_version: SPOKEN.min,
            max_protocol_version: SPOKEN.max,
            lambda_compression: None,
            services: services.into_values().collect(),
        };
        manifest.check(ManifestVersion::V4).map_err(|faults| names(named(&faults)))?;
        Ok(Self {
            module: module.to_owned(),
            service: service.to_owned(),
            manifest,
            schemas: Schemas::default(),
            handlers,
        })
    }

    pub fn handler(&self, service: &str, handler: &str) -> Option<&Arc<OfferedHandler>> {
        self.handlers.get(&(service.to_owned(), handler.to_owned()))
    }

    /// All handlers, by service and name.
    pub fn handlers(&self) -> impl Iterator<Item = &Arc<OfferedHandler>> {
        self.handlers.values()
    }

    /// The names of a service's handlers, for messages.
    pub fn known(&self, service: &str) -> String {
        let of = self.handlers.values().filter(|handler| handler.service == service);
        let names: BTreeSet<String> = of.map(|handler| format!("`{}`", handler.name)).collect();
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.into_iter().collect::<Vec<_>>().join(", "),
        }
    }
}

/// The object of a function. `None` for a plain function.
fn object(function: &FunctionReport) -> Option<&str> {
    function.name.split_once('/').map(|(object, _)| object)
}

/// The functions that run once per key, by object.
fn runs(report: &ModuleReport) -> BTreeMap<&str, &str> {
    let once = report.functions.iter().filter(|function| function.runs_once);
    once.filter_map(|function| Some((object(function)?, &*function.name))).collect()
}

fn described(name: &str, ty: ServiceType, module: &str, digest: &str) -> Service {
    let fact = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    Service {
        name: name.to_owned(),
        ty,
        handlers: Vec::new(),
        documentation: None,
        metadata: Some(BTreeMap::from([
            fact("segno.module", module),
            fact("segno.digest", digest),
        ])),
        inactivity_timeout: None,
        abort_timeout: None,
        journal_retention: None,
        idempotency_retention: None,
        enable_lazy_state: None,
        ingress_private: None,
        retry_policy_initial_interval: None,
        retry_policy_max_interval: None,
        retry_policy_max_attempts: None,
        retry_policy_exponentiation_factor: None,
        retry_policy_on_max_attempts: None,
    }
}

/// The faults of a manifest, without their positions in it, since the user never sees the manifest.
fn named(invalid: &InvalidManifest) -> String {
    let faults: Vec<&str> = invalid.faults.iter().map(|fault| &*fault.what).collect();
    faults.join("; ")
}

#[cfg(test)]
pub(super) mod tests {
    use segno_guest::FunctionReportKind;
    use segno_restate::manifest::{self, HandlerType};

    use super::{handler::JSON, *};

    /// A report of functions with these names; those that end in `!` are activities.
    pub(crate) fn report(names: &[&str]) -> ModuleReport {
        let function = |name: &&str| FunctionReport {
            name: name.trim_end_matches('!').to_owned(),
            kind: if name.ends_with('!') {
                FunctionReportKind::Activity
            } else {
                FunctionReportKind::Workflow
            },
            summary: Some(format!("It is {name}.")),
            input_schema: None,
            output_schema: None,
            runs_once: false,
            access: name.contains('/').then_some(AccessReport::Exclusive),
            signals: false,
            messages: Vec::new(),
            handlers: Vec::new(),
            timeout_ms: None,
            retry: None,
            limit: None,
            commits_each: false,
            expose: Vec::new(),
        };
        ModuleReport {
            digest: "ab".repeat(32),
            size: 1,
            imports: Vec::new(),
            exports: Vec::new(),
            functions: names.iter().map(function).collect(),
            no_snapshots: None,
        }
    }

    pub(crate) fn offer(names: &[&str]) -> ServiceOffer {
        ServiceOffer::new("shop", "shop", &report(names)).expect("an offer")
    }

    #[test]
    fn plain_functions_are_a_service_and_each_object_is_a_virtual_object() {
        let mut report = report(&["order", "ship!", "Cart/add", "Cart/total"]);
        report.functions[3].access = Some(AccessReport::Shared);
        report.functions[1].timeout_ms = Some(3_600_000);
        report.functions[0].input_schema = Some(serde_json::json!({ "type": "object" }));
        let offer = ServiceOffer::new("shop", "Shop", &report).expect("an offer");
        let [cart, shop] = &offer.manifest.services[..] else { panic!("{:?}", offer.manifest) };
        assert_eq!((&*cart.name, cart.ty), ("Cart", ServiceType::VirtualObject));
        assert_eq!((&*shop.name, shop.ty), ("Shop", ServiceType::Service));
        let kinds: Vec<_> = cart.handlers.iter().map(|handler| handler.ty).collect();
        assert_eq!(kinds, [Some(HandlerType::Exclusive), Some(HandlerType::Shared)]);
        let [order, ship] = &shop.handlers[..] else { panic!("{shop:?}") };
        assert_eq!((order.ty, order.abort_timeout), (None, None));
        assert_eq!(ship.abort_timeout, Some(3_600_000), "it cannot suspend");
        let taken =
            |handler: &manifest::ManifestHandler| handler.input.clone().unwrap().content_type;
        assert_eq!((taken(order).as_deref(), taken(ship).as_deref()), (Some(JSON), Some("*/*")));
        assert!(offer.handler("Shop", "ship").expect("it is there").is_activity);
        assert_eq!(offer.handler("Cart", "add").unwrap().started_as("a/b"), "Cart@a/b/add");
        assert!(offer.handler("shop", "order").is_none());
        for version in [ManifestVersion::V2, ManifestVersion::V3, ManifestVersion::V4] {
            let written = offer.manifest.write(version);
            Manifest::read(&written, version).unwrap_or_else(|error| panic!("{version}: {error}"));
        }
    }

    #[test]
    fn an_object_with_a_function_that_runs_once_is_a_workflow_and_its_others_are_shared() {
        let mut report = report(&["order", "Cart/add", "Signup/begin", "Signup/look"]);
        report.functions[2].runs_once = true;
        report.functions[3].access = Some(AccessReport::Shared);
        let offer = ServiceOffer::new("shop", "shop", &report).expect("an offer");
        let kinds: Vec<_> = offer
            .manifest
            .services
            .iter()
            .map(|service| {
                let handlers = service.handlers.iter().map(|handler| handler.ty);
                (&*service.name, service.ty, handlers.collect::<Vec<_>>())
            })
            .collect();
        let (run, shared) = (Some(HandlerType::Workflow), Some(HandlerType::Shared));
        let expected = [
            ("Cart", ServiceType::VirtualObject, vec![Some(HandlerType::Exclusive)]),
            ("Signup", ServiceType::Workflow, vec![run, shared]),
            ("shop", ServiceType::Service, vec![None]),
        ];
        assert_eq!(kinds, expected);
        let promises = offer.handlers().filter(|handler| handler.has_promises);
        let promises: Vec<_> = promises.map(|handler| &*handler.function).collect();
        assert_eq!(promises, ["Signup/begin", "Signup/look"]);
        // A workflow refuses another exclusive function and a second run.
        for runs_once in [false, true] {
            report.functions[3] = FunctionReport {
                access: Some(AccessReport::Exclusive),
                runs_once,
                ..report.functions[3].clone()
            };
            let refused = ServiceOffer::new("shop", "shop", &report).expect_err("it is refused");
            for named in ["`Signup/begin`", "`Signup/look`", "only shared handlers"] {
                assert!(refused.to_string().contains(named), "{refused}");
            }
        }
    }

    #[test]
    fn what_wakes_a_workflow_are_its_signals_and_its_updates() {
        let mut report = report(&["f"]);
        let schema = serde_json::Value::Bool(true);
        let message = |is_signal, name: &str| segno_guest::MessageReport {
            is_signal,
            name: name.to_owned(),
            schema: schema.clone(),
        };
        report.functions[0].messages = vec![message(true, "go"), message(false, "decision")];
        let handler = |is_update, name: &str| segno_guest::HandlerReport {
            is_update,
            name: name.to_owned(),
            summary: None,
            input_schema: None,
            output_schema: None,
        };
        report.functions[0].handlers = vec![handler(true, "bid"), handler(false, "leader")];
        let offer = ServiceOffer::new("m", "m", &report).expect("an offer");
        assert_eq!(offer.handler("m", "f").unwrap().signals, ["go", "segno:update/bid"]);
    }

    #[test]
    fn names_that_are_none_in_the_protocol_are_refused_by_name() {
        for (service, names, said) in [
            ("my shop", &["order"][..], "`my shop`"),
            ("shop", &["make-order"], "`make-order`"),
            ("shop", &["order", "Cart/add", "Cart/9"], "`9`"),
            ("Cart", &["order", "Cart/add"], "--service"),
            ("shop", &[], "no functions"),
        ] {
            let refused =
                ServiceOffer::new("shop", service, &report(names)).expect_err("it is refused");
            assert!(refused.to_string().contains(said), "{refused}");
        }
    }
}
