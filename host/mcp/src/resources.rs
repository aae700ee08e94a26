//! Resources: documents, the skill for assistants, and executions.

use rmcp::{
    ErrorData,
    model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use segno_client::ClientError;
use segno_docs::{document_text, document_texts};
use serde_json::json;

use super::{access::HostAccess, failure::ToolFailure};

const DOCS: &str = "segno://docs/";
const EXECUTIONS: &str = "segno://executions/";
const SKILL_URI: &str = "segno://skill";
const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";

/// How to write, test, deploy and debug a workflow, for assistants.
pub(crate) const SKILL: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills/segno/SKILL.md"));

/// The fixed resources.
pub(crate) fn list() -> Vec<Resource> {
    let skill = Resource::new(SKILL_URI, "skill")
        .with_title("Skill")
        .with_description("How to write, test, deploy and debug a workflow.")
        .with_mime_type(MARKDOWN)
        .with_size(SKILL.len() as u64);
    let documents = document_texts().map(|document| {
        let resource = Resource::new(format!("{DOCS}{}", document.name), document.name.clone())
            .with_title(document.title)
            .with_mime_type(MARKDOWN)
            .with_size(document.markdown.len() as u64);
        match document.summary {
            "" => resource,
            summary => resource.with_description(summary),
        }
    });
    std::iter::once(skill).chain(documents).collect()
}

/// The resources by parameter.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let execution = ResourceTemplate::new(format!("{EXECUTIONS}{{id}}"), "execution")
        .with_title("Execution")
        .with_description(
            "An execution with its whole input and outcome; the id is percent-encoded.",
        )
        .with_mime_type(JSON);
    vec![execution]
}

/// Reads a resource.
///
/// # Errors
/// There is no such resource, or the host does not answer.
pub(crate) async fn read(uri: &str, access: &HostAccess) -> Result<ReadResourceResult, ErrorData> {
    let unknown =
        |reason: String| ErrorData::resource_not_found(reason, Some(json!({ "uri": uri })));
    if uri == SKILL_URI {
        return Ok(contents(uri, MARKDOWN, SKILL.to_owned()));
    }
    if let Some(name) = uri.strip_prefix(DOCS) {
        let document = document_text(name);
        let document = document.ok_or_else(|| {
            unknown(format!("there is no document `{name}`; `{DOCS}pages` lists all"))
        })?;
        return Ok(contents(uri, MARKDOWN, document.markdown.to_owned()));
    }
    if let Some(id) = uri.strip_prefix(EXECUTIONS) {
        let id =
            decoded(id).ok_or_else(|| unknown(format!("`{id}` is not percent-encoded text")))?;
        let invocation = match access.client.invocation(&id).await {
            Ok(invocation) => invocation,
            Err(error @ ClientError::Refused(_)) => {
                return Err(unknown(access.failure(&id, error).await.message));
            }
            Err(error) => {
                return Err(ErrorData::internal_error(ToolFailure::from(error).message, None));
            }
        };
        let text = serde_json::to_string_pretty(&invocation)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        return Ok(contents(uri, JSON, text));
    }
    Err(unknown(format!(
        "there is no resource `{uri}`: they begin with `{DOCS}` or `{EXECUTIONS}`, or are `{SKILL_URI}`"
    )))
}

fn contents(uri: &str, mime_type: &str, text: String) -> ReadResourceResult {
    ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(mime_type)])
}

/// Decodes `%XX`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).filter(|two| two.iter().all(u8::is_ascii_hexdigit))?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_percent_encoded() {
        assert_eq!(decoded("order-1%2F0").as_deref(), Some("order-1/0"));
        assert_eq!(decoded("%C3%A9/x").as_deref(), Some("é/x"));
        for wrong in ["%", "%2", "%zz", "%FF", "%+1"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}
