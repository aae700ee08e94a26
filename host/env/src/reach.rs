//! Restricts the servers that API clients may make a host contact. A client supplies the address,
//! and the host can reach servers that the client cannot. So the operator must permit addresses
//! that only this machine or a private network can reach.
//!
//! An address is checked twice: its text, when it is supplied and before each request; and the
//! addresses that its name resolves to, when a connection is made
//! ([`http_client_within`](super::http_client_within)).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// The addresses that API clients may make a host contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// True if loopback and private addresses are allowed.
    pub private: bool,
}

/// An address that the host does not contact for API clients.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is an address of this machine or of a private network, which `--allow-private-targets` allows"
)]
pub struct Private(String);

impl Reach {
    /// Checks the text of `url`. Names pass; they are checked when they are resolved.
    ///
    /// # Errors
    /// [`Private`].
    pub fn allows(self, url: &Url) -> Result<(), Private> {
        let host = url.host_str().unwrap_or_default();
        match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) if !self.private && is_private(address) => Err(Private(host.to_owned())),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Like [`Reach::allows`], for the address of a target or listener. An address that is not an
    /// HTTP URL is allowed.
    ///
    /// # Errors
    /// [`Private`].
    pub fn allows_address(self, address: &str) -> Result<(), Private> {
        match Url::parse(address) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => self.allows(&url),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        let private = self.private;
        Box::pin(async move {
            let name = name.as_str();
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
            let allowed: Vec<SocketAddr> =
                found.iter().copied().filter(|at| private || !is_private(at.ip())).collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(Private(name.to_owned()).into());
            }
            let addresses: Addrs = Box::new(allowed.into_iter());
            Ok(addresses)
        })
    }
}

/// True if the address is reachable only from this machine or a private network.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, e, f, g, h] = address.segments();
            let last = Ipv4Addr::from((u32::from(g) << 16) | u32::from(h));
            match [a, b, c, d, e, f] {
                // ::, ::1 and the deprecated IPv4-compatible form; the IPv4-mapped form; translated
                // addresses (NAT64).
                [0, 0, 0, 0, 0, 0] => g == 0 || is_private_v4(last),
                [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => is_private_v4(last),
                [0x64, 0xff9b, 1, ..] => true,
                [0x2002, high, low, ..] => {
                    is_private_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)))
                }
                // Unique local, link-local, the former site-local, multicast.
                [first, ..] => {
                    first & 0xfe00 == 0xfc00 || first & 0xff80 == 0xfe80 || first & 0xff00 == 0xff00
                }
            }
        }
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    match (a, b) {
        // "This network", private networks, loopback.
        (0 | 10 | 127, _) | (192, 168) | (172, 16..=31) => true,
        // Shared address space of carriers, link-local, IETF protocols, benchmarks.
        (100, 64..=127) | (169, 254) | (198, 18 | 19) => true,
        (192, 0) => c == 0,
        // Multicast and reserved.
        (224.., _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known_however_they_are_written() {
        let reach = Reach { private: false };
        for host in [
            "127.0.0.1",
            "127.9.9.9",
            "2130706433",
            "0x7f.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "198.19.0.1",
            "192.0.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::7f00:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:10.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b:1::1]",
            "[2002:7f00:1::]",
            "[fc00::1]",
            "[fd12::1]",
            "[fe80::1]",
            "[fec0::1]",
            "[ff02::1]",
        ] {
            let url = Url::parse(&format!("http://{host}:80/x")).expect(host);
            let refused = reach.allows(&url).expect_err(host).to_string();
            assert!(refused.contains("--allow-private-targets"), "{refused}");
            assert!(Reach { private: true }.allows(&url).is_ok(), "{host}");
        }
        for host in [
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "192.0.1.1",
            "169.253.0.1",
            "223.255.255.255",
            "[2001:db8::1]",
            "[2606:4700::1]",
            "[::ffff:8.8.8.8]",
            "[64:ff9b::808:808]",
            "[2002:808:808::]",
            "worker.example",
        ] {
            let url = Url::parse(&format!("http://{host}/x")).expect(host);
            assert!(reach.allows(&url).is_ok(), "{host}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_to_this_machine_is_as_good_as_its_address() {
        let resolved = async |private| {
            let name: Name = "localhost".parse().expect("a name");
            Reach { private }.resolve(name).await.map(Iterator::count)
        };
        let refused = resolved(false).await.expect_err("it is this machine").to_string();
        assert!(refused.contains("`localhost`"), "{refused}");
        assert!(resolved(true).await.expect("it is allowed") > 0);
    }
}
