//! The ids of invocations of services. All have the form that their clients and tools know, `inv_1…`, with a number in it:
//! drawn for those that begin without a name, and a digest of the name for all others, so that whoever names one finds it.
//!
//! ```text
//! a call with an idempotency key   the service, its key, the handler, the idempotency key
//! the run of a workflow            the service, its key, the handler
//! what an invocation called        its own id, and the place of the command
//! ```
//! A promise of a workflow is that of its object: `restate:WORKFLOW/WORKFLOW@KEY/p/NAME`.

use segno_core::{
    address::service_alias,
    id::{CommandIndex, Digest, ObjectId, PromiseId},
};
use segno_restate::id::InvocationId;

/// A handler of a service, for a key if it has keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called<'a> {
    /// The service.
    pub service: &'a str,
    /// The key; none: it has no keys.
    pub key: Option<&'a str>,
    /// The handler.
    pub handler: &'a str,
}

impl Called<'_> {
    /// The address of the handler.
    pub fn address(&self) -> String {
        format!("{}{}", segno_core::address::SERVICE_SCHEME, self.path())
    }

    /// The address without its scheme.
    pub fn path(&self) -> String {
        let Self { service, key, handler } = self;
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
        let Self { service, key: of, handler } = self;
        derived("idempotent", &[service, of.unwrap_or_default(), handler, key])
    }

    /// The run of this workflow and key.
    pub fn run(&self) -> PromiseId {
        derived("run", &[self.service, self.key.unwrap_or_default(), self.handler])
    }

    /// The object or the workflow, for its key.
    pub fn object(&self) -> Option<ObjectId> {
        let alias = service_alias(self.service);
        Some(ObjectId::new(format!("{alias}/{}@{}", self.service, self.key?)))
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
        let called = Called { service: "Cart", key: Some("a/b"), handler: "add" };
        let plain = Called { service: "Greeter", key: None, handler: "greet" };
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
}
