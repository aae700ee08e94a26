//! The source of a value: the target of a promise, or the address of a listener.
//!
//! ```text
//! wasm://MODULE/FUNCTION          a function of a deployed module; MODULE is an alias or `sha256:` and 64 digits
//! wasm:///FUNCTION, FUNCTION      a function of the caller's own module
//! wasm://MODULE/OBJECT@KEY/FUNCTION   a function of an object, for one key; the key may contain anything
//! segno:http, segno:graph         built into the host: an activity that sends a request, the run of a graph
//! poll://any@GROUP, http(s)://…   an external worker, reached through the outbox
//! restate://SERVICE/HANDLER       a handler of a registered service, which hosts call
//! restate://OBJECT/KEY/HANDLER    the same of a virtual object or a workflow; the key may contain anything, or nothing
//! restate://SERVICE:SCOPE/…       either of them within a scope: another object, another workflow
//! ```

use std::{borrow::Cow, fmt};

use crate::{
    id::{Digest, ObjectId},
    value::Text,
};

/// A parsed target or listener address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A function in a module that hosts of Segno run.
    Wasm {
        module: ModuleRef,
        /// Function name in that module; for an object's function, `OBJECT/FUNCTION`.
        function: Text,
        /// Key of the object, for a function of an object.
        key: Option<Text>,
    },
    /// A handler of a registered service, by the service's name: hosts call its deployment.
    Service {
        service: Text,
        /// Scope in which its objects, workflows and idempotency keys are looked up.
        scope: Option<Text>,
        /// Key of the object or the workflow.
        key: Option<Text>,
        handler: Text,
    },
    /// An activity built into every host, named by the part after `segno:`.
    BuiltIn(Text),
    /// A worker that polls for its work; holds the whole address.
    Poll(Text),
    /// A worker that is called over HTTP; holds the whole address.
    Http(Text),
}

/// Address of a worker that polls, as the protocol writes it.
///
/// ```text
/// poll://uni@GROUP/WORKER     this worker, or none
/// poll://any@GROUP/WORKER     this worker if it listens, else another of the group
/// poll://any@GROUP            any worker of the group
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollAddress<'a> {
    /// Name of the worker group.
    pub group: &'a str,
    /// Preferred worker in the group.
    pub worker: Option<&'a str>,
    /// True if no other worker of the group may take the work.
    pub alone: bool,
}

/// Reference to a module in an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleRef {
    /// The caller's own module.
    Own,
    /// The module that an alias refers to when the promise is created.
    Alias(Text),
    /// The module with this digest.
    Exact(Digest),
}

/// Error: a text that is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{address}` is not an address: {why}; use wasm://MODULE/FUNCTION, restate://SERVICE/HANDLER, segno:NAME, poll://any@GROUP, http://… or https://…"
)]
pub struct AddressError {
    /// The text, cut to its first 200 characters.
    pub address: String,
    /// The defect.
    pub why: &'static str,
}

/// The target of an invocation that runs a graph.
pub const GRAPH_RUN: &str = "segno:graph";

const EXACT: &str = "sha256:";

/// Scheme of a service's address.
pub const SERVICE_SCHEME: &str = "restate://";
/// Prefix of the alias under which the deployment of a service is registered.
const SERVICE_ALIAS: &str = "restate:";

/// Separator between a service and its scope. No service name contains it, so an address with a
/// scope never equals one without.
const SCOPE_MARK: char = ':';
/// Maximum length of a scope, in characters.
const SCOPE_MAX: usize = 36;

/// Maximum length of an address, in bytes. Stores use addresses as lookup keys.
pub const LONGEST: usize = 2_048;

impl Address {
    /// Parses an address.
    ///
    /// # Errors
    /// [`AddressError`] names the defect.
    pub fn parse(address: &str) -> Result<Self, AddressError> {
        let refuse = |why| AddressError { address: address.chars().take(200).collect(), why };
        if address.len() > LONGEST {
            return Err(refuse("it has more than 2,048 bytes"));
        }
        if let Some(rest) = address.strip_prefix("wasm://") {
            let (module, function) =
                rest.split_once('/').ok_or_else(|| refuse("the function is missing"))?;
            let module =
                ModuleRef::parse(module).ok_or_else(|| refuse("the digest is malformed"))?;
            return Self::of_module(module, function).map_err(refuse);
        }
        if let Some(rest) = address.strip_prefix(SERVICE_SCHEME) {
            return Self::of_service(rest).map_err(refuse);
        }
        if let Some(name) = address.strip_prefix("segno:") {
            return match is_name(name) {
                true => Ok(Self::BuiltIn(Text::from(name))),
                false => Err(refuse("the name of the built-in activity is malformed")),
            };
        }
        if address.strip_prefix("poll://").is_some_and(|rest| !rest.is_empty()) {
            return Ok(Self::Poll(Text::from(address)));
        }
        let http = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"));
        if http.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/')) {
            return Ok(Self::Http(Text::from(address)));
        }
        Self::of_module(ModuleRef::Own, address).map_err(|why| match is_name(address) {
            false if !address.contains('@') => refuse("its scheme is unknown"),
            _ => refuse(why),
        })
    }

    /// Parses the part after the module: a function, or a function of an object.
    fn of_module(module: ModuleRef, path: &str) -> Result<Self, &'static str> {
        let Some(keyed) = ObjectFunctionPath::parse(path) else {
            return match is_name(path) {
                true => Ok(Self::Wasm { module, function: Text::from(path), key: None }),
                false => Err("the function's name is malformed"),
            };
        };
        if !is_name(keyed.object) || !is_name(keyed.function) {
            return Err("the name of the object or of its function is malformed");
        }
        if keyed.key.is_empty() {
            return Err("the key of the object is empty");
        }
        let (function, key) = (keyed.name().into(), Some(Text::from(keyed.key)));
        Ok(Self::Wasm { module, function, key })
    }

    /// Parses the part after the scheme: a handler.
    fn of_service(path: &str) -> Result<Self, &'static str> {
        let (service, rest) = path.split_once('/').ok_or("the handler is missing")?;
        let (service, scope) = match service.split_once(SCOPE_MARK) {
            Some((service, scope)) => (service, Some(scope)),
            None => (service, None),
        };
        let (key, handler) = match rest.rsplit_once('/') {
            Some((key, handler)) => (Some(key), handler),
            None => (None, rest),
        };
        if !is_name(service) || !is_name(handler) {
            return Err("the name of the service or of its handler is malformed");
        }
        if scope.is_some_and(|scope| !is_scope(scope)) {
            return Err("the scope has 1 to 36 letters, digits, `_`, `.` or `-`");
        }
        let (service, handler) = (Text::from(service), Text::from(handler));
        let (scope, key) = (scope.map(Text::from), key.map(Text::from));
        Ok(Self::Service { service, scope, key, handler })
    }

    /// The object that the function belongs to. `None` for other addresses, and for a module that
    /// is not named.
    pub fn object(&self) -> Option<ObjectId> {
        let (module, object, key) = match self {
            Self::Wasm { module, function, key: Some(key) } => {
                let (object, _) = function.split_once('/')?;
                let module = match module {
                    ModuleRef::Own => return None,
                    ModuleRef::Alias(alias) => alias.to_string(),
                    ModuleRef::Exact(digest) => format!("{EXACT}{digest}"),
                };
                (module, object, key)
            }
            Self::Service { service, scope, key: Some(key), .. } => {
                return Some(object_of_service(service, scope.as_deref(), key));
            }
            _ => return None,
        };
        Some(ObjectId::new(format!("{module}/{object}@{key}")))
    }

    /// The module or deployment that the address names, and the function in it.
    pub fn named(&self) -> Option<(ModuleRef, Text)> {
        match self {
            Self::Wasm { module, function, .. } => Some((module.clone(), function.clone())),
            Self::Service { service, handler, .. } => {
                let alias = ModuleRef::Alias(Text::from(service_alias(service)));
                Some((alias, Text::from(format!("{service}/{handler}"))))
            }
            Self::BuiltIn(_) | Self::Poll(_) | Self::Http(_) => None,
        }
    }

    /// True if a worker can be reached at the address: false for a malformed `poll://` address.
    pub fn is_reachable(&self) -> bool {
        match self {
            Self::Poll(address) => PollAddress::parse(address).is_some(),
            Self::Wasm { .. } | Self::Service { .. } | Self::BuiltIn(_) | Self::Http(_) => true,
        }
    }

    /// True for the target of an invocation that runs a graph.
    pub fn is_graph_run(&self) -> bool {
        matches!(self, Self::BuiltIn(name) if GRAPH_RUN.strip_prefix("segno:") == Some(name.as_str()))
    }

    /// True if hosts of Segno execute tasks with this target themselves. The task row is then the
    /// pending work, and no message goes to the outbox.
    pub fn is_internal(&self) -> bool {
        match self {
            Self::Wasm { .. } | Self::Service { .. } | Self::BuiltIn(_) => true,
            Self::Poll(_) | Self::Http(_) => false,
        }
    }
}

impl ModuleRef {
    /// Parses the part before a function. `None` if it is a malformed digest.
    pub fn parse(module: &str) -> Option<Self> {
        Some(match (module, module.strip_prefix(EXACT)) {
            ("", _) => Self::Own,
            (_, Some(hex)) => Self::Exact(hex.parse().ok()?),
            (alias, None) => Self::Alias(Text::from(alias)),
        })
    }
}

/// Path of an object's function: `OBJECT@KEY/FUNCTION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectFunctionPath<'a> {
    /// Name of the object type.
    pub object: &'a str,
    /// Key of the object.
    pub key: &'a str,
    /// Name of the function, without the object.
    pub function: &'a str,
}

impl<'a> ObjectFunctionPath<'a> {
    /// Parses the part after a module. `None` if it is a plain function.
    pub fn parse(path: &'a str) -> Option<Self> {
        let (object, rest) = path.split_once('@')?;
        let (key, function) = rest.rsplit_once('/')?;
        Some(Self { object, key, function })
    }

    /// Name of the function in its module: `OBJECT/FUNCTION`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.object, self.function)
    }
}

/// True if the text is a scope: 1 to 36 letters, digits, `_`, `.` or `-`, as the service SDKs
/// define it.
pub fn is_scope(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    (1..=SCOPE_MAX).contains(&text.len()) && text.bytes().all(is_letter)
}

/// Name of a service within a scope, as addresses and object ids write it.
pub fn scoped(service: &str, scope: Option<&str>) -> String {
    match scope {
        Some(scope) => format!("{service}{SCOPE_MARK}{scope}"),
        None => service.to_owned(),
    }
}

/// The object of a service with this key: `restate:SERVICE/SERVICE@KEY`, or
/// `restate:SERVICE/SERVICE:SCOPE@KEY` in a scope.
pub fn object_of_service(service: &str, scope: Option<&str>, key: &str) -> ObjectId {
    ObjectId::new(format!("{}/{}@{key}", service_alias(service), scoped(service, scope)))
}

/// Service, scope and key of an object. `None` if the object does not belong to a service.
pub fn service_of_object(object: &ObjectId) -> Option<(&str, Option<&str>, &str)> {
    let (path, key) = object.as_str().split_once('@')?;
    let (alias, name) = path.rsplit_once('/')?;
    let service = service_of_alias(alias)?;
    let scope = name.split_once(SCOPE_MARK).map(|(_, scope)| scope);
    Some((service, scope, key))
}

/// The service whose handler the address names. `None` for other addresses.
pub fn service_of(address: &str) -> Option<&str> {
    let (named, _) = address.strip_prefix(SERVICE_SCHEME)?.split_once('/')?;
    Some(named.split_once(SCOPE_MARK).map_or(named, |(service, _)| service))
}

/// Alias under which the deployment of a service is registered.
pub fn service_alias(service: &str) -> String {
    format!("{SERVICE_ALIAS}{service}")
}

/// The service whose deployment the alias refers to. `None` for other aliases.
pub fn service_of_alias(alias: &str) -> Option<&str> {
    alias.strip_prefix(SERVICE_ALIAS)
}

/// The part of an address after its module: a function, or `OBJECT@KEY/FUNCTION`. For other kinds
/// of address, the last part.
pub fn path_of(address: &str) -> &str {
    if let Some(path) = address.strip_prefix(SERVICE_SCHEME) {
        return path;
    }
    match address.strip_prefix("wasm://") {
        Some(rest) => rest.split_once('/').map_or(rest, |(_, path)| path),
        None => last_part(address),
    }
}

/// Name of the function in an address: its last part, or `OBJECT/FUNCTION` for a function of an
/// object.
pub fn function_of(address: &str) -> Cow<'_, str> {
    if let Some(service) = service_of(address) {
        return format!("{service}/{}", last_part(address)).into();
    }
    let path = match address.starts_with("wasm://") {
        true => path_of(address),
        false if is_outside(address) => return last_part(address).into(),
        false => address,
    };
    ObjectFunctionPath::parse(path)
        .map_or_else(|| last_part(address).into(), |keyed| keyed.name().into())
}

fn last_part(address: &str) -> &str {
    address.rsplit('/').next().unwrap_or(address)
}

impl<'a> PollAddress<'a> {
    /// Parses an address. `None` if no worker can poll it.
    pub fn parse(address: &'a str) -> Option<Self> {
        let (cast, rest) = address.strip_prefix("poll://")?.split_once('@')?;
        let alone = match cast {
            "uni" => true,
            "any" => false,
            _ => return None,
        };
        let (group, worker) = match rest.split_once('/') {
            Some((group, worker)) => (group, Some(worker)),
            None => (rest, None),
        };
        let complete = !group.is_empty() && worker != Some("") && (worker.is_some() || !alone);
        complete.then_some(Self { group, worker, alone })
    }
}

/// True if hosts of Segno execute tasks with this target. Cheaper than [`Address::is_internal`]: it
/// does not parse.
pub fn is_internal(target: &str) -> bool {
    !is_outside(target)
}

/// True if an execution of this target can be notified of a request to stop: only modules can.
pub fn hears_cancel(target: &str) -> bool {
    !is_outside(target) && !target.starts_with("segno:")
}

fn is_outside(target: &str) -> bool {
    ["poll://", "http://", "https://"].iter().any(|scheme| target.starts_with(scheme))
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', ':', ' ', '?', '#'])
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wasm { module, function, key } => {
                match module {
                    ModuleRef::Own => f.write_str("wasm:///")?,
                    ModuleRef::Alias(alias) => write!(f, "wasm://{alias}/")?,
                    ModuleRef::Exact(digest) => write!(f, "wasm://{EXACT}{digest}/")?,
                }
                match (key, function.split_once('/')) {
                    (Some(key), Some((object, function))) => write!(f, "{object}@{key}/{function}"),
                    _ => f.write_str(function),
                }
            }
            Self::Service { service, scope, key, handler } => {
                let service = scoped(service, scope.as_deref());
                match key {
                    Some(key) => write!(f, "{SERVICE_SCHEME}{service}/{key}/{handler}"),
                    None => write!(f, "{SERVICE_SCHEME}{service}/{handler}"),
                }
            }
            Self::BuiltIn(name) => write!(f, "segno:{name}"),
            Self::Poll(address) | Self::Http(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_and_write() {
        let exact = format!("wasm://sha256:{}/ship", "ab".repeat(32));
        for (given, written, hosted) in [
            ("wasm://shop/ship", "wasm://shop/ship", true),
            ("wasm:///ship", "wasm:///ship", true),
            ("ship", "wasm:///ship", true),
            (&exact, &exact, true),
            ("wasm://shop/f@x", "wasm://shop/f@x", true),
            ("wasm://shop/Cart@ada/add", "wasm://shop/Cart@ada/add", true),
            ("Cart@a/b: c@d/add", "wasm:///Cart@a/b: c@d/add", true),
            ("segno:http", "segno:http", true),
            ("restate://Greeter/greet", "restate://Greeter/greet", true),
            ("restate://Cart/a/b@c/add", "restate://Cart/a/b@c/add", true),
            ("restate://Cart:acme-1/a:b/add", "restate://Cart:acme-1/a:b/add", true),
            ("restate://Cart//add", "restate://Cart//add", true),
            ("poll://workers@1", "poll://workers@1", false),
            ("https://example.org/run", "https://example.org/run", false),
        ] {
            let address = Address::parse(given).expect(given);
            assert_eq!(address.to_string(), written);
            assert_eq!(address.is_internal(), hosted, "{given}");
            assert_eq!(is_internal(given), hosted, "{given}");
        }
    }

    #[test]
    fn a_function_of_an_object_has_a_key_and_a_name_without_it() {
        let parse = |address| Address::parse(address).expect(address);
        let address = parse("wasm://shop/Cart@a/b@c/add");
        let Address::Wasm { function, key, .. } = &address else { panic!("{address:?}") };
        assert_eq!((function.as_str(), key.as_deref()), ("Cart/add", Some("a/b@c")));
        let object = address.object().expect("it names one");
        assert_eq!((object.as_str(), object.key()), ("shop/Cart@a/b@c", "a/b@c"));
        let object = parse("restate://Cart/a/b@c/add").object().expect("it names one");
        assert_eq!((object.as_str(), object.key()), ("restate:Cart/Cart@a/b@c", "a/b@c"));
        for plain in [
            "Cart@ada/add",
            "wasm://shop/ship",
            "poll://any@g/w",
            "http://h/Cart@a/add",
            "restate://Greeter/greet",
        ] {
            assert_eq!(parse(plain).object(), None, "{plain}");
        }
        for (address, function) in [
            ("wasm://shop/Cart@a/b/add", "Cart/add"),
            ("wasm:///Cart@a/add", "Cart/add"),
            ("Cart@a/add", "Cart/add"),
            ("wasm://shop/ship", "ship"),
            ("ship", "ship"),
            ("segno:http", "segno:http"),
            ("poll://any@g/w", "w"),
            ("restate://Greeter/greet", "Greeter/greet"),
            ("restate://Cart/a/b@c/add", "Cart/add"),
            ("restate://Cart:acme/a/add", "Cart/add"),
            ("https://example.org/a@b/run", "run"),
        ] {
            assert_eq!(function_of(address), function, "{address}");
        }
    }

    /// The id is stored: an object without a scope keeps its id, and no key makes it equal to one
    /// in a scope.
    #[test]
    fn an_object_in_a_scope_is_never_one_without_or_of_another_scope() {
        let object = |address: &str| Address::parse(address).ok()?.object();
        let places = [
            ("restate://Cart/x/add", None, "x"),
            ("restate://Cart:a/x/add", Some("a"), "x"),
            ("restate://Cart:b/x/add", Some("b"), "x"),
            ("restate://Cart/:a@x/add", None, ":a@x"),
            ("restate://Cart/a/x/add", None, "a/x"),
            ("restate://Cart:a/b@x/add", Some("a"), "b@x"),
            ("restate://Cart:a.b/x/add", Some("a.b"), "x"),
        ];
        let objects = places.map(|(address, ..)| object(address).expect(address));
        assert_eq!(objects[0].as_str(), "restate:Cart/Cart@x");
        assert_eq!(objects[1].as_str(), "restate:Cart/Cart:a@x");
        let ids: std::collections::BTreeSet<_> =
            objects.iter().flat_map(|object| [object.promise("p"), object.run("run")]).collect();
        assert_eq!(ids.len(), 2 * places.len());
        for ((address, scope, key), object) in places.iter().zip(&objects) {
            assert_eq!(service_of_object(object), Some(("Cart", *scope, *key)), "{address}");
            assert_eq!(service_of(address), Some("Cart"), "{address}");
        }
        let longest = format!("restate://Cart:{}/x/add", "s".repeat(SCOPE_MAX));
        assert!(object(&longest).is_some() && object(&longest.replace(":s", ":ss")).is_none());
    }

    #[test]
    fn workers_that_poll_are_told_from_what_nobody_polls() {
        let read =
            |address| PollAddress::parse(address).map(|poll| (poll.group, poll.worker, poll.alone));
        assert_eq!(read("poll://any@g"), Some(("g", None, false)));
        assert_eq!(read("poll://any@g/a/b"), Some(("g", Some("a/b"), false)));
        assert_eq!(read("poll://uni@g/w"), Some(("g", Some("w"), true)));
        for address in ["poll://g", "poll://all@g", "poll://uni@g", "poll://any@", "poll://any@/w"]
        {
            assert_eq!(read(address), None);
            assert!(!Address::parse(address).expect(address).is_reachable(), "{address}");
        }
        assert!(Address::parse("poll://any@g/w").expect("an address").is_reachable());
        let long = format!("http://{}", "x".repeat(LONGEST));
        let refused = Address::parse(&long).expect_err("too long").to_string();
        assert!(refused.contains("more than 2,048 bytes") && refused.len() < 500, "{refused}");
    }

    #[test]
    fn what_is_no_address_is_refused_by_name() {
        for wrong in [
            "",
            "wasm://shop",
            "wasm://shop/",
            "wasm://sha256:1/f",
            "wasm://shop/Cart/add",
            "wasm://shop/Cart@/add",
            "wasm://shop/@ada/add",
            "wasm://shop/Cart@ada/",
            "segno:",
            "poll://",
            "restate://Greeter",
            "restate:///greet",
            "restate://Cart:/a/add",
            "restate://Cart:a:b/a/add",
            "restate://Cart:a@b/a/add",
            "restate://Cart:a%/a/add",
            "restate://:acme/a/add",
            "http:///x",
            "a b",
            "x://y",
        ] {
            let refused = Address::parse(wrong).expect_err(wrong);
            assert!(refused.to_string().starts_with(&format!("`{wrong}` is not an address")));
        }
    }
}
