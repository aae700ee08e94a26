//! Checks of a plan that require the host: missing functions, and nodes that need a module.

use segno_core::address::SERVICE_SCHEME;
use segno_graph::plan::{CheckedPlan, FunctionTarget, NodeAction, PlanErrors, PlanNode, SubGraph};

use segno_guest::SchemaMismatch;

use crate::{Api, ApiError, model::FunctionKind, target::ParsedTarget};

/// Maximum number of faults reported individually.
const TOLD: usize = 100;

/// The faults found so far.
#[derive(Default)]
struct PlanFaults {
    told: Vec<SchemaMismatch>,
    more: usize,
}

impl PlanFaults {
    fn add(&mut self, path: String, reason: impl Into<String>) {
        match self.told.len() < TOLD {
            true => self.told.push(SchemaMismatch { path, reason: reason.into() }),
            false => self.more += 1,
        }
    }
}

/// Builds the refusal of a plan with these faults.
pub(super) fn refused(errors: PlanErrors) -> ApiError {
    let faults = errors.faults.into_iter();
    let faults = faults.map(|fault| SchemaMismatch { path: fault.path, reason: fault.message });
    ApiError::BadPlan { faults: faults.collect(), more: errors.more }
}

impl Api {
    /// Checks that everything named by a plan exists on this host.
    pub(super) async fn examine(
        &self,
        plan: &CheckedPlan,
        module: Option<&str>,
    ) -> Result<(), ApiError> {
        if let Some(module) = module {
            self.digest(module).await?;
        }
        let mut faults = PlanFaults::default();
        let mut plans = vec![(String::new(), plan)];
        while let Some((place, plan)) = plans.pop() {
            for node in plan.topology().nodes() {
                let path = |field| format!("{place}nodes.{}.{field}", plan.topology().name(node));
                let sleep = match plan.node(node).kind {
                    NodeAction::Sleep(length) => Some(length),
                    _ => None,
                };
                let PlanNode { timeout, attempt_timeout, .. } = plan.node(node);
                let lengths = [
                    ("sleep", sleep),
                    ("timeout", *timeout),
                    ("attempt_timeout", *attempt_timeout),
                ];
                for (field, length) in lengths {
                    let ms = length.map(|length| u64::try_from(length.as_millis()));
                    let end =
                        ms.map(|ms| self.host.env.clock.now().in_time(ms.unwrap_or(u64::MAX)));
                    if let Some(Err(refused)) = end {
                        faults.add(path(field), format!("it {refused}"));
                    }
                }
                let (path, name) = match &plan.node(node).kind {
                    NodeAction::Call(FunctionTarget::Own(name)) => (path("call"), &**name),
                    NodeAction::Call(
                        FunctionTarget::Module(address) | FunctionTarget::Service(address),
                    ) => (path("call"), &**address),
                    NodeAction::Graph(SubGraph::Offered(name)) => (path("graph"), &**name),
                    NodeAction::Graph(SubGraph::Plan(inner)) => {
                        plans.push((format!("{}.", path("graph")), inner));
                        continue;
                    }
                    NodeAction::Http(_) if module.is_none() => {
                        faults.add(
                            path("http"),
                            "a request is sent under the policy of a module: say which one (`module`)",
                        );
                        continue;
                    }
                    NodeAction::Call(FunctionTarget::Worker { .. })
                    | NodeAction::Http(_)
                    | NodeAction::Sleep(_)
                    | NodeAction::Promise
                    | NodeAction::Signal(_) => continue,
                };
                match self.named(name, module).await? {
                    Err(fault) => faults.add(path, fault),
                    Ok(FunctionKind::Workflow) if plan.node(node).once.is_some() => {
                        let path = format!("{}once", path.trim_end_matches("call"));
                        let fault = format!(
                            "`{name}` is a workflow, which continues from its journal and begins nothing twice: remove `once`, or call the activity that may not be repeated"
                        );
                        faults.add(path, fault);
                    }
                    Ok(FunctionKind::Workflow | FunctionKind::Activity) => {}
                }
            }
        }
        match faults.told.is_empty() {
            true => Ok(()),
            false => Err(ApiError::BadPlan { faults: faults.told, more: faults.more }),
        }
    }

    /// Returns the kind of a function that a plan names, or the reason why it cannot be found.
    async fn named(
        &self,
        name: &str,
        module: Option<&str>,
    ) -> Result<Result<FunctionKind, String>, ApiError> {
        let is_whole = name.starts_with("wasm://") || name.starts_with(SERVICE_SCHEME);
        let whole = match (is_whole, module) {
            (true, _) => name.to_owned(),
            (false, Some(module)) => format!("{module}/{name}"),
            (false, None) => {
                return Ok(Err(format!(
                    "`{name}` is named without a module: say which one the plan is for (`module`), or \
                     write `wasm://MODULE/{name}`"
                )));
            }
        };
        let found = match ParsedTarget::parse(&whole) {
            Ok(target) => target.resolve(self).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(resolved) => Ok(Ok(resolved.function.kind)),
            Err(
                error @ (ApiError::BadTarget { .. }
                | ApiError::UnknownModule { .. }
                | ApiError::UnknownFunction { .. }),
            ) => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }
}
