//! Targets of requests: functions of modules and of objects, and handlers of services.

use std::borrow::Cow;

use segno_core::{
    address::{self, Address, ObjectFunctionPath, SERVICE_SCHEME},
    id::{Digest, ObjectId, PromiseId},
};

use super::{Api, ApiError, catalog::ResolvedFunction};

/// A parsed target of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ParsedTarget<'a> {
    pub(super) module: Cow<'a, str>,
    /// The part after the module: a function, or `OBJECT@KEY/FUNCTION`.
    path: &'a str,
    /// The complete address of a service's handler.
    service: Option<&'a str>,
}

impl<'a> ParsedTarget<'a> {
    pub(super) fn parse(target: &'a str) -> Result<Self, ApiError> {
        let bad = |reason: &str| Err(bad(target, reason));
        if let Some(path) = target.strip_prefix(SERVICE_SCHEME) {
            let service = match Address::parse(target) {
                Ok(Address::Service { service, .. }) => service,
                Ok(_) => return bad("it names no service"),
                Err(refused) => return bad(refused.why),
            };
            let module = Cow::Owned(address::service_alias(&service));
            return Ok(Self { module, path, service: Some(target) });
        }
        let path = target.strip_prefix("wasm://").unwrap_or(target);
        let Some((module, path)) = path.split_once('/') else {
            return bad("the module or the function is missing");
        };
        if module.is_empty() && path.starts_with('/') || module.ends_with(':') {
            return bad("its scheme is not wasm");
        }
        if module.is_empty() {
            return bad("the module is missing");
        }
        let is_name =
            |name: &str| !name.is_empty() && !name.contains(['/', ':', ' ', '?', '#', '@']);
        match ObjectFunctionPath::parse(path) {
            None if path
                .split_once('/')
                .is_some_and(|(kind, name)| is_name(kind) && is_name(name)) =>
            {
                bad("a function of an object needs a key: MODULE/OBJECT@KEY/FUNCTION")
            }
            None if !is_name(path) => bad("the function's name is malformed"),
            Some(keyed) if !is_name(keyed.object) || !is_name(keyed.function) => {
                bad("the name of the object or of its function is malformed")
            }
            Some(keyed) if keyed.key.is_empty() => bad("the key of the object is empty"),
            _ => Ok(Self { module: Cow::Borrowed(module), path, service: None }),
        }
    }

    /// Returns the name of the function in its module.
    pub(super) fn function(&self) -> Cow<'a, str> {
        address::function_of(self.service.unwrap_or(self.path))
    }

    /// Returns true if it is a handler of a service, which runs externally.
    pub(super) fn is_service(&self) -> bool {
        self.service.is_some()
    }

    /// Returns the stored form of the target. It contains the full digest, which cannot be taken
    /// for an alias.
    pub(super) fn address(&self, digest: Digest, by_alias: bool) -> String {
        let path = self.path;
        if let Some(address) = self.service {
            return address.to_owned();
        }
        match by_alias {
            true => format!("wasm://{}/{path}", self.module),
            false => format!("wasm://sha256:{digest}/{path}"),
        }
    }

    /// Returns the id of the key's run, if the function runs once for each key: the key identifies
    /// the run.
    ///
    /// # Errors
    /// See [`ParsedTarget::resolve`].
    pub(super) async fn run(&self, api: &Api) -> Result<Option<PromiseId>, ApiError> {
        let run = match (self.service.map(Address::parse), ObjectFunctionPath::parse(self.path)) {
            (Some(Ok(address)), _) => match api.host.protocols.run_of(&address) {
                Some(run) => run,
                None => return Ok(None),
            },
            (None, Some(ObjectFunctionPath { object, key, function })) => {
                ObjectId::new(format!("{}/{object}@{key}", self.module)).run(function)
            }
            _ => return Ok(None),
        };
        Ok(self.resolve(api).await?.function.runs_once.then_some(run))
    }

    /// Resolves the function in the stored module.
    ///
    /// # Errors
    /// The function does not exist, or the target lacks a required key or has a superfluous one.
    pub(super) async fn resolve(&self, api: &Api) -> Result<ResolvedFunction, ApiError> {
        let resolved = api.resolve(&self.module, &self.function()).await?;
        if let Some(address) = self.service {
            let has_key = Address::parse(address).is_ok_and(|address| address.object().is_some());
            return match (has_key, resolved.function.access) {
                (true, None) => Err(bad(address, "the service has no keys: leave the key out")),
                (false, Some(_)) => {
                    Err(bad(address, "it needs a key: restate://SERVICE/KEY/HANDLER"))
                }
                _ => Ok(resolved),
            };
        }
        let whole = || format!("{}/{}", self.module, self.path);
        match (ObjectFunctionPath::parse(self.path), resolved.function.access) {
            (Some(_), None) => {
                Err(bad(&whole(), "it is no function of an object, and takes no key"))
            }
            (Some(_), Some(_)) if !resolved.by_alias => {
                Err(bad(&whole(), "an object belongs to the name of a module, and not to a digest"))
            }
            _ => Ok(resolved),
        }
    }
}

fn bad(target: &str, reason: &str) -> ApiError {
    ApiError::BadTarget { target: target.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_with_and_without_their_scheme() {
        let order = ParsedTarget { module: "shop".into(), path: "order", service: None };
        assert_eq!(ParsedTarget::parse("shop/order").ok(), Some(order));
        assert!(ParsedTarget::parse("wasm://shop/order").is_ok());
        for wrong in [
            "",
            "order",
            "shop/",
            "/order",
            "wasm:///order",
            "http://a/b",
            "shop/a/b/c",
            "a/b c",
            "shop/Cart@/add",
            "shop/@a/add",
            "shop/Cart@a/",
            "shop/Cart@a",
            "shop/Ca/rt@a/add",
        ] {
            let refused = ParsedTarget::parse(wrong).expect_err(wrong);
            assert_eq!(refused.code(), "invalid-target", "{wrong}");
        }
    }

    #[test]
    fn a_handler_of_a_service_is_a_function_of_its_deployment() {
        let target = ParsedTarget::parse("restate://Cart/a/b/add").expect("a target");
        assert_eq!((&*target.module, &*target.function()), ("restate:Cart", "Cart/add"));
        assert_eq!(target.address(Digest([0; 32]), true), "restate://Cart/a/b/add");
        for wrong in ["restate://Cart", "restate:///add"] {
            assert_eq!(
                ParsedTarget::parse(wrong).expect_err(wrong).code(),
                "invalid-target",
                "{wrong}"
            );
        }
    }

    #[test]
    fn the_key_of_an_object_may_be_anything() {
        let target = ParsedTarget::parse("shop/Cart@a/b@c d/add").expect("a target");
        assert_eq!((&*target.module, &*target.function()), ("shop", "Cart/add"));
        let refused = ParsedTarget::parse("shop/Cart/add").expect_err("there is no key");
        assert!(
            refused.to_string().contains("needs a key: MODULE/OBJECT@KEY/FUNCTION"),
            "{refused}"
        );
    }
}
