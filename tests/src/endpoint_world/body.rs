//! The body of a request, as an endpoint reads it.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use futures::Stream;
use tokio::sync::Notify;

/// A request body that reports when its reader waits for more data.
#[derive(Clone, Default)]
pub(super) struct Body(Arc<(Mutex<Sent>, Notify)>);

#[derive(Default)]
struct Sent {
    pieces: VecDeque<Bytes>,
    has_ended: bool,
    reader: Option<Waker>,
}

impl Body {
    fn sent(&self) -> MutexGuard<'_, Sent> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, bytes: &Bytes) {
        let mut sent = self.sent();
        if !bytes.is_empty() {
            sent.pieces.push_back(bytes.clone());
        }
        sent.reader.take().into_iter().for_each(Waker::wake);
    }

    pub(super) fn end(&self) {
        let mut sent = self.sent();
        sent.has_ended = true;
        sent.reader.take().into_iter().for_each(Waker::wake);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.sent().has_ended
    }

    /// Completes once the reader waits, no data is queued, and the body has not ended.
    pub(super) async fn starved(&self) {
        loop {
            {
                let sent = self.sent();
                if sent.reader.is_some() && sent.pieces.is_empty() && !sent.has_ended {
                    return;
                }
            }
            self.0.1.notified().await;
        }
    }
}

impl Stream for Body {
    type Item = Result<Bytes, ()>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut sent = self.sent();
        if let Some(piece) = sent.pieces.pop_front() {
            return Poll::Ready(Some(Ok(piece)));
        }
        if sent.has_ended {
            return Poll::Ready(None);
        }
        sent.reader = Some(context.waker().clone());
        drop(sent);
        self.0.1.notify_one();
        Poll::Pending
    }
}
