//! Queries and updates, which a workflow answers while it runs.

// The name under which users depend on this package, and which the macros generate.
extern crate segno_sdk as segno;

use std::time::Duration;

use segno::{
    Context, Error, Result, Shared,
    serde_json::{Value, json},
    testing::Test,
};

const SECOND: Duration = Duration::from_secs(1);

/// The shared state of an order.
#[derive(Default)]
struct Progress {
    step: String,
    notes: Vec<String>,
    approved: bool,
}

impl Progress {
    fn at(step: &str) -> Self {
        Self { step: step.to_owned(), ..Self::default() }
    }
}

#[segno::workflow]
async fn order(ctx: Context, _item: String) -> Result<Vec<String>> {
    let progress = ctx.share(Progress::at("waits for its approval"));
    progress.until(|progress| progress.approved).await?;
    progress.write(|progress| progress.step = "approved".to_owned());
    ctx.updates_done().await;
    progress.write(|progress| progress.step = "done".to_owned());
    Ok(progress.read(|progress| progress.notes.clone()))
}

/// Which step it is at,
/// in a word.
///
/// Not for programs.
#[segno::query(order)]
fn step(progress: &Progress) -> Result<String> {
    Ok(progress.step.clone())
}

#[segno::query(order, name = "has-note")]
fn has_note(progress: &Progress, text: String) -> Result<bool> {
    match text.as_str() {
        "" => Err(Error::terminal(422, "a note says something")),
        text => Ok(progress.notes.iter().any(|note| note == text)),
    }
}

/// Adds a note, a second later.
#[segno::update(order, validate = fits)]
async fn add_note(ctx: Context, progress: Shared<Progress>, text: String) -> Result<usize> {
    ctx.sleep(SECOND).await?;
    let add = |progress: &mut Progress| {
        progress.notes.push(text);
        progress.notes.len()
    };
    Ok(progress.write(add))
}

fn fits(progress: &Progress, text: &String) -> Result<()> {
    match progress.notes.contains(text) {
        true => Err(Error::terminal(409, "it is noted already").with_details(&["hint"])),
        false => Ok(()),
    }
}

#[segno::update(order, name = "approve", validate = is_open)]
async fn let_pass(_ctx: Context, progress: Shared<Progress>) -> Result<()> {
    progress.write(|progress| progress.approved = true);
    Ok(())
}

fn is_open(progress: &Progress) -> Result<()> {
    if progress.approved { Err(Error::terminal(409, "approved already")) } else { Ok(()) }
}

#[segno::update(order)]
async fn refuse(ctx: Context, _progress: Shared<Progress>, code: u32) -> Result<()> {
    ctx.sleep(SECOND).await?;
    Err(Error::with_code(code, "no"))
}

/// Missing from the list.
#[segno::query(order)]
fn unlisted(progress: &Progress) -> Result<bool> {
    Ok(progress.approved)
}

#[segno::update(order)]
async fn unlisted_too(_ctx: Context, _progress: Shared<Progress>) -> Result<()> {
    Ok(())
}

mod elsewhere {
    use segno::{Context, Result};

    #[segno::workflow(name = "other-order")]
    pub async fn other(ctx: Context, wait: bool) -> Result<()> {
        if wait {
            ctx.sleep(super::SECOND).await?;
        }
        let shared = ctx.share(super::Progress::at("elsewhere"));
        shared.until(|progress| progress.approved).await
    }
}

#[segno::query(elsewhere::other, name = "step")]
fn step_of_other(progress: &Progress) -> Result<String> {
    Ok(progress.step.clone())
}

#[segno::query(elsewhere::other)]
fn count(number: &Vec<u32>) -> Result<usize> {
    Ok(number.len())
}

#[segno::update(elsewhere::other)]
async fn approve_other(ctx: Context, progress: Shared<Progress>) -> Result<()> {
    let_pass(ctx, progress, ()).await
}

segno::module! {
    order, step, has_note, add_note, let_pass, refuse,
    elsewhere::other, step_of_other, count, approve_other,
}

fn text(text: &str) -> String {
    text.to_owned()
}

/// A test of an order of `hat` that is approved after this number of seconds.
fn approved_after(seconds: u32) -> Test {
    let mut test = Test::new();
    test.update(let_pass, &()).after(seconds * SECOND);
    test
}

#[test]
fn a_query_sees_the_workflow_while_it_runs_and_after_its_end() {
    let mut test = approved_after(2);
    let early = test.ask(step, &());
    test.update(add_note, &text("gift")).after(SECOND);
    let (before, after) = (test.ask(has_note, &text("gift")), test.ask(has_note, &text("gift")));
    let (before, after) = (before.after(SECOND), after.after(2 * SECOND));
    let empty = test.ask(has_note, &text(""));
    let notes = test.run(order, &text("hat"));
    assert_eq!(notes.unwrap(), ["gift"]);
    assert_eq!(early.answer().unwrap(), "waits for its approval");
    assert_eq!((before.answer().unwrap(), after.answer().unwrap()), (false, false));
    assert_eq!(empty.answer().unwrap_err().code(), 422);
    assert_eq!(test.query(step, &()).unwrap(), "done");
    assert!(test.query(has_note, &text("gift")).unwrap());
    test.replay_check();
}

#[test]
fn an_update_is_answered_and_leaves_no_open_command() {
    let mut test = approved_after(10);
    let first = test.update(add_note, &text("gift"));
    let second = test.update(add_note, &text("fragile")).after(SECOND / 2);
    assert_eq!(test.run(order, &text("hat")).unwrap(), ["gift", "fragile"]);
    assert_eq!((first.answer().unwrap(), second.answer().unwrap()), (1, 2));
    // Commands 0 and 1 are the sleeps of the notes; the others settle promises.
    assert_eq!(test.forgotten(), [2, 3, 4]);
    assert_eq!(test.elapsed(), 10 * SECOND);
    test.replay_check();
}

#[test]
fn the_error_of_an_update_is_its_answer_and_no_more() {
    let mut test = approved_after(3);
    let refused = test.update(refuse, &418);
    test.run(order, &text("hat")).unwrap();
    assert_eq!(refused.answer().unwrap_err(), Error::with_code(418, "no"));
}

#[test]
fn what_a_validator_refuses_leaves_no_trace() {
    let mut test = approved_after(5);
    test.update(add_note, &text("gift"));
    let again = test.update(add_note, &text("gift")).after(2 * SECOND);
    assert_eq!(test.run(order, &text("hat")).unwrap(), ["gift"]);
    let error = again.answer().unwrap_err();
    assert_eq!((error.code(), error.details()), (409, Some(vec![text("hint")])));
    assert_eq!(test.forgotten().len(), 2, "a note and the approval were answered");
    test.replay_check();

    // An update without input.
    let mut test = approved_after(1);
    test.update(add_note, &text("gift")).after(SECOND / 2);
    let again = test.update(let_pass, &()).after(SECOND);
    test.run(order, &text("hat")).unwrap();
    assert_eq!(again.answer().unwrap_err().code(), 409);
}

#[test]
fn a_workflow_can_wait_until_all_updates_are_answered() {
    let mut test = approved_after(1);
    let late = test.update(add_note, &text("late")).after(SECOND / 2);
    let later = test.update(refuse, &409).after(SECOND * 5 / 4);
    assert_eq!(test.run(order, &text("hat")).unwrap(), ["late"]);
    assert_eq!(late.answer().unwrap(), 1);
    assert_eq!(later.answer().unwrap_err().code(), 409);
    assert_eq!(test.elapsed(), SECOND * 9 / 4);
    test.replay_check();
}

#[test]
fn updates_that_are_not_answered_at_the_end_are_cancelled() {
    #[segno::workflow]
    async fn hasty(ctx: Context) -> Result<()> {
        let shared = ctx.share(0_u32);
        shared.until(|number| *number == 1).await
    }
    #[segno::update(hasty)]
    async fn wait(ctx: Context, _number: Shared<u32>) -> Result<()> {
        ctx.sleep(SECOND).await
    }
    #[segno::update(hasty)]
    async fn end(_ctx: Context, number: Shared<u32>) -> Result<()> {
        number.write(|number| *number = 1);
        Ok(())
    }
    let mut test = Test::new();
    let (waits, ends) = (test.update(wait, &()), test.update(end, &()));
    test.run(hasty, &()).unwrap();
    assert!(waits.answer().unwrap_err().is_cancelled());
    ends.answer().unwrap();
    assert_eq!(test.forgotten(), [1], "only the answer; the sleep ends with the workflow");
    test.replay_check();
}

#[test]
fn updates_go_on_in_the_order_in_which_they_were_accepted() {
    #[segno::workflow]
    async fn line(ctx: Context) -> Result<Vec<String>> {
        let line = ctx.share(Vec::<String>::new());
        line.until(|line| line.len() == 3).await?;
        line.write(|line| line.push(text("open")));
        ctx.updates_done().await;
        Ok(line.read(Vec::clone))
    }
    #[segno::update(line)]
    async fn join(ctx: Context, line: Shared<Vec<String>>, name: String) -> Result<()> {
        line.write(|line| line.push(format!("{name} comes")));
        line.until(|line| line.iter().any(|what| what == "open")).await?;
        line.write(|line| line.push(format!("{name} stands")));
        ctx.sleep(SECOND).await?;
        line.write(|line| line.push(format!("{name} leaves")));
        Ok(())
    }
    let mut test = Test::new();
    for name in ["a", "b", "c"] {
        test.update(join, &text(name));
    }
    let line = test.run(line, &()).unwrap();
    let expected = [
        "a comes", "b comes", "c comes", "open", "a stands", "b stands", "c stands", "a leaves",
        "b leaves", "c leaves",
    ];
    assert_eq!(line, expected);
    test.replay_check();
}

#[test]
fn a_cancellation_fails_what_updates_and_conditions_wait_for() {
    #[segno::workflow]
    async fn cancelled(ctx: Context) -> Result<(u32, u32)> {
        let shared = ctx.share(0);
        let error = shared.until(|code| *code > 0).await.unwrap_err();
        ctx.updates_done().await;
        // A wait that begins after the cancellation works as usual.
        let later = shared.until(|code| *code > 600);
        assert_eq!(ctx.timeout(SECOND, later).await.unwrap_err().code(), 408);
        Ok((error.code(), shared.read(|code| *code)))
    }
    #[segno::update(cancelled)]
    async fn wait(ctx: Context, shared: Shared<u32>) -> Result<()> {
        let error = ctx.sleep(60 * SECOND).await.unwrap_err();
        shared.write(|code| *code = error.code());
        Err(error)
    }
    let mut test = Test::new();
    let waits = test.update(wait, &());
    test.cancel_after(SECOND);
    assert_eq!(test.run(cancelled, &()).unwrap(), (499, 499));
    assert!(waits.answer().unwrap_err().is_cancelled());
    assert_eq!(test.elapsed(), 2 * SECOND);
    test.replay_check();
}

#[test]
fn nothing_is_shared_too_early_and_nothing_of_another_type() {
    let mut test = Test::new();
    let early = test.ask(step_of_other, &());
    let early_update = test.update(approve_other, &());
    let wrong = test.ask(count, &()).after(2 * SECOND);
    test.update(approve_other, &()).after(3 * SECOND);
    test.run(elsewhere::other, &true).unwrap();
    for error in [early.answer().unwrap_err(), early_update.answer().unwrap_err()] {
        assert_eq!(error, Error::with_code(425, "`other-order` has not shared a `Progress` yet"));
    }
    let message = "`other-order` shares a `Progress`, but query `count` takes a `Vec<u32>`";
    assert_eq!(wrong.answer().unwrap_err(), Error::with_code(500, message));
    assert_eq!(test.query(step_of_other, &()).unwrap(), "elsewhere");
}

#[test]
fn a_workflow_answers_its_own_queries_only() {
    let mut test = approved_after(1);
    test.run(order, &text("hat")).unwrap();
    let error = test.query(count, &()).unwrap_err();
    assert_eq!(error.code(), 404);
    assert_eq!(error.message(), "`order` has no query `count`; it has `step`, `has-note`");
}

/// The effect of a signal in the host's encoding of an update.
fn told(name: &str, payload: &Value) -> (Test, Result<Value>) {
    #[segno::workflow(signals)]
    async fn listener(ctx: Context) -> Result<Value> {
        ctx.share(0_u32);
        let answer = ctx.named_promise::<Value>("answer").start();
        let signal = ctx.signal::<Value>("end");
        let mut all = ctx.signals();
        assert_eq!(all.receive().await?.name(), "first", "an update is no signal");
        drop(all);
        signal.await?;
        let settled = segno::select(answer, ctx.sleep(SECOND)).await;
        match settled {
            segno::Either::Left(answer) => answer,
            segno::Either::Right(_) => Ok(json!("nothing")),
        }
    }
    #[segno::update(listener)]
    async fn add(_ctx: Context, shared: Shared<u32>, number: u32) -> Result<u32> {
        Ok(shared.write(|sum| {
            *sum += number;
            *sum
        }))
    }
    let mut test = Test::new();
    test.update(add, &1);
    test.signal(name, payload);
    test.signal("first", &());
    test.signal("end", &());
    let answer = test.run(listener, &());
    test.replay_check();
    (test, answer)
}

#[test]
fn an_update_that_nobody_can_answer_is_refused_and_is_no_signal() {
    let promise = "test/p/answer";
    let (_, answer) = told("segno:update/add", &json!({"promise": promise, "input": 5}));
    assert_eq!(answer.unwrap(), json!(6));
    let (_, answer) = told("segno:update/add", &json!({"promise": promise, "input": "five"}));
    let error = answer.unwrap_err();
    assert_eq!(error.code(), 400);
    assert!(error.message().starts_with("the input of update `add` does not fit"), "{error}");
    let (_, answer) = told("segno:update/add", &json!({"promise": promise}));
    assert_eq!(answer.unwrap_err().code(), 400);
    let (_, answer) = told("segno:update/sub", &json!({"promise": promise, "input": 5}));
    let error = answer.unwrap_err();
    let message = "`listener` has no update `sub`; it has `add`";
    assert_eq!((error.code(), error.message()), (404, message));
    for payload in [json!({"input": 5}), json!("x"), json!(null)] {
        let (test, answer) = told("segno:update/add", &payload);
        assert_eq!(answer.unwrap(), json!("nothing"));
        assert!(test.logged("update `add` does not fit"), "{:?}", test.logs());
    }
}

#[test]
fn an_input_crosses_as_it_was_written() {
    #[segno::workflow]
    async fn big(ctx: Context) -> Result<u128> {
        let shared = ctx.share(None);
        shared.until(Option::is_some).await?;
        shared.read(|number| number.ok_or_else(|| Error::retryable("there is none")))
    }
    #[segno::update(big)]
    async fn set(_ctx: Context, shared: Shared<Option<u128>>, number: u128) -> Result<()> {
        shared.write(|place| *place = Some(number));
        Ok(())
    }
    let mut test = Test::new();
    test.update(set, &u128::MAX);
    assert_eq!(test.run(big, &()).unwrap(), u128::MAX);
}

#[test]
fn the_module_describes_what_its_workflows_answer() {
    let described = segno_module().describe_handlers();
    let names: Vec<_> = described
        .iter()
        .map(|handler| (handler.function.as_str(), format!("{:?}", handler.kind), &*handler.name))
        .collect();
    let row = |function, kind: &str, name| (function, format!("HandlerKind::{kind}"), name);
    assert_eq!(
        names,
        [
            row("order", "Query", "step"),
            row("order", "Query", "has-note"),
            row("order", "Update", "add_note"),
            row("order", "Update", "approve"),
            row("order", "Update", "refuse"),
            row("other-order", "Query", "step"),
            row("other-order", "Query", "count"),
            row("other-order", "Update", "approve_other"),
        ]
    );
    let step = &described[0];
    assert_eq!(step.summary.as_deref(), Some("Which step it is at, in a word."));
    let add = &described[2];
    assert!(add.input_schema.as_ref().unwrap().contains(r#""type":"string""#), "{add:?}");
    assert!(add.output_schema.as_ref().unwrap().contains(r#""type":"integer""#), "{add:?}");
    let names = segno_module().names().collect::<Vec<_>>();
    assert_eq!(names, ["order", "other-order"], "handlers are no functions");
}

/// Module lists other than that of the crate.
mod lists {
    use segno::{Context, Result};

    use super::{Progress, elsewhere, let_pass, order, step};

    #[segno::workflow]
    async fn asked(ctx: Context) -> Result<()> {
        ctx.share(0_u32);
        Ok(())
    }

    #[segno::query(asked)]
    fn number(number: &u32) -> Result<u32> {
        Ok(*number)
    }

    #[segno::query(order, name = "step")]
    fn again(progress: &Progress) -> Result<String> {
        Ok(progress.step.clone())
    }

    #[segno::query(order, name = "approve")]
    fn may_approve(progress: &Progress) -> Result<bool> {
        Ok(!progress.approved)
    }

    pub(crate) mod with_query {
        segno::module!(super::asked, super::number);
    }

    pub(crate) mod with_two_of_one_name {
        segno::module!(super::order, super::step, super::again);
    }

    pub(crate) mod with_two_kinds_of_one_name {
        segno::module!(super::order, super::let_pass, super::may_approve);
    }

    pub(crate) mod without_the_workflow {
        segno::module!(super::elsewhere::other, super::step);
    }
}

#[test]
fn a_workflow_with_updates_takes_signals() {
    assert!(segno_module().describe().iter().all(|function| function.signals));
    let with_query = lists::with_query::segno_module().describe();
    assert!(!with_query[0].signals, "queries are no signals");
}

#[test]
#[should_panic(expected = "`segno::module!` lists query `step` of `order` twice")]
fn two_queries_of_one_name_are_refused() {
    lists::with_two_of_one_name::segno_module();
}

#[test]
fn a_query_and_an_update_may_have_one_name() {
    let module = lists::with_two_kinds_of_one_name::segno_module();
    assert_eq!(module.describe_handlers().len(), 2);
}

#[test]
#[should_panic(
    expected = "`segno::module!` lists `step` of `order`, but not `order`: add the workflow to the list"
)]
fn a_query_of_a_workflow_that_is_not_listed_is_refused() {
    lists::without_the_workflow::segno_module();
}

#[test]
#[should_panic(expected = "query `unlisted` of `order` is not in the list of the module")]
fn a_query_that_was_forgotten_in_the_list_fails_the_test() {
    let mut test = approved_after(1);
    test.run(order, &text("hat")).unwrap();
    drop(test.query(unlisted, &()));
}

#[test]
#[should_panic(expected = "update `unlisted_too` of `order` is not in the list of the module")]
fn so_does_an_update_that_was() {
    let mut test = approved_after(1);
    test.update(unlisted_too, &());
    drop(test.run(order, &text("hat")));
}

#[test]
fn an_instance_without_a_workflow_answers_nothing() {
    let input = segno::Payload::Json("null".to_owned());
    let query = format!("{:?}", segno::__private::query("step", &input));
    let update = segno::__private::validate("approve", &input).expect("it is refused");
    let message = "no workflow was started in this instance";
    assert!(query.contains(message) && query.contains("404"), "{query}");
    assert_eq!((update.code, update.message.as_str()), (404, message));
}

#[test]
fn queries_and_updates_are_functions_that_can_be_called() {
    let progress = Progress::at("alone");
    assert_eq!(step(&progress, ()).into_result().unwrap(), "alone");
    assert!(!has_note(&progress, text("x")).into_result().unwrap());
}

/// Runs a body with a shared value.
macro_rules! shares {
    ($name:ident, |$ctx:ident, $shared:ident| $body:expr) => {{
        #[segno::workflow]
        async fn $name($ctx: Context) -> Result<u32> {
            let $shared = $ctx.share(1_u32);
            Ok($body)
        }
        Test::new().run($name, &()).unwrap()
    }};
}

#[test]
fn reads_nest() {
    let sum = shares!(nested, |ctx, shared| shared.read(|a| shared.clone().read(|b| a + b)));
    assert_eq!(sum, 2);
}

#[test]
#[should_panic(expected = "the shared `u32` is read inside the closure that writes it")]
fn a_read_inside_a_write_is_refused() {
    shares!(nested, |ctx, shared| shared.write(|_| shared.read(|number| *number)));
}

#[test]
#[should_panic(expected = "the shared `u32` is written inside a closure that reads or writes it")]
fn a_write_inside_a_write_is_refused() {
    shares!(nested, |ctx, shared| shared.write(|_| shared.write(|number| *number)));
}

#[test]
#[should_panic(expected = "a write of the shared `u32` inside the closure of run `once`")]
fn a_write_inside_a_run_is_refused() {
    shares!(in_run, |ctx, shared| {
        let run = ctx.run("once", move || shared.write(|number| *number));
        run.await?
    });
}

#[test]
#[should_panic(expected = "this one shares `u32` already: add to its fields what `bool` has")]
fn a_second_value_is_refused() {
    shares!(second, |ctx, shared| {
        ctx.share(true);
        shared.read(|number| *number)
    });
}

#[test]
#[should_panic(expected = "an update cannot wait for `updates_done`: it would wait for itself")]
fn an_update_that_waits_for_all_updates_is_refused() {
    #[segno::workflow]
    async fn waits(ctx: Context) -> Result<()> {
        ctx.share(());
        ctx.sleep(SECOND).await
    }
    #[segno::update(waits)]
    async fn wait(ctx: Context, _: Shared<()>) -> Result<()> {
        ctx.updates_done().await;
        Ok(())
    }
    let mut test = Test::new();
    test.update(wait, &());
    drop(test.run(waits, &()));
}

#[test]
fn handles_of_what_is_shared_can_be_sent() {
    fn sendable<T: Send + Sync + Clone>(value: T) -> T {
        value
    }
    let read = shares!(sent, |ctx, shared| sendable(shared).read(|number| *number));
    assert_eq!(read, 1);
}
