//! What all runs share: the components, compiled once; the function and its input; the script; and what
//! activities came to, so that every run is told the same.

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

use crate::{effect::Effect, error::VerifyError, script::Script};

/// The most instances alive at once.
const INSTANCES: u32 = 256;

/// A component and the name by which it is called.
#[derive(Clone)]
pub struct Component {
    /// The name.
    pub alias: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
    /// What decisions know of it.
    pub facts: ModuleFacts,
}

/// What is verified.
pub struct Setup {
    pub(crate) wasm: Arc<Wasm>,
    pub(crate) components: Vec<(Component, Digest)>,
    pub(crate) function: String,
    pub(crate) takes_signals: bool,
    pub(crate) input: Json,
    pub(crate) script: Script,
    /// The way out, for requests that the script does not answer; none: they are refused.
    pub(crate) real: Option<Arc<dyn Outbound>>,
    pub(crate) memo: Memo,
}

/// What an attempt is, for [`Memo`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Attempted {
    pub function: String,
    pub input: String,
    pub id: String,
    pub attempt: u32,
}

/// What attempts came to when they were performed first, with the requests they made. Activities may
/// draw random numbers and read clocks; what differs between runs is then the fault of the workflow.
#[derive(Default)]
pub(crate) struct Memo(Mutex<HashMap<Attempted, (Outcome, Vec<Effect>)>>);

impl Memo {
    pub fn get(&self, attempted: &Attempted) -> Option<(Outcome, Vec<Effect>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(attempted).cloned()
    }

    /// Keeps what an attempt came to, and answers what it came to when it was performed first.
    pub fn keep(&self, attempted: Attempted, outcome: Outcome, requests: Vec<Effect>) -> Outcome {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.entry(attempted).or_insert((outcome, requests)).0.clone()
    }
}

impl Setup {
    /// Loads the components, of which the first has the function. Compiled code is kept in `cache_dir`,
    /// if there is one.
    ///
    /// # Errors
    /// A component cannot be loaded, there is no such function, or the script names one that is not
    /// there.
    pub async fn new(
        components: Vec<Component>,
        function: &str,
        input: Json,
        script: Script,
        real: Option<Arc<dyn Outbound>>,
        cache_dir: Option<PathBuf>,
    ) -> Result<Self, VerifyError> {
        let components: Vec<(Component, Digest)> = components
            .into_iter()
            .map(|component| {
                let digest = Digest::of(&component.bytes);
                (component, digest)
            })
            .collect();
        let source: BTreeMap<Digest, Arc<[u8]>> = components
            .iter()
            .map(|(component, digest)| (*digest, component.bytes.clone()))
            .collect();
        let config = WasmConfig {
            limits: Limits { instances: INSTANCES, snapshot_records: 0, ..Limits::default() },
            policy: PolicySource::default(),
            cache_dir,
            compiler: Compiler::Thread,
            fair: false,
            counts: false,
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
            memo: Memo::default(),
        })
    }

    /// The name of the function.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// The script.
    pub fn script(&self) -> &Script {
        &self.script
    }

    pub(crate) fn target(&self) -> String {
        format!("wasm://{}/{}", self.components[0].0.alias, self.function)
    }
}

fn is_workflow(function: &segno_guest::FunctionDescription) -> bool {
    function.kind == FunctionKind::Workflow
}
