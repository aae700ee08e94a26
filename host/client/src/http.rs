//! The HTTP client: address, token, timeouts, and reading answers.

use std::{fmt, net::IpAddr, sync::Arc, time::Duration};

use reqwest::{Method, RequestBuilder, Response, StatusCode, Url, header};
use segno_env::{Proxies, http_client};
use segno_model::{Health, Problem, Readiness};
use serde::{Serialize, de::DeserializeOwned};

use super::{ClientError, LocalHost, local};

/// Timeout of requests other than long polls.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A client of one host. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    server: Url,
    token: Option<String>,
    http: reqwest::Client,
    /// A host in this process, which replaces the network.
    local: Option<Arc<dyn LocalHost>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.server.as_str()).finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client of the host at `server`, for example `http://127.0.0.1:7766`. Sends
    /// nothing.
    ///
    /// # Errors
    /// [`ClientError::Address`].
    pub fn new(server: &str, token: Option<&str>) -> Result<Self, ClientError> {
        let wrong = |reason: String| ClientError::Address { server: server.to_owned(), reason };
        let url = Url::parse(server).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.cannot_be_a_base() {
            return Err(wrong("it must begin with http:// or https://".to_owned()));
        }
        let proxies = if is_loopback(&url) { Proxies::None } else { Proxies::OfEnvironment };
        let builder = http_client(proxies).connect_timeout(Duration::from_secs(5));
        let http = builder.build().map_err(|error| wrong(error.to_string()))?;
        Ok(Self { server: url, token: token.map(str::to_owned), http, local: None })
    }

    /// Creates a client of a host in this process. It uses no network.
    ///
    /// # Errors
    /// [`ClientError::Address`].
    pub fn local(host: Arc<dyn LocalHost>) -> Result<Self, ClientError> {
        Ok(Self { local: Some(host), ..Self::new("http://localhost", None)? })
    }

    /// The address of the host.
    pub fn server(&self) -> String {
        self.server.as_str().trim_end_matches('/').to_owned()
    }

    /// Checks that the host's process answers.
    pub async fn health(&self) -> Result<Health, ClientError> {
        self.read(self.request(Method::GET, &["health"])).await
    }

    /// Checks that the host accepts work.
    pub async fn ready(&self) -> Result<Readiness, ClientError> {
        self.read(self.request(Method::GET, &["ready"])).await
    }

    /// Builds a request for the path with these `segments`. A segment may contain slashes.
    pub(super) fn request(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        self.request_with(method, segments, &())
    }

    /// Like [`request`](Self::request), with a query.
    pub(super) fn request_with(
        &self,
        method: Method,
        segments: &[&str],
        query: &impl Serialize,
    ) -> RequestBuilder {
        let mut url = self.server.clone();
        url.path_segments_mut()
            .expect("`new` refuses addresses that cannot be a base")
            .pop_if_empty()
            .extend(segments);
        let pairs = pairs(query);
        if !pairs.is_empty() {
            url.query_pairs_mut().extend_pairs(pairs);
        }
        let request = self.http.request(method, url).timeout(REQUEST_TIMEOUT);
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// Posts JSON and parses the JSON answer.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.read(self.request(Method::POST, segments).json(body)).await
    }

    /// Gets and parses JSON.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        query: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.read(self.request_with(Method::GET, segments, query)).await
    }

    /// Extends the timeout by `wait`, for long polls.
    pub(super) fn patient(&self, request: RequestBuilder, wait: Duration) -> RequestBuilder {
        request.timeout(REQUEST_TIMEOUT + wait)
    }

    /// Sends `request` and parses the JSON answer.
    pub(super) async fn read<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, ClientError> {
        let response = self.send(request).await?;
        let body = response.bytes().await.map_err(|error| self.broken(error))?;
        serde_json::from_slice(&body).map_err(|error| ClientError::Malformed {
            server: self.server(),
            reason: format!("the answer is not what was expected: {error}"),
        })
    }

    /// Sends `request`. An answer with a problem document becomes an error.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let response = match &self.local {
            None => request.send().await.map_err(|error| self.broken(error))?,
            Some(host) => {
                let request = request.build().map_err(|error| self.broken(error))?;
                local::send(&**host, request).await.map_err(|reason| ClientError::Malformed {
                    server: "the host in this process".to_owned(),
                    reason,
                })?
            }
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        Err(self.refusal(status, response).await)
    }

    async fn refusal(&self, status: StatusCode, response: Response) -> ClientError {
        let is_problem = response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/problem+json"));
        let body = match response.bytes().await {
            Ok(body) => body,
            Err(error) => return self.broken(error),
        };
        match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) if is_problem => ClientError::Refused(Box::new(problem)),
            _ => ClientError::Malformed {
                server: self.server(),
                reason: format!("it answered {status} without a problem document"),
            },
        }
    }

    pub(super) fn broken(&self, source: reqwest::Error) -> ClientError {
        if source.is_timeout() && !source.is_connect() {
            return ClientError::Slow { server: self.server() };
        }
        ClientError::Unreachable { server: self.server(), source }
    }
}

/// Converts `query` to key-value pairs through its JSON form, which omits absent fields.
fn pairs(query: &impl Serialize) -> Vec<(String, String)> {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(query) else {
        return Vec::new();
    };
    fields
        .into_iter()
        .filter_map(|(name, value)| match value {
            serde_json::Value::Null => None,
            serde_json::Value::String(text) => Some((name, text)),
            other => Some((name, other.to_string())),
        })
        .collect()
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let host = host.trim_matches(['[', ']']);
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}
