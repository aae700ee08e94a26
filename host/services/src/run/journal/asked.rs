//! A command in the form of its stored request: its frame, byte for byte, and the promise whose
//! settlement is its result.

use bytes::Bytes;
use segno_core::{
    id::{CommandIndex, PromiseId},
    invocation::{CommandRequest, FieldValue, PROMISE_FIELD},
};
use segno_restate::version::ProtocolVersion;

use super::super::wish::RequestedCommand;
use crate::deployments::frames::FRAME;

/// A command in the form of its stored request.
pub(crate) struct StoredRequest {
    /// The frame as it was received.
    pub frame: Bytes,
    /// The decoded frame.
    pub wish: RequestedCommand,
    /// The promise whose settlement is the result.
    pub awaits: Option<PromiseId>,
}

impl StoredRequest {
    /// The request to store.
    pub(crate) fn request(&self) -> CommandRequest {
        let promise = self.awaits.as_ref().map(|id| (PROMISE_FIELD, id.as_str().as_bytes()));
        let fields: Vec<_> = [(FRAME, &self.frame[..])].into_iter().chain(promise).collect();
        CommandRequest::verbatim(&fields)
    }

    /// The command in a stored request. `None` if the request has no command frame.
    pub(crate) fn of(
        request: &CommandRequest,
        version: ProtocolVersion,
        place: u32,
    ) -> Option<Self> {
        let fields = request.fields()?;
        let field = |name: &str| {
            let field = fields.iter().find(|field| *field.name == *name)?;
            match &field.value {
                FieldValue::Inline(bytes) => Some(bytes.as_slice()),
                FieldValue::Digest { .. } => None,
            }
        };
        let frame = Bytes::copy_from_slice(field(FRAME)?);
        let wish = RequestedCommand::of(&frame, version, place)?;
        let awaits = field(PROMISE_FIELD).and_then(|id| std::str::from_utf8(id).ok());
        Some(Self { frame, wish, awaits: awaits.map(PromiseId::from) })
    }
}

/// The position of a command in the journal of its deployment, where the input precedes the first
/// command.
pub(super) fn place(index: CommandIndex) -> u32 {
    index.0.saturating_add(1)
}
