//! The ids of invocations of services. All have the form that their clients and tools know, `inv_1…`, with a number in it:
//! drawn for those that begin without a name, and a digest of the name for all others, so that whoever names one finds it.
//!
//! ```text
//! a call with an idempotency key   the service, its key, the handler, the idempotency key
//! the run of a workflow            the service, its key, the handler
//! what an invocation called        its own id, and the place of the command
//! ```
//! A promise of a workflow is that of its object: `restate:WORKFLOW/WORKFLOW@KEY/p/NAME`. A scope stands before the service
//! in what is digested, and after it in names of objects: what is called without one has the ids that it always had.

use segno_core::{
    address::{Address, is_scope, object_of_service, scoped},
    id::{CommandIndex, Digest, ObjectId, PromiseId},
};
use segno_restate::id::InvocationId;

/// A handler of a service, for a key if it has keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called<'a> {
    /// The service.
    pub service: &'a str,
    /// The scope, which has its own objects, workflows and idempotency keys.
    pub scope: Option<&'a str>,
    /// The key; none: it has no keys.
    pub key: Option<&'a str>,
    /// The handler.
    pub handler: &'a str,
}

/// The scope that a request or a command names. An empty one is none.
///
/// # Errors
/// It is no scope; the message says so.
pub fn scope(given: Option<&str>) -> Result<Option<&str>, String> {
    match given.filter(|scope| !scope.is_empty()) {
        Some(scope) if !is_scope(scope) => Err(format!(
            "the scope `{scope}` is malformed: it has 1 to 36 letters, digits, `_`, `.` or `-`"
        )),
        scope => Ok(scope),
    }
}

/// Refuses a limit key, which nothing here would count under. An empty one is none.
///
/// # Errors
/// There is one; the message says so.
pub fn no_limit_key(given: Option<&str>) -> Result<(), String> {
    match given.filter(|key| !key.is_empty()) {
        Some(key) => Err(format!(
            "the limit key `{key}` is refused: this host has no limits of services; leave it out"
        )),
        None => Ok(()),
    }
}

impl<'a> Called<'a> {
    /// The handler that an address names, if it is that of a service.
    pub fn of(address: &'a Address) -> Option<Self> {
        let Address::Service { service, scope, key, handler } = address else { return None };
        let (scope, key) = (scope.as_deref(), key.as_deref());
        Some(Self { service, scope, key, handler })
    }
}

impl Called<'_> {
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

    /// The invocation with this idempotency key.
    pub fn idempotent(&self, key: &str) -> PromiseId {
        let Self { service, key: of, handler, .. } = self;
        self.named("idempotent", &[service, of.unwrap_or_default(), handler, key])
    }

    /// The run of this workflow and key.
    pub fn run(&self) -> PromiseId {
        self.named("run", &[self.service, self.key.unwrap_or_default(), self.handler])
    }

    fn named(&self, what: &str, parts: &[&str]) -> PromiseId {
        match self.scope {
            Some(scope) => derived(&format!("scoped-{what}"), &[&[scope], parts].concat()),
            None => derived(what, parts),
        }
    }

    /// The object or the workflow, for its key.
    pub fn object(&self) -> Option<ObjectId> {
        Some(object_of_service(self.service, self.scope, self.key?))
    }
}

/// What the command of an invocation called.
pub fn callee(invocation: &PromiseId, index: CommandIndex) -> PromiseId {
    derived("callee", &[invocation.as_str(), &index.0.to_string()])
}

/// A new one, of numbers that were drawn.
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

    /// They are stored: what finds an invocation today finds it in every later version.
    #[test]
    fn names_are_found_for_ever() {
        let called = Called { service: "Cart", scope: None, key: Some("a/b"), handler: "add" };
        let plain = Called { service: "Greeter", scope: None, key: None, handler: "greet" };
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
        let cart = |scope| Called { service: "Cart", scope, key: Some("x"), handler: "add" };
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
