//! Outbound HTTP, performed by the host: for the durable HTTP step, for `activity.http` and for
//! `http-bodies`.

use std::{collections::BTreeSet, time::Duration};

use async_trait::async_trait;
use reqwest::{
    Method, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

use super::{
    Failure, HttpRequest, HttpResponse, OpenedResponse, Outbound, Payload,
    http_body::{ReceivedBody, SecretFreeBody},
    policy::{Grants, MissingSecret, OriginRefusal, PolicySource, Secrets, VariableError},
};

#[derive(Debug, Clone, Copy)]
pub struct HttpLimits {
    /// Maximum time from the start to the last byte of the answer. For an answer in pieces: to the
    /// headers, and from each read to the next bytes.
    pub timeout: Duration,
    /// Maximum time from the start to the established connection.
    pub connect_timeout: Duration,
    /// Maximum size of an answer, in bytes.
    pub response_bytes: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(10),
            response_bytes: 8 << 20,
        }
    }
}

/// An HTTP client that follows no redirects: a 3xx answer goes to the caller, so that no redirect
/// bypasses the policy.
///
/// The client itself applies no policy; see [`Policy::allows_http`](super::Policy::allows_http).
pub struct HttpClient {
    client: reqwest::Client,
    limits: HttpLimits,
}

impl HttpClient {
    /// Creates a client with a connection pool.
    ///
    /// # Errors
    /// The machine's TLS setup cannot be used.
    pub fn new(limits: HttpLimits) -> Result<Self, reqwest::Error> {
        let client = segno_env::http_client(segno_env::Proxies::None)
            .read_timeout(limits.timeout)
            .connect_timeout(limits.connect_timeout)
            .build()?;
        Ok(Self { client, limits })
    }

    /// Sends `request` once.
    ///
    /// Failure codes: 400 if the request cannot be sent, 413 if the answer is larger than the
    /// limit, 502 if the address was not reached or the connection broke, 504 on timeout. Any
    /// status from the server counts as an answer.
    ///
    /// # Errors
    /// The failure, in the contract's terms.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, Failure> {
        let mut request = outgoing(request)?;
        *request.timeout_mut() = Some(self.limits.timeout);
        let (status, headers, mut received) = self.execute(request).await?;
        let mut body = Vec::new();
        while let Some(piece) = received.piece(504).await? {
            body.extend_from_slice(&piece);
        }
        Ok(HttpResponse { status, headers, body })
    }

    /// Sends `request` once, and returns when the status and the headers have arrived. The failure
    /// codes are those of [`send`](Self::send); a body that is silent for too long fails with 408.
    ///
    /// # Errors
    /// The failure, in the contract's terms.
    pub async fn open(&self, request: HttpRequest) -> Result<OpenedResponse, Failure> {
        let (status, headers, body) = self.execute(outgoing(request)?).await?;
        Ok(OpenedResponse { status, headers, body: Box::new(body) })
    }

    async fn execute(
        &self,
        request: reqwest::Request,
    ) -> Result<(u16, Vec<(String, String)>, ReceivedBody), Failure> {
        let url = request.url().clone();
        let response =
            self.client.execute(request).await.map_err(|error| unreachable(&url, &error))?;
        let (status, headers) = (response.status().as_u16(), incoming(response.headers()));
        Ok((status, headers, ReceivedBody::new(url, response, self.limits.response_bytes)))
    }
}

/// Outbound HTTP: checks each request against the policy and sends it with the client.
pub struct HttpGate {
    policy: PolicySource,
    client: HttpClient,
}

impl HttpGate {
    /// Creates outbound HTTP under `policy`.
    pub fn new(policy: PolicySource, client: HttpClient) -> Self {
        Self { policy, client }
    }

    /// Checks the address of a request, and fills its secrets in. Returns the request with the
    /// secrets that were used.
    fn admit(&self, module: &str, request: HttpRequest) -> Result<(HttpRequest, Secrets), Failure> {
        let grants = self.policy.get().grants(module);
        grants.allows_http(&request.url).map_err(|refused| self.refusal(refused))?;
        fill_in(&grants, request)
    }

    /// The refusal as a failure. It mentions if the newest policy file is not in force.
    fn refusal(&self, refused: OriginRefusal) -> Failure {
        let mut failure = Failure::from(refused);
        if let Some(problem) = self.policy.problem() {
            failure.message += &format!(" ({problem}; the policy before it is in force)");
        }
        failure
    }
}

#[async_trait]
impl Outbound for HttpGate {
    async fn send(&self, module: &str, request: HttpRequest) -> Result<HttpResponse, Failure> {
        let (request, filled_in) = self.admit(module, request)?;
        match self.client.send(request).await {
            Ok(response) => Ok(filled_in.kept_out_of(response)),
            Err(failure) => Err(filled_in.kept_out_of_failure(failure)),
        }
    }

    async fn open(&self, module: &str, request: HttpRequest) -> Result<OpenedResponse, Failure> {
        let (request, filled_in) = self.admit(module, request)?;
        match self.client.open(request).await {
            Ok(response) if filled_in.is_empty() => Ok(response),
            Ok(OpenedResponse { status, mut headers, body }) => {
                filled_in.hide_in_headers(&mut headers);
                let body = Box::new(SecretFreeBody::new(body, filled_in));
                Ok(OpenedResponse { status, headers, body })
            }
            Err(failure) => Err(filled_in.kept_out_of_failure(failure)),
        }
    }

    fn allows(&self, module: &str, url: &str) -> Result<(), Failure> {
        self.policy.get().allows_http(module, url).map_err(|refused| self.refusal(refused))
    }
}

/// Fills secrets into the request's headers. Returns the request with the secrets that were used.
fn fill_in(grants: &Grants, mut request: HttpRequest) -> Result<(HttpRequest, Secrets), Failure> {
    let mut names = BTreeSet::new();
    for (_, value) in &request.headers {
        names.extend(grants.secrets_of(value)?);
    }
    if names.is_empty() {
        return Ok((request, Secrets::default()));
    }
    let secrets = grants.read_secrets()?.only(&names);
    for (_, value) in &mut request.headers {
        *value = secrets.fill_in(value);
    }
    Ok((request, secrets))
}

impl Secrets {
    /// `response` with the values of these secrets hidden: a server may echo them.
    fn kept_out_of(&self, mut response: HttpResponse) -> HttpResponse {
        response.body = self.hide_bytes(response.body);
        self.hide_in_headers(&mut response.headers);
        response
    }

    fn hide_in_headers(&self, headers: &mut [(String, String)]) {
        for (_, value) in headers {
            *value = self.hide(value).into_owned();
        }
    }

    pub(super) fn kept_out_of_failure(&self, failure: Failure) -> Failure {
        Failure { message: self.hide(&failure.message).into_owned(), ..failure }
    }
}

fn outgoing(request: HttpRequest) -> Result<reqwest::Request, Failure> {
    let method = Method::from_bytes(request.method.to_ascii_uppercase().as_bytes())
        .map_err(|_| failure(400, format!("`{}` is not an HTTP method", request.method)))?;
    let url = Url::parse(&request.url)
        .map_err(|error| failure(400, format!("`{}` is not an address: {error}", request.url)))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(failure(400, format!("`{url}` is neither http nor https")));
    }
    let mut outgoing = reqwest::Request::new(method, url);
    for (name, value) in &request.headers {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| failure(400, format!("`{name}` is not a name for a header")))?;
        let value = HeaderValue::from_str(value)
            .map_err(|_| failure(400, format!("the value of header `{name}` cannot be sent")))?;
        outgoing.headers_mut().append(header, value);
    }
    *outgoing.body_mut() = request.body.map(|body| match body {
        Payload::Json(text) => {
            let json = HeaderValue::from_static("application/json");
            outgoing.headers_mut().entry(reqwest::header::CONTENT_TYPE).or_insert(json);
            text.into()
        }
        Payload::Bytes(bytes) => bytes.into(),
    });
    Ok(outgoing)
}

fn incoming(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect()
}

fn unreachable(url: &Url, error: &reqwest::Error) -> Failure {
    if error.is_timeout() {
        return failure(504, format!("`{url}` did not answer in time"));
    }
    failure(502, format!("`{url}` could not be reached: {}", reason(error)))
}

/// The innermost cause of an error of the client.
pub(super) fn reason(error: &reqwest::Error) -> String {
    let mut reason = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        reason = cause.to_string();
        source = cause.source();
    }
    reason
}

pub(super) fn failure(code: u32, message: String) -> Failure {
    Failure { code, message, details: None }
}

impl From<OriginRefusal> for Failure {
    /// Code 403 is final: another attempt would be refused as well.
    fn from(refused: OriginRefusal) -> Self {
        failure(403, refused.to_string())
    }
}

impl From<MissingSecret> for Failure {
    /// Code 403 is final, as for a refused address.
    fn from(none: MissingSecret) -> Self {
        failure(403, none.to_string())
    }
}

impl From<VariableError> for Failure {
    /// Not final: another attempt succeeds once the operator has fixed the setting.
    fn from(not_readable: VariableError) -> Self {
        failure(503, not_readable.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::TcpListener,
        sync::mpsc,
    };

    use super::*;

    /// A test server that answers one connection with `answer`. Returns its address and the
    /// received request.
    fn server(answer: &'static str) -> (String, mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be bound");
        let address = format!("http://{}", listener.local_addr().expect("it is bound"));
        let (received, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client comes");
            let mut bytes = vec![0; 65_536];
            let mut length = 0;
            // Headers and body may arrive separately.
            while !bytes[..length].ends_with(b"\r\n\r\n") && !bytes[..length].ends_with(b"}") {
                match stream.read(&mut bytes[length..]) {
                    Ok(more) if more > 0 => length += more,
                    _ => break,
                }
            }
            // The test may have stopped waiting for the request.
            let _ = received.send(String::from_utf8_lossy(&bytes[..length]).into_owned());
            let _ = stream.write_all(answer.as_bytes());
        });
        (address, receiver)
    }

    fn get(url: &str) -> HttpRequest {
        HttpRequest { method: "get".into(), url: url.into(), headers: Vec::new(), body: None }
    }

    fn client(limits: HttpLimits) -> HttpClient {
        HttpClient::new(limits).expect("a client can be made")
    }

    #[tokio::test]
    async fn a_request_and_its_answer_cross_whole() {
        let (address, received) =
            server("HTTP/1.1 201 Created\r\nx-charge: 7\r\ncontent-length: 2\r\n\r\nok");
        let request = HttpRequest {
            method: "POST".into(),
            url: format!("{address}/charge?x=1"),
            headers: vec![("Idempotency-Key".into(), "order/3".into())],
            body: Some(Payload::Json(r#"{"amount":1}"#.into())),
        };
        let response = client(HttpLimits::default()).send(request).await.expect("it answers");
        assert_eq!((response.status, response.body.as_slice()), (201, b"ok".as_slice()));
        assert!(response.headers.contains(&("x-charge".into(), "7".into())));
        let text = received.recv().expect("a request came").to_lowercase();
        for part in
            ["post /charge?x=1 ", "idempotency-key: order/3", "application/json", r#"{"amount":1}"#]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[tokio::test]
    async fn a_redirect_is_an_answer_and_not_followed() {
        let (address, _received) = server(
            "HTTP/1.1 302 Found\r\nlocation: http://forbidden.example/\r\ncontent-length: 0\r\n\r\n",
        );
        let response = client(HttpLimits::default()).send(get(&address)).await.expect("it answers");
        assert_eq!(response.status, 302);
    }

    #[tokio::test]
    async fn a_large_answer_is_cut_off() {
        let (address, _received) =
            server("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123456789");
        let limits = HttpLimits { response_bytes: 9, ..HttpLimits::default() };
        let failure = client(limits).send(get(&address)).await.unwrap_err();
        assert_eq!(failure.code, 413);
    }

    #[tokio::test]
    async fn a_silent_server_is_a_timeout_and_a_closed_port_is_unreachable() {
        let (address, _received) = server("");
        let closed = client(HttpLimits::default()).send(get(&address)).await.unwrap_err();
        assert_eq!(closed.code, 502, "{}", closed.message);

        let silent = TcpListener::bind("127.0.0.1:0").expect("loopback can be bound");
        let address = format!("http://{}", silent.local_addr().expect("it is bound"));
        let limits = HttpLimits { timeout: Duration::from_millis(100), ..HttpLimits::default() };
        let failure = client(limits).send(get(&address)).await.unwrap_err();
        assert_eq!(failure.code, 504, "{}", failure.message);
    }

    #[test]
    fn a_request_that_cannot_be_sent_says_why() {
        let with = |change: fn(&mut HttpRequest)| {
            let mut request = get("http://127.0.0.1/");
            change(&mut request);
            outgoing(request).unwrap_err()
        };
        for (failure, word) in [
            (with(|request| request.url = "/charge".into()), "address"),
            (with(|request| request.url = "ftp://x/".into()), "http"),
            (with(|request| request.method = "GE T".into()), "method"),
            (with(|request| request.headers = vec![("a b".into(), "c".into())]), "header"),
            (with(|request| request.headers = vec![("a".into(), "c\n".into())]), "header"),
        ] {
            assert_eq!(failure.code, 400);
            assert!(failure.message.contains(word), "{}", failure.message);
        }
    }
}
