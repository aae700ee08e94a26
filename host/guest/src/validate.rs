//! Checks a component before it is stored: returns its faults as text, or a report of its imports
//! and functions.

use std::{collections::BTreeSet, sync::Arc};

use segno_core::{id::Digest, source_module::SourceModule};
use wasmparser::{Parser, Payload};
use wasmtime::component::{Component, types::ComponentItem};

use super::{
    FunctionDescription, GuestError, HandlerDescription, HandlerKind,
    exposures::with_exposures,
    function_limits::with_limits,
    function_reports::{described, with_commits, with_messages, with_objects, with_runs},
    handlers::with_handlers,
    imports::{self, InterfaceName},
    invalid::InvalidComponent,
    loaded::LoadError,
    loading_error::LoadingError,
    report::{ImportReport, ImportTreatment, ModuleReport},
    snapshot::{self, Initialization},
    versions::{PACKAGE, VERSIONS, interface},
    wasm::Wasm,
};

/// The interface that a module exports.
const FUNCTIONS: &str = "functions";
/// The functions of this interface.
const EXPORTS: &[&str] = &["describe", "start", "resume", "perform"];

impl Wasm {
    /// Checks a component for deployment and reports its imports and functions. Also compiles the
    /// component, so that its first execution does not wait for that.
    ///
    /// # Errors
    /// [`InvalidComponent`] names the fault and its remedy.
    pub async fn inspect(&self, component: Arc<[u8]>) -> Result<ModuleReport, InvalidComponent> {
        recognise(&component, self.limits.component_bytes)?;
        let digest = Digest::of(&component);
        let inspected = compiled(self, digest, component).await;
        if inspected.is_err() {
            self.modules.forget(digest).await;
            self.accessible.forget(digest).await;
            self.runtimes.forget(digest).await;
        }
        inspected
    }
}

/// Checks the compiled component.
async fn compiled(
    wasm: &Wasm,
    digest: Digest,
    bytes: Arc<[u8]>,
) -> Result<ModuleReport, InvalidComponent> {
    let size = bytes.len();
    runtime_is_stored(wasm, &bytes).await?;
    let declared = declared(&bytes);
    let looked_at = Arc::clone(&bytes);
    let is_runtime = is_runtime(&bytes);
    let initialization = match is_runtime {
        true => Initialization::OnCall,
        false => Initialization::OnInstantiation,
    };
    let snapshots = tokio::task::spawn_blocking(move || match SourceModule::is_meant(&looked_at) {
        true => Ok(Vec::new()),
        false => snapshot::rewrite(&looked_at, initialization),
    });
    let (admitted, snapshots) = if is_runtime {
        // Its modules run on the accessible form, so the other one is never compiled.
        let rewritten =
            snapshots.await.map_err(|error| InvalidComponent::Host(error.to_string()))?;
        let accessible = rewritten.map_err(|why| InvalidComponent::Malformed {
            reason: format!("a runtime keeps the memory after loading, and here {why}"),
        })?;
        (wasm.runtimes.admit(digest, accessible.into()).await, None)
    } else {
        (wasm.modules.admit(digest, bytes).await, Some(snapshots))
    };
    let module = admitted.map_err(|error| match error {
        LoadError::Compile(reason) => InvalidComponent::Malformed { reason },
        LoadError::Link { component, reason } => misfit(&component, reason),
        LoadError::Share(reason) => InvalidComponent::TooDemanding { reason },
        LoadError::Sources(error) => InvalidComponent::Sources(error),
        LoadError::Host(error) => InvalidComponent::Host(error.to_string()),
    })?;
    // An interface with only types links under any name.
    let unknown = unknown_imports(&module.component);
    if !unknown.is_empty() {
        return Err(InvalidComponent::UnknownImports { imports: unknown });
    }
    let said = wasm.described(&module).await.map_err(|error| match error {
        GuestError::Host(reason) => InvalidComponent::Host(reason),
        error => InvalidComponent::NoDescription(error),
    })?;
    let unlisted = unlisted(&declared, &said.functions, &said.handlers);
    if !unlisted.is_empty() {
        return Err(InvalidComponent::Unlisted { names: unlisted });
    }
    let functions = with_messages(described(&said.functions)?, said.messages.clone())?;
    let functions = with_runs(with_objects(functions, &said.objects)?, &said.runs)?;
    let functions = with_handlers(functions, said.handlers.clone())?;
    let functions = with_commits(functions, &said.commits)?;
    let functions = with_exposures(functions, &said.exposures)?;
    Ok(ModuleReport {
        digest: digest.to_string(),
        size,
        imports: imports_of(&module.component),
        exports: exports_of(&module.component),
        functions: with_limits(functions, &said.limits)?,
        no_snapshots: match snapshots {
            Some(snapshots) => snapshots.await.ok().and_then(Result::err),
            None => None,
        },
    })
}

/// Checks that the runtime of a source module is stored. Compiled code of it may have outlived it.
async fn runtime_is_stored(wasm: &Wasm, bytes: &[u8]) -> Result<(), InvalidComponent> {
    let Some(runtime) = SourceModule::runtime_of(bytes) else { return Ok(()) };
    match wasm.config.source.component(runtime).await {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(InvalidComponent::Sources(LoadingError::NoRuntime(runtime))),
        Err(error) => Err(InvalidComponent::Host(format!("{error:#}"))),
    }
}

/// True if a component exports the loader of sources.
fn is_runtime(component: &[u8]) -> bool {
    let loader = format!("{PACKAGE}/loader@");
    Parser::new(0).parse_all(component).any(|payload| match payload {
        Ok(Payload::ComponentExportSection(exports)) => exports
            .into_iter()
            .any(|export| export.is_ok_and(|export| export.name.name.starts_with(&loader))),
        _ => false,
    })
}

/// The section in which the Rust SDK lists the functions of crates. Each line has a crate's name, a
/// tab, and the name of a function, or `*` for a crate that lists its functions in
/// `segno::module!`. A line of a query or an update has its kind after the crate's name, and
/// `WORKFLOW/NAME` after the tab.
const DECLARED: &str = "segno-functions";

/// The functions that the crates in a component declare.
fn declared(component: &[u8]) -> String {
    let sections = Parser::new(0).parse_all(component).filter_map(|payload| match payload {
        Ok(Payload::CustomSection(section)) if section.name() == DECLARED => {
            Some(String::from_utf8_lossy(section.data()).into_owned())
        }
        _ => None,
    });
    sections.collect()
}

/// Functions that a crate with a list declares and the module does not have.
fn unlisted(
    declared: &str,
    functions: &[FunctionDescription],
    handlers: &[HandlerDescription],
) -> Vec<String> {
    let lines: BTreeSet<(&str, &str)> =
        declared.lines().filter_map(|line| line.split_once('\t')).collect();
    let is_listed = |kind: &str, name: &str| match handler_kind(kind) {
        None => functions.iter().any(|function| function.name == name),
        Some(kind) => handlers.iter().any(|known| {
            known.kind == kind && format!("{}/{}", known.function, known.name) == name
        }),
    };
    let mut missing = Vec::new();
    for (owner, name) in &lines {
        let (owner, kind) = owner.split_once(' ').unwrap_or((owner, ""));
        if *name != "*" && lines.contains(&(owner, "*")) && !is_listed(kind, name) {
            missing.push((*name).to_owned());
        }
    }
    missing
}

fn handler_kind(kind: &str) -> Option<HandlerKind> {
    match kind {
        "query" => Some(HandlerKind::Query),
        "update" => Some(HandlerKind::Update),
        _ => None,
    }
}

/// Performs the checks that need no compilation.
fn recognise(bytes: &[u8], limit: usize) -> Result<(), InvalidComponent> {
    if bytes.len() > limit {
        return Err(InvalidComponent::TooLarge { size: bytes.len(), limit });
    }
    if SourceModule::is_meant(bytes) {
        return Ok(());
    }
    if Parser::is_core_wasm(bytes) {
        return Err(InvalidComponent::CoreModule);
    }
    if Parser::is_component(bytes) {
        return Ok(());
    }
    match bytes.starts_with(b"\0asm") {
        true => Err(InvalidComponent::Malformed { reason: "its version is not known here".into() }),
        false => Err(InvalidComponent::NotWasm),
    }
}

/// The most specific reason that a compiled component could not be linked.
fn misfit(component: &Component, reason: String) -> InvalidComponent {
    let unknown = unknown_imports(component);
    if !unknown.is_empty() {
        return InvalidComponent::UnknownImports { imports: unknown };
    }
    let missing = missing_exports(component);
    if !missing.is_empty() {
        return InvalidComponent::MissingExports { missing };
    }
    InvalidComponent::DoesNotFit { reason }
}

/// Imports that the host does not know, in backquotes.
fn unknown_imports(component: &Component) -> Vec<String> {
    imports::of_component(component)
        .into_iter()
        .filter(|import| InterfaceName::known(&import.name).is_none())
        .map(|import| format!("`{}`", import.name))
        .collect()
}

fn missing_exports(component: &Component) -> Vec<String> {
    let component_type = component.component_type();
    let is_it = |name: &str| {
        let begins =
            |known: &str| known.rfind('.').is_some_and(|end| name.starts_with(&known[..end]));
        VERSIONS.iter().any(|version| begins(&interface(FUNCTIONS, version)))
    };
    let found = component_type.exports(component.engine()).find(|(name, _)| is_it(name));
    let Some((name, ComponentItem::ComponentInstance(found))) =
        found.map(|(name, export)| (name, export.ty))
    else {
        return vec![format!("`{PACKAGE}/{FUNCTIONS}`")];
    };
    EXPORTS
        .iter()
        .filter(|function| found.get_export(component.engine(), function).is_none())
        .map(|function| format!("`{name}#{function}`"))
        .collect()
}

fn imports_of(component: &Component) -> Vec<ImportReport> {
    let mut reports: Vec<ImportReport> = Vec::new();
    for import in imports::of_component(component) {
        let Some(interface) = InterfaceName::known(&import.name) else { continue };
        let first = reports.len();
        for function in import.functions {
            let how = interface.in_workflow(&function);
            match reports[first..].iter_mut().find(|report| report.how == how) {
                Some(report) => report.functions.push(function),
                None => reports.push(ImportReport {
                    name: import.name.clone(),
                    how,
                    functions: vec![function],
                }),
            }
        }
        if reports.len() == first {
            // An interface with only types has nothing to refuse.
            let (name, how) = (import.name, ImportTreatment::Provided);
            reports.push(ImportReport { name, how, functions: Vec::new() });
        }
    }
    reports
}

/// The exports of the author's component, without those of an accessor.
fn exports_of(component: &Component) -> Vec<String> {
    let component_type = component.component_type();
    let exports = component_type.exports(component.engine()).map(|(name, _)| name.to_owned());
    exports.filter(|name| !name.starts_with(snapshot::ACCESSOR)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FunctionKind;

    #[test]
    fn functions_that_a_listing_crate_declares_are_listed() {
        let listed = |name: &str| FunctionDescription {
            name: name.to_owned(),
            kind: FunctionKind::Workflow,
            summary: None,
            input_schema: None,
            output_schema: None,
            signals: false,
            timeout_ms: None,
            retry: None,
            commits_each: false,
        };
        let functions = [listed("order"), listed("ship")];
        let handlers = [HandlerDescription {
            function: "order".to_owned(),
            kind: HandlerKind::Query,
            name: "step".to_owned(),
            summary: None,
            input_schema: None,
            output_schema: None,
        }];
        for (declared, expected) in [
            ("", &[][..]),
            ("shop\torder\nshop\t*\nshop\tship\n", &[]),
            ("shop\torder\nshop\tact\nshop\t*\nshop\tpay\n", &["act", "pay"]),
            // A crate without a list, from which others select functions.
            ("parts\tact\nshop\torder\nshop\t*\n", &[]),
            ("shop\t*\nshop query\torder/step\n", &[]),
            ("shop\t*\nshop update\torder/step\n", &["order/step"]),
            ("shop query\torder/place\n", &[]),
        ] {
            assert_eq!(unlisted(declared, &functions, &handlers), expected, "{declared}");
        }
    }
}
