//! How a host reaches deployments. A trait, so that tests and the simulation can stand between.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use segno_core::time::Millis;
use segno_env::Private;
use tokio::sync::mpsc;

/// Where a deployment is, and how it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its address, without a slash at the end.
    pub uri: String,
    /// Headers of every request.
    pub headers: BTreeMap<String, String>,
    /// Whether HTTP/1.1 is spoken: one request, then one answer.
    pub http11: bool,
}

/// A request to a deployment.
#[derive(Debug, Clone)]
pub struct AttemptRequest {
    /// What follows the address: `/invoke/SERVICE/HANDLER`.
    pub path: String,
    /// The content type, asked for and sent.
    pub content_type: String,
    /// Headers beside those of the endpoint.
    pub headers: Vec<(String, String)>,
    /// The first frames.
    pub first: Bytes,
    /// Whether nothing is sent after the first frames.
    pub is_whole: bool,
}

/// An attempt that the deployment has begun to answer.
pub struct Exchange {
    /// Sends further frames; dropped: there are no more. None: the request was whole.
    pub sender: Option<mpsc::Sender<Bytes>>,
    /// What the deployment sends.
    pub receiver: Box<dyn Incoming>,
}

/// What a deployment sends.
#[async_trait]
pub trait Incoming: Send {
    /// The next bytes; none: the answer has ended.
    ///
    /// # Errors
    /// The connection broke.
    async fn next(&mut self) -> Result<Option<Bytes>, ConnectError>;
}

/// The answer of a deployment to a request that is no attempt: its manifest, or the preview of a value.
#[derive(Debug, Clone)]
pub struct DeploymentAnswer {
    /// The content type of the body.
    pub content_type: String,
    /// The body.
    pub body: Bytes,
    /// The SDK and its version (`x-restate-server`).
    pub server: Option<String>,
}

/// Reaches deployments.
#[async_trait]
pub trait Connector: Send + Sync {
    /// The public key with whose private one requests are signed; none: they are not.
    fn identity(&self) -> Option<&str> {
        None
    }

    /// Asks a deployment for its manifest, in one of the content types of `accept`.
    ///
    /// # Errors
    /// [`ConnectError`].
    async fn discover(
        &self,
        endpoint: &Endpoint,
        accept: &str,
    ) -> Result<DeploymentAnswer, ConnectError>;

    /// Sends a body to a path of a deployment, and reads the whole answer.
    ///
    /// # Errors
    /// [`ConnectError`].
    async fn ask(
        &self,
        endpoint: &Endpoint,
        path: String,
        body: Bytes,
    ) -> Result<DeploymentAnswer, ConnectError> {
        let _ = (path, body);
        Err(NoConnector::refuse(endpoint))
    }

    /// Begins an attempt.
    ///
    /// # Errors
    /// [`ConnectError`].
    async fn open(
        &self,
        endpoint: &Endpoint,
        request: AttemptRequest,
    ) -> Result<Exchange, ConnectError>;
}

/// Why a deployment could not be asked, or did not answer as it has to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// It cannot be reached, or the connection broke.
    #[error("the deployment `{uri}` cannot be reached: {reason}")]
    Unreachable {
        /// Its address.
        uri: String,
        /// Why.
        reason: String,
    },
    /// Clients may not have this host reach it.
    #[error("the deployment `{uri}` is not reached: {private}")]
    Private {
        /// Its address.
        uri: String,
        /// Why.
        private: Private,
    },
    /// It refused the request.
    #[error("the deployment `{uri}` answered {path} with status {status}{}", said(.body))]
    Status {
        /// Its address.
        uri: String,
        /// What was asked for.
        path: String,
        /// The status.
        status: u16,
        /// When to ask again, as far as it says so.
        retry_after: Option<Millis>,
        /// The beginning of what it said.
        body: String,
    },
    /// It answered in another form.
    #[error("the deployment `{uri}` answered {path} as `{given}`, and not as `{wanted}`")]
    ContentType {
        /// Its address.
        uri: String,
        /// What was asked for.
        path: String,
        /// The content type of the answer.
        given: String,
        /// The content type that was asked for.
        wanted: String,
    },
    /// It answered with more than is read.
    #[error("the deployment `{uri}` answered {path} with more than {limit} bytes")]
    TooLarge {
        /// Its address.
        uri: String,
        /// What was asked for.
        path: String,
        /// The most bytes that are read.
        limit: usize,
    },
}

fn said(body: &str) -> String {
    match body.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    }
}

/// Reaches no deployment: for hosts that call none.
pub struct NoConnector;

impl NoConnector {
    fn refuse(endpoint: &Endpoint) -> ConnectError {
        let reason = "this host calls no deployments".to_owned();
        ConnectError::Unreachable { uri: endpoint.uri.clone(), reason }
    }
}

#[async_trait]
impl Connector for NoConnector {
    async fn discover(
        &self,
        endpoint: &Endpoint,
        _: &str,
    ) -> Result<DeploymentAnswer, ConnectError> {
        Err(Self::refuse(endpoint))
    }

    async fn open(&self, endpoint: &Endpoint, _: AttemptRequest) -> Result<Exchange, ConnectError> {
        Err(Self::refuse(endpoint))
    }
}
