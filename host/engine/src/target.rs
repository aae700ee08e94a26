//! The parts of an invocation's target: `wasm://module/function`, a function of an object, or an
//! address whose last part is the function.

use std::borrow::Cow;

use segno_core::{
    address::{self, Address},
    id::ObjectId,
    promise::Promise,
};

/// The target of HTTP requests that the host performs.
pub const HTTP: &str = "segno:http";
/// The target of calls that read a stream.
pub const STREAM: &str = "segno:stream";
/// The target of calls that ask what the caller's budgets have left.
pub const BUDGET: &str = "segno:budget";

/// The name under which policies refer to the module of this invocation ([`Promise::module_name`]).
pub fn module_of(promise: &Promise) -> String {
    promise.module_name()
}

/// True for an invocation of a service in an external deployment.
pub fn is_service(promise: &Promise) -> bool {
    promise.target().is_some_and(|target| target.starts_with(address::SERVICE_SCHEME))
}

/// The name of the function of this invocation in its module.
pub fn function_of(promise: &Promise) -> Cow<'_, str> {
    address::function_of(promise.target().unwrap_or_default())
}

/// The name with which the guest is started: the function, or `OBJECT@KEY/FUNCTION`.
pub fn path_of(promise: &Promise) -> &str {
    address::path_of(promise.target().unwrap_or_default())
}

/// The object whose function this invocation runs. `None` for other functions.
pub fn object_of(promise: &Promise) -> Option<ObjectId> {
    // A cheap check first: few targets contain an object.
    let target = promise.target().filter(|target| target.contains('@'))?;
    Address::parse(target).ok()?.object()
}
