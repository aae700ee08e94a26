//! Targets of requests: functions of modules, and of objects.

use std::borrow::Cow;

use segno_core::{
    address::{self, Keyed},
    id::Digest,
};

use super::{Api, ApiError, catalog::Resolved};

/// A parsed target of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    pub(super) module: &'a str,
    /// What stands behind the module: a function, or `OBJECT@KEY/FUNCTION`.
    path: &'a str,
}

impl<'a> Target<'a> {
    pub(super) fn parse(target: &'a str) -> Result<Self, ApiError> {
        let bad = |reason: &str| Err(bad(target, reason));
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
        match Keyed::parse(path) {
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
            _ => Ok(Self { module, path }),
        }
    }

    /// The name of the function in its module.
    pub(super) fn function(&self) -> Cow<'a, str> {
        address::function_of(self.path)
    }

    /// The target as stored: a digest is written out in full, so that it cannot be taken for an
    /// alias.
    pub(super) fn address(&self, digest: Digest, by_alias: bool) -> String {
        let path = self.path;
        match by_alias {
            true => format!("wasm://{}/{path}", self.module),
            false => format!("wasm://sha256:{digest}/{path}"),
        }
    }

    /// The function in the module that is stored.
    ///
    /// # Errors
    /// There is none, or it needs a key and has none, or the other way round.
    pub(super) async fn resolve(&self, api: &Api) -> Result<Resolved, ApiError> {
        let resolved = api.resolve(self.module, &self.function()).await?;
        let whole = || format!("{}/{}", self.module, self.path);
        match (Keyed::parse(self.path), resolved.function.access) {
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
        let order = Target { module: "shop", path: "order" };
        assert_eq!(Target::parse("shop/order").ok(), Some(order));
        assert!(Target::parse("wasm://shop/order").is_ok());
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
            let refused = Target::parse(wrong).expect_err(wrong);
            assert_eq!(refused.code(), "invalid-target", "{wrong}");
        }
    }

    #[test]
    fn the_key_of_an_object_may_be_anything() {
        let target = Target::parse("shop/Cart@a/b@c d/add").expect("a target");
        assert_eq!((target.module, &*target.function()), ("shop", "Cart/add"));
        let refused = Target::parse("shop/Cart/add").expect_err("there is no key");
        assert!(
            refused.to_string().contains("needs a key: MODULE/OBJECT@KEY/FUNCTION"),
            "{refused}"
        );
    }
}
