//! The protocols by which a component's author offers functions to others.

use segno_core::id::check_name;
use wasmtime::component::{ComponentType, Lift};

use super::{invalid::InvalidComponent, report::FunctionReport};

/// The offer of one function by one protocol.
#[derive(Debug, Clone, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub(super) struct DeclaredExposure {
    /// Name of a workflow or an activity.
    pub(super) function: String,
    /// Name of the protocol, such as `mcp`.
    pub(super) protocol: String,
}

/// Adds the protocols by which functions are offered to the reports.
pub(super) fn with_exposures(
    mut reports: Vec<FunctionReport>,
    exposures: &[DeclaredExposure],
) -> Result<Vec<FunctionReport>, InvalidComponent> {
    for DeclaredExposure { function, protocol } in exposures {
        let bad = |reason: String| InvalidComponent::BadExposure {
            function: function.clone(),
            protocol: protocol.clone(),
            reason,
        };
        check_name("the protocol", protocol).map_err(|error| bad(error.to_string()))?;
        let report = reports.iter_mut().find(|report| report.name == *function);
        let report = report.ok_or_else(|| bad("the module has no such function".to_owned()))?;
        if report.expose.contains(protocol) {
            return Err(bad("it is described twice".to_owned()));
        }
        report.expose.push(protocol.clone());
    }
    Ok(reports)
}
