//! Checks of a plan that need the host: functions that do not exist, and nodes that need a module.

use segno_graph::plan::{Call, CheckedPlan, Kind, PlanErrors, SubGraph};

use crate::{Api, ApiError, Misfit, target::Target};

/// The most faults that are told one by one.
const TOLD: usize = 100;

/// What faults were found so far.
#[derive(Default)]
struct Faults {
    told: Vec<Misfit>,
    more: usize,
}

impl Faults {
    fn add(&mut self, path: String, reason: impl Into<String>) {
        match self.told.len() < TOLD {
            true => self.told.push(Misfit { path, reason: reason.into() }),
            false => self.more += 1,
        }
    }
}

/// The refusal of a plan with these faults.
pub fn refused(errors: PlanErrors) -> ApiError {
    let faults = errors.faults.into_iter();
    let faults = faults.map(|fault| Misfit { path: fault.path, reason: fault.message });
    ApiError::BadPlan { faults: faults.collect(), more: errors.more }
}

impl Api {
    /// Checks that everything that a plan names exists on this host.
    pub(super) async fn examine(
        &self,
        plan: &CheckedPlan,
        module: Option<&str>,
    ) -> Result<(), ApiError> {
        if let Some(module) = module {
            self.digest(module).await?;
        }
        let mut faults = Faults::default();
        let mut plans = vec![(String::new(), plan)];
        while let Some((place, plan)) = plans.pop() {
            for node in plan.topology().nodes() {
                let path = |field| format!("{place}nodes.{}.{field}", plan.topology().name(node));
                let (path, name) = match &plan.node(node).kind {
                    Kind::Call(Call::Own(name)) => (path("call"), &**name),
                    Kind::Call(Call::Module(address)) => (path("call"), &**address),
                    Kind::Graph(SubGraph::Offered(name)) => (path("graph"), &**name),
                    Kind::Graph(SubGraph::Plan(inner)) => {
                        plans.push((format!("{}.", path("graph")), inner));
                        continue;
                    }
                    Kind::Http(_) if module.is_none() => {
                        faults.add(
                            path("http"),
                            "a request is sent under the policy of a module: say which one (`module`)",
                        );
                        continue;
                    }
                    Kind::Call(Call::Worker { .. })
                    | Kind::Http(_)
                    | Kind::Sleep(_)
                    | Kind::Promise
                    | Kind::Signal(_) => continue,
                };
                if let Some(fault) = self.unknown(name, module).await? {
                    faults.add(path, fault);
                }
            }
        }
        match faults.told.is_empty() {
            true => Ok(()),
            false => Err(ApiError::BadPlan { faults: faults.told, more: faults.more }),
        }
    }

    /// Why there is no such function; none: there is.
    async fn unknown(&self, name: &str, module: Option<&str>) -> Result<Option<String>, ApiError> {
        let whole = match (name.starts_with("wasm://"), module) {
            (true, _) => name.to_owned(),
            (false, Some(module)) => format!("{module}/{name}"),
            (false, None) => {
                return Ok(Some(format!(
                    "`{name}` is named without a module: say which one the plan is for (`module`), or \
                     write `wasm://MODULE/{name}`"
                )));
            }
        };
        let found = match Target::parse(&whole) {
            Ok(target) => target.resolve(self).await.map(drop),
            Err(error) => Err(error),
        };
        match found {
            Ok(()) => Ok(None),
            Err(
                error @ (ApiError::BadTarget { .. }
                | ApiError::UnknownModule { .. }
                | ApiError::UnknownFunction { .. }),
            ) => Ok(Some(error.to_string())),
            Err(error) => Err(error),
        }
    }
}
