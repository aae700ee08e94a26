//! Parsing of requests, field by field, independent of the front end's parser.

use segno_core::{
    id::{PromiseId, Version},
    value::{Tags, Value},
};
use serde_json::{Map, Value as Json, json};

use super::{ModelRefusal, wire::exchanged};

/// An object of a request.
#[derive(Clone, Copy)]
pub(super) struct RequestFields<'a>(&'a Map<String, Json>);

impl<'a> RequestFields<'a> {
    pub(super) fn of(field: &str, json: &'a Json) -> Result<Self, ModelRefusal> {
        json.as_object().map(Self).ok_or_else(|| ModelRefusal::shape(field))
    }

    /// Returns a field. `null` counts as absent, as for optional fields.
    fn get(self, field: &str) -> Option<&'a Json> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    fn is_there(self, field: &str) -> bool {
        self.0.contains_key(field)
    }

    pub(super) fn object(self, field: &str) -> Result<RequestFields<'a>, ModelRefusal> {
        RequestFields::of(field, self.0.get(field).unwrap_or(&Json::Null))
    }

    pub(super) fn text(self, field: &str) -> Result<&'a str, ModelRefusal> {
        self.get(field).and_then(Json::as_str).ok_or_else(|| ModelRefusal::shape(field))
    }

    pub(super) fn may_text(self, field: &str) -> Result<Option<&'a str>, ModelRefusal> {
        self.get(field)
            .map(|text| text.as_str().ok_or_else(|| ModelRefusal::shape(field)))
            .transpose()
    }

    pub(super) fn number(self, field: &str) -> Result<i64, ModelRefusal> {
        self.get(field).and_then(Json::as_i64).ok_or_else(|| ModelRefusal::shape(field))
    }

    pub(super) fn version(self) -> Result<Version, ModelRefusal> {
        let number = self.get("version").and_then(Json::as_u64);
        number.map(Version).ok_or_else(|| ModelRefusal::shape("version"))
    }

    pub(super) fn list(self, field: &str) -> Result<&'a [Json], ModelRefusal> {
        let list = self.get(field).and_then(Json::as_array).map(Vec::as_slice);
        list.ok_or_else(|| ModelRefusal::shape(field))
    }

    /// Returns an optional list, which must not be `null`.
    pub(super) fn may_list(self, field: &str) -> Result<&'a [Json], ModelRefusal> {
        if self.is_there(field) { self.list(field) } else { Ok(&[]) }
    }

    /// Returns the page that a search requests: its size, and the id before it.
    pub(super) fn page(self, default: usize) -> Result<(usize, Option<&'a str>), ModelRefusal> {
        let limit = match self.get("limit") {
            None => default as u64,
            Some(limit) => limit.as_u64().ok_or_else(|| ModelRefusal::shape("limit"))?,
        };
        let after = self.may_text("cursor")?;
        if limit > u64::from(u32::MAX) {
            return Err(ModelRefusal::shape("limit"));
        }
        if !(1..=1_000).contains(&limit) {
            return Err(ModelRefusal::bad("limit", "`limit` must be between"));
        }
        Ok((limit as usize, after))
    }

    pub(super) fn tags(self, field: &str) -> Result<Tags, ModelRefusal> {
        let Some(tags) = self.get(field) else { return Ok(Tags::new()) };
        let tags = tags.as_object().ok_or_else(|| ModelRefusal::shape(field))?;
        let tag = |(name, value): (&String, &Json)| {
            let value = value.as_str().ok_or_else(|| ModelRefusal::shape(field))?;
            Ok((exchanged(name), value.to_owned()))
        };
        tags.iter().map(tag).collect()
    }

    /// Returns a value in the form in which it must be returned to clients.
    pub(super) fn value(self, field: &str) -> Result<Value, ModelRefusal> {
        let mut kept = json!({});
        if let Some(value) = self.get(field) {
            let value = RequestFields::of(field, value)?;
            if let Some(data) = value.may_text("data")? {
                kept["data"] = json!(data);
            }
            if let Some(headers) = value.get("headers") {
                let headers = headers.as_object().ok_or_else(|| ModelRefusal::shape("headers"))?;
                if !headers.values().all(Json::is_string) {
                    return Err(ModelRefusal::shape("headers"));
                }
                if headers.contains_key("resonate:form") {
                    return Err(ModelRefusal::bad("header", "`resonate:form` is reserved"));
                }
                kept["headers"] = json!(headers);
            }
        }
        Ok(Value::of(kept.to_string().into_bytes()))
    }
}

/// Validates an id chosen by a client.
pub(super) fn id(field: &str, text: &str) -> Result<PromiseId, ModelRefusal> {
    let fine = (1..=2_048).contains(&text.len()) && !text.contains('\0');
    fine.then(|| text.into()).ok_or_else(|| ModelRefusal::bad("id", format!("`{field}` ")))
}
