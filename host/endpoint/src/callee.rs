//! Maps the name of a function to the handler that it calls.
//!
//! ```text
//! f, wasm:///f, wasm://OWN/f     the handler `f` of the own service
//! Cart@ada/add                   the handler `add` of the virtual object `Cart` with the key `ada`
//! wasm://OTHER/f                 the handler `f` of the service `OTHER`
//! restate://S/h, restate://S/KEY/h   the handler `h` of the service, or of the object, `S`
//! ```

use segno_core::address::{Address, ModuleRef};
use segno_engine::values::code;
use segno_guest::Failure;

use super::ServiceOffer;

/// The handler that a call addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HandlerAddress {
    pub(super) service: String,
    /// The key of the object. Empty for a plain service.
    pub(super) key: String,
    pub(super) handler: String,
}

impl HandlerAddress {
    /// Resolves `function` for a caller in the module of this offer.
    ///
    /// # Errors
    /// The failure with which the command completes.
    pub(super) fn of(function: &str, offer: &ServiceOffer) -> Result<Self, Failure> {
        let address = Address::parse(function)
            .map_err(|error| failure(code::BAD_REQUEST, error.to_string()))?;
        match address {
            Address::Wasm { module, function, key } => {
                let is_own = match &module {
                    ModuleRef::Own => true,
                    ModuleRef::Alias(alias) => alias.as_str() == offer.module,
                    ModuleRef::Exact(digest) => {
                        let message = format!(
                            "`{digest}` is a component, and services have names: call it by the name of its service"
                        );
                        return Err(failure(code::REFUSED, message));
                    }
                };
                let callee = match (key, function.split_once('/')) {
                    (Some(key), Some((object, function))) => Self {
                        service: object.to_owned(),
                        key: key.to_string(),
                        handler: function.to_owned(),
                    },
                    _ => {
                        let service = match &module {
                            ModuleRef::Alias(alias) if !is_own => alias.to_string(),
                            _ => offer.service.clone(),
                        };
                        Self { service, key: String::new(), handler: function.to_string() }
                    }
                };
                if is_own && offer.handler(&callee.service, &callee.handler).is_none() {
                    let Self { service, handler, .. } = &callee;
                    let message = format!(
                        "the module `{}` has no function `{handler}` in `{service}`; it has {}",
                        offer.module,
                        offer.known(service)
                    );
                    return Err(failure(code::NOT_FOUND, message));
                }
                Ok(callee)
            }
            Address::Service { scope: Some(scope), .. } => {
                let message = format!(
                    "`{function}` cannot be called from an endpoint: it calls in no scope; leave `:{scope}` out"
                );
                Err(failure(code::REFUSED, message))
            }
            Address::Service { service, scope: None, key, handler } => Ok(Self {
                service: service.to_string(),
                key: key.map(|key| key.to_string()).unwrap_or_default(),
                handler: handler.to_string(),
            }),
            Address::BuiltIn(_) | Address::Poll(_) | Address::Http(_) => {
                let message = format!(
                    "`{function}` cannot be called from an endpoint: a runtime of services calls services alone"
                );
                Err(failure(code::REFUSED, message))
            }
        }
    }
}

fn failure(code: u32, message: String) -> Failure {
    Failure { code, message, details: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offer::tests::offer;

    #[test]
    fn names_of_functions_are_those_of_handlers() {
        let offer = offer(&["order", "ship!", "Cart/add"]);
        for (function, service, key, handler) in [
            ("ship", "shop", "", "ship"),
            ("wasm:///ship", "shop", "", "ship"),
            ("wasm://shop/ship", "shop", "", "ship"),
            ("Cart@a/b@c/add", "Cart", "a/b@c", "add"),
            ("wasm://shop/Cart@ada/add", "Cart", "ada", "add"),
            ("wasm://other/ship", "other", "", "ship"),
            ("wasm://other/Basket@ada/add", "Basket", "ada", "add"),
            ("restate://Greeter/greet", "Greeter", "", "greet"),
            ("restate://Counter/a/b/add", "Counter", "a/b", "add"),
        ] {
            let callee = HandlerAddress::of(function, &offer).expect(function);
            let named = (&*callee.service, &*callee.key, &*callee.handler);
            assert_eq!(named, (service, key, handler), "{function}");
        }
    }

    #[test]
    fn what_is_no_handler_is_refused_with_its_reason() {
        let offer = offer(&["order", "Cart/add"]);
        let exact = format!("wasm://sha256:{}/order", "ab".repeat(32));
        for (function, code, said) in [
            ("ship", 404, "it has `order`"),
            ("wasm://shop/ship", 404, "no function `ship`"),
            ("Cart@ada/remove", 404, "it has `add`"),
            ("poll://any@workers", 422, "cannot be called from an endpoint"),
            ("https://example.org/run", 422, "cannot be called from an endpoint"),
            ("segno:graph", 422, "cannot be called from an endpoint"),
            (&exact, 422, "services have names"),
            ("a b", 400, "is not an address"),
        ] {
            let refused = HandlerAddress::of(function, &offer).expect_err(function);
            assert_eq!(refused.code, code, "{function}");
            assert!(refused.message.contains(said), "{}", refused.message);
        }
    }
}
