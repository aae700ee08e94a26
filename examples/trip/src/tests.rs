use segno::{SagaReport, http::Response, testing::Test};

use super::*;

fn to(city: &str) -> Trip {
    Trip {
        traveller: "Ada".to_owned(),
        city: city.to_owned(),
        nights: 3,
        payments: "http://payments".to_owned(),
    }
}

fn test(accepted: bool) -> Test {
    let mut test = Test::new();
    test.on_http("POST", "http://payments/charges", move |_| {
        let charge = segno::serde_json::json!({ "charge": "c1", "accepted": accepted });
        Ok(Response::with_json(200, &charge))
    });
    test.on_http("POST", "http://payments/refunds", |_| Ok(Response::new(204, "")));
    test
}

/// The undone steps, in order.
fn undone(error: &Error) -> Vec<String> {
    let reports = SagaReport::of(error);
    reports.into_iter().flat_map(|report| report.undone).map(|step| step.step).collect()
}

#[test]
fn a_trip_is_booked() {
    let mut test = test(true);
    let booking = test.run(trip, &to("Paris")).unwrap();
    assert_eq!(booking.charge, "c1");
    assert!(test.calls(cancel_flight).is_empty() && test.calls(refund).is_empty());
    test.replay_check();
}

#[test]
fn what_was_booked_is_undone_from_the_last_to_the_first() {
    for (city, code, expected) in
        [("Atlantis", 404, &["book_flight"][..]), ("Venice", 404, &["book_hotel", "book_flight"])]
    {
        let mut test = test(true);
        let error = test.run(trip, &to(city)).unwrap_err();
        assert_eq!(error.code(), code);
        assert_eq!(undone(&error), expected);
        test.replay_check();
    }
}

#[test]
fn a_declined_payment_is_not_paid_back_and_an_accepted_one_is() {
    let mut declined = test(false);
    let error = declined.run(trip, &to("Paris")).unwrap_err();
    assert_eq!((error.code(), undone(&error).len()), (402, 4));
    assert_eq!(declined.requests().len(), 1, "the charge alone");

    let mut aborted = test(true);
    let long = Trip { nights: 31, ..to("Paris") };
    let error = aborted.run(trip, &long).unwrap_err();
    assert!(error.message().starts_with("it takes a visa, and there is none; saga `booking`: "));
    assert_eq!(aborted.requests().len(), 2, "the charge, and what pays it back");
    aborted.replay_check();
}

#[test]
fn a_hotel_that_does_not_answer_is_cancelled_all_the_same() {
    let mut test = test(true);
    test.on(book_hotel, |_| Err(Error::retryable("no answer")));
    let error = test.run(trip, &to("Paris")).unwrap_err();
    assert!(error.is_timed_out());
    assert_eq!(undone(&error), ["book_hotel", "book_flight"]);
    assert_eq!(test.calls(cancel_hotel)[0].output, None);
}
