//! Objects: state by key.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use segno_client::without_missing;
use segno_model::{ObjectItem, ObjectQuery};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    access::HostAccess,
    answer::{ToolAnswer, id_argument, not_listed},
    excerpt::Excerpt,
    failure::ToolFailure,
    tool::{HostTool, ToolEffect},
};

const OBJECTS: u32 = 50;
/// Maximum number of values of an object in an answer.
const VALUES_MAX: usize = 50;

/// Arguments of `list_objects`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListObjects {
    /// Prefix of names, for example `cart/Cart@`.
    #[serde(default)]
    prefix: Option<String>,
    /// The `after` of the previous page.
    #[serde(default)]
    after: Option<String>,
}

/// A page of objects, by name.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ObjectsOutput {
    objects: Vec<ObjectLine>,
    /// The `after` of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// An object in a list.
#[derive(Debug, Serialize, JsonSchema)]
struct ObjectLine {
    /// `MODULE/OBJECT@KEY`.
    object: String,
    /// Number of names in its state.
    names: u64,
    /// Size of its state, in bytes.
    bytes: u64,
    /// Id of the execution that holds the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
}

impl From<ObjectItem> for ObjectLine {
    fn from(of: ObjectItem) -> Self {
        Self { object: of.object, names: of.names, bytes: of.bytes, holder: of.holder }
    }
}

impl HostTool for ListObjects {
    type Output = ObjectsOutput;
    const NAME: &'static str = "list_objects";
    const TITLE: &'static str = "List objects";
    const ABOUT: &'static str =
        "Objects (state by key, one writer at a time), by name, with the holder of the turn.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<ObjectsOutput>, ToolFailure> {
        let query = ObjectQuery {
            prefix: self.prefix.clone(),
            after: self.after,
            limit: Some(OBJECTS),
            ..ObjectQuery::default()
        };
        let ask = |partial| {
            let query = ObjectQuery { partial, ..query.clone() };
            async move { access.client.objects(&query).await }
        };
        let page = without_missing(ask).await?;
        let objects: Vec<ObjectLine> = page.items.into_iter().map(ObjectLine::from).collect();
        let line = |it: &ObjectLine| {
            let holder = it.holder.as_ref().map(|id| format!(", the turn is with {id}"));
            format!(
                "{}  {} names, {} bytes{}",
                it.object,
                it.names,
                it.bytes,
                holder.unwrap_or_default()
            )
        };
        let text = match objects.is_empty() {
            true => "no objects".to_owned(),
            false => objects.iter().map(line).collect::<Vec<_>>().join("\n"),
        };
        let first = objects.first().map(|object| json!({"object": object.object}));
        let after = page.next.clone();
        let text = text + &not_listed(&page.missing);
        let mut answer = ToolAnswer::new(text, ObjectsOutput { objects, after: page.next });
        if let Some(first) = first {
            answer = answer.then(ReadObject::NAME, first, "its state");
        }
        if let Some(after) = after {
            let arguments = json!({"prefix": self.prefix, "after": after});
            answer = answer.then(Self::NAME, arguments, "the next page");
        }
        Ok(answer)
    }
}

/// Arguments of `read_object`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadObject {
    /// The object: `MODULE/OBJECT@KEY`.
    object: String,
    /// Name of the only value to read.
    #[serde(default)]
    name: Option<String>,
    /// Values with more bytes of JSON are cut (default 1000; at most 65536).
    #[serde(default)]
    max_value_bytes: Option<u32>,
}

/// An object with its state.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ObjectOutput {
    object: String,
    /// Id of the execution that holds the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
    /// Sizes of all values in bytes, by name.
    names: BTreeMap<String, u64>,
    /// Values by name.
    state: BTreeMap<String, Excerpt>,
}

impl HostTool for ReadObject {
    type Output = ObjectOutput;
    const NAME: &'static str = "read_object";
    const TITLE: &'static str = "Read an object";
    const ABOUT: &'static str = "The state of one object, and the execution that holds its turn.";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    async fn call(self, access: &HostAccess) -> Result<ToolAnswer<ObjectOutput>, ToolFailure> {
        let parts = self.object.split_once('@').and_then(|(path, key)| {
            let (module, object) = path.split_once('/')?;
            Some([module, object, key])
        });
        let Some(parts) = parts else {
            let message = format!("`{}` is no object: write MODULE/OBJECT@KEY", self.object);
            return Err(ToolFailure::new("invalid-target", message).then(
                "list_objects",
                json!({}),
                "the objects of this host",
            ));
        };
        let view = access.client.object(parts, self.name.as_deref()).await?;
        let state = view.state.into_iter().take(VALUES_MAX);
        let state: BTreeMap<String, Excerpt> =
            state.map(|(name, value)| (name, Excerpt::new(value, self.max_value_bytes))).collect();
        let mut lines = vec![format!("{}  {} names", view.object, view.names.len())];
        lines.extend(view.holder.iter().map(|holder| format!("the turn is with {holder}")));
        lines.extend(state.iter().map(|(name, value)| format!("{name} = {}", value.line())));
        let holder = view.holder.clone();
        let output =
            ObjectOutput { object: view.object, holder: view.holder, names: view.names, state };
        let answer = ToolAnswer::new(lines.join("\n"), output);
        Ok(match holder {
            Some(holder) => {
                answer.then("why_execution", id_argument(&holder), "what the holder waits for")
            }
            None => answer,
        })
    }
}
