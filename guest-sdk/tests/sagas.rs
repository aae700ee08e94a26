//! Sagas: the undone steps, their order, and the reports.

extern crate segno_sdk as segno;

use std::time::Duration;

use segno::{
    ActivityContext, Context, Error, OnUnknown, Result, SagaReport, Undo,
    http::{Request, Response, Sent},
    testing::Test,
};

#[segno::data]
#[derive(Clone, Default)]
struct Trip {
    /// The fault to simulate.
    fault: String,
    on_unknown_undo: bool,
}

#[segno::activity]
async fn book(_ctx: ActivityContext, what: String) -> Result<String> {
    Ok(format!("{what}-1"))
}

#[segno::activity(retry(initial = "1s", max_attempts = 2))]
async fn cancel(_ctx: ActivityContext, _undo: Undo<String, String>) -> Result<()> {
    Ok(())
}

#[segno::activity]
async fn withdraw(_ctx: ActivityContext, _undo: Undo<Sent, Response>) -> Result<()> {
    Ok(())
}

#[segno::workflow]
async fn travel(ctx: Context, trip: Trip) -> Result<String> {
    let saga = ctx.saga("trip");
    let flight = saga.call(book, &"flight".to_owned()).compensate(cancel).await?;
    let unknown = match trip.on_unknown_undo {
        true => OnUnknown::Compensate,
        false => OnUnknown::Ask,
    };
    let payment = Request::post("http://pay/charges").json(&serde_json::json!({ "cents": 5 }));
    saga.http(payment).compensate(withdraw).on_unknown(unknown).await?;
    let hotel = saga.call(book, &"hotel".to_owned()).compensate(cancel);
    let hotel = hotel.timeout(Duration::from_secs(60)).on_unknown(unknown).await;
    match trip.fault.as_str() {
        "" => Ok(format!("{flight} {}", hotel?)),
        "aborted" => Err(saga.abort("the customer has changed her mind").await),
        "cancelled" => {
            ctx.named_promise::<()>("never").await?;
            Ok(String::new())
        }
        _ => {
            hotel?;
            Err(Error::terminal(409, "the car is gone").with_details(&5))
        }
    }
}

fn test() -> Test {
    let mut test = Test::new();
    test.on_http("POST", "http://pay/", |_| Ok(Response::with_json(201, &"p1")));
    test
}

fn trip(fault: &str) -> Trip {
    Trip { fault: fault.to_owned(), on_unknown_undo: false }
}

/// The undone steps, in order.
fn undone(test: &Test) -> Vec<String> {
    let cancelled = test.calls(cancel).into_iter().map(|undo| match undo.output {
        Some(output) => format!("{} {output}", undo.input),
        None => format!("{} nothing", undo.input),
    });
    cancelled.collect()
}

#[test]
fn nothing_is_undone_of_what_came_about() {
    let mut test = test();
    assert_eq!(test.run(travel, &trip("")).unwrap(), "flight-1 hotel-1");
    assert_eq!((undone(&test), test.calls(withdraw).len()), (vec![], 0));
    test.replay_check();
}

#[test]
fn an_error_that_leaves_the_workflow_undoes_from_the_last_step_to_the_first() {
    for fault in ["late", "aborted"] {
        let mut test = test();
        let error = test.run(travel, &trip(fault)).unwrap_err();
        assert_eq!(undone(&test), ["hotel hotel-1", "flight flight-1"]);
        let [withdrawn] = &test.calls(withdraw)[..] else { panic!("it was one") };
        let answer = withdrawn.output.as_ref().expect("it was answered");
        assert_eq!((&*withdrawn.input.url, answer.status()), ("http://pay/charges", 201));
        assert_eq!(withdrawn.input.body, Some(serde_json::json!({ "cents": 5 })));
        let said = match fault {
            "late" => "the car is gone",
            _ => "the customer has changed her mind",
        };
        assert_eq!(
            error.message(),
            format!("{said}; saga `trip`: `book`, `POST http://pay/charges`, `book` undone")
        );
        assert_eq!(error.code(), if fault == "late" { 409 } else { 422 });
        let [report] = &SagaReport::of(&error)[..] else { panic!("there is one saga") };
        let seqs: Vec<u32> = report.undone.iter().map(|step| step.seq).collect();
        assert_eq!(seqs, [2, 1, 0]);
        assert!(report.failed.is_empty() && report.left.is_empty() && report.unclear.is_empty());
        test.replay_check();
    }
}

#[test]
fn a_step_that_failed_by_itself_is_not_undone() {
    let mut test = test();
    test.on(book, |what| match what.as_str() {
        "hotel" => Err(Error::terminal(404, "no room")),
        _ => Ok(format!("{what}-1")),
    });
    let error = test.run(travel, &trip("")).unwrap_err();
    assert_eq!((error.code(), undone(&test)), (404, vec!["flight flight-1".to_owned()]));
    test.replay_check();
}

#[test]
fn an_http_step_that_was_declined_is_undone_only_where_it_says_so() {
    for (status, on_unknown_undo, withdrawn) in
        [(201, false, 1), (302, false, 1), (402, false, 0), (402, true, 1), (404, false, 0)]
    {
        let mut test = Test::new();
        test.on_http("POST", "http://pay/", move |_| Ok(Response::with_json(status, &"p1")));
        let trip = Trip { on_unknown_undo, ..trip("late") };
        let error = test.run(travel, &trip).unwrap_err();
        let answers = test.calls(withdraw);
        assert_eq!(answers.len(), withdrawn, "{status}: {error}");
        let answers = answers.iter().filter_map(|undo| undo.output.as_ref());
        assert!(answers.map(Response::status).all(|answer| answer == status));
        assert_eq!(error.message().contains("POST http://pay/charges"), withdrawn > 0, "{error}");
        test.replay_check();
    }
}

#[test]
fn where_undoing_fails_the_unwinding_stops_and_what_lies_before_stays() {
    let mut test = test();
    test.on(withdraw, |_| Err(Error::terminal(410, "the bank keeps it")));
    let error = test.run(travel, &trip("late")).unwrap_err();
    assert_eq!(undone(&test), ["hotel hotel-1"]);
    assert_eq!(
        error.message(),
        "the car is gone; saga `trip`: `book` undone, `POST http://pay/charges` could not be undone: the bank keeps it, `book` not undone"
    );
    let [report] = &SagaReport::of(&error)[..] else { panic!("there is one saga") };
    assert_eq!((report.failed[0].seq, report.left[0].seq), (1, 0));
    test.replay_check();
}

#[test]
fn an_undoing_is_tried_as_its_own_policy_says() {
    let mut test = test();
    let mut attempts = 0;
    test.on(cancel, move |_| {
        attempts += 1;
        if attempts == 1 { Err(Error::retryable("not now")) } else { Ok(()) }
    });
    let error = test.run(travel, &trip("late")).unwrap_err();
    assert!(error.message().ends_with("`book` undone"), "{error}");
    assert_eq!(test.elapsed(), Duration::from_secs(1));
}

#[test]
fn a_step_of_which_nobody_knows_waits_for_a_person_unless_it_is_declared() {
    let silent = || {
        let mut test = test();
        test.on(book, |what| match what.as_str() {
            "hotel" => Err(Error::retryable("no answer")),
            _ => Ok(format!("{what}-1")),
        });
        test
    };
    // A person answers that it acted.
    let mut test = silent();
    test.promise("u/trip/2").after(Duration::from_secs(600)).resolve(&());
    let error = test.run(travel, &trip("late")).unwrap_err();
    assert_eq!(undone(&test), ["hotel nothing", "flight flight-1"]);
    assert!(error.is_timed_out());
    test.replay_check();
    // A person answers that it did not act.
    let mut test = silent();
    test.promise("u/trip/2").reject(Error::terminal(404, "no such booking"));
    test.run(travel, &trip("late")).unwrap_err();
    assert_eq!(undone(&test), ["flight flight-1"]);
    test.replay_check();
    // No person is asked.
    let mut test = silent();
    let trip = Trip { on_unknown_undo: true, ..trip("late") };
    test.run(travel, &trip).unwrap_err();
    assert_eq!(undone(&test), ["hotel nothing", "flight flight-1"]);
    test.replay_check();
}

#[test]
fn a_cancelled_workflow_unwinds() {
    let mut test = test();
    test.on(cancel, |_| Ok(()));
    test.cancel_after(Duration::from_secs(5));
    let error = test.run(travel, &trip("cancelled")).unwrap_err();
    assert!(error.is_cancelled());
    assert_eq!(undone(&test), ["hotel hotel-1", "flight flight-1"]);
    test.replay_check();
}

#[test]
fn a_cancellation_does_not_stop_an_unwinding() {
    let mut test = test();
    let mut attempts = 0;
    test.on(cancel, move |_| {
        attempts += 1;
        if attempts == 1 { Err(Error::retryable("not now")) } else { Ok(()) }
    });
    test.cancel_after(Duration::from_millis(500));
    let error = test.run(travel, &trip("late")).unwrap_err();
    assert_eq!((error.code(), undone(&test).len()), (409, 2));
    test.replay_check();
}

#[test]
fn a_question_that_is_taken_back_leaves_the_saga_unclear() {
    let mut test = test();
    test.on(book, |what| match what.as_str() {
        "hotel" => Err(Error::retryable("no answer")),
        _ => Ok(format!("{what}-1")),
    });
    test.promise("u/trip/2").reject(Error::cancelled());
    let error = test.run(travel, &trip("late")).unwrap_err();
    assert_eq!(undone(&test), [""; 0]);
    let [report] = &SagaReport::of(&error)[..] else { panic!("there is one saga") };
    assert_eq!((report.unclear[0].seq, report.left.len()), (2, 2));
    assert!(error.message().contains("unclear whether `book` acted"), "{error}");
}

#[test]
fn steps_that_nobody_awaits_any_more_end_before_anything_is_undone() {
    #[segno::workflow]
    async fn impatient(ctx: Context) -> Result<()> {
        let saga = ctx.saga("seats");
        let slow = saga.call(book, &"slow".to_owned()).compensate(cancel).start();
        drop(slow);
        saga.call(book, &"quick".to_owned()).compensate(cancel).await?;
        Err(saga.abort("enough").await)
    }
    let mut test = Test::new();
    let mut attempts = 0;
    test.on(book, move |what| {
        attempts += u32::from(what == "slow");
        if what == "slow" && attempts < 4 {
            return Err(Error::retryable("busy"));
        }
        Ok(format!("{what}-1"))
    });
    test.run(impatient, &()).unwrap_err();
    assert_eq!(undone(&test), ["quick quick-1", "slow slow-1"]);
    test.replay_check();
}

#[test]
fn a_scope_is_unwound_at_its_end_and_a_completed_saga_never() {
    #[segno::workflow]
    async fn two(ctx: Context, fails: bool) -> Result<String> {
        let kept = ctx.saga("kept");
        kept.call(book, &"kept".to_owned()).compensate(cancel).await?;
        kept.complete();
        let saga = ctx.saga("tried");
        let tried = saga
            .scope(async {
                saga.call(book, &"tried".to_owned()).compensate(cancel).await?;
                if fails { Err(Error::terminal(409, "no")) } else { Ok("well".to_owned()) }
            })
            .await;
        match tried {
            Ok(how) => Err(Error::terminal(410, how)),
            Err(error) => Ok(error.message().to_owned()),
        }
    }
    let mut test = Test::new();
    let said = test.run(two, &true).unwrap();
    assert_eq!(said, "no; saga `tried`: `book` undone");
    assert_eq!(undone(&test), ["tried tried-1"]);
    let mut test = Test::new();
    assert_eq!(test.run(two, &false).unwrap_err().message(), "well");
    assert_eq!(undone(&test), [""; 0]);
}

#[test]
#[should_panic(expected = "there is a saga `twice` in this workflow: give each its own name")]
fn two_sagas_have_two_names() {
    #[segno::workflow]
    async fn twice(ctx: Context) -> Result<()> {
        ctx.saga("twice");
        ctx.saga("twice");
        Ok(())
    }
    let _ = Test::new().run(twice, &());
}

#[test]
#[should_panic(expected = "the saga `early` is over, and `book` is a step of it: begin another")]
fn a_saga_that_is_over_takes_no_steps() {
    #[segno::workflow]
    async fn early(ctx: Context) -> Result<()> {
        let saga = ctx.saga("early");
        saga.complete();
        saga.call(book, &"seat".to_owned()).compensate(cancel).await?;
        Ok(())
    }
    let _ = Test::new().run(early, &());
}
