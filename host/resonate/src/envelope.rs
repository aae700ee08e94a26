//! The envelope of every request and answer, independent of its content.
//!
//! ```text
//! {"kind": "promise.get", "head": {"corrId": "c-1", "version": "2026-04-01", "auth": …}, "data": {…}}
//! {"kind": "promise.get", "head": {"corrId": "c-1", "status": 200, "version": "2026-04-01"}, "data": {…}}
//! ```
//! The data of a refusal is text.

use std::{collections::BTreeMap, fmt};

use segno_api::ClientRights;
use segno_core::{
    id::{PromiseId, fits},
    tags,
    value::Tags,
};
use serde::{
    Deserialize, Deserializer as _,
    de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Value as Json, json, value::RawValue};

use super::{
    json::{self, StrictObject},
    protocol_error::ProtocolError,
};

/// The supported version of the protocol.
pub const VERSION: &str = "2026-04-01";

/// A request with a valid envelope.
#[derive(Debug)]
pub struct ResonateRequest {
    /// The name of the operation.
    pub kind: String,
    /// The caller's correlation id, repeated in the answer.
    pub corr_id: String,
    /// The caller's token.
    pub auth: Option<String>,
    /// The time at which the engine decides, if debugging is allowed; ignored otherwise.
    pub debug_time: Option<Box<RawValue>>,
    /// The operation's data: a JSON object.
    pub data: Box<RawValue>,
    /// The rights of the sender.
    pub rights: ClientRights,
}

/// The answer to an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct ResonateAnswer {
    /// 200, or 300 if a suspended task can continue immediately.
    pub status: u16,
    /// The operation's data.
    pub data: Json,
}

/// The answer to an operation, or its refusal.
pub type OperationResult = Result<ResonateAnswer, ProtocolError>;

/// The readable parts of an invalid request, so that its sender can match the refusal.
#[derive(Debug)]
pub struct UnreadableRequest {
    /// The name of the operation, or `unknown`.
    pub kind: String,
    /// The caller's correlation id, or `0`.
    pub corr_id: String,
    /// The refusal.
    pub refused: ProtocolError,
}

#[derive(Deserialize)]
struct Envelope {
    kind: String,
    head: StrictObject<EnvelopeHead>,
    data: Box<RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EnvelopeHead {
    corr_id: String,
    version: String,
    #[serde(default)]
    auth: Option<String>,
    #[serde(default, rename = "resonate:debug_time")]
    debug_time: Option<Box<RawValue>>,
}

/// The parts of an invalid request that could be read.
#[derive(Default)]
struct PartialEnvelope {
    kind: Option<String>,
    corr_id: Option<String>,
}

impl ResonateRequest {
    /// Parses a request.
    ///
    /// # Errors
    /// [`UnreadableRequest`]: the text is not JSON, not an envelope, or of an unsupported version.
    pub fn decode(bytes: &[u8]) -> Result<Self, UnreadableRequest> {
        Self::parse(bytes).map_err(|refused| Self::unreadable(bytes, refused))
    }

    /// Builds the refusal of a request; `beginning` is the first part of its body, or all of it.
    pub fn unreadable(beginning: &[u8], refused: ProtocolError) -> UnreadableRequest {
        let mut salvaged = PartialEnvelope::default();
        let _ = serde_json::Deserializer::from_slice(beginning).deserialize_map(&mut salvaged);
        let kind = salvaged.kind.filter(|kind| !kind.is_empty());
        UnreadableRequest {
            kind: kind.unwrap_or_else(|| "unknown".to_owned()),
            corr_id: salvaged.corr_id.unwrap_or_else(|| "0".to_owned()),
            refused,
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, ProtocolError> {
        let envelope: Envelope = json::read(bytes).map_err(|misread| {
            ProtocolError::bad(format!("the request is no envelope: {misread}"))
        })?;
        let Envelope { kind, head: StrictObject(head), data } = envelope;
        if kind.is_empty() {
            return Err(ProtocolError::bad("`kind` must not be empty"));
        }
        if head.version != VERSION {
            return Err(ProtocolError::bad(format!(
                "version `{}` is not spoken here; send `{VERSION}`",
                head.version
            )));
        }
        if !data.get().starts_with('{') {
            return Err(ProtocolError::bad("`data` must be an object"));
        }
        let EnvelopeHead { corr_id, auth, debug_time, .. } = head;
        // Replaced after the token has been checked.
        let rights = ClientRights::all();
        Ok(Self { kind, corr_id, auth, debug_time, data, rights })
    }

    /// Validates the id in a field, which must be within the sender's rights.
    ///
    /// # Errors
    /// 400 if the text cannot be an id, 403 if the token does not allow it.
    pub fn id(&self, field: &str, id: String) -> Result<PromiseId, ProtocolError> {
        let id = checked_id(field, id)?;
        self.may(field, id.as_str())?;
        Ok(id)
    }

    /// Checks that this id is within the sender's rights.
    ///
    /// # Errors
    /// 403.
    pub fn may(&self, field: &str, id: &str) -> Result<(), ProtocolError> {
        match self.rights.prefix() {
            Some(prefix) if !id.starts_with(prefix) => Err(ProtocolError::forbidden(format!(
                "the token allows ids that begin with `{prefix}`, and `{field}` is `{id}`"
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// Limits the rights of executions started by this request to the sender's own: their functions
    /// may use any id as input.
    pub fn narrow(&self, tags: &mut Tags) {
        if let Some(prefix) = self.rights.prefix().filter(|_| tags.contains_key(tags::TARGET)) {
            tags::narrow(tags, prefix);
        }
    }

    /// Checks that the sender may use an operation that concerns all ids.
    ///
    /// # Errors
    /// 403.
    pub fn may_all(&self) -> Result<(), ProtocolError> {
        match self.rights.prefix() {
            Some(prefix) => Err(ProtocolError::forbidden(format!(
                "{} is about every id, and the token allows only those that begin with `{prefix}`",
                self.kind
            ))),
            None => Ok(()),
        }
    }

    /// Parses the operation's data.
    ///
    /// # Errors
    /// 400: a field is missing or of the wrong type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, ProtocolError> {
        json::read(self.data.get().as_bytes()).map_err(|misread| {
            ProtocolError::bad(format!("{}: {}", self.kind, misread.within("data")))
        })
    }
}

impl<'de> Visitor<'de> for &mut PartialEnvelope {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "kind" => self.kind = text(&map.next_value::<Box<RawValue>>()?),
                "head" => {
                    let head = map.next_value::<Box<RawValue>>()?;
                    let fields: Option<BTreeMap<String, Box<RawValue>>> =
                        serde_json::from_str(head.get()).ok();
                    self.corr_id = fields.and_then(|fields| text(fields.get("corrId")?));
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

impl ResonateAnswer {
    /// Creates an answer with status 200.
    pub fn ok(data: Json) -> Self {
        Self { status: 200, data }
    }
}

/// Validates an id chosen by a client.
///
/// # Errors
/// 400.
pub(super) fn checked_id(field: &str, id: String) -> Result<PromiseId, ProtocolError> {
    let reason = match id.as_str() {
        "" => "is empty",
        _ if id.contains('\0') => "holds a NUL character",
        _ if fits("the id", &id).is_err() => "is longer than 2,048 bytes",
        _ => return Ok(PromiseId::new(id)),
    };
    Err(ProtocolError::bad(format!("`{field}` {reason}")))
}

/// Wraps an answer in its envelope.
pub fn wrapped(kind: &str, corr_id: &str, answer: OperationResult) -> (u16, Json) {
    let (status, data) = match answer {
        Ok(ResonateAnswer { status, data }) => (status, data),
        Err(ProtocolError { status, message }) => (status, Json::String(message)),
    };
    let head = json!({ "corrId": corr_id, "status": status, "version": VERSION });
    (status, json!({ "kind": kind, "head": head, "data": data }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(request: &str) -> UnreadableRequest {
        ResonateRequest::decode(request.as_bytes()).expect_err(request)
    }

    #[test]
    fn an_envelope_is_read_and_strange_members_are_ignored() {
        let text = r#"{"kind":"promise.get","head":{"corrId":"c","version":"2026-04-01","resonate:origin":"x"},
                       "data":{"id":"p"},"more":1}"#;
        let request = ResonateRequest::decode(text.as_bytes()).expect("an envelope");
        assert_eq!((request.kind.as_str(), request.corr_id.as_str()), ("promise.get", "c"));
        assert_eq!(request.auth, None);
        let data: Json = request.read().expect("an object");
        assert_eq!(data, json!({ "id": "p" }));
    }

    #[test]
    fn what_can_be_made_out_of_a_bad_request_is_repeated() {
        for (request, kind, corr_id, says) in [
            ("", "unknown", "0", "no envelope"),
            ("[]", "unknown", "0", "no envelope"),
            (r#"{"kind":7}"#, "unknown", "0", "no envelope"),
            (
                r#"{"kind":"k","head":{"corrId":"c"},"data":{}}"#,
                "k",
                "c",
                "`head`: missing field `version`",
            ),
            (r#"{"kind":"k","head":{"corrId":"c","version":"1"},"data":{}}"#, "k", "c", "`1`"),
            (
                r#"{"kind":"","head":{"corrId":"c","version":"2026-04-01"},"data":{}}"#,
                "unknown",
                "c",
                "empty",
            ),
            (
                r#"{"kind":"k","head":{"corrId":"c","version":"2026-04-01"},"data":[]}"#,
                "k",
                "c",
                "object",
            ),
            (
                r#"{"kind":"k","head":{"corrId":5,"version":"2026-04-01"},"data":{}}"#,
                "k",
                "0",
                "`head.corrId`: invalid type: integer `5`",
            ),
            (r#"["k",["c","2026-04-01",null,null],{}]"#, "unknown", "0", "expected an object"),
            (r#"{"kind":"k","head":["c","2026-04-01"],"data":{}}"#, "k", "0", "`head`: "),
            // Found by a fuzzer: JSON parsers keep the last of several equal keys.
            (
                r#"{"kind":"k","head":{"corrId":"b","corrId":"c","version":"1"},"data":{}}"#,
                "k",
                "c",
                "duplicate field `corrId`",
            ),
            (
                r#"{"head":{"corrId":"c","version":"2026-04-01"},"kind":"k","data":{"id":"#,
                "k",
                "c",
                "EOF",
            ),
        ] {
            let unreadable = refused(request);
            assert_eq!((unreadable.kind.as_str(), unreadable.corr_id.as_str()), (kind, corr_id));
            assert_eq!(unreadable.refused.status, 400);
            assert!(unreadable.refused.message.contains(says), "{}", unreadable.refused.message);
        }
    }

    #[test]
    fn depth_is_no_obstacle() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let head = r#""kind":"promise.get","head":{"corrId":"c","version":"2026-04-01"}"#;
        let request = format!(r#"{{{head},"more":{deep},"data":{{"id":{deep}}}}}"#);
        let request = ResonateRequest::decode(request.as_bytes()).expect("an envelope");
        assert!(request.read::<Json>().is_err());
        let unreadable = refused(&format!(r#"{{{head},"more":{deep},"data":{deep}}}"#));
        assert_eq!((unreadable.kind.as_str(), unreadable.corr_id.as_str()), ("promise.get", "c"));
    }

    #[test]
    fn a_refusal_carries_text() {
        let (status, reply) = wrapped("k", "c", Err(ProtocolError::bad("no")));
        assert_eq!(status, 400);
        assert_eq!(
            reply,
            json!({ "kind": "k", "head": { "corrId": "c", "status": 400, "version": VERSION }, "data": "no" })
        );
    }
}
