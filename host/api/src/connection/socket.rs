//! The socket given to the HTTP library.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use hyper::body::{Buf as _, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::connection_state::ConnectionState;

/// Returns bytes read ahead, then reads the stream. Reports reads and flushes to the connection
/// state.
pub(super) struct Socket {
    stream: TcpStream,
    ahead: Bytes,
    connection_state: Arc<ConnectionState>,
}

impl Socket {
    pub(super) fn new(
        stream: TcpStream,
        ahead: Bytes,
        connection_state: Arc<ConnectionState>,
    ) -> Self {
        Self { stream, ahead, connection_state }
    }

    /// Returns the stream, and the bytes read ahead that are still unread.
    pub(super) fn into_parts(self) -> (TcpStream, Bytes) {
        (self.stream, self.ahead)
    }

    /// Checks that the client is still connected. The library does not read while it answers, and
    /// does not report that the client closed its sending half.
    ///
    /// # Errors
    /// The connection is broken, or its client has sent everything and the answer ends with its
    /// client.
    fn look_for_client(&self, context: &mut Context<'_>) -> io::Result<()> {
        if !self.ahead.is_empty() || !self.connection_state.are_busy() {
            return Ok(());
        }
        let mut next = [0];
        match self.stream.poll_peek(context, &mut ReadBuf::new(&mut next)) {
            Poll::Ready(Ok(0)) if !self.connection_state.client_has_said_all() => {
                Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the client has left"))
            }
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(_)) | Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            let before = buffer.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
            if buffer.filled().len() > before {
                self.connection_state.received();
            }
            return Poll::Ready(Ok(()));
        }
        self.connection_state.received();
        let length = self.ahead.len().min(buffer.remaining());
        buffer.put_slice(&self.ahead[..length]);
        self.ahead.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.look_for_client(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.look_for_client(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.look_for_client(context)?;
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        // The library flushes when it has nothing left to write.
        self.connection_state.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection_state.closed();
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
