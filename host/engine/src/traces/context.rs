//! The trace of an execution, and the ids of its spans.

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use segno_core::id::PromiseId;
use sha2::{Digest as _, Sha256};

/// The header of a request, and of a root's parameter, with the trace begun by another system (W3C
/// Trace Context).
pub const TRACEPARENT: &str = "traceparent";

/// The trace of a tree of executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    /// The id of the trace.
    pub trace: TraceId,
    /// The caller's span in an external trace. `None` if the root begins the trace.
    pub parent: Option<SpanId>,
    /// True if the trace is recorded.
    pub sampled: bool,
}

impl TraceContext {
    /// The trace of the tree with this root: the one in `traceparent`, else one derived from the
    /// root's id.
    pub fn of_root(root: &PromiseId, traceparent: Option<&str>) -> Self {
        traceparent.and_then(Self::parse).unwrap_or_else(|| Self {
            trace: TraceId::from_bytes(hashed("trace", root.as_str())),
            parent: None,
            sampled: true,
        })
    }

    /// Parses `version-trace-parent-flags`. `None` if the text is malformed. It is then ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, parent, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |part: &str, length| {
            part.len() == length
                && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let whole = parts.next().is_none() || version != "00";
        if !whole || version == "ff" || !is_hex(version, 2) || !is_hex(flags, 2) {
            return None;
        }
        if !is_hex(trace, 32) || !is_hex(parent, 16) {
            return None;
        }
        let trace = TraceId::from_hex(trace).ok().filter(|id| *id != TraceId::INVALID)?;
        let parent = SpanId::from_hex(parent).ok().filter(|id| *id != SpanId::INVALID)?;
        let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        Some(Self { trace, parent: Some(parent), sampled })
    }

    /// The context of a span of this trace.
    pub(super) fn span(&self, id: SpanId) -> SpanContext {
        SpanContext::new(self.trace, id, TraceFlags::SAMPLED, false, TraceState::default())
    }
}

/// The id of an execution's span.
pub(super) fn execution(id: &PromiseId) -> SpanId {
    SpanId::from_bytes(hashed("execution", id.as_str()))
}

/// The id of the span of the step that created, or would have created, the promise `id`.
pub(super) fn step(id: &PromiseId) -> SpanId {
    SpanId::from_bytes(hashed("step", id.as_str()))
}

/// The id of the span of the replay under a claim.
pub(super) fn replay(id: &PromiseId, version: u64) -> SpanId {
    SpanId::from_bytes(hashed("replay", &format!("{id}@{version}")))
}

/// Bytes that depend on these texts only, and are never all zero.
fn hashed<const N: usize>(kind: &str, text: &str) -> [u8; N] {
    let digest = Sha256::new().chain_update(kind).chain_update(b"\0").chain_update(text).finalize();
    let mut bytes = [0; N];
    bytes.copy_from_slice(&digest[..N]);
    bytes[N - 1] |= 1;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_parent_that_is_given_names_the_trace() {
        let context = TraceContext::of_root(&PromiseId::from("a"), Some(GIVEN));
        assert_eq!(context.trace.to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(context.parent.map(|id| id.to_string()).as_deref(), Some("00f067aa0ba902b7"));
        assert!(context.sampled);
        let unsampled = GIVEN.replace("-01", "-00");
        assert!(!TraceContext::parse(&unsampled).expect("well formed").sampled);
        let later = GIVEN.replacen("00-", "cc-", 1) + "-more";
        assert!(TraceContext::parse(&later).is_some(), "later versions may say more");
    }

    #[test]
    fn what_is_malformed_means_nothing() {
        for bad in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
        ] {
            assert_eq!(TraceContext::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn without_one_a_root_has_a_trace_of_its_own_in_every_life() {
        let of = |id: &str| TraceContext::of_root(&PromiseId::from(id), None).trace;
        assert_eq!(of("a"), of("a"));
        assert_ne!(of("a"), of("b"));
        assert_ne!(execution(&PromiseId::from("a")), step(&PromiseId::from("a")));
    }
}
