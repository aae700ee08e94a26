//! Where messages go, as the protocol writes it.
//!
//! ```text
//! poll://uni@GROUP/ID     this stream, or nobody
//! poll://any@GROUP/ID     this stream if it is open, else another of the group
//! poll://any@GROUP        any stream of the group
//! http(s)://…             the message is posted there
//! ```

use segno_core::address::Address;

use super::refused::Refused;

/// A parsed address of a worker outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Streams.
    Poll {
        /// Which group of workers.
        group: String,
        /// Which worker of it.
        worker: Option<String>,
        /// Whether another worker of the group will not do.
        alone: bool,
    },
    /// A server that takes messages.
    Http(String),
}

impl Destination {
    /// Reads an address; nothing if it is not one of a worker outside.
    pub fn parse(address: &str) -> Option<Self> {
        let Some(rest) = address.strip_prefix("poll://") else {
            let rest =
                address.strip_prefix("http://").or_else(|| address.strip_prefix("https://"))?;
            let sane = !rest.is_empty()
                && !rest.starts_with('/')
                && !address.contains(char::is_whitespace);
            return sane.then(|| Self::Http(address.to_owned()));
        };
        let (cast, rest) = rest.split_once('@')?;
        let alone = match cast {
            "uni" => true,
            "any" => false,
            _ => return None,
        };
        let (group, worker) = match rest.split_once('/') {
            Some((group, worker)) => (group, Some(worker.to_owned())),
            None => (rest, None),
        };
        let named = worker.as_ref().is_none_or(|worker| !worker.is_empty());
        let complete = !group.is_empty() && named && (worker.is_some() || !alone);
        complete.then(|| Self::Poll { group: group.to_owned(), worker, alone })
    }
}

/// Refuses what cannot be a target: workers outside, and functions of modules.
///
/// # Errors
/// 400, saying what the address should look like.
pub fn check_target(address: &str) -> Result<(), Refused> {
    let parsed = Address::parse(address).map_err(|error| Refused::bad(error.to_string()))?;
    if parsed.is_hosted() && address.contains(':') {
        return Ok(());
    }
    check_listener(address)
}

/// Refuses what cannot be told of a settlement.
///
/// # Errors
/// 400, saying what the address should look like.
pub fn check_listener(address: &str) -> Result<(), Refused> {
    match Destination::parse(address) {
        Some(_) => Ok(()),
        None => Err(Refused::bad(format!(
            "`{address}` is not an address: use poll://any@GROUP, poll://any@GROUP/ID, poll://uni@GROUP/ID, http://… or https://…"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("http://a b", None),
            ("wasm://m/f", None),
            ("g", None),
            ("", None),
        ] {
            assert_eq!(Destination::parse(address), read, "{address}");
            assert_eq!(check_listener(address).is_ok(), read.is_some(), "{address}");
        }
    }

    #[test]
    fn functions_of_modules_are_targets_too() {
        for address in ["wasm://shop/order", "poll://any@g", "segno:http"] {
            assert!(check_target(address).is_ok(), "{address}");
        }
        for address in ["", "default", "wasm://shop", "gcps://p/t", "poll://g"] {
            assert_eq!(check_target(address).expect_err(address).status, 400);
        }
    }
}
