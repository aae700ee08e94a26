//! The connection to deployments. A trait, so that tests and the simulation can replace it.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use segno_core::time::Millis;
use segno_env::Private;
use tokio::sync::mpsc;

/// The address of a deployment, and the connection settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeploymentAddress {
    /// The address, without a slash at the end.
    pub uri: String,
    /// Headers that are added to every request.
    pub headers: BTreeMap<String, String>,
    /// True for HTTP/1.1: one complete request, then one response.
    pub http11: bool,
}

/// A request to a deployment.
#[derive(Debug, Clone)]
pub struct AttemptRequest {
    /// The path after the address: `/invoke/SERVICE/HANDLER`.
    pub path: String,
    /// The content type of the request and of the accepted response.
    pub content_type: String,
    /// Headers in addition to those of the endpoint.
    pub headers: Vec<(String, String)>,
    /// The first frames.
    pub first: Bytes,
    /// True if no frames follow the first ones.
    pub is_whole: bool,
}

/// An attempt whose response has begun.
pub struct Exchange {
    /// Sends further frames. Dropping it ends the request. `None` if the request was complete.
    pub sender: Option<mpsc::Sender<Bytes>>,
    /// The response of the deployment.
    pub receiver: Box<dyn ResponseStream>,
}

/// The response of a deployment, in pieces.
#[async_trait]
pub trait ResponseStream: Send {
    /// The next bytes. `None` at the end of the response.
    ///
    /// # Errors
    /// The connection broke.
    async fn next(&mut self) -> Result<Option<Bytes>, ConnectError>;
}

/// The response of a deployment to a request that is not an attempt: its manifest, or the preview
/// of a value.
#[derive(Debug, Clone)]
pub struct DeploymentAnswer {
    pub content_type: String,
    pub body: Bytes,
    /// The SDK and its version (`x-restate-server`).
    pub server: Option<String>,
}

/// Connects to deployments.
#[async_trait]
pub trait Connector: Send + Sync {
    /// The public key of the key pair that signs requests. `None` if requests are not signed.
    fn identity(&self) -> Option<&str> {
        None
    }

    /// Requests the manifest of a deployment, in one of the content types of `accept`.
    ///
    /// # Errors
    /// [`ConnectError`].
    async fn discover(
        &self,
        endpoint: &DeploymentAddress,
        accept: &str,
    ) -> Result<DeploymentAnswer, ConnectError>;

    /// Sends a body to a path of a deployment, and reads the whole response.
    ///
    /// # Errors
    /// [`ConnectError`].
    async fn ask(
        &self,
        endpoint: &DeploymentAddress,
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
        endpoint: &DeploymentAddress,
        request: AttemptRequest,
    ) -> Result<Exchange, ConnectError>;
}

/// The reason why a deployment could not be called or returned an invalid response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// The deployment cannot be reached, or the connection broke.
    #[error("the deployment `{uri}` cannot be reached: {reason}")]
    Unreachable {
        /// The address of the deployment.
        uri: String,
        /// The cause, from the HTTP client.
        reason: String,
    },
    /// The address is private, and clients may not make this host connect to it.
    #[error("the deployment `{uri}` is not reached: {private}")]
    Private {
        uri: String,
        /// The reason why the address is private.
        private: Private,
    },
    /// The deployment refused the request.
    #[error("the deployment `{uri}` answered {path} with status {status}{}", said(.body))]
    Status {
        uri: String,
        /// The path of the request.
        path: String,
        status: u16,
        /// The delay that the response requests before a retry. `None` without a `Retry-After` in
        /// seconds.
        retry_after: Option<Millis>,
        /// The beginning of the body.
        body: String,
    },
    /// The response has another content type.
    #[error("the deployment `{uri}` answered {path} as `{given}`, and not as `{wanted}`")]
    ContentType {
        uri: String,
        /// The path of the request.
        path: String,
        /// The content type of the answer.
        given: String,
        /// The requested content type.
        wanted: String,
    },
    /// The response is larger than the limit.
    #[error("the deployment `{uri}` answered {path} with more than {limit} bytes")]
    TooLarge {
        uri: String,
        /// The path of the request.
        path: String,
        /// The limit in bytes.
        limit: usize,
    },
}

fn said(body: &str) -> String {
    match body.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    }
}

/// Connects to no deployment. For hosts that call none.
pub struct NoConnector;

impl NoConnector {
    fn refuse(endpoint: &DeploymentAddress) -> ConnectError {
        let reason = "this host calls no deployments".to_owned();
        ConnectError::Unreachable { uri: endpoint.uri.clone(), reason }
    }
}

#[async_trait]
impl Connector for NoConnector {
    async fn discover(
        &self,
        endpoint: &DeploymentAddress,
        _: &str,
    ) -> Result<DeploymentAnswer, ConnectError> {
        Err(Self::refuse(endpoint))
    }

    async fn open(
        &self,
        endpoint: &DeploymentAddress,
        _: AttemptRequest,
    ) -> Result<Exchange, ConnectError> {
        Err(Self::refuse(endpoint))
    }
}
