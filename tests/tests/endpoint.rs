//! Components as deployments: the examples under a runtime of services, in every version of the
//! protocol, and with the connection broken after every frame.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use segno_guest::{Failure, HttpRequest, HttpResponse};
use segno_restate::{ProtocolVersion, failure as code};
use serde_json::{Value as Json, json};
use tests::{
    endpoint_world::{Act, Course, World, answer, body, failure, success},
    guests,
};

const VERSIONS: [ProtocolVersion; 3] =
    [ProtocolVersion::V5, ProtocolVersion::V6, ProtocolVersion::V7];

fn component(name: &str) -> Arc<[u8]> {
    guests::component(name).into()
}

/// Every course of attempts without a broken connection.
fn courses() -> Vec<Course> {
    let of =
        |version| {
            [(false, true), (true, true), (false, false), (true, false)].map(|(whole, state)| {
                Course { is_request_response: whole, sends_state: state, ..Course::of(version) }
            })
        };
    VERSIONS.into_iter().flat_map(of).collect()
}

/// A payment service.
#[derive(Clone, Default)]
struct Ledger(Arc<Mutex<Book>>);

/// Requests by idempotency key: path and body.
#[derive(Default)]
struct Book {
    entries: BTreeMap<String, (String, Json)>,
    /// Number of answers still to be lost.
    losses: usize,
}

impl Ledger {
    fn answers(
        &self,
    ) -> impl Fn(&HttpRequest) -> Result<HttpResponse, Failure> + Send + Sync + 'static {
        let ledger = self.0.clone();
        move |request| {
            let is_key = |name: &str| name.eq_ignore_ascii_case("idempotency-key");
            let key = request.headers.iter().find(|(name, _)| is_key(name));
            let key = key.map(|(_, key)| key.clone()).expect("each request has a key");
            let path = request.url.rsplit('/').next().expect("a path").to_owned();
            let mut book = ledger.lock().expect("no panic");
            book.entries.entry(key.clone()).or_insert((path, body(request)));
            if book.losses > 0 {
                book.losses -= 1;
                return Ok(answer(503, &json!("later")));
            }
            Ok(answer(200, &json!({ "charge": format!("charge-{key}"), "accepted": true })))
        }
    }

    /// Clears the book, and sets the number of answers to be lost.
    fn clear(&self, losses: usize) {
        *self.0.lock().expect("no panic") = Book { losses, ..Book::default() };
    }

    fn entries(&self, path: &str) -> Vec<Json> {
        let book = self.0.lock().expect("no panic");
        let of = book.entries.values().filter(|(entered, _)| entered == path);
        of.map(|(_, body)| body.clone()).collect()
    }
}

fn two_items() -> Json {
    json!({
        "id": "o-1",
        "items": [
            { "sku": "hat", "quantity": 1, "price_cents": 2500 },
            { "sku": "glove", "quantity": 2, "price_cents": 900 },
        ],
        "payments": "http://payments.test",
    })
}

fn document() -> Json {
    json!({ "title": "Annual report", "approver": "Ada" })
}

fn nothing_is_asked(request: &HttpRequest) -> Result<HttpResponse, Failure> {
    panic!("{request:?}")
}

const ORDER: (&str, &str, &str) = ("order", "", "order");
const APPROVAL: (&str, &str, &str) = ("approval", "", "approval");
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

fn approve() -> [Act; 1] {
    [Act::Resolve("o", "approval", json!(true))]
}

fn assert_shipped(world: &World, ledger: &Ledger, outcome: &Json, course: Course) {
    assert_eq!(outcome["amount_cents"], 4300, "{course:?}");
    assert_eq!(outcome["charge"], "charge-o/charge", "{course:?}");
    let shipments = outcome["shipments"].as_array().expect("a list");
    assert_eq!(shipments.len(), 2, "{course:?}");
    assert_ne!(shipments[0], shipments[1], "{course:?}");
    let charges = [json!({ "order": "o-1", "amount_cents": 4300 })];
    assert_eq!(ledger.entries("charges"), charges, "{course:?}");
    assert!(ledger.entries("refunds").is_empty(), "{course:?}");
    assert_eq!(world.called("ship").len(), 2, "{course:?}");
    assert!(world.called("release").is_empty(), "{course:?}");
}

#[tokio::test]
async fn an_order_is_charged_once_and_shipped_in_every_version_and_mode() {
    let ledger = Ledger::default();
    let first = World::new("order", &component("order"), courses()[0], ledger.answers()).await;
    for course in courses() {
        ledger.clear(2);
        let mut world = first.again(course);
        let outcome = world.run("o", ORDER, two_items(), &approve()).await;
        assert_shipped(&world, &ledger, &success(&outcome), course);
        // The two lost answers, and no other failure.
        let retries: Vec<_> = world.failures.iter().map(|error| error.code).collect();
        assert_eq!(retries, [503, 503], "{course:?}");
        let delays = world.failures.iter().map(|error| error.next_retry_delay_ms.expect("one"));
        assert!(delays.is_sorted(), "{course:?}");
        assert_eq!(world.failures[0].related_command_type, Some(0x0411), "{course:?}");
    }
}

#[tokio::test]
async fn an_order_that_is_not_approved_is_undone() {
    let ledger = Ledger::default();
    let first = World::new("order", &component("order"), courses()[0], ledger.answers()).await;
    for version in VERSIONS {
        for (acts, code) in [
            (&[Act::Resolve("o", "approval", json!(false))][..], 409),
            (&[Act::Tick][..], 408),
            (&[Act::Cancel("o")], 409),
        ] {
            ledger.clear(0);
            let mut world = first.again(Course::of(version));
            let outcome = world.run("o", ORDER, two_items(), acts).await;
            assert_eq!(failure(&outcome).code, code, "{acts:?}");
            assert_eq!(
                ledger.entries("refunds"),
                [json!({ "charge": "charge-o/charge" })],
                "{acts:?}"
            );
            assert_eq!(world.called("release").len(), 1, "{acts:?}");
            assert!(world.called("ship").is_empty(), "{acts:?}");
        }
    }
}

/// Runs a world repeatedly, and breaks the connection one frame later each time, until the run
/// completes without a break. Returns the number of frames.
async fn broken_everywhere(
    first: &World,
    version: ProtocolVersion,
    whole: bool,
    mut run: impl AsyncFnMut(&mut World, Course),
) -> usize {
    for frame in 1.. {
        let course =
            Course { breaks_after: Some(frame), is_request_response: whole, ..Course::of(version) };
        let mut world = first.again(course);
        run(&mut world, course).await;
        let codes: Vec<_> = world.failures.iter().map(|error| error.code).collect();
        assert!(!codes.contains(&u32::from(code::JOURNAL_MISMATCH)), "{course:?}");
        if !world.broke() {
            return frame;
        }
    }
    unreachable!("frames have an end")
}

#[tokio::test]
async fn an_order_survives_a_break_after_every_frame() {
    let ledger = Ledger::default();
    let first = World::new("order", &component("order"), courses()[0], ledger.answers()).await;
    for version in VERSIONS {
        for whole in [false, true] {
            let frames = broken_everywhere(&first, version, whole, async |world, course| {
                ledger.clear(1);
                let outcome = world.run("o", ORDER, two_items(), &approve()).await;
                assert_shipped(world, &ledger, &success(&outcome), course);
            })
            .await;
            assert!(frames > 20, "{frames} frames are few");
        }
    }
}

/// Comments, silence with a reminder each, and a decision.
fn course_of_an_approval() -> [Act; 6] {
    [
        Act::Signal("a", "comment", json!("page 3 is empty")),
        Act::Tick,
        Act::Signal("a", "comment", json!("fixed")),
        Act::Tick,
        Act::Signal("a", "other", json!("nobody listens")),
        Act::Resolve("a", "decision", json!("approve")),
    ]
}

#[tokio::test]
async fn an_approval_takes_signals_reminders_and_a_decision_whatever_breaks() {
    let approval = component("approval");
    let first = World::new("approval", &approval, courses()[0], nothing_is_asked).await;
    let expected = json!({
        "decision": "approve", "comments": ["page 3 is empty", "fixed"], "reminders": 2,
    });
    for course in courses() {
        let mut world = first.again(course);
        let outcome = world.run("a", APPROVAL, document(), &course_of_an_approval()).await;
        assert_eq!(success(&outcome), expected, "{course:?}");
        assert_eq!(world.called("remind").len(), 2, "{course:?}");
        assert!(world.failures.is_empty(), "{course:?}: {:?}", world.failures);
    }
    for version in VERSIONS {
        broken_everywhere(&first, version, false, async |world, course| {
            let outcome = world.run("a", APPROVAL, document(), &course_of_an_approval()).await;
            assert_eq!(success(&outcome), expected, "{course:?}");
            assert_eq!(world.called("remind").len(), 2, "{course:?}");
        })
        .await;
    }
}

#[tokio::test]
async fn time_goes_on_while_a_workflow_waits() {
    let approval = component("approval");
    let course = Course::of(ProtocolVersion::V7);
    let mut world = World::new("approval", &approval, course, nothing_is_asked).await;
    let silence = [Act::Pass(DAY_MS / 2), Act::Signal("a", "comment", json!("late"))];
    let outcome = world.run("a", APPROVAL, document(), &silence).await;
    assert_eq!(failure(&outcome).code, 408);
    // Half a day until the comment, and four days of silence after it.
    assert_eq!(world.elapsed_ms(), DAY_MS / 2 + 4 * DAY_MS);
}

#[tokio::test]
async fn the_time_that_a_workflow_was_told_is_that_of_its_journal_whatever_breaks() {
    let reminder = component("reminder");
    let first = World::new("reminder", &reminder, courses()[0], nothing_is_asked).await;
    let input = json!({ "who": "Ada", "what": "water", "days": 3 });
    for version in VERSIONS {
        for frame in 1.. {
            let course =
                Course { breaks_after: Some(frame), clock_step_ms: 7, ..Course::of(version) };
            let mut world = first.again(course);
            let outcome = world.run("r", ("reminder", "", "remind"), input.clone(), &[]).await;
            let reminded = success(&outcome);
            let told = reminded["at"].as_array().expect("a list").iter();
            let told: Vec<i64> = told.map(|at| at.as_i64().expect("a time")).collect();
            // The times of the start, and of each day after its message was sent.
            let kept = world.times("r");
            assert_eq!((kept.len(), &kept[1..]), (4, &told[..]), "{course:?}");
            let days = told.windows(2).map(|two| two[1] - two[0]);
            assert!(days.into_iter().all(|day| day >= DAY_MS as i64), "{course:?}: {told:?}");
            let follow_up = reminded["follow_up"].as_str().expect("an id");
            assert_eq!(world.called("notify").last(), Some(&follow_up), "{course:?}");
            world.then(Act::Tick).await;
            assert!(world.outcome(follow_up).is_some(), "{course:?}");
            if !world.broke() {
                break;
            }
        }
    }
}

#[tokio::test]
async fn money_moves_between_virtual_objects_whatever_breaks() {
    let first = World::new("bank", &component("bank"), courses()[0], nothing_is_asked).await;
    let transfer = json!({ "from": "1", "to": "2", "amount": 30 });
    for version in VERSIONS {
        for sends_state in [true, false] {
            for frame in 1.. {
                let course =
                    Course { breaks_after: Some(frame), sends_state, ..Course::of(version) };
                let mut world = first.again(course);
                let deposit = ("Account", "1", "deposit");
                let balance = world.run("d", deposit, json!(100), &[]).await;
                assert_eq!(success(&balance), json!(100), "{course:?}");
                let moved = world.run("t", ("bank", "", "transfer"), transfer.clone(), &[]).await;
                assert_eq!(success(&moved), Json::Null, "{course:?}");
                for (key, expected) in [("1", 70), ("2", 30)] {
                    let read = format!("b{key}");
                    let balance = ("Account", key, "balance");
                    let outcome = world.run(&read, balance, Json::Null, &[]).await;
                    assert_eq!(success(&outcome), json!(expected), "{course:?}");
                }
                if !world.broke() {
                    break;
                }
            }
        }
    }
    let mut world = first.again(Course::of(ProtocolVersion::V6));
    let refused = world.run("t", ("bank", "", "transfer"), transfer, &[]).await;
    let refused = failure(&refused);
    assert_eq!((refused.code, &*refused.message), (409, "account 1 has 0, and 30 was asked for"));
}

const MAIL: &str = "ada@example.org";
const SIGN_UP: (&str, &str, &str) = ("Signup", "ada", "run");
const CONFIRM: (&str, &str, &str) = ("Signup", "ada", "confirm");
const STATUS: (&str, &str, &str) = ("Signup", "ada", "status");

#[tokio::test]
async fn a_person_signs_up_once_and_is_looked_at_and_told_meanwhile_whatever_breaks() {
    let first = World::new("signup", &component("signup"), courses()[0], nothing_is_asked).await;
    let sign_up = async |world: &mut World, course: Course| {
        world.start("run", SIGN_UP, json!(MAIL)).await;
        let code = world.state("Signup", "ada", "code").expect("it was sent").as_u64().unwrap();
        let early = world.run("early", STATUS, Json::Null, &[]).await;
        let pending = json!({ "mail": MAIL, "confirmed_by": null });
        assert_eq!(success(&early), pending, "{course:?}");
        let wrong = world.run("wrong", CONFIRM, json!(code + 1), &[]).await;
        assert_eq!(failure(&wrong).code, 403, "{course:?}");
        assert!(world.outcome("run").is_none(), "{course:?}");

        let right = world.run("right", CONFIRM, json!(code), &[]).await;
        assert_eq!(success(&right), Json::Null, "{course:?}");
        let confirmed = json!({ "mail": MAIL, "confirmed_by": "code" });
        let ended = world.outcome("run").expect("it was confirmed");
        assert_eq!(success(ended), confirmed, "{course:?}");
        let late = world.run("late", CONFIRM, json!(code), &[]).await;
        assert_eq!(failure(&late).code, 409, "{course:?}");
        let after = world.run("after", STATUS, Json::Null, &[]).await;
        assert_eq!(success(&after), confirmed, "{course:?}");

        // The runtime answers this without an attempt.
        let attempts = world.attempts();
        let again = world.run("again", SIGN_UP, json!(MAIL), &[]).await;
        assert_eq!((failure(&again).code, world.attempts()), (409, attempts), "{course:?}");
        assert_eq!(world.called("send").len(), 1, "{course:?}");
    };
    for course in courses() {
        let mut world = first.again(course);
        sign_up(&mut world, course).await;
        assert!(world.failures.is_empty(), "{course:?}: {:?}", world.failures);
    }
    for version in VERSIONS {
        for whole in [false, true] {
            broken_everywhere(&first, version, whole, sign_up).await;
        }
    }
}

#[tokio::test]
async fn who_does_not_confirm_in_time_is_not_signed_up_but_may_confirm() {
    let first = World::new("signup", &component("signup"), courses()[0], nothing_is_asked).await;
    for course in courses() {
        let mut world = first.again(course);
        let outcome = world.run("run", SIGN_UP, json!(MAIL), &[]).await;
        assert_eq!((failure(&outcome).code, world.elapsed_ms()), (410, DAY_MS), "{course:?}");
        // The state of the workflow is still there after its end.
        let code = world.state("Signup", "ada", "code").expect("it is kept");
        let confirmed = world.run("confirm", CONFIRM, code, &[]).await;
        assert_eq!(success(&confirmed), Json::Null, "{course:?}");
        let status = world.run("status", STATUS, Json::Null, &[]).await;
        assert_eq!(success(&status)["confirmed_by"], "code", "{course:?}");
    }
}

#[tokio::test]
async fn promises_of_a_workflow_are_settled_before_and_while_they_are_waited_for() {
    let first = World::new("keys", &component("keys"), courses()[0], nothing_is_asked).await;
    let [run, confirm, refuse, look] =
        ["run", "confirm", "refuse", "look"].map(|handler| ("Visit", "ada", handler));
    let visit = async |world: &mut World, course: Course| {
        // Settles the promise with a value before the run exists. Below, a waiting run gets a
        // failure.
        let told = world.run("c", confirm, json!(7), &[]).await;
        assert_eq!(success(&told), json!([null, 7]), "{course:?}");
        let visited = world.run("r", run, json!("Ada"), &[]).await;
        assert_eq!(success(&visited), json!(["Ada", 7]), "{course:?}");
        let twice = world.run("t", ("keys", "", "visits_twice"), json!("bob"), &[]).await;
        // The workflow waits for a run of its key, and a second run is refused.
        assert_eq!(success(&twice), json!(["bob", 7, 409]), "{course:?}");
    };
    let refused = async |world: &mut World, course: Course| {
        world.start("r", run, json!("Ada")).await;
        world.run("no", refuse, Json::Null, &[]).await;
        let outcomes =
            [world.outcome("r").cloned(), Some(world.run("l", look, Json::Null, &[]).await)];
        for outcome in outcomes {
            let outcome = outcome.expect("it has ended");
            let refused = failure(&outcome);
            let expected = (403, "fully booked");
            assert_eq!((refused.code, &*refused.message), expected, "{course:?}");
        }
    };
    for version in VERSIONS {
        for whole in [false, true] {
            broken_everywhere(&first, version, whole, visit).await;
            broken_everywhere(&first, version, whole, refused).await;
        }
    }
}

#[tokio::test]
async fn a_saga_is_undone_in_reverse() {
    let ledger = Ledger::default();
    let first = World::new("trip", &component("trip"), courses()[0], ledger.answers()).await;
    let trip = |city: &str, nights: u32| {
        let payments = "http://payments.test";
        json!({ "traveller": "Ada", "city": city, "nights": nights, "payments": payments })
    };
    let undone = |world: &World| {
        ["return_car", "cancel_hotel", "cancel_flight", "refund"]
            .map(|handler| world.called(handler).len())
    };
    for (city, nights, expected) in
        [("Atlantis", 2, [0, 0, 1, 0]), ("Venice", 2, [0, 1, 1, 0]), ("Paris", 31, [1, 1, 1, 1])]
    {
        for version in VERSIONS {
            broken_everywhere(&first, version, false, async |world, course| {
                ledger.clear(0);
                let trip = trip(city, nights);
                let outcome = world.run("t", ("trip", "", "trip"), trip, &[]).await;
                failure(&outcome);
                assert_eq!(undone(world), expected, "{city} {course:?}");
            })
            .await;
        }
    }
    let mut world = first.again(courses()[0]);
    let outcome = world.run("t", ("trip", "", "trip"), trip("Paris", 2), &[]).await;
    assert_eq!(success(&outcome)["charge"], "charge-t/3");
    assert_eq!(undone(&world), [0; 4]);
}

/// Requests of journeys to the service, by `take` and `leave`.
fn told(ledger: &Ledger) -> [Vec<Json>; 2] {
    ["take", "leave"].map(|path| ledger.entries(path))
}

#[tokio::test]
async fn a_step_whose_effect_is_unknown_is_undone_in_doubt_or_as_a_person_says() {
    let ledger = Ledger::default();
    let journey = component("journey");
    let first = World::new("journey", &journey, courses()[0], ledger.answers()).await;
    let legs = |doubtful: bool| {
        let silent = json!({ "name": "boat", "goes": "Silently", "doubtful": doubtful });
        json!({ "steps": [{ "name": "train", "goes": "Well" }, silent], "aborts": false })
    };
    let target = ("journey", "", "journey");
    let boat_and_train = [json!("boat"), json!("train")];
    for version in VERSIONS {
        broken_everywhere(&first, version, false, async |world, course| {
            ledger.clear(0);
            let outcome = world.run("j", target, legs(true), &[]).await;
            failure(&outcome);
            let [_, mut left] = told(&ledger);
            left.sort_by_key(ToString::to_string);
            assert_eq!(left, boat_and_train, "{course:?}");
        })
        .await;
        for (acted, expected) in [(true, &boat_and_train[..]), (false, &boat_and_train[1..])] {
            ledger.clear(0);
            let mut world = first.again(Course::of(version));
            let says = match acted {
                true => Act::Resolve("j", "u/journey/1", Json::Null),
                false => Act::Reject("j", "u/journey/1"),
            };
            let outcome = world.run("j", target, legs(false), &[says]).await;
            failure(&outcome);
            let [_, mut left] = told(&ledger);
            left.sort_by_key(ToString::to_string);
            assert_eq!(left, expected, "{version} {acted}");
            // The call whose deadline passed is cancelled, in its next attempt.
            world.then(Act::Tick).await;
            let boat = world.called("take")[1].to_owned();
            let stopped = world.outcome(&boat).expect("it has ended");
            assert_eq!(failure(stopped).code, 409, "{version}");
        }
    }
}

#[tokio::test]
async fn what_a_workflow_leaves_behind_is_told_to_stop() {
    let refuse = |_: &HttpRequest| Ok(answer(503, &json!("later")));
    let first = World::new("flows", &component("flows"), courses()[0], refuse).await;
    let plan = json!({ "ledger": "http://ledger.test", "flow": "f", "effects": 2 });
    for course in courses() {
        let mut world = first.again(course);
        world.start("f", ("flows", "", "fan"), plan.clone()).await;
        assert_eq!(world.called("effects").len(), 2, "{course:?}");
        world.then(Act::Cancel("f")).await;
        let outcome = world.outcome("f").expect("it has ended");
        assert_eq!(failure(outcome).code, 409, "{course:?}");
        for child in ["f.1", "f.2"] {
            // The child waits for its next attempt, which receives the cancellation.
            world.then(Act::Tick).await;
            let outcome = world.outcome(child).unwrap_or_else(|| panic!("{child} goes on"));
            assert_eq!(failure(outcome).code, 409, "{course:?}");
        }
    }
}

#[tokio::test]
async fn a_computation_is_done_once_and_its_result_kept() {
    let numbers = Arc::new(Mutex::new(0));
    let count = move |_: &HttpRequest| {
        let mut numbers = numbers.lock().expect("no panic");
        *numbers += 1;
        Ok(answer(200, &json!(*numbers)))
    };
    let first = World::new("flows", &component("flows"), courses()[0], count).await;
    let plan = json!({ "ledger": "http://ledger.test", "flow": "f", "effects": 4 });
    for whole in [false, true] {
        for version in VERSIONS {
            broken_everywhere(&first, version, whole, async |world, course| {
                let outcome = world.run("f", ("flows", "", "effects"), plan.clone(), &[]).await;
                let receipts = success(&outcome);
                let receipts = receipts.as_array().expect("a list");
                let numbers = receipts.iter().map(|number| number.as_u64().expect("a number"));
                // Later effects have larger receipts, whatever was repeated.
                assert!(numbers.is_sorted() && receipts.len() == 4, "{course:?}: {receipts:?}");
                let runs = world.commands("f").into_iter().filter(|(_, name)| name == "pause");
                assert_eq!(runs.count(), 4, "{course:?}");
            })
            .await;
        }
    }
}

#[tokio::test]
async fn other_code_that_asks_for_something_else_is_paused_and_mended_code_goes_on() {
    let [one, two] = ["tune-one", "tune-two"].map(component);
    for version in VERSIONS {
        let mut world = World::new("tune", &one, Course::of(version), nothing_is_asked).await;
        for (id, handler) in [("p", "play"), ("e", "encore"), ("o", "overture")] {
            world.start(id, ("tune", "", handler), json!("la")).await;
        }
        let traps: Vec<_> = world
            .failures
            .iter()
            .map(|error| (error.code, error.related_command_type, error.behavior))
            .collect();
        // One trapped after its call, the other before it issued any command but the time.
        assert_eq!(traps, [(500, Some(0x040D), 0), (500, Some(0x0411), 0)], "{version}");
        assert!(world.failures[0].message.contains("there is no second note"), "{version}");
        assert!(world.failures[0].stacktrace.contains("tune-one/src/lib.rs"), "{version}");
        world.replace(&two).await;
        world.then(Act::Tick).await;
        assert_eq!(success(world.outcome("e").expect("it is mended")), json!(["do", "mi"]));
        assert_eq!(success(world.outcome("o").expect("it is mended")), json!("la"));
        world.failures.clear();
        world.then(Act::Resolve("p", "go", json!(true))).await;
        let error = world.failures[0].clone();
        assert_eq!((error.code, error.related_command_index), (570, Some(2)), "{version}");
        assert!(error.message.contains("was `\"do\"` and is now `\"re\"`"), "{}", error.message);
        let is_paused = world.paused("p").is_some();
        assert_eq!(is_paused, version == ProtocolVersion::V7, "earlier versions only try again");
    }
}

#[tokio::test]
async fn what_a_runtime_has_no_place_for_is_refused_by_name() {
    let flows = component("flows");
    let course = Course::of(ProtocolVersion::V6);
    let mut world = World::new("flows", &flows, course, nothing_is_asked).await;
    let outcome = world.run("a", ("flows", "", "announce"), json!(3), &[]).await;
    let refused = failure(&outcome);
    assert_eq!(refused.code, 422);
    assert!(refused.message.contains("`chaos`"), "{}", refused.message);
    // An input that does not fit the function is refused by the guest itself.
    let outcome = world.run("b", ("flows", "", "announce"), json!("three"), &[]).await;
    assert_eq!(failure(&outcome).code, 400);
}
