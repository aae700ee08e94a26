//! What the target of an invocation names: `wasm://module/function`, a function of an object, or an
//! address whose last part is the function.

use std::borrow::Cow;

use segno_core::{
    address::{self, Address},
    graph,
    id::ObjectId,
    promise::Promise,
    tags,
};

/// The target of HTTP requests that the host performs.
pub const HTTP: &str = "segno:http";
/// The header of a parameter that names the module whose policy applies.
pub const MODULE_HEADER: &str = "segno:module";

/// The name under which policies know the module of this invocation: the one it was called by, or
/// its caller's if it was called within a module. Only a command of an invocation names its module;
/// a client's header is ignored.
pub fn module_of(promise: &Promise) -> String {
    let target = promise.target().unwrap_or_default();
    let named = target.strip_prefix("wasm://").and_then(|rest| rest.split_once('/'));
    let of_run = promise.spec.tags.get(tags::MODULE).filter(|_| graph::is_run(promise));
    match (named, of_run) {
        (_, Some(module)) => module.clone(),
        (Some((module, _)), None) if !module.is_empty() => module.to_owned(),
        _ if promise.spec.made_by.is_none() => String::new(),
        _ => promise.spec.param.headers.get(MODULE_HEADER).cloned().unwrap_or_default(),
    }
}

/// The name of the function of this invocation in its module.
pub fn function_of(promise: &Promise) -> Cow<'_, str> {
    address::function_of(promise.target().unwrap_or_default())
}

/// What the guest is started with: the name of the function, or `OBJECT@KEY/FUNCTION`.
pub fn path_of(promise: &Promise) -> &str {
    address::path_of(promise.target().unwrap_or_default())
}

/// The object whose function this invocation is.
pub fn object_of(promise: &Promise) -> Option<ObjectId> {
    // A quick look: few targets name an object.
    let target = promise.target().filter(|target| target.contains('@'))?;
    Address::parse(target).ok()?.object()
}
