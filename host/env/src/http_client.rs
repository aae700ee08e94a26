//! The HTTP clients of a host: all with the same cryptography, name and manners.

use rustls::crypto::ring::default_provider;

/// Which proxies a client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxies {
    /// Those that the environment names (`HTTPS_PROXY`, `NO_PROXY`, …).
    OfEnvironment,
    /// None: the client resolves names and connects itself, so that what is allowed can be checked.
    None,
}

/// A client that follows no redirect: whoever is posted to or asked is the server that was named.
///
/// Limits of time, and what names may resolve to, are the caller's.
pub fn http_client(proxies: Proxies) -> reqwest::ClientBuilder {
    provide_tls();
    let client = reqwest::Client::builder()
        .user_agent(concat!("segno/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none());
    match proxies {
        Proxies::OfEnvironment => client,
        Proxies::None => client.no_proxy(),
    }
}

/// Names the cryptography that every client of this process uses; reqwest has to be told before the
/// first client.
fn provide_tls() {
    // The first provider installed stays; a second attempt is refused, which is as good.
    let _ = default_provider().install_default();
}
