//! Responses whose bodies an activity reads in pieces.

extern crate segno_sdk as segno;

use segno::{
    ActivityContext, Context, Error, Result, RetryPolicy,
    http::{Request, Response},
    testing::Test,
};

const URL: &str = "http://model.example/chat";

#[segno::activity]
async fn read(ctx: ActivityContext) -> Result<Vec<String>> {
    let mut response = ctx.http_open(Request::get(URL)).await?;
    let mut pieces = vec![response.status().to_string()];
    while let Some(piece) = response.read()? {
        pieces.push(String::from_utf8_lossy(&piece).into_owned());
    }
    assert_eq!(response.read()?, None, "it stays at its end");
    pieces.push(ctx.http_open(Request::get(URL)).await?.read_to_end()?.text());
    pieces.push(ctx.http(Request::get(URL)).await?.text());
    Ok(pieces)
}

#[segno::activity]
async fn follow(ctx: ActivityContext) -> Result<u32> {
    let tokens = ctx.stream("tokens");
    let kept = usize::try_from(tokens.kept()?)?;
    let events = ctx.http_open(Request::get(URL)).await?.ok()?.events();
    for (number, event) in events.enumerate() {
        let event = event?;
        if number >= kept {
            tokens.append(&event.data)?;
        }
    }
    Ok(ctx.attempt())
}

#[segno::activity]
async fn open_many(ctx: ActivityContext) -> Result<String> {
    let mut open = Vec::new();
    for _ in 0..16 {
        open.push(ctx.http_open(Request::get(URL)).await?);
    }
    let refused = ctx.http_open(Request::get(URL)).await.err().expect("it is refused");
    open.pop();
    ctx.http_open(Request::get(URL)).await?.lines().for_each(drop);
    ctx.http_open(Request::get(URL)).await?;
    Ok(format!("{} {}", refused.code(), refused.message()))
}

#[segno::workflow]
async fn reads(ctx: Context) -> Result<Vec<String>> {
    ctx.call(read, &()).await
}

#[segno::workflow]
async fn follows(ctx: Context) -> Result<u32> {
    ctx.call(follow, &()).retry(RetryPolicy::default().max_attempts(3)).await
}

#[segno::workflow]
async fn opens_many(ctx: Context) -> Result<String> {
    ctx.call(open_many, &()).await
}

#[test]
fn a_body_is_read_as_it_arrives_or_whole() {
    let mut test = Test::new();
    test.on_http("GET", URL, |_| Ok(Response::in_pieces(201, ["a", "", "bc"])));
    assert_eq!(test.run(reads, &()).unwrap(), ["201", "a", "bc", "abc", "abc"]);
}

#[test]
fn a_body_that_breaks_off_fails_the_attempt_and_the_next_one_goes_on() {
    let mut test = Test::new();
    let mut attempts = 0;
    test.on_http("GET", URL, move |_| {
        attempts += 1;
        Ok(match attempts {
            1 => Response::in_pieces(200, ["data: a\n", "\nda", "ta: b\n\ndata: c"])
                .with_broken_body(Error::with_code(502, "the connection broke")),
            _ => Response::in_pieces(200, ["data: a\n\ndata: b\n\n", "data: c\n\n"]),
        })
    });
    assert_eq!(test.run(follows, &()).unwrap(), 2);
    assert_eq!(test.stream::<String>("tokens"), ["a", "b", "c"]);
}

#[test]
fn a_status_that_is_no_success_is_an_error_with_the_beginning_of_the_body() {
    let mut test = Test::new();
    test.on_http("GET", URL, |_| Ok(Response::in_pieces(402, ["no ", "money"])));
    let error = test.run(follows, &()).unwrap_err();
    assert_eq!((error.code(), error.message()), (402, "HTTP status 402: no money"));
}

#[test]
fn an_attempt_has_at_most_16_open_responses() {
    let mut test = Test::new();
    test.on_http("GET", URL, |_| Ok(Response::new(200, "a\nb")));
    let refused = test.run(opens_many, &()).unwrap();
    assert!(refused.starts_with("400 this attempt has 16 open responses"), "{refused}");
}
