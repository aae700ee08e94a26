//! The ids of invocations of services. All have the form that Restate clients and tools know,
//! `inv_1…`, which encodes a number. The number is random for invocations without a name, and a
//! digest of the name for all others, so that the same name always leads to the same invocation.
//!
//! ```text
//! a call with an idempotency key   the service, its key, the handler, the idempotency key
//! the run of a workflow            the service, its key, the handler
//! a callee of an invocation        the id of the caller, and the index of the command
//! ```
//! A promise of a workflow is one of its object: `restate:WORKFLOW/WORKFLOW@KEY/p/NAME`. A scope
//! comes before the service in the digested text, and after it in names of objects. Without a scope,
//! ids are the same as in versions without scopes.

use segno_core::{
    address::{Address, is_scope, object_of_service, scoped},
    id::{CommandIndex, Digest, ObjectId, PromiseId},
};
use segno_restate::id::InvocationId;

/// A handler of a service, with the key if the service has keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlerTarget<'a> {
    pub service: &'a str,
    /// The scope, which has its own objects, workflows and idempotency keys.
    pub scope: Option<&'a str>,
    /// The key. `None` for a service without keys.
    pub key: Option<&'a str>,
    pub handler: &'a str,
}

/// Checks the scope of a request or a command. An empty scope counts as none.
///
/// # Errors
/// A message, if the scope is malformed.
pub fn scope(given: Option<&str>) -> Result<Option<&str>, String> {
    match given.filter(|scope| !scope.is_empty()) {
        Some(scope) if !is_scope(scope) => Err(format!(
            "the scope `{scope}` is malformed: it has 1 to 36 letters, digits, `_`, `.` or `-`"
        )),
        scope => Ok(scope),
    }
}

/// Refuses a limit key, since this host has no limits of services. An empty key counts as none.
///
/// # Errors
/// A message, if there is a limit key.
pub fn no_limit_key(given: Option<&str>) -> Result<(), String> {
    match given.filter(|key| !key.is_empty()) {
        Some(key) => Err(format!(
            "the limit key `{key}` is refused: this host has no limits of services; leave it out"
        )),
        None => Ok(()),
    }
}

impl<'a> HandlerTarget<'a> {
    /// The handler in an address. `None` if the address is not one of a service.
    pub fn of(address: &'a Address) -> Option<Self> {
        let Address::Service { service, scope, key, handler } = address else { return None };
        let (scope, key) = (scope.as_deref(), key.as_deref());
        Some(Self { service, scope, key, handler })
    }
}

impl HandlerTarget<'_> {
    /// The address of the handler.
    pub fn address(&self) -> String {
        format!("{}{}", segno_core::address::SERVICE_SCHEME, self.path())
    }

    /// The address without its scheme.
    pub fn path(&self) -> String {
        let Self { service, scope, key, handler } = self;
        let service = scoped(service, *scope);
        match key {
            Some(key) => format!("{service}/{key}/{handler}"),
            None => format!("{service}/{handler}"),
        }
    }

    /// The name of the handler in its deployment.
    pub fn function(&self) -> String {
        format!("{}/{}", self.service, self.handler)
    }

    /// The id of the invocation with this idempotency key.
    pub fn idempotent(&self, key: &str) -> PromiseId {
        let Self { service, key: of, handler, .. } = self;
        self.named("idempotent", &[service, of.unwrap_or_default(), handler, key])
    }

    /// The id of the run of this workflow and key.
    pub fn run(&self) -> PromiseId {
        self.named("run", &[self.service, self.key.unwrap_or_default(), self.handler])
    }

    fn named(&self, what: &str, parts: &[&str]) -> PromiseId {
        match self.scope {
            Some(scope) => derived(&format!("scoped-{what}"), &[&[scope], parts].concat()),
            None => derived(what, parts),
        }
    }

    /// The object or workflow, for its key. `None` without a key.
    pub fn object(&self) -> Option<ObjectId> {
        Some(object_of_service(self.service, self.scope, self.key?))
    }
}

/// The id of the invocation that a command called.
pub fn callee(invocation: &PromiseId, index: CommandIndex) -> PromiseId {
    derived("callee", &[invocation.as_str(), &index.0.to_string()])
}

/// A new id from random numbers.
pub fn drawn(numbers: [u64; 3]) -> PromiseId {
    let mut bytes = [0; 24];
    for (part, number) in bytes.chunks_exact_mut(8).zip(numbers) {
        part.copy_from_slice(&number.to_le_bytes());
    }
    PromiseId::new(InvocationId::from_bytes(bytes).to_string())
}

fn derived(what: &str, parts: &[&str]) -> PromiseId {
    let parts: Vec<&[u8]> = [what].iter().chain(parts).map(|part| part.as_bytes()).collect();
    let mut bytes = [0; 24];
    bytes.copy_from_slice(&Digest::of_parts(&parts).0[..24]);
    PromiseId::new(InvocationId::from_bytes(bytes).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ids are stored, so every later version must derive the same ones.
    #[test]
    fn names_are_found_for_ever() {
        let called =
            HandlerTarget { service: "Cart", scope: None, key: Some("a/b"), handler: "add" };
        let plain = HandlerTarget { service: "Greeter", scope: None, key: None, handler: "greet" };
        let ids = [
            called.idempotent("once"),
            plain.idempotent("once"),
            called.run(),
            callee(&PromiseId::from("it"), CommandIndex(3)),
            drawn([1, 2, 3]),
        ];
        let ids: Vec<&str> = ids.iter().map(PromiseId::as_str).collect();
        let expected = [
            "inv_14kulGBkbJ5p1gfbOdpKrZhykxwcyc9aLG",
            "inv_1iqvsSktaiSL1jwSoWNpQcyJCDFGnAogYB",
            "inv_19e0DponMGvo3T8nGKYeva1LNW6LhIfn2d",
            "inv_1ecVcNNzvzYw3fdvYOeZRpjV3NyxwjgNDW",
            "inv_100000000001000000000013W2QK3iuQEO",
        ];
        assert_eq!(ids, expected);
        assert_eq!(called.object().expect("a key").as_str(), "restate:Cart/Cart@a/b");
        assert_eq!(plain.object(), None);
    }

    #[test]
    fn what_is_called_in_two_scopes_has_two_names() {
        let cart = |scope| HandlerTarget { service: "Cart", scope, key: Some("x"), handler: "add" };
        let scopes = [None, Some("a"), Some("b"), Some("Cart")];
        let ids = scopes.map(cart).map(|called| [called.run(), called.idempotent("once")]);
        let ids: std::collections::BTreeSet<_> = ids.as_flattened().iter().collect();
        assert_eq!(ids.len(), 2 * scopes.len());
        let scoped = cart(Some("a"));
        assert_eq!(scoped.address(), "restate://Cart:a/x/add");
        assert_eq!(scoped.object().expect("a key").as_str(), "restate:Cart/Cart:a@x");
        assert_eq!(scoped.run().as_str(), "inv_11iPeRnwW1yj4dqllqwYMfr834umRxJh5D");
        assert_eq!(scoped.idempotent("once").as_str(), "inv_1kpWAld7JDBB22IXS3F90k16ktqdQaNIlC");
    }
}
