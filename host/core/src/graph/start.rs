//! What a run is started with: the parameter of its promise.

use segno_graph::plan::{CheckedPlan, Plan, PlanErrors};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::{address, id::PromiseId, promise::Promise};

/// What a run is started with.
#[derive(Clone, Debug)]
pub struct Start {
    /// The plan.
    pub plan: CheckedPlan,
    /// What the plan knows as `input`.
    pub input: Json,
    /// How facts are stored.
    pub persistence: Persistence,
    /// A run of the same plan whose completed nodes are taken over.
    pub continues: Option<PromiseId>,
}

/// How facts that are there at the same time are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// All of them, and what follows from them, in one transaction.
    #[default]
    Wave,
    /// Each in a transaction of its own.
    Each,
}

/// A promise that is no run, or that starts none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotARun {
    /// Its target is another.
    #[error("`{0}` is not the run of a graph")]
    Target(PromiseId),
    /// Its parameter does not have the form of one.
    #[error(
        "the input of a graph run is an object of `plan` and `input`, and may have `digest`, `persist` and \
         `continues`: {0}"
    )]
    Input(String),
    /// Something is wrong with the plan.
    #[error("{0}")]
    Plan(PlanErrors),
    /// The plan is not the one that was meant.
    #[error(
        "the plan has the digest {found}, and {wanted} was wanted: start a new run, or take the plan as it was"
    )]
    Changed {
        /// What was asked for.
        wanted: String,
        /// That of the plan.
        found: String,
    },
}

/// The parameter, in the form of every invocation.
#[derive(Deserialize)]
struct Call {
    args: (Input,),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    plan: Plan,
    #[serde(default)]
    input: Json,
    #[serde(default)]
    digest: Option<String>,
    #[serde(default)]
    persist: Persistence,
    #[serde(default)]
    continues: Option<String>,
}

impl Start {
    /// What this run was started with.
    ///
    /// # Errors
    /// [`NotARun`].
    pub fn of(run: &Promise) -> Result<Self, NotARun> {
        if !is_run(run) {
            return Err(NotARun::Target(run.id().clone()));
        }
        let refused = |error: serde_json::Error| NotARun::Input(error.to_string());
        let Call { args: (input,) } =
            serde_json::from_slice(&run.spec.param.data).map_err(refused)?;
        let plan = input.plan.check().map_err(NotARun::Plan)?;
        if let Some(wanted) = input.digest {
            let found = plan.digest_text();
            if wanted != found {
                return Err(NotARun::Changed { wanted, found });
            }
        }
        let continues = input.continues.map(PromiseId::new);
        Ok(Self { plan, input: input.input, persistence: input.persist, continues })
    }
}

/// Whether hosts run a graph for this promise.
pub fn is_run(promise: &Promise) -> bool {
    promise.target() == Some(address::GRAPH_RUN)
}
