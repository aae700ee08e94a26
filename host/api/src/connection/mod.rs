//! A connection, and the admission of its requests.
//!
//! Between two requests a connection needs only its socket; inside the HTTP library it takes tens
//! of KB. So when all permits for requests are taken, the host takes a connection back from the
//! library after each answer. The next request queues *before* any of it is read, which keeps
//! memory bounded for any number of clients. Requests without a body bypass the queue, so that
//! monitoring requests are answered immediately.
//!
//! A client that has sent everything may close its sending half and still gets its answer. Only a
//! streamed answer ends then.

mod connection_state;
mod socket;
#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    future::{Future as _, poll_fn},
    io,
    pin::Pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use axum::{Router, body::Body};
use futures::future::BoxFuture;
use hyper::{
    Method, Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::Service,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use segno_core::time::Millis;
use tokio::net::TcpStream;
use tower::ServiceExt as _;

use self::{
    connection_state::{ConnectionState, WatchedBody},
    socket::Socket,
};
use super::{
    Api,
    admission::{AdmissionTicket, FIRST_BYTE_TIMEOUT},
    connections::ConnectionMark,
};

/// Maximum idle time of a connection.
const IDLE_TIMEOUT: Millis = Millis(60_000);
/// Maximum idle time, and maximum duration of a request's head, while the HTTP library has the
/// connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(60);
/// Approximate number of bytes buffered for reading and for sending, for each connection. A longer
/// head is refused.
const BUFFER: usize = 64 * 1024;

/// Marks an answer that lasts only as long as its client: a client that closes its sending half is
/// considered gone.
#[derive(Debug, Clone, Copy)]
pub struct EndsWithClient;

/// Answers requests on a connection, until the connection ends or the host stops.
pub(super) async fn answer(stream: TcpStream, router: Router, api: Api, mark: Arc<ConnectionMark>) {
    let mut between = Some(IdleConnection { stream, ahead: Bytes::new(), mark });
    while let Some(waiting) = between.take() {
        match waiting.pass(&api).await {
            // Boxed, so that waiting connections need no memory for it.
            Ok(Some(pass)) => {
                between = Box::pin(serve_http(waiting, router.clone(), &api, pass)).await
            }
            Ok(None) => {}
            Err(error) => tracing::debug!("a connection ended: {error}"),
        }
    }
}

/// A connection on which no request is being read or answered.
struct IdleConnection {
    stream: TcpStream,
    /// Bytes of the next request that were already read.
    ahead: Bytes,
    mark: Arc<ConnectionMark>,
}

impl IdleConnection {
    /// Waits for a request, and for admission if the request may have a body. `None` if there is no
    /// further request. A request queued when the host stops stays queued: the host ends soon.
    async fn pass(&self, api: &Api) -> io::Result<Option<AdmissionTicket>> {
        let env = &api.host.env;
        let first = tokio::select! {
            biased;
            first = env.within(IDLE_TIMEOUT, self.first()) => first.unwrap_or(Ok(None))?,
            () = self.mark.ended() => None,
            () = api.stopping.cancelled() => None,
        };
        self.mark.receives();
        Ok(match first {
            None => None,
            // POST, PUT and PATCH. Other methods with this letter are refused soon enough.
            Some(b'P') => Some(AdmissionTicket::of(api.admission.request(env).await)),
            Some(_) => Some(AdmissionTicket::default()),
        })
    }

    /// Waits for the first byte of the next request; `None` at the end.
    async fn first(&self) -> io::Result<Option<u8>> {
        if let Some(first) = self.ahead.first() {
            return Ok(Some(*first));
        }
        // Readiness of a socket may be spurious, and always is for a new socket.
        let mut first = [0];
        let read = self.stream.peek(&mut first).await?;
        Ok((read > 0).then_some(first[0]))
    }
}

/// Reads and answers requests; the first one has the ticket `pass`. Returns the connection when it
/// is between two requests and others wait for admission. `None` if the connection has ended.
async fn serve_http(
    between: IdleConnection,
    router: Router,
    api: &Api,
    pass: AdmissionTicket,
) -> Option<IdleConnection> {
    let mark = between.mark;
    let connection_state = Arc::new(ConnectionState::new(mark.clone()));
    let socket = Socket::new(between.stream, between.ahead, connection_state.clone());
    let service = ConnectionService {
        router,
        connection_state: connection_state.clone(),
        pass: pass.clone(),
    };
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(BUFFER);
    // The socket detects clients that closed their half. The library would drop their answers.
    builder.half_close(true);
    let mut connection = builder.serve_connection(TokioIo::new(socket), service);
    let mut prompt = Some(api.host.env.runtime.sleep(FIRST_BYTE_TIMEOUT));
    let mut is_stopping = false;
    let ended = loop {
        let talking = poll_fn(|context| match Pin::new(&mut connection).poll(context) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending if connection_state.are_quiet() && api.admission.is_full() => {
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        });
        tokio::select! {
            biased;
            ended = talking => break ended,
            () = mark.ended() => break Some(Ok(())),
            () = api.stopping.cancelled(), if !is_stopping => {
                is_stopping = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
            // A connection that holds a permit and sends nothing yields to others.
            () = async { prompt.as_mut().expect("it runs").await }, if prompt.is_some() => {
                prompt = None;
                drop(pass.take());
            }
        }
    };
    match ended {
        None => {
            let parts = connection.into_parts();
            let (stream, unread) = parts.io.into_inner().into_parts();
            // A copy, because the bytes read by the library are part of the buffer that is to be
            // freed.
            Some(IdleConnection { stream, ahead: [parts.read_buf, unread].concat().into(), mark })
        }
        Some(Ok(())) => None,
        Some(Err(error)) => {
            tracing::debug!("a connection ended: {error}");
            None
        }
    }
}

/// The router as a service of the HTTP library.
struct ConnectionService {
    router: Router,
    connection_state: Arc<ConnectionState>,
    pass: AdmissionTicket,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response<WatchedBody<Body>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let mut request = request.map(|body| self.connection_state.request(body));
        let brings_a_body = matches!(*request.method(), Method::POST | Method::PUT);
        if let Some(place) = self.pass.take().filter(|_| brings_a_body) {
            request.extensions_mut().insert(AdmissionTicket::of(place));
        }
        let answering = self.router.clone().oneshot(request);
        let answer = self.connection_state.answer();
        Box::pin(async move {
            let response = answering.await?;
            let ends_with_client = response.extensions().get::<EndsWithClient>().is_some();
            Ok(response.map(|body| answer.body(body, ends_with_client)))
        })
    }
}
