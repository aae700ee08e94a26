//! Blobs in an S3 bucket. Region, keys and endpoint come from the usual variables (`AWS_REGION`,
//! `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, …).

use std::{sync::Arc, time::Duration};

use object_store::{
    ClientOptions, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    client::{HttpClient, HttpConnector},
    path::Path,
};
use segno_env::{Proxies, http_client};

use super::{error::chain, key::BlobKeys, place::OpenedPlace};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time without a byte of an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Requests are repeated for this time; then the caller is told, and repeats if it likes.
const RETRY_TIMEOUT: Duration = Duration::from_secs(10);
const RETRIES: usize = 3;

/// Connects to the bucket with the host's own HTTP client, so that there is one TLS.
#[derive(Debug)]
struct HostConnector {
    proxies: Proxies,
}

impl HttpConnector for HostConnector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = http_client(self.proxies)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .build()
            .map_err(|error| object_store::Error::Generic {
                store: "S3",
                source: Box::new(error),
            })?;
        Ok(HttpClient::new(client))
    }
}

/// Opens a bucket. Sends nothing.
pub(crate) fn open(bucket: &str, prefix: &str) -> Result<OpenedPlace, String> {
    let builder = AmazonS3Builder::from_env();
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint).unwrap_or_default();
    let retry = RetryConfig {
        max_retries: RETRIES,
        retry_timeout: RETRY_TIMEOUT,
        ..RetryConfig::default()
    };
    let is_here = ["localhost", "127.", "[::1]"].iter().any(|host| {
        endpoint.split_once("://").is_some_and(|(_, address)| address.starts_with(host))
    });
    let proxies = if is_here { Proxies::None } else { Proxies::OfEnvironment };
    let objects = builder
        .with_bucket_name(bucket)
        // Without TLS only where the operator wrote such an address.
        .with_allow_http(endpoint.starts_with("http://"))
        .with_retry(retry)
        .with_http_connector(HostConnector { proxies })
        .build()
        .map_err(|error| chain(&error))?;
    let objects = Arc::new(objects);
    let keys = BlobKeys::new(Path::from(prefix));
    Ok(OpenedPlace { objects: objects.clone(), signer: Some(objects), directory: None, keys })
}
