//! An agent that survives everything: a loop over a model, with tools, approvals and a memory.
//!
//! It shows a conversation as an object, whose turns are executed one at a time; the answer of the
//! model as a durable stream; tools in a module of their own, which may reach other hosts than this
//! one; a person who approves; a tool that is cancelled; a history that is summarised when it grows;
//! and a second agent as a child workflow.

mod agents;
mod model;

use std::time::Duration;

use segno::{
    Context, Error, Result, State,
    serde_json::{self, Value, json},
};

pub use self::{
    agents::{Agent, CLERK, RESEARCHER, Tool},
    model::{Message, Prompt, Role, ToolCall, complete},
};

/// Size of a history, in bytes, beyond which a turn begins with a summary.
const HISTORY_MAX: usize = 4_000;
/// Characters of a tool's result that the model gets.
const RESULT_MAX: usize = 2_000;
/// Requests to the model in one turn.
const ROUNDS_MAX: u32 = 10;
/// The answer of a turn whose budget is spent.
const SPENT: &str = "I have used up my budget.";
/// Time for a person to decide about the call of a tool.
const APPROVAL_MAX: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// A conversation with a customer.
#[segno::object]
pub struct Conversation {
    messages: State<Vec<Message>>,
}

#[segno::object]
impl Conversation {
    /// Answers a text. The answer grows in the stream `answer` of this invocation.
    #[exclusive(expose = "mcp")]
    async fn say(&mut self, ctx: Context, text: String) -> Result<String> {
        let known = self.messages.get().await?.unwrap_or_default();
        let mut history = compacted(&ctx, known).await?;
        history.push(Message::new(Role::User, text));
        let keep = |history: &Vec<Message>| self.messages.set(history);
        let answer = converse(&ctx, &CLERK, history, keep).await?;
        ctx.stream("answer").append(&json!({ "answer": answer }))?;
        Ok(answer)
    }

    /// The messages so far.
    #[shared]
    async fn history(&self, _ctx: Context) -> Result<Vec<Message>> {
        Ok(self.messages.get().await?.unwrap_or_default())
    }
}

/// The input of `research`.
#[segno::data]
pub struct Question {
    pub question: String,
}

/// A second agent, with a conversation and tools of its own.
#[segno::workflow]
pub async fn research(ctx: Context, input: Question) -> Result<String> {
    let history = vec![Message::new(Role::User, input.question)];
    converse(&ctx, &RESEARCHER, history, |_| Ok(())).await
}

/// Asks the model, and does what it asks for, until it answers. `keep` gets each complete history.
async fn converse(
    ctx: &Context,
    agent: &Agent,
    mut history: Vec<Message>,
    mut keep: impl FnMut(&Vec<Message>) -> Result<()>,
) -> Result<String> {
    let system = Message::new(Role::System, agent.instructions);
    for _ in 0..ROUNDS_MAX {
        let messages = [std::slice::from_ref(&system), &history].concat();
        let stream = Some("answer".to_owned());
        let prompt = Prompt { messages, tools: agent.described(), stream };
        let answer = match ctx.call(complete, &prompt).await {
            Err(error) if error.is_budget_spent() => return Ok(SPENT.to_owned()),
            answer => answer?,
        };
        let uses = answer.tool_calls.iter().map(|call| call_tool(ctx, agent, call));
        let results = segno::join_all(uses).await;
        let is_last = results.is_empty();
        history.push(answer.clone());
        history.extend(results);
        keep(&history)?;
        if is_last {
            return Ok(answer.content);
        }
    }
    Err(Error::terminal(422, format!("no answer after {ROUNDS_MAX} rounds")))
}

/// Calls a tool. Whatever happens becomes a message, by which the model goes on.
async fn call_tool(ctx: &Context, agent: &Agent, call: &ToolCall) -> Message {
    let text = match result_of(ctx, agent, call).await {
        Ok(result) => result,
        Err(error) if error.is_cancelled() => "cancelled".to_owned(),
        Err(error) => format!("failed: {}", error.message()),
    };
    let content: String = text.chars().take(RESULT_MAX).collect();
    Message { tool_call_id: Some(call.id.clone()), ..Message::new(Role::Tool, content) }
}

async fn result_of(ctx: &Context, agent: &Agent, call: &ToolCall) -> Result<String> {
    let name = &call.function.name;
    let Some(tool) = agent.tools.iter().find(|tool| tool.name == name) else {
        return Ok(format!("there is no tool {name}"));
    };
    let Ok(input) = serde_json::from_str::<Value>(&call.function.arguments) else {
        return Ok("the arguments are not JSON".to_owned());
    };
    if tool.asks {
        let asked = ApprovalRequest { tool: name.clone(), input: input.clone() };
        if !ctx.call(approval, &asked).await? {
            return Ok("a person refused it".to_owned());
        }
    }
    ctx.call_named(tool.target, &input).label("tool", name).await
}

/// The call of a tool that a person decides about.
#[segno::data]
pub struct ApprovalRequest {
    pub tool: String,
    pub input: Value,
}

/// Waits until a person decides about the call of a tool: `{invocation}/p/decision`.
#[segno::workflow(promises(decision: bool))]
pub async fn approval(ctx: Context, _asked: ApprovalRequest) -> Result<bool> {
    ctx.named_promise("decision").timeout(APPROVAL_MAX).await
}

/// The history, or a summary and its last turn if it has become too long.
async fn compacted(ctx: &Context, mut history: Vec<Message>) -> Result<Vec<Message>> {
    let is_of_user = |message: &Message| message.role == Role::User;
    let last = history.iter().rposition(is_of_user).unwrap_or_default();
    let is_short = serde_json::to_vec(&history)?.len() <= HISTORY_MAX;
    if is_short || !history[..last].iter().any(is_of_user) {
        return Ok(history);
    }
    let recent = history.split_off(last);
    history.push(Message::new(Role::User, "Summarise this conversation in a few sentences."));
    let prompt = Prompt { messages: history, tools: Vec::new(), stream: None };
    let summary = ctx.call(complete, &prompt).await?.content;
    let summary = format!("Summary of what was said before: {summary}");
    Ok([vec![Message::new(Role::System, summary)], recent].concat())
}

segno::module!(Conversation, research, approval, complete);

#[cfg(test)]
mod tests;
