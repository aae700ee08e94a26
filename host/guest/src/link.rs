//! Linkers: bind each import of a component to its implementation, for workflows and for
//! activities.

use wasmtime::component::{Component, Linker, LinkerInstance, Resource, ResourceType};
use wasmtime_wasi::{
    WasiView,
    p2::bindings::{
        clocks::wall_clock::Datetime,
        filesystem::types::{
            DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, MetadataHashValue,
            OpenFlags, PathFlags,
        },
    },
};

use super::{
    activity::ActivityState,
    exports::LinkedComponent,
    imports::{self, ImportedInterface, InterfaceName},
    provided::provide,
    report::ImportTreatment,
    trap::TrapCause,
    workflow::WorkflowState,
};

/// The type of every handle of a refusing interface, which never returns one.
pub(super) enum NoResource {}

const OPEN: &str = "[method]descriptor.open-at";
/// File name extensions of scripts, for languages whose interpreters become components.
const SOURCES: &[&str] = &[".py", ".pyc", ".js", ".mjs"];
const NO_SOCKETS: &str = "activities get no raw sockets: use `activity.http` or `wasi:http`, whose addresses the policy can allow (`http.allow`)";
const NO_DIRECTORIES: &str =
    "no directory is allowed for this module: add one to its `dirs` in policy.toml";

/// Links `component` without I/O.
pub(super) fn for_workflows(
    component: &Component,
) -> wasmtime::Result<LinkedComponent<WorkflowState>> {
    let mut linker = Linker::new(component.engine());
    provide(&mut linker)?;
    let imports = imports::of_component(component);
    if imports.iter().any(is_wasi) {
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        linker.allow_shadowing(true);
        for import in &imports {
            let Some(interface) = InterfaceName::known(&import.name) else { continue };
            match (interface.package, interface.name) {
                ("wasi:clocks", "wall-clock") => wall_clock(&mut linker.instance(&import.name)?)?,
                ("wasi:clocks", "monotonic-clock") => {
                    let mut instance = linker.instance(&import.name)?;
                    monotonic_clock(&mut instance)?;
                    refuse(&mut instance, import, |function| {
                        workflow_refusal(interface, function)
                    })?;
                }
                ("wasi:filesystem" | "wasi:sockets" | "wasi:http", _) | ("wasi:cli", "exit") => {
                    let mut instance = linker.instance(&import.name)?;
                    nothing(&mut instance, import)?;
                    refuse(&mut instance, import, |function| {
                        workflow_refusal(interface, function)
                    })?;
                }
                _ => {}
            }
        }
    }
    LinkedComponent::new(linker.instantiate_pre(component)?)
}

/// Links `component` with I/O. Without `directories`, its file functions refuse and name the
/// setting.
pub(super) fn for_activities(
    component: &Component,
    directories: bool,
) -> wasmtime::Result<LinkedComponent<ActivityState>> {
    let mut linker = Linker::new(component.engine());
    provide(&mut linker)?;
    let imports = imports::of_component(component);
    if imports.iter().any(is_wasi) {
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
        linker.allow_shadowing(true);
        for import in &imports {
            let Some(interface) = InterfaceName::known(&import.name) else { continue };
            let reason = match interface.package {
                "wasi:filesystem" if !directories => NO_DIRECTORIES,
                "wasi:sockets" => NO_SOCKETS,
                _ => continue,
            };
            let mut instance = linker.instance(&import.name)?;
            nothing(&mut instance, import)?;
            refuse(&mut instance, import, |function| {
                let refused = interface.in_workflow(function) != ImportTreatment::DeterministicWasi;
                refused.then(|| format!("{function} is refused: {reason}"))
            })?;
        }
    }
    LinkedComponent::new(linker.instantiate_pre(component)?)
}

/// Returns true if `component` imports any WASI interface.
pub(super) fn needs_wasi(component: &Component) -> bool {
    imports::of_component(component).iter().any(is_wasi)
}

fn is_wasi(import: &ImportedInterface) -> bool {
    InterfaceName::known(&import.name).is_some_and(InterfaceName::is_wasi)
}

fn workflow_refusal(interface: InterfaceName<'_>, function: &str) -> Option<String> {
    match interface.in_workflow(function) {
        ImportTreatment::RefusedWhenCalled { use_instead } => {
            Some(format!("{function} is refused in a workflow: {use_instead}"))
        }
        ImportTreatment::Provided | ImportTreatment::DeterministicWasi => None,
    }
}

/// Makes each function for which `refusal` has a reason trap with that reason, under the name of
/// its interface.
fn refuse<T: 'static>(
    instance: &mut LinkerInstance<'_, T>,
    import: &ImportedInterface,
    refusal: impl Fn(&str) -> Option<String>,
) -> wasmtime::Result<()> {
    for function in &import.functions {
        if let Some(reason) = refusal(function) {
            let message = format!("{}: {reason}", import.name);
            if function == OPEN {
                open(instance, message)?;
                continue;
            }
            instance.func_new(function, move |_, _, _, _| {
                Err(TrapCause::Refused(message.clone()).into())
            })?;
        }
    }
    Ok(())
}

/// Refuses to open files, with exceptions that return "not found": opening a *directory* is a search
/// for something optional, and a runtime opens its script's source to show a line of it in a stack
/// trace. Names such as `<string>` stand for code that is in no file.
fn open<T: 'static>(instance: &mut LinkerInstance<'_, T>, refusal: String) -> wasmtime::Result<()> {
    type Parameters = (Resource<NoResource>, PathFlags, String, OpenFlags, DescriptorFlags);
    instance.func_wrap(OPEN, move |_, (_, _, path, open, how): Parameters| {
        let is_source = SOURCES.iter().any(|extension| path.ends_with(extension))
            || path.trim_start_matches('/').starts_with('<');
        let reads_source = is_source && !how.contains(DescriptorFlags::WRITE);
        if open.contains(OpenFlags::DIRECTORY) || reads_source {
            return Ok((no_entry::<Resource<NoResource>>(),));
        }
        Err(TrapCause::Refused(format!("{refusal} (it was to open `{path}`)")).into())
    })
}

/// Provides the types of a refused interface and its harmless functions: there is one directory,
/// the root, and it is empty.
fn nothing<T: WasiView + 'static>(
    instance: &mut LinkerInstance<'_, T>,
    import: &ImportedInterface,
) -> wasmtime::Result<()> {
    for resource in &import.resources {
        instance.resource(resource, ResourceType::host::<NoResource>(), |_, _| Ok(()))?;
    }
    for function in &import.functions {
        match function.as_str() {
            "get-directories" => instance.func_wrap(function, |_, (): ()| {
                Ok((vec![(Resource::<NoResource>::new_own(0), "/".to_owned())],))
            })?,
            "[method]descriptor.get-type" => {
                instance.func_wrap(function, |_, (_directory,): (Resource<NoResource>,)| {
                    Ok((Ok::<_, ErrorCode>(DescriptorType::Directory),))
                })?;
            }
            "[method]descriptor.get-flags" => {
                instance.func_wrap(function, |_, (_directory,): (Resource<NoResource>,)| {
                    Ok((Ok::<_, ErrorCode>(DescriptorFlags::READ),))
                })?;
            }
            "[method]descriptor.stat-at" => {
                type Parameters = (Resource<NoResource>, PathFlags, String);
                instance
                    .func_wrap(function, |_, _: Parameters| Ok((no_entry::<DescriptorStat>(),)))?;
            }
            "[method]descriptor.metadata-hash-at" => {
                type Parameters = (Resource<NoResource>, PathFlags, String);
                instance.func_wrap(function, |_, _: Parameters| {
                    Ok((no_entry::<MetadataHashValue>(),))
                })?;
            }
            "[method]descriptor.readlink-at" => {
                type Parameters = (Resource<NoResource>, String);
                instance.func_wrap(function, |_, _: Parameters| Ok((no_entry::<String>(),)))?;
            }
            "filesystem-error-code" => {
                type IoError = wasmtime_wasi::p2::bindings::io::error::Error;
                instance.func_wrap(function, |_, (_error,): (Resource<IoError>,)| {
                    Ok((None::<ErrorCode>,))
                })?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn no_entry<T>() -> Result<T, ErrorCode> {
    Err(ErrorCode::NoEntry)
}

/// Logical time, from the journal.
fn wall_clock(instance: &mut LinkerInstance<'_, WorkflowState>) -> wasmtime::Result<()> {
    instance.func_wrap("now", |store, (): ()| {
        let now = store.data().logical_ms()?;
        let nanoseconds = (now % 1_000) as u32 * 1_000_000;
        Ok((Datetime { seconds: now / 1_000, nanoseconds },))
    })?;
    instance
        .func_wrap("resolution", |_, (): ()| Ok((Datetime { seconds: 0, nanoseconds: 1_000_000 },)))
}

/// Logical time in nanoseconds: constant during a poll, and never decreasing.
fn monotonic_clock(instance: &mut LinkerInstance<'_, WorkflowState>) -> wasmtime::Result<()> {
    instance.func_wrap("now", |store, (): ()| {
        Ok((store.data().logical_ms()?.saturating_mul(1_000_000),))
    })?;
    instance.func_wrap("resolution", |_, (): ()| Ok((1_000_000_u64,)))
}
