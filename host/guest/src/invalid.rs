//! The reasons for which a component cannot be deployed.

use super::{GuestError, LoadingError, versions::VERSIONS};

/// The reason that a component cannot be deployed.
#[derive(Debug, thiserror::Error)]
pub enum InvalidComponent {
    /// The component is larger than this host accepts.
    #[error("the component has {size} bytes; the limit is {limit} (`limits.component_bytes`)")]
    TooLarge {
        /// Size of the component, in bytes.
        size: usize,
        limit: usize,
    },
    /// The file is not WebAssembly.
    #[error("this is not WebAssembly: it does not begin with `\\0asm`")]
    NotWasm,
    /// The sources of the module cannot be loaded.
    #[error(transparent)]
    Sources(LoadingError),
    /// The memory of a runtime must be readable.
    #[error("the component cannot be a runtime: {reason}")]
    UnreadableRuntime {
        /// The state that cannot be read.
        reason: String,
    },
    /// The file is a core module, not a component.
    #[error(
        "this is a core module, not a component: build it with `segno build`, or wrap it with `wasm-tools component new`"
    )]
    CoreModule,
    /// The file has the header of a component but does not validate.
    #[error("the component is not valid: {reason}")]
    Malformed {
        /// The compiler's message.
        reason: String,
    },
    /// The component lacks exports that every module must have.
    #[error("the component does not export {}: the contract is the world `segno:workflow/module` in the version {}", missing.join(", "), VERSIONS.join(" or "))]
    MissingExports {
        /// Names of the missing exports.
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
    /// The names match, but a type does not.
    #[error("the component does not fit the contract: {reason}")]
    DoesNotFit {
        /// The mismatching item, and the difference.
        reason: String,
    },
    /// No instance of the component fits into this host.
    #[error("this host has no room for the component: {reason}")]
    TooDemanding {
        /// The needs of an instance, and the capacity of the host.
        reason: String,
    },
    #[error("the component's `describe` failed")]
    NoDescription(#[source] GuestError),
    /// `describe` named a function twice, or returned an invalid name.
    #[error("the component describes {described}")]
    BadName {
        name: String,
        /// The item that has this name.
        described: String,
    },
    /// A crate declares functions that its `segno::module!` list lacks: a call of them would be
    /// answered by 404.
    #[error(
        "{} {} declared and not in the list of the module: add {} to `segno::module!`, or remove {} attribute",
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        if names.len() == 1 { "is" } else { "are" },
        if names.len() == 1 { "it" } else { "them" },
        if names.len() == 1 { "its" } else { "their" },
    )]
    Unlisted { names: Vec<String> },
    /// A schema is not a JSON schema.
    #[error("the {which} schema of `{function}` is not a JSON schema: {reason}")]
    BadSchema {
        /// Either "input" or "output".
        which: &'static str,
        function: String,
        reason: String,
    },
    /// A described retry policy cannot be followed.
    #[error("the description of `{function}` cannot be used: {reason}")]
    BadRetry {
        function: String,
        /// The invalid number.
        reason: String,
    },
    /// A message is described for an unknown function, twice, or with an invalid JSON schema.
    #[error("the description of the {what} `{name}` of `{function}` cannot be used: {reason}")]
    BadMessage {
        /// Either "promise" or "signal".
        what: &'static str,
        name: String,
        function: String,
        reason: String,
    },
    /// The description of a function of an object cannot be used.
    #[error("the description of `{function}` as a function of an object cannot be used: {reason}")]
    BadObject {
        function: String,
        /// The invalid part of the description.
        reason: String,
    },
    /// The description of a function that runs once per key cannot be used.
    #[error("`{function}` cannot run once a key: {reason}")]
    BadRun {
        function: String,
        /// The invalid part of the description.
        reason: String,
    },
    /// A query or update is described for an unknown workflow, twice, or with an invalid JSON
    /// schema.
    #[error("the description of the {what} `{name}` of `{function}` cannot be used: {reason}")]
    BadHandler {
        /// Either "query" or "update".
        what: &'static str,
        name: String,
        function: String,
        reason: String,
    },
    /// A limit is described for an unknown function, twice, or with invalid numbers.
    #[error("the limit of `{function}` cannot be used: {reason}")]
    BadLimit {
        function: String,
        /// The invalid part of the limit.
        reason: String,
    },
    /// Commits are described for an unknown function, for an activity, or twice.
    #[error("the results of `{function}` cannot be committed one by one: {reason}")]
    BadCommit { function: String, reason: &'static str },
    /// An offer is described for an unknown function, by a protocol without a proper name, or twice.
    #[error("`{function}` cannot be offered by `{protocol}`: {reason}")]
    BadExposure { function: String, protocol: String, reason: String },
    /// The host could not check the component; nothing is known about it.
    #[error("the component could not be checked: {0}")]
    Host(String),
}
