//! Detects that a connection is between two requests: the last request was received completely, and
//! its answer sent completely.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
};

use hyper::body::{Body, Frame, SizeHint};

use crate::connections::ConnectionMark;

/// State of one connection. All events come from the connection's task, except the ends of bodies,
/// which may be read elsewhere.
pub(super) struct ConnectionState {
    /// Phase of the connection, for the listener that closes connections to make room.
    mark: Arc<ConnectionMark>,
    /// Number of requests and answers that began and have not ended.
    open: AtomicUsize,
    /// True if an answer may still be in the library's buffers.
    unsent: AtomicBool,
    /// True if an answer has begun.
    answered: AtomicBool,
    /// True if the answer ends when its client does.
    ends_with_client: AtomicBool,
    /// True if nothing more will be sent.
    closed: AtomicBool,
}

impl ConnectionState {
    pub(super) fn new(mark: Arc<ConnectionMark>) -> Self {
        Self {
            mark,
            open: AtomicUsize::new(0),
            unsent: AtomicBool::new(false),
            answered: AtomicBool::new(false),
            ends_with_client: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    /// Handles bytes read from the socket.
    pub(super) fn received(&self) {
        self.mark.receives();
    }

    /// Returns true if a request or its answer began and has not ended.
    pub(super) fn are_busy(&self) -> bool {
        self.open.load(Ordering::Acquire) > 0
    }

    /// Handles the end of the client's sending half; the client may still read. Returns true if the
    /// answer continues.
    pub(super) fn client_has_said_all(&self) -> bool {
        // Most clients close their half because they are gone. Such a connection counts as idle,
        // and may be closed to make room.
        self.mark.is_idle();
        !self.ends_with_client.load(Ordering::Acquire)
    }

    /// Returns true if the connection is between two requests and can take another.
    pub(super) fn are_quiet(&self) -> bool {
        self.answered.load(Ordering::Acquire)
            && self.open.load(Ordering::Acquire) == 0
            && !self.unsent.load(Ordering::Acquire)
            && !self.closed.load(Ordering::Acquire)
    }

    /// Handles a flush: all bytes given to the socket have left the library's buffers.
    pub(super) fn flushed(&self) {
        if self.open.load(Ordering::Acquire) == 0 {
            self.unsent.store(false, Ordering::Release);
        }
        self.looks_for_the_next();
    }

    fn looks_for_the_next(&self) {
        if self.are_quiet() {
            self.mark.is_idle();
        }
    }

    /// Marks the connection as closing.
    pub(super) fn closed(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Watches the body of a request. If the body is not read to its end, the connection never
    /// becomes quiet again: the rest of the body must not be parsed as the next request.
    pub(super) fn request<B: Body>(self: &Arc<Self>, body: B) -> WatchedBody<B> {
        match body.is_end_stream() {
            true => self.mark.is_answered(),
            false => self.mark.awaits_a_body(),
        }
        let part = (!body.is_end_stream()).then(|| self.begin());
        WatchedBody { body, part, ends_when_dropped: false }
    }

    /// Begins an answer, together with its request.
    pub(super) fn answer(self: &Arc<Self>) -> PendingAnswer {
        PendingAnswer(self.begin())
    }

    fn begin(self: &Arc<Self>) -> Arc<Self> {
        self.open.fetch_add(1, Ordering::AcqRel);
        self.clone()
    }
}

/// An answer in preparation. If it is dropped without a body, the connection never becomes quiet
/// again.
pub(super) struct PendingAnswer(Arc<ConnectionState>);

impl PendingAnswer {
    /// Watches the body of the answer, which ends when the library drops it.
    pub(super) fn body<B: Body>(self, body: B, ends_with_client: bool) -> WatchedBody<B> {
        self.0.ends_with_client.store(ends_with_client, Ordering::Release);
        self.0.unsent.store(true, Ordering::Release);
        self.0.answered.store(true, Ordering::Release);
        WatchedBody { body, part: Some(self.0), ends_when_dropped: true }
    }
}

/// A body that reports its end.
pub(super) struct WatchedBody<B> {
    body: B,
    part: Option<Arc<ConnectionState>>,
    ends_when_dropped: bool,
}

impl<B> WatchedBody<B> {
    fn end(&mut self) {
        if let Some(connection_state) = self.part.take() {
            connection_state.open.fetch_sub(1, Ordering::AcqRel);
            match self.ends_when_dropped {
                true => connection_state.looks_for_the_next(),
                false => connection_state.mark.is_answered(),
            }
        }
    }
}

impl<B> Drop for WatchedBody<B> {
    fn drop(&mut self) {
        if self.ends_when_dropped {
            self.end();
        }
    }
}

impl<B: Body + Unpin> Body for WatchedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if !self.ends_when_dropped && (frame.is_none() || self.body.is_end_stream()) {
            self.end();
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
