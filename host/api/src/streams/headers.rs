//! The address of streams, and the headers of the protocol.

use axum::http::HeaderName;

/// The address under which all streams are.
pub(crate) const PREFIX: &str = "/v1/stream/";

pub(super) const NEXT_OFFSET: HeaderName = HeaderName::from_static("stream-next-offset");
pub(super) const UP_TO_DATE: HeaderName = HeaderName::from_static("stream-up-to-date");
pub(super) const CURSOR: HeaderName = HeaderName::from_static("stream-cursor");
pub(super) const CLOSED: HeaderName = HeaderName::from_static("stream-closed");
pub(super) const LABEL: HeaderName = HeaderName::from_static("stream-seq");
pub(super) const TTL: HeaderName = HeaderName::from_static("stream-ttl");
pub(super) const EXPIRES_AT: HeaderName = HeaderName::from_static("stream-expires-at");
pub(super) const FORKED_FROM: HeaderName = HeaderName::from_static("stream-forked-from");
pub(super) const FORK_OFFSET: HeaderName = HeaderName::from_static("stream-fork-offset");
pub(super) const FORK_SUB_OFFSET: HeaderName = HeaderName::from_static("stream-fork-sub-offset");
pub(super) const PRODUCER_ID: HeaderName = HeaderName::from_static("producer-id");
pub(super) const PRODUCER_EPOCH: HeaderName = HeaderName::from_static("producer-epoch");
pub(super) const PRODUCER_SEQ: HeaderName = HeaderName::from_static("producer-seq");
pub(super) const EXPECTED_SEQ: HeaderName = HeaderName::from_static("producer-expected-seq");
pub(super) const RECEIVED_SEQ: HeaderName = HeaderName::from_static("producer-received-seq");
