//! Keys that run once, and the promises of their objects.

extern crate segno_sdk as segno;

use std::time::Duration;

use segno::{Context, Error, ObjectPromise, Result, State, testing::Test};

/// A person who signs up.
#[segno::object]
struct Signup {
    mail: State<String>,
    confirmed: ObjectPromise<String>,
}

#[segno::object]
impl Signup {
    /// Waits until the address is confirmed, for a day.
    #[run(timeout = "2d")]
    async fn run(&mut self, ctx: Context, mail: String) -> Result<String> {
        self.mail.set(&mail)?;
        let wait = self.confirmed.wait();
        match segno::select(wait, ctx.sleep(Duration::from_secs(86_400))).await {
            segno::Either::Left(by) => by,
            segno::Either::Right(_) => Err(Error::terminal(410, "nobody confirmed it")),
        }
    }

    #[shared]
    async fn confirm(&self, _ctx: Context, by: String) -> Result<()> {
        self.confirmed.resolve(&by).await
    }

    #[shared]
    async fn refuse(&self, _ctx: Context) -> Result<()> {
        let error = Error::terminal(422, "no such address").with_details(&["mail"]);
        self.confirmed.reject(error).await
    }

    #[shared]
    async fn status(&self, _ctx: Context) -> Result<Option<String>> {
        self.confirmed.peek().await
    }

    #[shared]
    async fn stop_waiting(&self, ctx: Context) -> Result<()> {
        let wait = self.confirmed.wait().start();
        ctx.cancel(&wait).await
    }
}

/// Starts the run, confirms a minute later, and returns the codes for the second run and the second
/// confirmation.
#[segno::workflow]
async fn everything(ctx: Context, mail: String) -> Result<(String, u32, u32, Option<String>)> {
    let ada = ctx.object::<Signup>("ada");
    let run = ada.run(&mail).start();
    assert_eq!(ada.status().await?, None);
    ctx.sleep(Duration::from_secs(60)).await?;
    ada.confirm(&"link".to_owned()).await?;
    let again = ada.confirm(&"phone".to_owned()).await.expect_err("it is settled");
    let second = ada.run(&mail).await.expect_err("it has run");
    let sent = ada.run(&mail).send().await.expect_err("it has run");
    assert_eq!(sent.code(), second.code());
    Ok((run.await?, again.code(), second.code(), ada.status().await?))
}

segno::module!(everything, Signup);

const MAIL: &str = "ada@example.org";

#[test]
fn a_run_waits_for_a_promise_that_a_shared_function_settles_and_is_refused_a_second_time() {
    let mut test = Test::new();
    let told = test.run(everything, &MAIL.to_owned()).unwrap();
    assert_eq!(told, ("link".to_owned(), 409, 409, Some("link".to_owned())));
    assert_eq!(test.elapsed(), Duration::from_secs(60));
    let kept = test.object_promise_of::<String>("Signup@ada", "confirmed");
    assert_eq!(kept.expect("it is settled").unwrap(), "link");
    test.replay_check();
}

#[test]
fn a_promise_may_be_settled_before_the_run_and_is_there_after_it() {
    let mut test = Test::new();
    test.run_object::<_, ()>(Signup, "ada", "confirm", "link").unwrap();
    assert_eq!(test.run_object::<_, String>(Signup, "ada", "run", MAIL).unwrap(), "link");
    test.replay_check();
    let status: Option<String> = test.run_object(Signup, "ada", "status", &()).unwrap();
    assert_eq!(status.as_deref(), Some("link"));
    let error = test.run_object::<_, String>(Signup, "ada", "run", MAIL).unwrap_err();
    assert_eq!(error.code(), 409);
    assert!(error.message().contains("`Signup@ada` has had its run"), "{error}");
    let other = test.run_object::<_, Option<String>>(Signup, "bob", "status", &()).unwrap();
    assert_eq!(other, None);
}

#[test]
fn a_test_settles_it_from_outside() {
    let mut test = Test::new();
    test.object_promise("Signup@ada", "confirmed").after(Duration::from_secs(90)).resolve("web");
    assert_eq!(test.run_object::<_, String>(Signup, "ada", "run", MAIL).unwrap(), "web");
    assert_eq!(test.elapsed(), Duration::from_secs(90));
    test.replay_check();
    let error = Error::terminal(403, "blocked");
    test.object_promise("Signup@bob", "confirmed").reject(error.clone());
    assert_eq!(test.run_object::<_, String>(Signup, "bob", "run", MAIL).unwrap_err(), error);
    // The address is never confirmed: the function waits until its limit.
    let late = test.run_object::<_, String>(Signup, "eve", "run", MAIL).unwrap_err();
    assert_eq!((late.code(), test.elapsed()), (410, Duration::from_secs(86_400)));
}

#[test]
fn what_was_rejected_fails_who_waits_and_who_looks() {
    let mut test = Test::new();
    test.run_object::<_, ()>(Signup, "ada", "refuse", &()).unwrap();
    for (function, input) in [("run", MAIL), ("status", "")] {
        let error = match function {
            "run" => test.run_object::<_, String>(Signup, "ada", "run", input).unwrap_err(),
            _ => test.run_object::<_, Option<String>>(Signup, "ada", "status", &()).unwrap_err(),
        };
        let details = error.details::<Vec<String>>().expect("it has details");
        assert_eq!((error.code(), error.message(), &*details[0]), (422, "no such address", "mail"));
    }
}

#[test]
fn nobody_cancels_a_promise_of_an_object() {
    let mut test = Test::new();
    let error = test.run_object::<_, ()>(Signup, "ada", "stop_waiting", &()).unwrap_err();
    assert_eq!(error.code(), 422);
    assert!(error.message().contains("did not make"), "{error}");
}

#[test]
fn the_module_says_which_functions_run_once() {
    assert_eq!(segno_module().describe_runs(), ["Signup/run"]);
}
