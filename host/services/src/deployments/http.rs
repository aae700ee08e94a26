//! Deployments over HTTP. HTTP/2 without negotiation lets both sides send concurrently. HTTP/1.1
//! has one request and one response.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Body, Client, RequestBuilder, Response, Url};
use segno_core::time::Millis;
use segno_env::{Env, HttpVersions, Private, Reach, http_client_within};
use tokio::sync::mpsc;

use super::{
    connector::{
        AttemptRequest, ConnectError, Connector, DeploymentAddress, DeploymentAnswer, Exchange,
        ResponseStream,
    },
    identity::{RequestIdentity, SCHEME_HEADER, SIGNED, TOKEN_HEADER, UNSIGNED},
};

/// The timeout for establishing a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// The timeout for the manifest of a deployment.
const DISCOVERY: Duration = Duration::from_secs(10);
/// The interval of pings on open connections, and the timeout for their answer.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(40), Duration::from_secs(20));
/// Maximum size of a manifest, in bytes.
const MANIFEST: usize = 8 << 20;
/// Maximum number of characters kept of an error's body.
const EXCERPT: usize = 200;
/// Maximum number of bytes read for that excerpt.
const EXCERPT_BYTES: usize = 4 * EXCERPT;
/// The timeout for reading that excerpt.
const EXCERPT_WAIT: Millis = Millis(5_000);
/// Maximum number of frames queued for the connection.
const WINDOW: usize = 64;
/// The header with the name and version of the SDK.
const SERVER: &str = "x-restate-server";

/// Connects to deployments over HTTP.
pub struct HttpConnector {
    http2: Client,
    http11: Client,
    reach: Reach,
    identity: Option<RequestIdentity>,
    env: Env,
}

impl HttpConnector {
    /// A connector to the addresses in `reach`. It signs its requests if `identity` is given.
    ///
    /// # Errors
    /// The clients cannot be set up.
    pub fn new(reach: Reach, identity: Option<RequestIdentity>, env: Env) -> reqwest::Result<Self> {
        let client = |versions| http_client_within(reach, versions).connect_timeout(CONNECT);
        let (every, within) = KEEP_ALIVE;
        let http2 = client(HttpVersions::Http2)
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(every)
            .http2_keep_alive_timeout(within)
            .build()?;
        let http11 = client(HttpVersions::Http11).build()?;
        Ok(Self { http2, http11, reach, identity, env })
    }

    fn client(&self, endpoint: &DeploymentAddress) -> &Client {
        if endpoint.http11 { &self.http11 } else { &self.http2 }
    }

    fn asked<'a>(
        &'a self,
        endpoint: &'a DeploymentAddress,
        path: &'a str,
    ) -> DeploymentRequest<'a> {
        let token = self.identity.as_ref().map(|key| key.token(path, self.env.clock.now()));
        DeploymentRequest { endpoint, path, connector: self, token }
    }
}

#[async_trait]
impl Connector for HttpConnector {
    fn identity(&self) -> Option<&str> {
        self.identity.as_ref().map(RequestIdentity::public)
    }

    async fn discover(
        &self,
        endpoint: &DeploymentAddress,
        accept: &str,
    ) -> Result<DeploymentAnswer, ConnectError> {
        let asked = self.asked(endpoint, "/discover");
        let request = self.client(endpoint).get(asked.url()).header(ACCEPT, accept);
        asked.whole(request).await
    }

    async fn ask(
        &self,
        endpoint: &DeploymentAddress,
        path: String,
        body: Bytes,
    ) -> Result<DeploymentAnswer, ConnectError> {
        let asked = self.asked(endpoint, &path);
        let request = self.client(endpoint).post(asked.url()).body(body);
        asked.whole(request).await
    }

    async fn open(
        &self,
        endpoint: &DeploymentAddress,
        request: AttemptRequest,
    ) -> Result<Exchange, ConnectError> {
        let AttemptRequest { path, content_type, headers, first, is_whole } = request;
        let asked = self.asked(endpoint, &path);
        let mut builder = self.client(endpoint).post(asked.url());
        for (name, value) in headers {
            builder = builder.header(name, value);
        }
        builder = builder.header(CONTENT_TYPE, &content_type).header(ACCEPT, &content_type);
        let (builder, sender) = if is_whole || endpoint.http11 {
            (builder.body(first), None)
        } else {
            let (sender, receiver) = mpsc::channel(WINDOW);
            (builder.body(streamed(first, receiver)), Some(sender))
        };
        let response = asked.send(builder).await?;
        let given = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        if given != content_type {
            return Err(ConnectError::ContentType {
                uri: endpoint.uri.clone(),
                path,
                given,
                wanted: content_type,
            });
        }
        let receiver = Box::new(ResponseChunks { response, uri: endpoint.uri.clone() });
        Ok(Exchange { sender, receiver })
    }
}

/// A body that begins with these bytes and continues with received frames until the sender is
/// dropped.
fn streamed(first: Bytes, receiver: mpsc::Receiver<Bytes>) -> Body {
    let frames = futures::stream::unfold((Some(first), receiver), async |(first, mut receiver)| {
        let next = match first {
            Some(first) => first,
            None => receiver.recv().await?,
        };
        Some((Ok::<_, std::convert::Infallible>(next), (None, receiver)))
    });
    Body::wrap_stream(frames)
}

struct DeploymentRequest<'a> {
    endpoint: &'a DeploymentAddress,
    path: &'a str,
    connector: &'a HttpConnector,
    /// The token that identifies this host. `None` if requests are not signed.
    token: Option<String>,
}

impl DeploymentRequest<'_> {
    fn url(&self) -> String {
        format!("{}{}", self.endpoint.uri, self.path)
    }

    /// Sends a request with a short timeout, and reads the whole response.
    async fn whole(&self, request: RequestBuilder) -> Result<DeploymentAnswer, ConnectError> {
        let response = self.send(request.timeout(DISCOVERY)).await?;
        let content_type = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        let server = header(&response, SERVER);
        let mut incoming = ResponseChunks { response, uri: self.endpoint.uri.clone() };
        let mut body = Vec::new();
        while let Some(bytes) = incoming.next().await? {
            if body.len() + bytes.len() > MANIFEST {
                return Err(self.too_large(MANIFEST));
            }
            body.extend_from_slice(&bytes);
        }
        Ok(DeploymentAnswer { content_type, body: body.into(), server })
    }

    async fn send(&self, mut request: RequestBuilder) -> Result<Response, ConnectError> {
        // The deployment may have been registered under other settings, and an address without a
        // host name bypasses the resolver.
        let url = Url::parse(&self.endpoint.uri).ok();
        if let Some(Err(private)) = url.map(|url| self.connector.reach.allows(&url)) {
            return Err(ConnectError::Private { uri: self.endpoint.uri.clone(), private });
        }
        for (name, value) in &self.endpoint.headers {
            request = request.header(name, value);
        }
        request = match &self.token {
            Some(token) => request.header(SCHEME_HEADER, SIGNED).header(TOKEN_HEADER, token),
            None => request.header(SCHEME_HEADER, UNSIGNED),
        };
        let response =
            request.send().await.map_err(|error| unreachable(&self.endpoint.uri, &error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let retry_after = header(&response, RETRY_AFTER.as_str())
            .and_then(|seconds| seconds.parse().ok())
            .map(Millis::seconds);
        let body = excerpt(&self.connector.env, response).await;
        Err(ConnectError::Status {
            uri: self.endpoint.uri.clone(),
            path: self.path.to_owned(),
            status,
            retry_after,
            body,
        })
    }

    fn too_large(&self, limit: usize) -> ConnectError {
        let (uri, path) = (self.endpoint.uri.clone(), self.path.to_owned());
        ConnectError::TooLarge { uri, path, limit }
    }
}

struct ResponseChunks {
    response: Response,
    uri: String,
}

#[async_trait]
impl ResponseStream for ResponseChunks {
    async fn next(&mut self) -> Result<Option<Bytes>, ConnectError> {
        self.response.chunk().await.map_err(|error| unreachable(&self.uri, &error))
    }
}

fn header(response: &Response, name: &str) -> Option<String> {
    let value = response.headers().get(name)?;
    value.to_str().ok().map(str::to_owned)
}

/// The beginning of the body of an error response, as far as it arrives in time.
async fn excerpt(env: &Env, mut response: Response) -> String {
    let mut body = Vec::new();
    let reading = async {
        while body.len() < EXCERPT_BYTES
            && let Ok(Some(bytes)) = response.chunk().await
        {
            body.extend_from_slice(&bytes[..bytes.len().min(EXCERPT_BYTES - body.len())]);
        }
    };
    // The status is sufficient if the body does not arrive.
    let _ = env.within(EXCERPT_WAIT, reading).await;
    String::from_utf8_lossy(&body).chars().take(EXCERPT).collect()
}

/// The innermost cause: the outer messages rarely contain the reason.
fn unreachable(uri: &str, error: &reqwest::Error) -> ConnectError {
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if let Some(private) = inner.downcast_ref::<Private>() {
            return ConnectError::Private { uri: uri.to_owned(), private: private.clone() };
        }
        reason = inner.to_string();
        cause = inner.source();
    }
    ConnectError::Unreachable { uri: uri.to_owned(), reason }
}
