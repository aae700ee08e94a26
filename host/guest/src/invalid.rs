//! The faults for which a component cannot be deployed.

use super::{GuestError, versions::VERSIONS};

/// Why a component cannot be deployed.
#[derive(Debug, thiserror::Error)]
pub enum Invalid {
    /// The component is larger than this host accepts.
    #[error("the component has {size} bytes; the limit is {limit} (`limits.component_bytes`)")]
    TooLarge {
        /// The size, in bytes.
        size: usize,
        /// The limit, in bytes.
        limit: usize,
    },
    /// The file is no WebAssembly.
    #[error("this is not WebAssembly: it does not begin with `\\0asm`")]
    NotWasm,
    /// A core module of WebAssembly, not a component.
    #[error(
        "this is a core module, not a component: build it with `segno build`, or wrap it with `wasm-tools component new`"
    )]
    CoreModule,
    /// The file has the header of a component, and does not validate.
    #[error("the component is not valid: {reason}")]
    Malformed {
        /// The compiler's message.
        reason: String,
    },
    /// The component lacks exports that every module has.
    #[error("the component does not export {}: the contract is the world `segno:workflow/module` in the version {}", missing.join(", "), VERSIONS.join(" or "))]
    MissingExports {
        /// The missing exports.
        missing: Vec<String>,
    },
    /// The component imports interfaces that the host does not know.
    #[error(
        "the host does not know {}: a module may import `segno:workflow/journal`, `segno:workflow/activity` and WASI 0.2",
        imports.join(", ")
    )]
    UnknownImports {
        /// The imports, in the component's order.
        imports: Vec<String>,
    },
    /// The names match, and a type does not.
    #[error("the component does not fit the contract: {reason}")]
    DoesNotFit {
        /// The item, and the difference.
        reason: String,
    },
    /// No instance of the component fits into this host.
    #[error("this host has no room for the component: {reason}")]
    TooDemanding {
        /// What an instance needs, and what the host has.
        reason: String,
    },
    /// `describe` failed.
    #[error("the component's `describe` failed")]
    NoDescription(#[source] GuestError),
    /// `describe` named a function twice, or gave a name that cannot be one.
    #[error("the component describes {described}")]
    BadName {
        /// The name.
        name: String,
        /// What it describes under it.
        described: String,
    },
    /// A crate declares functions that its list lacks: a call of them would be answered by 404.
    #[error(
        "{} {} declared and not in the list of the module: add {} to `segno::module!`, or remove {} attribute",
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        if names.len() == 1 { "is" } else { "are" },
        if names.len() == 1 { "it" } else { "them" },
        if names.len() == 1 { "its" } else { "their" },
    )]
    Unlisted {
        /// The names of the functions.
        names: Vec<String>,
    },
    /// A schema is no JSON schema.
    #[error("the {which} schema of `{function}` is not a JSON schema: {reason}")]
    BadSchema {
        /// Either "input" or "output".
        which: &'static str,
        /// The name of the function.
        function: String,
        /// The fault of the schema.
        reason: String,
    },
    /// A described policy cannot be followed.
    #[error("the description of `{function}` cannot be used: {reason}")]
    BadRetry {
        /// The name of the function.
        function: String,
        /// The number that is wrong.
        reason: String,
    },
    /// A message is described of a function that there is not, twice, or by no JSON schema.
    #[error("the description of the {what} `{name}` of `{function}` cannot be used: {reason}")]
    BadMessage {
        /// Either "promise" or "signal".
        what: &'static str,
        /// The name of the message.
        name: String,
        /// The name of the function.
        function: String,
        /// The fault.
        reason: String,
    },
    /// The description of a function of an object cannot be used.
    #[error("the description of `{function}` as a function of an object cannot be used: {reason}")]
    BadObject {
        /// The name of the function.
        function: String,
        /// The fault.
        reason: String,
    },
    /// The description of a function that runs once a key cannot be used.
    #[error("`{function}` cannot run once a key: {reason}")]
    BadRun {
        /// The name of the function.
        function: String,
        /// The fault.
        reason: String,
    },
    /// A query or update is described of a workflow that there is not, twice, or by no JSON schema.
    #[error("the description of the {what} `{name}` of `{function}` cannot be used: {reason}")]
    BadHandler {
        /// Either "query" or "update".
        what: &'static str,
        /// The name of the query or update.
        name: String,
        /// The name of the workflow.
        function: String,
        /// The fault.
        reason: String,
    },
    /// A limit is described of a function that there is not, twice, or makes no sense.
    #[error("the limit of `{function}` cannot be used: {reason}")]
    BadLimit {
        /// The name of the function.
        function: String,
        /// The fault.
        reason: String,
    },
    /// The host could not check the component; nothing is known about it.
    #[error("the component could not be checked: {0}")]
    Host(String),
}
