//! Addresses for messages, in the protocol's form.
//!
//! ```text
//! poll://uni@GROUP/ID     this stream only
//! poll://any@GROUP/ID     this stream if it is open, otherwise another of the group
//! poll://any@GROUP        any stream of the group
//! http(s)://…             the message is posted there
//! ```

use reqwest::Url;
use segno_core::address::{Address, LONGEST, PollAddress};
use segno_engine::delivery::{Private, Reach};

use super::protocol_error::ProtocolError;

/// A parsed address of an external worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A stream of messages.
    Poll {
        /// The group of workers.
        group: String,
        /// The worker in the group, if the address names one.
        worker: Option<String>,
        /// True if only this worker may receive the message, not another one of the group.
        alone: bool,
    },
    /// A server to which messages are posted.
    Http(String),
}

impl Destination {
    /// Parses an address; `None` if it is not one of an external worker.
    pub fn parse(address: &str) -> Option<Self> {
        if let Some(PollAddress { group, worker, alone }) = PollAddress::parse(address) {
            let (group, worker) = (group.to_owned(), worker.map(str::to_owned));
            return Some(Self::Poll { group, worker, alone });
        }
        let place = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"))?;
        // Accepts a URL only in its exact form: the parser would repair others.
        let sane = !place.starts_with('/') && !address.contains(char::is_whitespace);
        (sane && Url::parse(address).is_ok()).then(|| Self::Http(address.to_owned()))
    }
}

/// Refuses addresses that cannot be a target. Allowed are external workers, functions of modules
/// and handlers of services. Functions built into the host act with the rights of a module, or of
/// every module (`["*"]` of the policy, with its secrets), which a client does not have: workflows
/// call them, and the API starts graphs.
///
/// # Errors
/// 400, naming the expected form.
pub fn check_target(reach: Reach, address: &str) -> Result<(), ProtocolError> {
    let parsed = Address::parse(address).map_err(|error| ProtocolError::bad(error.to_string()))?;
    if let Address::BuiltIn(_) = parsed {
        return Err(ProtocolError::bad(format!(
            "`{address}` is built into the host, and no target of a client: call it from a workflow of a module"
        )));
    }
    if parsed.is_internal() && address.contains(':') {
        return Ok(());
    }
    check_listener(reach, address)
}

/// Refuses addresses that cannot receive a settlement.
///
/// # Errors
/// 400, naming the expected form.
pub fn check_listener(reach: Reach, address: &str) -> Result<(), ProtocolError> {
    if address.len() > LONGEST {
        return Err(ProtocolError::bad(format!("an address has at most {LONGEST} bytes")));
    }
    match Destination::parse(address) {
        Some(_) => {
            let refused = |private: Private| ProtocolError::bad(private.to_string());
            reach.allows_address(address).map_err(refused)
        }
        None => Err(ProtocolError::bad(format!(
            "`{address}` is not an address: use poll://any@GROUP, poll://any@GROUP/ID, poll://uni@GROUP/ID, http://… or https://…"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Reach = Reach { private: true };

    #[test]
    fn addresses_of_workers_are_read() {
        let poll = |group: &str, worker: Option<&str>, alone| Destination::Poll {
            group: group.to_owned(),
            worker: worker.map(str::to_owned),
            alone,
        };
        for (address, read) in [
            ("poll://any@g", Some(poll("g", None, false))),
            ("poll://any@g/w", Some(poll("g", Some("w"), false))),
            ("poll://uni@g/w", Some(poll("g", Some("w"), true))),
            ("poll://any@g/a/b", Some(poll("g", Some("a/b"), false))),
            ("https://x/y", Some(Destination::Http("https://x/y".to_owned()))),
            ("poll://uni@g", None),
            ("poll://g", None),
            ("poll://all@g", None),
            ("poll://any@", None),
            ("poll://any@/w", None),
            ("poll://any@g/", None),
            ("http://", None),
            ("http:///x", None),
            ("http://[::1", None),
            ("https://x:port/y", None),
            ("http://a b", None),
            ("wasm://m/f", None),
            ("g", None),
            ("", None),
        ] {
            assert_eq!(Destination::parse(address), read, "{address}");
            assert_eq!(check_listener(ANY, address).is_ok(), read.is_some(), "{address}");
        }
    }

    #[test]
    fn an_address_is_as_long_as_it_can_be_looked_up() {
        let long = format!("poll://any@{}", "g".repeat(LONGEST));
        for refused in [check_listener(ANY, &long), check_target(ANY, &long)] {
            let refused = refused.expect_err("too long");
            assert!(refused.message.contains("bytes") && refused.message.len() < 500);
        }
    }

    #[test]
    fn functions_of_modules_are_targets_too() {
        for address in ["wasm://shop/order", "restate://Greeter/greet", "poll://any@g"] {
            assert!(check_target(ANY, address).is_ok(), "{address}");
        }
        for address in [
            "",
            "default",
            "wasm://shop",
            "gcps://p/t",
            "poll://g",
            "segno:http",
            "segno:graph",
            "segno:graph.run",
        ] {
            assert_eq!(check_target(ANY, address).expect_err(address).status, 400);
        }
    }

    #[test]
    fn what_only_this_machine_reaches_is_refused_where_it_is_named() {
        let open = Reach { private: false };
        for address in ["http://127.0.0.1:9000/x", "https://10.0.0.1", "http://[::1]:80/"] {
            for check in [check_target, check_listener] {
                let refused = check(open, address).expect_err(address);
                assert!(refused.message.contains("--allow-private-targets"), "{refused:?}");
                assert_eq!(refused.status, 400);
                assert!(check(ANY, address).is_ok(), "{address}");
            }
        }
        for address in ["poll://any@127.0.0.1", "http://8.8.8.8/x", "https://worker.example/"] {
            assert!(check_target(open, address).is_ok(), "{address}");
        }
    }
}
