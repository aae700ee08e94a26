//! The imports that the host knows, and the treatment of each of their functions.
//!
//! A workflow gets the WASI functions that the journal can reproduce, and a trap *when it calls*
//! any other: languages import all of WASI, used or not.

use wasmtime::component::{Component, ResourceType, types::ComponentItem};

use super::{
    report::ImportTreatment,
    versions::{self, PACKAGE},
};

/// The parts of `PACKAGE/INTERFACE@VERSION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InterfaceName<'a> {
    pub(super) package: &'a str,
    pub(super) name: &'a str,
}

/// One imported interface with its functions.
pub(super) struct ImportedInterface {
    /// The name, in the component's spelling.
    pub(super) name: String,
    /// The functions, in the component's order.
    pub(super) functions: Vec<String>,
    /// Resource types that the interface defines.
    pub(super) resources: Vec<String>,
}

/// Interfaces of WASI 0.2 that workflows and activities can import.
const WASI: &[(&str, &[&str])] = &[
    ("wasi:io", &["error", "poll", "streams"]),
    ("wasi:clocks", &["monotonic-clock", "wall-clock"]),
    ("wasi:random", &["insecure", "insecure-seed", "random"]),
    (
        "wasi:cli",
        &[
            "environment",
            "exit",
            "stderr",
            "stdin",
            "stdout",
            "terminal-input",
            "terminal-output",
            "terminal-stderr",
            "terminal-stdin",
            "terminal-stdout",
        ],
    ),
    ("wasi:filesystem", &["preopens", "types"]),
    (
        "wasi:sockets",
        &[
            "instance-network",
            "ip-name-lookup",
            "network",
            "tcp",
            "tcp-create-socket",
            "udp",
            "udp-create-socket",
        ],
    ),
    ("wasi:http", &["outgoing-handler", "types"]),
];

/// Functions of `wasi:filesystem` that workflows may call: they show one empty directory. Language
/// runtimes look for optional files when they start, import or print a stack trace.
const HARMLESS_FILES: &[&str] = &[
    "get-directories",
    "[method]descriptor.stat-at",
    "[method]descriptor.metadata-hash-at",
    "[method]descriptor.readlink-at",
    "[method]descriptor.get-type",
    "[method]descriptor.get-flags",
    "filesystem-error-code",
];

pub(super) const INSTEAD_OF_FILES: &str =
    "read and write files in an activity whose module has `dirs` in the policy";
pub(super) const INSTEAD_OF_SECRETS: &str =
    "read it in an activity, or name it in a header of `ctx.http` (`Bearer {secret:NAME}`)";
pub(super) const INSTEAD_OF_CONFIGURATION: &str = "read it in an activity, which may return what is no secret, or put it into the input of the workflow";
const INSTEAD_OF_SOCKETS: &str =
    "use `ctx.http`, or an activity whose module has `http.allow` in the policy";
const INSTEAD_OF_SLEEP: &str = "use `ctx.sleep`";
const INSTEAD_OF_EXIT: &str = "return from the function";

impl<'a> InterfaceName<'a> {
    /// Parses the name `import`. `None` if the host does not provide the interface.
    pub(super) fn known(import: &'a str) -> Option<Self> {
        let (path, version) = import.split_once('@')?;
        let (package, name) = path.split_once('/')?;
        let known = match package {
            PACKAGE => versions::imports(name, version),
            _ => {
                version.starts_with("0.2.")
                    && WASI.iter().any(|(known, names)| *known == package && names.contains(&name))
            }
        };
        known.then_some(Self { package, name })
    }

    /// Returns true if the interface belongs to WASI.
    pub(super) fn is_wasi(self) -> bool {
        self.package.starts_with("wasi:")
    }

    /// The treatment of a workflow's call of `function`.
    pub(super) fn in_workflow(self, function: &str) -> ImportTreatment {
        let refused =
            |instead: &str| ImportTreatment::RefusedWhenCalled { use_instead: instead.into() };
        match (self.package, self.name) {
            (PACKAGE, "configuration") if function == "secret" => refused(INSTEAD_OF_SECRETS),
            (PACKAGE, "configuration") => refused(INSTEAD_OF_CONFIGURATION),
            (PACKAGE, "files") => refused(INSTEAD_OF_FILES),
            (PACKAGE, _) => ImportTreatment::Provided,
            ("wasi:filesystem", _) if !HARMLESS_FILES.contains(&function) => {
                refused(INSTEAD_OF_FILES)
            }
            ("wasi:sockets" | "wasi:http", _) => refused(INSTEAD_OF_SOCKETS),
            ("wasi:clocks", "monotonic-clock") if function.starts_with("subscribe-") => {
                refused(INSTEAD_OF_SLEEP)
            }
            ("wasi:cli", "exit") => refused(INSTEAD_OF_EXIT),
            _ => ImportTreatment::DeterministicWasi,
        }
    }
}

/// All imports of `component`, in its order. Functions imported outside an interface are separate
/// entries.
pub(super) fn of_component(component: &Component) -> Vec<ImportedInterface> {
    let engine = component.engine();
    let component_type = component.component_type();
    let mut known: Vec<ResourceType> = Vec::new();
    let mut imports = Vec::new();
    for (name, import) in component_type.imports(engine) {
        let ComponentItem::ComponentInstance(instance) = import.ty else {
            imports.push(ImportedInterface {
                name: name.into(),
                functions: Vec::new(),
                resources: Vec::new(),
            });
            continue;
        };
        let mut functions = Vec::new();
        let mut resources = Vec::new();
        for (name, export) in instance.exports(engine) {
            match export.ty {
                ComponentItem::ComponentFunc(_) => functions.push(name.to_owned()),
                // A resource that an earlier interface introduced is only used here.
                ComponentItem::Resource(resource) if !known.contains(&resource) => {
                    known.push(resource);
                    resources.push(name.to_owned());
                }
                _ => {}
            }
        }
        imports.push(ImportedInterface { name: name.into(), functions, resources });
    }
    imports
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_0_2_of_wasi_is_known_and_nothing_else() {
        for (import, known) in [
            ("wasi:clocks/wall-clock@0.2.0", true),
            ("wasi:filesystem/types@0.2.9", true),
            ("segno:workflow/journal@0.1.0", true),
            ("segno:workflow/files@0.1.0", true),
            ("segno:workflow/sagas@0.1.0", true),
            ("segno:workflow/journal@0.2.0", true),
            ("segno:workflow/state@0.2.1", true),
            ("segno:workflow/state@0.1.0", false),
            ("segno:workflow/journal@0.3.0", false),
            ("segno:workflow/journal@1.2.0", false),
            ("segno:workflow/functions@0.1.0", false),
            ("wasi:clocks/wall-clock@0.3.0", false),
            ("wasi:clocks/timezone@0.2.0", false),
            ("acme:mail/send@0.2.0", false),
            ("wasi:clocks/wall-clock", false),
            ("stray-function", false),
        ] {
            assert_eq!(InterfaceName::known(import).is_some(), known, "{import}");
        }
    }
}
