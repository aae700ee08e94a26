//! The failure of a tool, with the way out of it.

use std::fmt::Write as _;

use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use segno_client::ClientError;
use serde_json::{Value, json};

use super::{answer::NextCall, excerpt::cut};

/// Key of the typed form of a failure in the metadata of a result.
pub(crate) const FAILURE_KEY: &str = "segno/error";

/// A failed call.
#[derive(Debug)]
pub(crate) struct ToolFailure {
    /// A stable code.
    pub(crate) code: String,
    /// The fault and its remedy.
    pub(crate) message: String,
    next: Vec<NextCall>,
}

impl ToolFailure {
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), next: Vec::new() }
    }

    /// Adds a next call.
    pub(crate) fn then(mut self, tool: &str, arguments: Value, why: &str) -> Self {
        self.next.push(NextCall::new(tool, arguments, why));
        self
    }

    /// The result of the call. It has no structured content, because that would have to conform to
    /// the schema of the tool's output.
    pub(crate) fn result(self, available: impl Fn(&str) -> bool) -> CallToolResult {
        let Self { code, message, next } = self;
        let next: Vec<NextCall> = next.into_iter().filter(|call| available(&call.tool)).collect();
        let mut text = format!("error {code}: {message}");
        for call in &next {
            let _ = write!(text, "\n{}", call.line());
        }
        let mut meta = MetaObject::new();
        let typed = json!({ "code": code, "message": message, "next": next });
        meta.0.insert(FAILURE_KEY.to_owned(), typed);
        CallToolResult::error(vec![ContentBlock::text(text)]).with_meta(Some(meta))
    }
}

impl From<ClientError> for ToolFailure {
    fn from(error: ClientError) -> Self {
        let code = error.code().to_owned();
        let message = match &error {
            ClientError::Unreachable { server, .. } => format!(
                "no host answers at {server}: start one with `segno serve`, or start `segno mcp` with the address of another (`--server URL`, SEGNO_SERVER)"
            ),
            ClientError::Refused(problem) if problem.status == 401 => {
                format!("{}: start `segno mcp` with it (`--token`, SEGNO_TOKEN)", problem.detail)
            }
            ClientError::Refused(problem) => {
                // Lists that name what exists, and the faults of an input.
                let fields = problem.fields.iter().filter(|(_, value)| !value.is_null());
                let fields = fields.map(|(name, value)| format!("; {name}: {value}"));
                cut(format!("{}{}", problem.detail, fields.collect::<String>()), 2_000)
            }
            other => other.to_string(),
        };
        let failure = Self::new(&code, message);
        match code.as_str() {
            "unknown-module" | "unknown-function" => {
                failure.then("list_modules", json!({}), "the deployed modules and their functions")
            }
            _ => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use segno_client::Client;
    use segno_model::Problem;

    use super::*;

    fn text(failure: ToolFailure) -> String {
        let result = failure.result(|tool| tool == "list_modules");
        assert_eq!(result.is_error, Some(true));
        assert_eq!(result.structured_content, None);
        result.content[0].as_text().expect("a text").text.clone()
    }

    #[test]
    fn a_refusal_says_what_exists_and_which_call_helps() {
        let problem: Problem = serde_json::from_value(json!({
            "type": "urn:segno:problem:unknown-function", "title": "Unknown function", "status": 404,
            "detail": "`shop` has no function `ordr`", "code": "unknown-function", "known": ["order"],
        }))
        .expect("a problem");
        let text = text(ClientError::Refused(Box::new(problem)).into());
        let expected = "error unknown-function: `shop` has no function `ordr`; known: [\"order\"]\n\
            next: list_modules {} (the deployed modules and their functions)";
        assert_eq!(text, expected);
    }

    #[tokio::test]
    async fn a_host_that_is_away_is_named_with_the_command_that_starts_one() {
        // Nothing listens on this port.
        let client = Client::new("http://127.0.0.1:9", None).expect("an address");
        let error = client.health().await.expect_err("no host");
        let text = text(error.into());
        assert!(text.starts_with("error server-unreachable: "), "{text}");
        assert!(text.contains("http://127.0.0.1:9") && text.contains("`segno serve`"), "{text}");
    }
}
