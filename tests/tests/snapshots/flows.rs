//! Flows of every guest that the tests and the examples build, with the outside events of each.

use std::sync::Arc;

use async_trait::async_trait;
use segno_guest::{Failure, HttpRequest, HttpResponse, Outbound, Payload};
use serde_json::{Value as Json, json};

use super::handles;

/// Address of the external service.
const PAYMENTS: &str = "http://payments";

/// An execution `it` of a function.
pub(super) struct Flow {
    /// Guest: the name of a package, or of one of [`others`].
    pub guest: &'static str,
    pub function: &'static str,
    pub input: Json,
    /// Outside events, in order.
    pub happens: Vec<Happening>,
    /// Expected end of the execution.
    pub end: End,
}

/// Expected end of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The execution settles.
    Settles,
    /// The host halts the execution.
    Halts,
    /// The execution waits forever.
    Waits,
}

/// Outside event of an execution.
pub(super) enum Happening {
    /// Runs another execution, which ends before this one begins.
    Before(&'static str, Json),
    /// Resolves a promise once it exists.
    Resolve(&'static str, Json),
    /// Sends a signal.
    Signal(&'static str, Json),
    /// Sends an update, which is accepted.
    Update(&'static str, Json),
    /// Requests a cancellation.
    Cancel,
    /// Lets this many milliseconds pass.
    Pass(i64),
}

use Happening::{Before, Cancel, Pass, Resolve, Signal, Update};

fn flow(
    guest: &'static str,
    function: &'static str,
    input: Json,
    happens: impl Into<Vec<Happening>>,
) -> Flow {
    Flow { guest, function, input, happens: happens.into(), end: End::Settles }
}

impl Flow {
    fn halts(self) -> Self {
        Self { end: End::Halts, ..self }
    }

    fn waits(self) -> Self {
        Self { end: End::Waits, ..self }
    }
}

/// Guests that refuse snapshots, with words of the reason.
pub(super) const REFUSING: [(&str, &str); 1] = [("keeps a handle", "open handles of resources")];

/// Guests whose first flows never wait.
pub(super) const WITHOUT_WAITS: [&str; 5] = ["agent-tools", "ambient", "gaps", "hello", "values"];

/// Guests that are not packages.
pub(super) fn others() -> Vec<(&'static str, Arc<[u8]>)> {
    vec![
        ("gives back handles", handles::component(false)),
        ("keeps a handle", handles::component(true)),
        ("bench", include_bytes!("../../../host/bench/guest/bench.wasm").as_slice().into()),
        ("contract 0.1.0", include_bytes!("../../contract/0.1.0.wasm").as_slice().into()),
        ("contract 0.2.0", include_bytes!("../../contract/0.2.0.wasm").as_slice().into()),
        ("runs of 0.2.0", include_bytes!("../../contract/0.2.0-runs.wasm").as_slice().into()),
        ("by hand", handles::by_hand()),
        ("javascript 0.1.0", super::javascript()),
    ]
}

/// All flows.
#[expect(clippy::too_many_lines, reason = "it is a table")]
pub(super) fn flows() -> Vec<Flow> {
    let item = |sku: &str| json!({ "sku": sku, "quantity": 1, "price_cents": 1250 });
    let order = json!({ "id": "o-1", "items": [item("tea"), item("cup")], "payments": PAYMENTS });
    let document = json!({ "title": "Report", "approver": "Ada", "remind_after_s": 2 });
    let lot = json!({ "name": "a clock", "least": 100, "open_s": 3 });
    let bid = |bidder: &str, amount: u64| json!({ "bidder": bidder, "amount": amount });
    let transfer = json!({ "from": "1", "to": "2", "amount": 30 });
    let wanted = json!({ "customer": "ada", "days": 2, "urgency": 1 });
    let plan = json!({
        "customer": "ada", "price_cents": 900, "payments": PAYMENTS, "trial_s": 1, "period_s": 2,
    });
    let invoice = json!({ "number": 1, "plan": plan.clone() });
    let trip = |nights: u32| json!({ "traveller": "Ada", "city": "Oslo", "nights": nights, "payments": PAYMENTS });
    let effects = json!({ "ledger": PAYMENTS, "flow": "f", "effects": 3 });
    let leg = |name: &str, goes: &str| json!({ "name": name, "goes": goes });
    let lost = json!({ "name": "c", "goes": "Silently", "doubtful": true });
    let legs = [leg("a", "Well"), leg("b", "ByRequest"), lost];
    let job = json!({ "customer": "ada", "takes_ms": 500 });
    let visit = json!({ "guest": "ada", "urgency": 1 });
    let turns = json!({ "steps": 3, "turns": 3 });
    let resolves = ["it/p/turn-0", "it/p/turn-1", "it/p/turn-2"].map(|id| (id, json!(null)));
    let all = || resolves.clone().map(|(id, value)| Resolve(id, value));
    let offer = json!({ "goods": ["apple", "cheese", "gold"], "pause_ms": 2_000 });
    vec![
        flow("conformance", "sequence", json!(3), []),
        flow("conformance", "race-sleep", json!(null), []),
        flow("conformance", "saga-undo", json!(null), []),
        flow(
            "agent",
            "approval",
            json!({ "tool": "refund", "input": { "order": "7" } }),
            [Resolve("it/p/decision", json!(true))],
        ),
        // There are no settings.
        flow("agent", "Conversation@ada/say", json!("hello"), []),
        flow("agent-tools", "order_status", json!({ "order": "7" }), []),
        flow(
            "approval",
            "approval",
            document,
            [
                Signal("comment", json!("page 3 is empty")),
                Pass(3_000),
                Signal("comment", json!("fixed")),
                Resolve("it/p/decision", json!("approve")),
            ],
        ),
        flow(
            "auction",
            "auction",
            lot.clone(),
            [Update("bid", bid("ada", 100)), Update("bid", bid("bob", 150))],
        ),
        flow(
            "auction",
            "auction",
            lot,
            [Update("bid", bid("ada", 120)), Update("close", json!(null))],
        ),
        flow("bank", "transfer", transfer, [Before("Account@1/deposit", json!(100))]),
        flow("fan-out", "fan_out", json!({ "children": 8 }), []),
        flow("hello", "hello", json!("Ada"), []),
        flow("order", "order", order.clone(), [Resolve("it/p/approval", json!(true))]),
        flow("order", "order", order, [Resolve("it/p/approval", json!(false))]),
        // The files do not exist, and the policy does not allow them.
        flow("prices", "prices", json!({ "north": "/in/n.csv", "south": "/in/s.csv" }), []),
        flow(
            "reminder",
            "remind",
            json!({ "who": "Ada", "what": "water", "days": 1 }),
            [Pass(300), Cancel],
        ),
        flow("reports", "report", wanted, []),
        flow(
            "signup",
            "Signup@ada/run",
            json!("ada@example.org"),
            [Resolve("m/Signup@ada/p/confirmed", json!("support"))],
        ),
        flow("subscription", "subscription", plan, [Pass(500), Signal("cancel", json!(null))]),
        flow("subscription", "invoice", invoice, []),
        flow("trip", "trip", trip(3), []),
        flow("trip", "trip", trip(31), []),
        flow("ambient", "abstain", json!(null), []),
        flow("ambient", "read", json!("/etc/hosts"), []).halts(),
        flow("bridge", "nap", json!(500), []),
        flow("bridge", "remote_sum", json!([1, 2]), [Resolve("it/0", json!(3))]),
        flow("bridge", "remote_deadline", json!(700), []),
        flow("bridge", "remote_cancelled", json!(300), []),
        flow("configured", "pay", json!(PAYMENTS), []),
        flow("flows", "effects", effects.clone(), []),
        flow("flows", "fan", effects.clone(), []),
        flow("flows", "collect", json!(2), [Signal("note", json!(1)), Signal("note", json!(2))]),
        flow("flows", "ask", json!(null), [Resolve("it/p/answer", json!(7))]),
        flow("flows", "announce", json!(3), []),
        flow("flows", "hold", effects, [Pass(300), Cancel]),
        flow("gaps", "reach", json!("HashMap"), []),
        flow("gaps", "stumble_later", json!("expect"), []).halts(),
        flow("gaps", "idle", json!(null), []).halts(),
        flow("gaps", "chatter", json!(10), []).halts(),
        flow("herald", "announce", json!([3, 100]), []),
        flow(
            "herald",
            "relay",
            json!(2),
            [
                Signal("text", json!("one")),
                Pass(300),
                Signal("text", json!("two")),
                Resolve("it/p/done", json!(1)),
            ],
        ),
        flow(
            "herald",
            "tally",
            json!([2, 0, null]),
            [
                Signal("add", json!(1)),
                Signal("add", json!(2)),
                Pass(1_000),
                Signal("end", json!(null)),
            ],
        ),
        flow(
            "hostile",
            "behave",
            json!({ "name": "Ada", "times": 2 }),
            [Resolve("it/p/go", json!("sings"))],
        ),
        // The simulated host has no place for blobs.
        flow("hoard", "breach", json!("type"), []),
        flow("hostile", "decline", json!(null), []),
        flow("hostile", "stumble", json!(null), []).halts(),
        flow("journey", "journey", json!({ "steps": legs, "aborts": true }), []),
        flow(
            "journey",
            "journey",
            json!({ "steps": [leg("a", "Well"), leg("b", "Badly")], "aborts": false }),
            [],
        ),
        flow("keys", "Visit@ada/run", json!("ada"), [Resolve("m/Visit@ada/p/confirmed", json!(5))]),
        flow("keys", "visits_twice", json!("eve"), []),
        flow("narrow", "job", job.clone(), []),
        flow("narrow", "mail", job, []),
        flow("narrow", "stays", json!(null), [Resolve("it/p/go", json!(null))]),
        flow("parts", "chain", json!({ "children": 4 }), []),
        flow("parts", "turns", turns.clone(), all()),
        flow("parts", "calls", json!("a"), []),
        flow(
            "parts",
            "collects",
            json!(null),
            ["one", "two", "three"].map(|word| Update("add_word", json!(word))),
        ),
        flow("parts", "visits", visit, [Resolve("it/p/go", json!(null))]),
        flow("planted", "counts_in_results", json!(null), []),
        flow("planted", "first_come", json!(["a", "b", "c"]), []),
        flow("planted", "in_order", json!(["a", "b", "c"]), []),
        flow("planted", "gives_up", json!(null), []),
        flow("planted", "gives_up_carefully", json!(null), []),
        flow("planted", "keeps_the_booking", json!("bad"), []),
        flow("planted", "undoes_everything", json!("bad"), []),
        flow("planted", "two_children", json!(null), []),
        flow("planted", "waits_for_ever", json!(null), [Pass(300)]).waits(),
        flow("purse", "spend", json!({ "calls": 2, "tokens": 5 }), []),
        flow("purse", "spread", json!({ "calls": 3, "tokens": 5 }), []),
        flow("purse", "delegate", json!({ "limit": 8, "plan": { "calls": 4, "tokens": 5 } }), []),
        flow("shelf", "Register@a/add", json!(3), []),
        flow("shelf", "Register@a/write_and_fail", json!(3), []),
        flow("shelf", "Register@a/hold_and_call", json!("b"), []),
        flow("shelf", "calls", json!(8), []),
        flow("shelf", "answers", json!(null), [Update("set", json!(7)), Update("set", json!(10))]),
        flow("teller", "tell", json!({ "items": 6, "pause_every": 2, "pause_ms": 10 }), []),
        flow("teller", "relay", json!({ "items": 6 }), []),
        flow("teller", "breach", json!("none"), []),
        flow("tune-one", "play", json!("a"), [Resolve("it/p/go", json!(true))]),
        flow("tune-one", "encore", json!("do"), []).halts(),
        flow("tune-two", "play", json!("a"), [Resolve("it/p/go", json!(true))]),
        flow("values", "Shelf@a/put", json!({ "a": [1, 2.50, "ž"] }), []),
        flow("values", "breaks", json!("run"), []).halts(),
        flow("wide", "stays", json!(null), [Resolve("it/p/go", json!(null))]),
        flow("gives back handles", "main", json!(null), []),
        flow("keeps a handle", "main", json!(null), []),
        flow("bench", "turns", turns.clone(), all()),
        flow("bench", "fan", json!({ "children": 20 }), []),
        flow("bench", "Tally@a/add", json!(3), []),
        flow("contract 0.1.0", "turns", turns.clone(), all()),
        flow("contract 0.1.0", "chain", json!({ "children": 4 }), []),
        flow("contract 0.2.0", "turns", turns, all()),
        flow("contract 0.2.0", "calls", json!("a"), []),
        flow(
            "runs of 0.2.0",
            "Visit@ada/run",
            json!("ada"),
            [Resolve("m/Visit@ada/p/confirmed", json!(5))],
        ),
        flow("by hand", "main", json!([1, 2, 3]), []),
        flow("javascript 0.1.0", "offer", offer, []),
    ]
}

/// The external services: one charges, one counts effects, and all others echo the body of the
/// request.
pub(super) struct Echo;

#[async_trait]
impl Outbound for Echo {
    async fn send(&self, _module: &str, request: HttpRequest) -> Result<HttpResponse, Failure> {
        let body = match (request.url.rsplit('/').next(), request.body) {
            (Some("charges" | "refunds"), _) => {
                json!({ "charge": "c-1", "refund": "c-1", "accepted": true }).to_string().into()
            }
            (Some("effects"), _) => b"7".to_vec(),
            (_, Some(Payload::Json(text))) => text.into_bytes(),
            (_, Some(Payload::Bytes(bytes))) => bytes,
            (_, None) => b"null".to_vec(),
        };
        Ok(HttpResponse { status: 200, headers: Vec::new(), body })
    }

    fn allows(&self, _module: &str, _url: &str) -> Result<(), Failure> {
        Ok(())
    }
}
