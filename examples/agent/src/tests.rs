use segno::{http::Response, testing::Test};

use super::*;
use crate::model::FunctionCall;

fn asks_for(name: &str, arguments: &Value) -> Message {
    let function = FunctionCall { name: name.to_owned(), arguments: arguments.to_string() };
    let call = ToolCall { id: "1".to_owned(), kind: "function".to_owned(), function };
    Message { tool_calls: vec![call], ..Message::new(Role::Assistant, "") }
}

/// A model that asks for a refund, and tells what came of it.
fn model(prompt: Prompt) -> Result<Message> {
    let last = prompt.messages.last().expect("there is a message");
    match last.role {
        Role::Tool => Ok(Message::new(Role::Assistant, last.content.clone())),
        _ => Ok(asks_for("refund", &json!({ "order": "7", "cents": 100 }))),
    }
}

fn say(test: &mut Test, text: &str) -> String {
    test.run_object(Conversation, "ada", "say", &text).unwrap()
}

#[test]
fn a_refund_is_made_when_a_person_approves_it() {
    for (decision, expected, refunds) in [(true, "done", 1), (false, "a person refused it", 0)] {
        let mut test = Test::new();
        test.on(complete, model);
        test.on_named("wasm://tools/refund", |_: Value| Ok("done".to_owned()));
        test.promise("test/2/p/decision").resolve(&decision);
        assert_eq!(say(&mut test, "refund"), expected);
        assert_eq!(test.calls_named("wasm://tools/refund").len(), refunds);
        test.replay_check();
    }
}

#[test]
fn a_tool_that_fails_is_told_to_the_model() {
    let mut test = Test::new();
    test.on(complete, model);
    test.on_named("wasm://tools/refund", |_: Value| -> Result<String> {
        Err(Error::terminal(403, "not this one"))
    });
    test.promise("test/2/p/decision").resolve(&true);
    assert_eq!(say(&mut test, "refund"), "failed: not this one");
}

#[test]
fn a_cancelled_turn_goes_on_without_the_tool() {
    let mut test = Test::new();
    test.on(complete, model);
    test.cancel_after(APPROVAL_MAX / 2);
    assert_eq!(say(&mut test, "refund"), "cancelled");
}

#[test]
fn the_text_of_the_model_is_put_together_from_pieces() {
    let mut test = Test::new();
    test.env("MODEL_URL", "http://model")
        .env("MODEL", "scripted")
        .secret("MODEL_KEY", "sk-scripted");
    test.on_http("POST", "http://model/chat/completions", |_| {
        let event = |text| format!(r#"data: {{"choices":[{{"delta":{{"content":"{text}"}}}}]}}"#);
        let body = format!("{}\n\n{}\n\ndata: [DONE]\n\n", event("Grüß "), event("Gott"));
        let pieces: Vec<_> = body.as_bytes().chunks(7).map(<[u8]>::to_vec).collect();
        Ok(Response::in_pieces(200, pieces))
    });
    assert_eq!(say(&mut test, "hello"), "Grüß Gott");
    let mut items = test.stream::<Value>("answer");
    assert_eq!(items.pop(), Some(json!({ "answer": "Grüß Gott" })));
    assert_eq!(items, [json!("Grüß "), json!("Gott")]);
    test.replay_check();
}

#[test]
fn a_long_history_is_summarised() {
    let mut test = Test::new();
    test.on(complete, |prompt: Prompt| {
        let is_summary = prompt.tools.is_empty();
        let content = if is_summary { "long texts".to_owned() } else { "x".repeat(HISTORY_MAX) };
        Ok(Message::new(Role::Assistant, content))
    });
    for _ in 0..5 {
        say(&mut test, "more");
    }
    let history = test.state_of::<Vec<Message>>("Conversation@ada", "messages").unwrap();
    assert_eq!(history.len(), 5, "a summary and two turns");
    assert!(history[0].content.ends_with("before: long texts"), "{history:?}");
}
