//! The setup that all runs share: the components, compiled once; the function and its input; the
//! script; and the results of performed activities, so that every run gets the same.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use segno_core::{id::Digest, object::ModuleFacts};
use segno_guest::{
    Compiler, FunctionKind, Guests as _, Limits, Outbound, Outcome, PolicySource, Wasm, WasmConfig,
};
use serde_json::Value as Json;

use crate::{effect::ExternalEffect, error::VerifyError, script::VerifyScript};

/// Maximum number of live instances.
const INSTANCES: u32 = 256;

/// A component with its alias.
#[derive(Clone)]
pub struct VerifiedComponent {
    pub alias: String,
    pub bytes: Arc<[u8]>,
    /// Facts about the module that decisions use.
    pub facts: ModuleFacts,
}

/// The subject of a verification.
pub struct VerifySetup {
    pub(crate) wasm: Arc<Wasm>,
    pub(crate) components: Vec<(VerifiedComponent, Digest)>,
    pub(crate) function: String,
    pub(crate) takes_signals: bool,
    pub(crate) input: Json,
    pub(crate) script: VerifyScript,
    /// Outbound HTTP for requests that the script does not answer. `None` if they are refused.
    pub(crate) real: Option<Arc<dyn Outbound>>,
    pub(crate) memo: AttemptMemo,
}

/// Key of an attempt in [`AttemptMemo`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct AttemptKey {
    pub function: String,
    pub input: String,
    pub id: String,
    pub attempt: u32,
}

/// The results of attempts when first performed, with the requests they made. Activities may draw
/// random numbers and read clocks; with this cache, differences between runs are the workflow's
/// fault.
#[derive(Default)]
pub(crate) struct AttemptMemo(Mutex<HashMap<AttemptKey, (Outcome, Vec<ExternalEffect>)>>);

impl AttemptMemo {
    pub(crate) fn get(&self, attempted: &AttemptKey) -> Option<(Outcome, Vec<ExternalEffect>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(attempted).cloned()
    }

    /// Stores the result of an attempt, and returns the one of the first execution.
    pub(crate) fn keep(
        &self,
        attempted: AttemptKey,
        outcome: Outcome,
        requests: Vec<ExternalEffect>,
    ) -> Outcome {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.entry(attempted).or_insert((outcome, requests)).0.clone()
    }
}

impl VerifySetup {
    /// Loads the components; the first one has the function. `runtimes` run those that consist of
    /// sources. Compiled code is cached in `cache_dir`, if set.
    ///
    /// # Errors
    /// A component cannot be loaded, the function does not exist, or the script names an unknown
    /// one.
    pub async fn new(
        components: Vec<VerifiedComponent>,
        function: &str,
        input: Json,
        script: VerifyScript,
        real: Option<Arc<dyn Outbound>>,
        cache_dir: Option<PathBuf>,
        runtimes: BTreeMap<Digest, Arc<[u8]>>,
    ) -> Result<Self, VerifyError> {
        let components: Vec<(VerifiedComponent, Digest)> = components
            .into_iter()
            .map(|component| {
                let digest = Digest::of(&component.bytes);
                (component, digest)
            })
            .collect();
        let source: BTreeMap<Digest, Arc<[u8]>> = components
            .iter()
            .map(|(component, digest)| (*digest, component.bytes.clone()))
            .chain(runtimes)
            .collect();
        let config = WasmConfig {
            limits: Limits { instances: INSTANCES, snapshot_records: 0, ..Limits::default() },
            policy: PolicySource::default(),
            cache_dir,
            compiler: Compiler::Thread,
            fair: false,
            counts: false,
            ahead: None,
            source: Arc::new(source),
        };
        let failed =
            |what: &str, why: String| VerifyError::Component { what: what.to_owned(), why };
        let wasm = Wasm::new(config).map_err(|error| failed("the wasm engine", error.message()))?;
        let (mut names, mut workflows) = (BTreeSet::new(), Vec::new());
        for (number, (component, digest)) in components.iter().enumerate() {
            let functions = wasm
                .describe(*digest)
                .await
                .map_err(|error| failed(&component.alias, error.message()))?;
            names.extend(functions.iter().map(|function| function.name.clone()));
            if number == 0 {
                let of_kind = |function: &&_| is_workflow(function);
                workflows.extend(functions.iter().filter(of_kind).cloned());
            }
        }
        let called = function.rsplit_once('/').map_or(function, |(_, name)| name);
        let described = workflows.iter().find(|known| {
            let name = known.name.as_str();
            name == function
                || name
                    .rsplit_once('/')
                    .is_some_and(|(_, name)| name == called && function.contains('@'))
        });
        let Some(described) = described else {
            let known: Vec<String> =
                workflows.iter().map(|function| format!("`{}`", function.name)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(VerifyError::NoFunction { function: function.to_owned(), known });
        };
        script.fits(&names.iter().map(String::as_str).collect::<Vec<_>>())?;
        Ok(Self {
            takes_signals: described.signals,
            wasm: Arc::new(wasm),
            function: function.to_owned(),
            components,
            input,
            script,
            real,
            memo: AttemptMemo::default(),
        })
    }

    pub fn function(&self) -> &str {
        &self.function
    }

    pub fn script(&self) -> &VerifyScript {
        &self.script
    }

    pub(crate) fn target(&self) -> String {
        format!("wasm://{}/{}", self.components[0].0.alias, self.function)
    }
}

fn is_workflow(function: &segno_guest::FunctionDescription) -> bool {
    function.kind == FunctionKind::Workflow
}
