//! Streams of workflows and activities in the test kit, which follows the rules of the host.

extern crate segno_sdk as segno;

use segno::{ActivityContext, Context, Error, Result, testing::Test};

const JSON_IN_UTF8: &str = "application/json; charset=utf-8";

#[segno::activity]
async fn write_to(ctx: ActivityContext, to: u64) -> Result<u64> {
    let numbers = ctx.stream("numbers").content_type(JSON_IN_UTF8);
    let kept = numbers.kept()?;
    for number in kept..to {
        numbers.append(&number)?;
        if number == 1 && ctx.attempt() == 1 {
            return Err(Error::retryable("the connection broke"));
        }
    }
    Ok(kept)
}

#[segno::workflow]
async fn relay(ctx: Context, to: u64) -> Result<u64> {
    ctx.call(write_to, &to).await
}

#[test]
fn messages_are_counted_also_if_their_type_has_parameters() {
    let mut test = Test::new();
    assert_eq!(test.run(relay, &4).expect("it ends"), 2, "two were kept by the first attempt");
    assert_eq!(test.stream::<u64>("numbers"), [0, 1, 2, 3]);
}

#[segno::workflow]
async fn breach(ctx: Context, rule: String) -> Result<()> {
    let stream = ctx.stream("rules").content_type(JSON_IN_UTF8);
    match rule.as_str() {
        "bytes" => stream.append_bytes(b"1"),
        "closed" => {
            stream.close();
            stream.append(&1)
        }
        "name" => ctx.stream("a/b").append(&1),
        "name of a closed one" => {
            ctx.stream("a/b").close();
            Ok(())
        }
        _ => ctx.stream("rules").content_type("json").append(&1),
    }
}

#[test]
fn bytes_and_closed_streams_are_refused_with_a_code() {
    for (rule, code) in [("bytes", 400), ("closed", 409)] {
        let refused = Test::new().run(breach, &rule.to_owned()).expect_err("a refusal");
        assert_eq!(refused.code(), code, "{rule}");
    }
}

#[test]
#[should_panic(expected = "no slash, and `a/b` is none")]
fn a_name_that_halts_on_a_host_panics() {
    let _ = Test::new().run(breach, &"name".to_owned());
}

#[test]
#[should_panic(expected = "no slash, and `a/b` is none")]
fn the_name_of_a_stream_that_is_only_closed_panics() {
    let _ = Test::new().run(breach, &"name of a closed one".to_owned());
}

#[test]
#[should_panic(expected = "the content type of the stream `rules` is `json`")]
fn a_content_type_that_halts_on_a_host_panics() {
    let _ = Test::new().run(breach, &"type".to_owned());
}

#[segno::activity]
async fn careless(ctx: ActivityContext, _: ()) -> Result<()> {
    let _ = ctx.stream("a/b").append(&1);
    let refused = ctx.stream("fine").append(&2).expect_err("nothing is appended after a refusal");
    assert_eq!(refused.code(), 400);
    Ok(())
}

#[segno::workflow]
async fn trusting(ctx: Context, _: ()) -> Result<()> {
    ctx.call(careless, &()).await
}

#[test]
fn an_attempt_that_ignores_a_refusal_fails() {
    let refused = Test::new().run(trusting, &()).expect_err("the item was refused");
    assert_eq!(refused.code(), 400);
}
