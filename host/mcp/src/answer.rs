//! The answer of a tool: a short text, a typed value, and the next useful calls.

use std::fmt::Write as _;

use rmcp::model::{CallToolResult, ContentBlock};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::failure::ToolFailure;

/// Maximum size of a typed answer, in bytes of JSON.
const ANSWER_BYTES_MAX: usize = 96 * 1024;

/// A call that is likely to be useful next.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct NextCall {
    /// Name of the tool.
    pub(crate) tool: String,
    /// Arguments of the call.
    pub(crate) arguments: Value,
    /// Purpose of the call.
    pub(crate) why: String,
}

impl NextCall {
    pub(crate) fn new(tool: &str, arguments: Value, why: &str) -> Self {
        Self { tool: tool.to_owned(), arguments, why: why.to_owned() }
    }

    /// One line of a text.
    pub(crate) fn line(&self) -> String {
        let Self { tool, arguments, why } = self;
        format!("next: {tool} {arguments} ({why})")
    }
}

/// The answer of a tool with the output `T`.
#[derive(Debug)]
pub(crate) struct ToolAnswer<T> {
    text: String,
    output: T,
    next: Vec<NextCall>,
}

/// The typed form of an answer.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TypedAnswer<T> {
    #[serde(flatten)]
    output: T,
    /// Calls that are likely to be useful next.
    next: Vec<NextCall>,
}

impl<T> ToolAnswer<T> {
    pub(crate) fn new(text: impl Into<String>, output: T) -> Self {
        Self { text: text.into(), output, next: Vec::new() }
    }

    /// Adds a next call.
    pub(crate) fn then(self, tool: &str, arguments: Value, why: &str) -> Self {
        self.then_all([NextCall::new(tool, arguments, why)])
    }

    /// Adds several next calls.
    pub(crate) fn then_all(mut self, calls: impl IntoIterator<Item = NextCall>) -> Self {
        self.next.extend(calls);
        self
    }
}

impl<T: Serialize> ToolAnswer<T> {
    /// The result of the call. Next calls of tools that are not `available` are left out.
    ///
    /// # Errors
    /// The answer is too long.
    pub(crate) fn result(
        self,
        available: impl Fn(&str) -> bool,
    ) -> Result<CallToolResult, ToolFailure> {
        let Self { mut text, output, next } = self;
        let next: Vec<NextCall> = next.into_iter().filter(|call| available(&call.tool)).collect();
        for call in &next {
            let _ = write!(text, "\n{}", call.line());
        }
        let typed = serde_json::to_value(TypedAnswer { output, next })
            .map_err(|error| ToolFailure::new("internal", error.to_string()))?;
        let bytes = typed.to_string().len();
        if bytes > ANSWER_BYTES_MAX {
            return Err(ToolFailure::new(
                "answer-too-long",
                format!(
                    "the answer has {bytes} bytes, and at most {ANSWER_BYTES_MAX} are sent: ask for fewer with `limit`, or for shorter values with `max_value_bytes`"
                ),
            ));
        }
        let mut result = CallToolResult::structured(typed);
        result.content = vec![ContentBlock::text(text)];
        Ok(result)
    }
}

/// The length of a duration in one word, for example `3 min`.
pub(crate) fn length(ms: i64) -> String {
    match ms.max(0) {
        ms @ 0..1_000 => format!("{ms} ms"),
        ms @ 1_000..120_000 => format!("{} s", ms / 1_000),
        ms @ 120_000..7_200_000 => format!("{} min", ms / 60_000),
        ms @ 7_200_000..172_800_000 => format!("{} h", ms / 3_600_000),
        ms => format!("{} d", ms / 86_400_000),
    }
}

/// An instant relative to the present: `3 min ago`, or `in 2 h`.
pub(crate) fn relative(at_ms: i64, now_ms: i64) -> String {
    match now_ms.saturating_sub(at_ms) {
        past @ 0.. => format!("{} ago", length(past)),
        future => format!("in {}", length(future.saturating_neg())),
    }
}

/// A line about databases that do not answer, whose rows are not in a list. Empty if there are none.
pub(crate) fn not_listed(missing: &[String]) -> String {
    match missing.is_empty() {
        true => String::new(),
        false => {
            format!("\nnot listed: what lies in {}, which does not answer", missing.join(" and "))
        }
    }
}

/// The arguments of a call about one execution.
pub(crate) fn id_argument(id: &str) -> Value {
    json!({ "id": id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_shows_only_calls_of_available_tools() {
        #[derive(Serialize, JsonSchema)]
        struct Count {
            count: u32,
        }
        let answer = ToolAnswer::new("3 orders", Count { count: 3 })
            .then("result", json!({"id": "a"}), "its end")
            .then("cancel_execution", json!({"id": "a"}), "end it");
        let result = answer.result(|tool| tool == "result").expect("it is short");
        let typed = result.structured_content.expect("it is typed");
        assert_eq!(typed["count"], 3);
        assert_eq!(typed["next"].as_array().map(Vec::len), Some(1));
        let text = result.content[0].as_text().expect("a text").text.clone();
        assert_eq!(text, "3 orders\nnext: result {\"id\":\"a\"} (its end)");
    }

    #[test]
    fn a_long_answer_is_refused_with_what_to_ask_instead() {
        let failure = ToolAnswer::new("", json!({ "a": "x".repeat(ANSWER_BYTES_MAX) }))
            .result(|_| true)
            .expect_err("it is too long");
        assert_eq!(failure.code, "answer-too-long");
        assert!(failure.message.contains("`limit`"), "{}", failure.message);
    }

    #[test]
    fn instants_are_relative() {
        for (at, now, text) in
            [(0, 500, "500 ms ago"), (0, 200_000, "3 min ago"), (7_300_000, 0, "in 2 h")]
        {
            assert_eq!(relative(at, now), text);
        }
    }
}
