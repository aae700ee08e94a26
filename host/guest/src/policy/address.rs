//! Patterns of addresses.

use std::{fmt, str::FromStr};

use reqwest::Url;
use serde::{Deserialize, Serialize};

/// A set of HTTP addresses: `SCHEME://HOST[:PORT][/PATH]`.
///
/// `HOST` may begin with `*.` (any subdomain) or be `*` (any host). `PORT` may be `*`; it defaults
/// to the scheme's port. Without a path, every path matches; with a path, those that begin with it,
/// in whole segments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AddressPattern {
    scheme: String,
    host: HostPattern,
    port: PortPattern,
    path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Any,
    Below(String),
    Exactly(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PortPattern {
    Any,
    Exactly(u16),
}

/// Text that is not an address pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address such as `https://api.example.com` or `http://127.0.0.1:*`")]
pub struct AddressPatternError(String);

impl AddressPattern {
    /// Returns true if `url` matches the pattern.
    pub fn matches(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().trim_end_matches('.');
        let host_matches = match &self.host {
            HostPattern::Any => !host.is_empty(),
            HostPattern::Exactly(name) => host == name,
            HostPattern::Below(domain) => {
                host.strip_suffix(domain.as_str()).is_some_and(|below| below.ends_with('.'))
            }
        };
        let port_matches = match self.port {
            PortPattern::Any => true,
            PortPattern::Exactly(port) => url.port_or_known_default() == Some(port),
        };
        url.scheme() == self.scheme && host_matches && port_matches && self.path_matches(url.path())
    }

    fn path_matches(&self, path: &str) -> bool {
        path.strip_prefix(self.path.as_str()).is_some_and(|rest| {
            self.path.is_empty()
                || self.path.ends_with('/')
                || rest.is_empty()
                || rest.starts_with('/')
        })
    }
}

impl FromStr for AddressPattern {
    type Err = AddressPatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || AddressPatternError(text.into());
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let default_port = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return Err(wrong()),
        };
        let (authority, path) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, ""),
        };
        // The colons of an IPv6 address are in brackets.
        let colon = authority.rfind(':').filter(|colon| !authority[*colon..].contains(']'));
        let (host, port) = match colon {
            Some(colon) => (&authority[..colon], Some(&authority[colon + 1..])),
            None => (authority, None),
        };
        let port = match port {
            None => PortPattern::Exactly(default_port),
            Some("*") => PortPattern::Any,
            Some(number) => PortPattern::Exactly(number.parse().map_err(|_| wrong())?),
        };
        let host = match host.strip_prefix("*.") {
            _ if host == "*" => HostPattern::Any,
            Some(domain) => HostPattern::Below(normal(scheme, domain).ok_or_else(wrong)?),
            None => HostPattern::Exactly(normal(scheme, host).ok_or_else(wrong)?),
        };
        if path.contains(['?', '#', '*']) {
            return Err(wrong());
        }
        Ok(Self { scheme: scheme.into(), host, port, path: path.into() })
    }
}

/// The host in the form of a parsed URL: lower case, punycode, canonical numbers.
fn normal(scheme: &str, host: &str) -> Option<String> {
    if host.is_empty() || host.contains(['*', '@', '?', '#']) {
        return None;
    }
    let url = Url::parse(&format!("{scheme}://{host}/")).ok()?;
    Some(url.host_str()?.trim_end_matches('.').to_owned())
}

impl fmt::Display for AddressPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme)?;
        match &self.host {
            HostPattern::Any => f.write_str("*")?,
            HostPattern::Below(domain) => write!(f, "*.{domain}")?,
            HostPattern::Exactly(host) => f.write_str(host)?,
        }
        match (self.port, self.scheme.as_str()) {
            (PortPattern::Exactly(80), "http") | (PortPattern::Exactly(443), "https") => {}
            (PortPattern::Exactly(port), _) => write!(f, ":{port}")?,
            (PortPattern::Any, _) => f.write_str(":*")?,
        }
        f.write_str(&self.path)
    }
}

impl TryFrom<String> for AddressPattern {
    type Error = AddressPatternError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<AddressPattern> for String {
    fn from(pattern: AddressPattern) -> Self {
        pattern.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_what_it_says_and_no_more() {
        for (pattern, url, matches) in [
            ("https://api.example.com", "https://api.example.com/a/b", true),
            ("https://api.example.com", "https://API.example.com:443/", true),
            ("https://api.example.com", "http://api.example.com/", false),
            ("https://api.example.com", "https://api.example.com:8443/", false),
            ("https://api.example.com", "https://api.example.com.evil.example/", false),
            ("https://api.example.com", "https://api.example.com@evil.example/", false),
            ("https://api.example.com:*", "https://api.example.com:8443/", true),
            ("http://127.0.0.1:*", "http://127.0.0.1:5000/x", true),
            ("http://127.0.0.1:*", "http://2130706433:5000/x", true),
            ("http://127.0.0.1:*", "http://127.0.0.2:5000/x", false),
            ("http://[::1]:*", "http://[::1]:80/x", true),
            ("http://[::1]", "http://[0:0:0:0:0:0:0:1]/x", true),
            ("https://*.example.com", "https://a.b.example.com/", true),
            ("https://*.example.com", "https://example.com/", false),
            ("https://*.example.com", "https://badexample.com/", false),
            ("https://*", "https://anything.example/", true),
            ("https://h.example/v1", "https://h.example/v1/x", true),
            ("https://h.example/v1", "https://h.example/v1", true),
            ("https://h.example/v1", "https://h.example/v10", false),
            ("https://h.example/v1/", "https://h.example/v1/../v2", false),
        ] {
            let parsed: AddressPattern = pattern.parse().expect("the pattern is valid");
            let url = Url::parse(url).expect("the address is valid");
            assert_eq!(parsed.matches(&url), matches, "{pattern} {url}");
            assert_eq!(parsed.to_string().parse(), Ok(parsed), "{pattern} reads back");
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in [
            "api.example.com",
            "ftp://x",
            "https://",
            "https://x:99999",
            "https://a*b",
            "https://x/*",
        ] {
            assert!(text.parse::<AddressPattern>().is_err(), "{text}");
        }
    }
}
