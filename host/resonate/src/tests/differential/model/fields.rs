//! Parsing of requests, field by field, independent of the front end's parser.

use segno_core::{
    id::{PromiseId, Version},
    value::{Tags, Value},
};
use serde_json::{Map, Value as Json, json};

use super::{No, wire::exchanged};

/// An object of a request.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(&'a Map<String, Json>);

impl<'a> Fields<'a> {
    pub(super) fn of(field: &str, json: &'a Json) -> Result<Self, No> {
        json.as_object().map(Self).ok_or_else(|| No::shape(field))
    }

    /// Returns a field. `null` counts as absent, as for optional fields.
    fn get(self, field: &str) -> Option<&'a Json> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    fn is_there(self, field: &str) -> bool {
        self.0.contains_key(field)
    }

    pub(super) fn object(self, field: &str) -> Result<Fields<'a>, No> {
        Fields::of(field, self.0.get(field).unwrap_or(&Json::Null))
    }

    pub(super) fn text(self, field: &str) -> Result<&'a str, No> {
        self.get(field).and_then(Json::as_str).ok_or_else(|| No::shape(field))
    }

    pub(super) fn may_text(self, field: &str) -> Result<Option<&'a str>, No> {
        self.get(field).map(|text| text.as_str().ok_or_else(|| No::shape(field))).transpose()
    }

    pub(super) fn number(self, field: &str) -> Result<i64, No> {
        self.get(field).and_then(Json::as_i64).ok_or_else(|| No::shape(field))
    }

    pub(super) fn version(self) -> Result<Version, No> {
        let number = self.get("version").and_then(Json::as_u64);
        number.map(Version).ok_or_else(|| No::shape("version"))
    }

    pub(super) fn list(self, field: &str) -> Result<&'a [Json], No> {
        let list = self.get(field).and_then(Json::as_array).map(Vec::as_slice);
        list.ok_or_else(|| No::shape(field))
    }

    /// Returns an optional list, which must not be `null`.
    pub(super) fn may_list(self, field: &str) -> Result<&'a [Json], No> {
        if self.is_there(field) { self.list(field) } else { Ok(&[]) }
    }

    /// Returns the page that a search requests: its size, and the id before it.
    pub(super) fn page(self, default: usize) -> Result<(usize, Option<&'a str>), No> {
        let limit = match self.get("limit") {
            None => default as u64,
            Some(limit) => limit.as_u64().ok_or_else(|| No::shape("limit"))?,
        };
        let after = self.may_text("cursor")?;
        if limit > u64::from(u32::MAX) {
            return Err(No::shape("limit"));
        }
        if !(1..=1_000).contains(&limit) {
            return Err(No::bad("limit", "`limit` must be between"));
        }
        Ok((limit as usize, after))
    }

    pub(super) fn tags(self, field: &str) -> Result<Tags, No> {
        let Some(tags) = self.get(field) else { return Ok(Tags::new()) };
        let tags = tags.as_object().ok_or_else(|| No::shape(field))?;
        let tag = |(name, value): (&String, &Json)| {
            let value = value.as_str().ok_or_else(|| No::shape(field))?;
            Ok((exchanged(name), value.to_owned()))
        };
        tags.iter().map(tag).collect()
    }

    /// Returns a value in the form in which it must be returned to clients.
    pub(super) fn value(self, field: &str) -> Result<Value, No> {
        let mut kept = json!({});
        if let Some(value) = self.get(field) {
            let value = Fields::of(field, value)?;
            if let Some(data) = value.may_text("data")? {
                kept["data"] = json!(data);
            }
            if let Some(headers) = value.get("headers") {
                let headers = headers.as_object().ok_or_else(|| No::shape("headers"))?;
                if !headers.values().all(Json::is_string) {
                    return Err(No::shape("headers"));
                }
                if headers.contains_key("resonate:form") {
                    return Err(No::bad("header", "`resonate:form` is reserved"));
                }
                kept["headers"] = json!(headers);
            }
        }
        Ok(Value::of(kept.to_string().into_bytes()))
    }
}

/// Validates an id chosen by a client.
pub(super) fn id(field: &str, text: &str) -> Result<PromiseId, No> {
    let fine = (1..=2_048).contains(&text.len()) && !text.contains('\0');
    fine.then(|| text.into()).ok_or_else(|| No::bad("id", format!("`{field}` ")))
}
