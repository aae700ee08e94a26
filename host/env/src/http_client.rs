//! The HTTP clients of a host, all with the same TLS provider, user agent and redirect policy.

use std::sync::Arc;

use super::{Reach, tls::tls};

/// Proxy configuration of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxies {
    /// The proxies in the environment (`HTTPS_PROXY`, `NO_PROXY`, …).
    OfEnvironment,
    /// No proxy: the client resolves names and connects itself, so that destinations can be
    /// checked.
    None,
}

/// Versions of HTTP that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersions {
    /// HTTP/2 or HTTP/1.1, as a server with TLS prefers; HTTP/1.1 without TLS.
    All,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2, also without TLS.
    Http2,
}

/// A client for servers chosen by the operator or by the user of a command. It follows no
/// redirects, so every request goes to the chosen server.
///
/// The caller sets the time limits.
pub fn http_client(proxies: Proxies) -> reqwest::ClientBuilder {
    client(proxies, HttpVersions::All)
}

fn client(proxies: Proxies, versions: HttpVersions) -> reqwest::ClientBuilder {
    let client = reqwest::Client::builder()
        .user_agent(concat!("segno/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none());
    let client = match proxies {
        Proxies::OfEnvironment => client,
        Proxies::None => client.no_proxy(),
    };
    match versions {
        HttpVersions::All => client.tls_backend_preconfigured(tls(&["h2", "http/1.1"])),
        HttpVersions::Http11 => client.tls_backend_preconfigured(tls(&["http/1.1"])).http1_only(),
        HttpVersions::Http2 => {
            client.tls_backend_preconfigured(tls(&["h2"])).http2_prior_knowledge()
        }
    }
}

/// A client for servers chosen by the host's API clients: the addresses that a name resolves to are
/// checked against `reach`, and no proxy resolves it elsewhere. Addresses without a name are not
/// resolved, so the caller must check them before each request ([`Reach::allows`]).
pub fn http_client_within(reach: Reach, versions: HttpVersions) -> reqwest::ClientBuilder {
    client(Proxies::None, versions).dns_resolver(Arc::new(reach))
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    /// The folder with the host's crates.
    const HOST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

    /// Code patterns that open connections, or that create connecting clients.
    const CONNECTORS: [&str; 16] = [
        "http_client(",
        "http_client_within(",
        "Client::builder()",
        "reqwest::Client::new()",
        "reqwest::get(",
        "TcpStream::connect",
        "TcpSocket::new",
        "UnixStream::connect",
        "UdpSocket::bind",
        "default_hooks()",
        "lookup_host(",
        "to_socket_addrs(",
        "PgConnection::connect",
        "PgListener::connect",
        "PgPoolOptions::new()",
        "hyper_util::client",
    ];

    /// All files of the host that open connections, with the party that chooses the server. Review
    /// every new entry: an address chosen by an API client requires [`super::http_client_within`].
    const JUDGED: &[(&str, &str)] = &[
        ("resonate/src/push.rs", "a client: within reach"),
        ("services/src/deployments/http.rs", "a client: within reach"),
        ("blobs/src/s3.rs", "the operator: the place for blobs"),
        ("env/src/reach.rs", "the check itself"),
        ("env/src/http_client.rs", "the clients themselves"),
        ("client/src/http.rs", "the user of a command"),
        ("engine/src/events/push.rs", "the operator: the routes of events"),
        ("engine/src/traces/exporter.rs", "the operator: the receiver of traces"),
        ("guest/src/activity/wasi.rs", "the operator: the policy, asked before each request"),
        ("guest/src/http.rs", "the operator: the policy, asked before each request"),
        ("store/src/postgres/archive.rs", "the operator: the store"),
        ("store/src/postgres/connection_pool.rs", "the operator: the store"),
        ("store/src/postgres/held.rs", "the operator: the store"),
        ("store/src/postgres/notify.rs", "the operator: the store"),
        ("store/src/postgres/pooler.rs", "the operator: the store"),
        ("store/src/postgres/shard_row.rs", "the operator: the store"),
    ];

    /// Separate programs, which connect to a host they were given or started.
    const TOOLS: [&str; 2] = ["bench", "demo"];

    /// Collects the source files below `folder`, except files that contain only tests.
    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("it can be read") {
            let path = entry.expect("it can be read").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !matches!(name, "tests" | "target" | "node_modules") {
                sources(&path, found);
            } else if name.ends_with(".rs") && !matches!(name, "tests.rs" | "plans.rs") {
                found.push(path);
            }
        }
    }

    #[test]
    fn whoever_makes_connections_is_listed_with_the_one_who_names_the_server() {
        let mut files = Vec::new();
        for crate_folder in fs::read_dir(HOST).expect("there are crates") {
            let crate_folder = crate_folder.expect("it can be read").path();
            let name = crate_folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let source = crate_folder.join("src");
            if name == "src" {
                sources(&crate_folder, &mut files);
            } else if source.is_dir() && !TOOLS.contains(&name) {
                sources(&source, &mut files);
            }
        }
        let connects = |path: &PathBuf| {
            let text = fs::read_to_string(path).expect("it is text");
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
            let is_comment = |line: &&str| line.trim_start().starts_with("//");
            let mut lines = code.lines().filter(|line| !is_comment(line));
            lines.any(|line| CONNECTORS.iter().any(|connector| line.contains(connector)))
        };
        let name = |path: &PathBuf| {
            let inside = path.strip_prefix(HOST).expect("it is inside");
            inside.display().to_string()
        };
        let found: BTreeSet<String> =
            files.iter().filter(|path| connects(path)).map(name).collect();
        let judged: BTreeSet<String> = JUDGED.iter().map(|(file, _)| (*file).to_owned()).collect();
        assert_eq!(found, judged, "judge who names the server in the files that differ");
    }
}
