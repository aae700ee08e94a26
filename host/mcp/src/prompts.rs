//! Prompts: beginnings of common work.

use rmcp::{
    ErrorData,
    model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role},
};
use serde_json::{Value, json};

use super::resources::SKILL;

const DEBUG: &str = "debug_execution";
const WRITE: &str = "write_workflow";
/// Languages, each with its heading in the skill.
const LANGUAGES: [(&str, &str); 3] =
    [("rust", "Rust"), ("typescript", "TypeScript"), ("python", "Python")];

/// All prompts.
pub(crate) fn list() -> Vec<Prompt> {
    let argument = |name: &str, about: &str| {
        PromptArgument::new(name).with_description(about).with_required(true)
    };
    let debug = Prompt::new(
        DEBUG,
        Some("Find out why an execution failed, is halted or does not continue."),
        Some(vec![argument("id", "Id of the execution.")]),
    );
    let write = Prompt::new(
        WRITE,
        Some("Write, test and deploy a workflow."),
        Some(vec![argument("language", "rust, typescript or python.")]),
    );
    vec![debug.with_title("Debug an execution"), write.with_title("Write a workflow")]
}

/// The messages of a prompt.
///
/// # Errors
/// Invalid parameters: an unknown prompt, or a missing argument.
pub(crate) fn get(name: &str, arguments: Option<JsonObject>) -> Result<GetPromptResult, ErrorData> {
    let arguments = arguments.unwrap_or_default();
    let argument = |field: &str| match arguments.get(field).and_then(Value::as_str) {
        Some(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        _ => {
            let message = format!("the argument `{field}` of the prompt `{name}` is missing");
            Err(ErrorData::invalid_params(message, Some(json!({ "field": field }))))
        }
    };
    let text = match name {
        DEBUG => debug(&argument("id")?),
        WRITE => write(&argument("language")?)?,
        _ => {
            let message = format!("there is no prompt `{name}`: there are `{DEBUG}` and `{WRITE}`");
            return Err(ErrorData::invalid_params(message, Some(json!({ "prompt": name }))));
        }
    };
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]))
}

fn debug(id: &str) -> String {
    format!(
        "Find out what is wrong with the Segno execution `{id}`, and what to do about it.\n\n\
         1. Call `inspect_execution` for its state and its last error.\n\
         2. If it has not ended, call `why_execution`: the last link of the chain is the cause.\n\
         3. Call `logs` and `journal`; look at the last records first.\n\
         4. If it is halted, or its module changed, call `replay_execution`; a divergence names the \
         record, and what the code asks for instead.\n\
         5. Try a correction without effects by `fork_dry_run`, or by `replay_execution` with the \
         corrected module.\n\n\
         Say what you found, with the ids and records that show it, and propose one next step. \
         Settle, cancel or continue nothing without asking."
    )
}

fn write(language: &str) -> Result<String, ErrorData> {
    let wanted = language.to_lowercase();
    let heading = LANGUAGES.iter().find(|(name, _)| *name == wanted).map(|(_, heading)| *heading);
    let Some(heading) = heading else {
        let message =
            format!("the argument `language` is `{language}`: write rust, typescript or python");
        return Err(ErrorData::invalid_params(message, Some(json!({ "field": "language" }))));
    };
    let others: Vec<&str> =
        LANGUAGES.iter().map(|(_, other)| *other).filter(|other| *other != heading).collect();
    let mut text = format!("Write a Segno workflow in {heading}, as this guide says.\n");
    let body = SKILL.splitn(3, "---\n").nth(2).unwrap_or(SKILL);
    for section in body.split("\n## ") {
        let title = section.lines().next().unwrap_or_default();
        if !others.contains(&title) {
            let lead = if section.starts_with("\n# ") { "" } else { "\n## " };
            text.push_str(&format!("{lead}{section}"));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, arguments: Value) -> String {
        let result = get(name, arguments.as_object().cloned()).expect("a prompt");
        result.messages[0].content.as_text().expect("a text").text.clone()
    }

    #[test]
    fn a_prompt_for_one_language_leaves_out_the_others() {
        for (language, fence, others) in [
            ("rust", "```rust", ["```python", "```ts"]),
            ("TypeScript", "```ts", ["```rust", "```python"]),
            ("python", "```python", ["```rust", "```ts"]),
        ] {
            let text = text(WRITE, json!({ "language": language }));
            assert!(text.contains(fence), "{text}");
            assert!(others.iter().all(|other| !text.contains(other)), "{text}");
            assert!(text.contains("## Debug"), "{text}");
        }
    }

    #[test]
    fn a_wrong_argument_is_named() {
        for (name, arguments, field) in [
            (DEBUG, json!({}), "id"),
            (DEBUG, json!({"id": " "}), "id"),
            (WRITE, json!({"language": "cobol"}), "language"),
            ("nothing", json!({}), "nothing"),
        ] {
            let refused = get(name, arguments.as_object().cloned()).expect_err(field);
            assert_eq!(refused.code, rmcp::model::ErrorCode::INVALID_PARAMS);
            assert!(refused.message.contains(&format!("`{field}`")), "{}", refused.message);
        }
        assert!(text(DEBUG, json!({"id": "order-7"})).contains("`order-7`"));
    }
}
