//! The model: messages in the form of chat completions, and the activity that asks for the next one.

use segno::{
    ActivityContext, Error, Result,
    http::Request,
    serde_json::{self, Value, json},
};

/// The writer of a message.
#[segno::data]
#[derive(Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// The call of a tool.
#[segno::data]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall {
    pub id: String,
    /// `function`.
    #[serde(rename = "type")]
    pub kind: String,
    pub function: FunctionCall,
}

#[segno::data]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionCall {
    pub name: String,
    /// JSON.
    pub arguments: String,
}

/// A message of a conversation.
#[segno::data]
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub role: Role,
    pub content: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }
}

/// The input of `complete`.
#[segno::data]
pub struct Prompt {
    pub messages: Vec<Message>,
    pub tools: Vec<Value>,
    /// The stream that gets the text, token by token. `None` if nobody reads it.
    pub stream: Option<String>,
}

/// Asks the model for the next message. Its text is appended to a stream, token by token. It costs
/// the tokens that the model counts.
#[segno::activity(timeout = "1h")]
pub async fn complete(ctx: ActivityContext, prompt: Prompt) -> Result<Message> {
    let mut body = json!({
        "model": ctx.env("MODEL")?, "messages": prompt.messages,
        "stream": true, "stream_options": { "include_usage": true },
    });
    if !prompt.tools.is_empty() {
        body["tools"] = Value::Array(prompt.tools);
    }
    let request = Request::post(format!("{}/chat/completions", ctx.env("MODEL_URL")?))
        .header("authorization", format!("Bearer {}", ctx.secret("MODEL_KEY")?.expose()))
        .header("idempotency-key", ctx.idempotency_key())
        .json(&body);
    let response = ctx.http_open(request).await?.ok()?;

    let mut answer = Message::new(Role::Assistant, "");
    let tokens = prompt.stream.as_deref().map(|name| ctx.stream(name));
    // An attempt that was interrupted has stored the first of them.
    let mut kept = tokens.as_ref().map_or(Ok(0), |tokens| tokens.kept())?;
    // Each event is there when the model has sent it.
    for event in response.events() {
        let event = event?;
        if event.data == "[DONE]" {
            break;
        }
        let chunk: Value = serde_json::from_str(&event.data)?;
        if let Some(tokens) = chunk["usage"]["total_tokens"].as_u64() {
            ctx.cost("tokens", tokens)?;
        }
        let delta = &chunk["choices"][0]["delta"];
        if let Some(token) = delta["content"].as_str().filter(|token| !token.is_empty()) {
            answer.content += token;
            match &tokens {
                Some(_) if kept > 0 => kept -= 1,
                Some(tokens) => tokens.append(token)?,
                None => {}
            }
        }
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            add(&mut answer.tool_calls, piece)?;
        }
    }
    Ok(answer)
}

/// Adds a piece of the call of a tool.
fn add(calls: &mut Vec<ToolCall>, piece: &Value) -> Result<()> {
    let index = piece["index"].as_u64().and_then(|index| usize::try_from(index).ok());
    if index == Some(calls.len()) {
        calls.push(ToolCall { kind: "function".to_owned(), ..ToolCall::default() });
    }
    let call = index.and_then(|index| calls.get_mut(index));
    let call = call.ok_or_else(|| Error::retryable("the model left out the call of a tool"))?;
    let text = |piece: &Value| piece.as_str().unwrap_or_default().to_owned();
    call.id += &text(&piece["id"]);
    call.function.name += &text(&piece["function"]["name"]);
    call.function.arguments += &text(&piece["function"]["arguments"]);
    Ok(())
}
