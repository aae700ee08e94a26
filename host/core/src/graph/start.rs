//! Start parameters of a graph run, stored as the parameter of its promise:
//!
//! ```text
//! {"func":"segno:graph","args":[{"plan":…,"digest":"…","input":…,"persist":"each","continues":"…"}]}
//! ```

use segno_graph::plan::{CheckedPlan, Plan, PlanErrors};
use serde::Deserialize;
use serde_json::Value as Json;

use crate::{
    address::GRAPH_RUN,
    id::PromiseId,
    promise::Promise,
    value::{Tags, Value},
};

/// Start parameters of a graph run.
#[derive(Clone, Debug)]
pub struct GraphRunParameters {
    pub plan: CheckedPlan,
    /// Value that the plan refers to as `input`.
    pub input: Json,
    /// Granularity in which facts are stored.
    pub persistence: Persistence,
    /// An earlier run of the same plan, whose completed nodes are reused.
    pub continues: Option<PromiseId>,
}

/// Granularity in which facts that arrive together are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Persistence {
    /// All facts and their consequences in one transaction.
    #[default]
    Wave,
    /// Each fact in its own transaction.
    Each,
}

/// Error: the promise is not a graph run, or its parameter is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphRunError {
    /// The promise has another target.
    #[error("`{0}` is not the run of a graph")]
    Target(PromiseId),
    /// The parameter is malformed.
    #[error(
        "the input of a graph run is an object of `plan` and `input`, and may have `digest`, `persist` and \
         `continues`: {0}"
    )]
    Input(String),
    /// The plan is invalid.
    #[error("{0}")]
    Plan(PlanErrors),
    /// The plan does not have the expected digest.
    #[error(
        "the plan has the digest {found}, and {wanted} was wanted: start a new run, or take the plan as it was"
    )]
    Changed {
        /// The expected digest.
        wanted: String,
        /// The plan's digest.
        found: String,
    },
}

/// The parameter, in the format shared by all invocations.
#[derive(Deserialize)]
struct GraphRunArguments {
    args: (GraphRunInput,),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GraphRunInput {
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

impl GraphRunParameters {
    /// Parses the parameter of a run.
    ///
    /// # Errors
    /// [`GraphRunError`].
    pub fn of(run: &Promise) -> Result<Self, GraphRunError> {
        if !is_run(run) {
            return Err(GraphRunError::Target(run.id().clone()));
        }
        let refused = |error: serde_json::Error| GraphRunError::Input(error.to_string());
        let GraphRunArguments { args: (input,) } =
            serde_json::from_slice(&run.spec.param.data).map_err(refused)?;
        let plan = input.plan.check().map_err(GraphRunError::Plan)?;
        if let Some(wanted) = input.digest {
            let found = plan.digest_text();
            if wanted != found {
                return Err(GraphRunError::Changed { wanted, found });
            }
        }
        let continues = input.continues.map(PromiseId::new);
        Ok(Self { plan, input: input.input, persistence: input.persist, continues })
    }
}

/// Writes the parameter of a run, with `headers`; [`GraphRunParameters::of`] parses it. The canonical
/// text of the plan is inserted unchanged.
pub fn parameter(
    (plan, input): (&CheckedPlan, &Json),
    persistence: Persistence,
    continues: Option<&PromiseId>,
    headers: Tags,
) -> Value {
    let (text, digest) = (plan.canonical(), plan.digest_text());
    let persist = match persistence {
        Persistence::Wave => "",
        Persistence::Each => r#","persist":"each""#,
    };
    let continues = continues.map(|id| format!(r#","continues":{}"#, Json::from(id.as_str())));
    let continues = continues.unwrap_or_default();
    let data = format!(
        r#"{{"func":"{GRAPH_RUN}","args":[{{"plan":{text},"digest":"{digest}","input":{input}{persist}{continues}}}]}}"#
    );
    Value { headers, data: data.into_bytes().into() }
}

/// True if the promise is a graph run, which hosts execute.
pub fn is_run(promise: &Promise) -> bool {
    promise.target() == Some(GRAPH_RUN)
}
