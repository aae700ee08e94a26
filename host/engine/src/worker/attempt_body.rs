//! The body of an HTTP response that an attempt reads: each piece counts as progress of the attempt.

use std::sync::Arc;

use async_trait::async_trait;
use segno_guest::{Failure, OpenedResponse, ResponseBody};

use crate::claim::ClaimSession;

/// A body that counts its pieces.
pub(super) struct AttemptBody {
    body: Box<dyn ResponseBody>,
    session: Arc<ClaimSession>,
}

impl AttemptBody {
    /// `response` with the body counted.
    pub(super) fn of(response: OpenedResponse, session: Arc<ClaimSession>) -> OpenedResponse {
        let body = Box::new(Self { body: response.body, session });
        OpenedResponse { body, ..response }
    }
}

#[async_trait]
impl ResponseBody for AttemptBody {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let piece = self.body.next().await;
        self.session.active.advance(1);
        piece
    }
}
