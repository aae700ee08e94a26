//! Runs programs in virtual time, and writes what they gave: `native SCENARIOS OUT [PROGRAM…]`.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind, set_hook},
    time::Duration,
};

use segno::{
    Deserialize, Error,
    http::Response,
    serde_json::{Map, Value, from_str, json},
    testing::{Asked, Test},
};

/// Size of the pieces of a body, in bytes: it cuts characters and lines.
const PIECE_BYTES: usize = 5;
const SHOP: &str = "http://shop.test";

thread_local! {
    /// `FILE:LINE` and the message of the last panic.
    static PANIC: RefCell<(String, String)> = RefCell::default();
}

#[derive(Deserialize)]
#[serde(crate = "segno::serde")]
struct Scenarios {
    settings: Settings,
    programs: BTreeMap<String, Scenario>,
}

#[derive(Deserialize)]
#[serde(crate = "segno::serde")]
struct Settings {
    env: BTreeMap<String, String>,
    secrets: BTreeMap<String, String>,
    files: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(crate = "segno::serde")]
struct Scenario {
    #[serde(default)]
    input: Value,
    #[serde(default)]
    steps: Vec<Map<String, Value>>,
    #[serde(default)]
    doubles: BTreeMap<String, Refusal>,
    #[serde(default)]
    refused: Option<RefusedAddress>,
    #[serde(default)]
    http: BTreeMap<String, Vec<(u16, Value)>>,
    #[serde(default)]
    journals: Vec<String>,
    #[serde(default)]
    halts: Option<String>,
    #[serde(default)]
    streams: Map<String, Value>,
}

/// An address that no policy allows.
#[derive(Clone, Deserialize)]
#[serde(crate = "segno::serde")]
struct RefusedAddress {
    url: String,
    #[serde(flatten)]
    refusal: Refusal,
}

/// The failure of a double.
#[derive(Clone, Deserialize)]
#[serde(crate = "segno::serde")]
struct Refusal {
    code: u32,
    message: String,
}

fn main() {
    let mut arguments = env::args().skip(1);
    let (Some(scenarios), Some(out)) = (arguments.next(), arguments.next()) else {
        panic!("native SCENARIOS OUT [PROGRAM…]");
    };
    let text = fs::read_to_string(scenarios).expect("the file of scenarios can be read");
    let given: Scenarios = from_str(&text).expect("the scenarios are JSON");
    set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!("{}:{}", place.file(), place.line()));
        PANIC.set((place.unwrap_or_default(), panic.to_string()));
    }));
    let mut results = Map::new();
    for name in arguments {
        let run = AssertUnwindSafe(|| run(&given.settings, &name, &given.programs[&name]));
        let failed = |_| json!({ "error": PANIC.take().1 });
        let result = catch_unwind(run).unwrap_or_else(failed);
        results.insert(name, result);
    }
    fs::write(out, Value::Object(results).to_string()).expect("the results can be written");
}

/// Runs one program. Returns its journals, and the answers of its queries and updates.
fn run(settings: &Settings, name: &str, scenario: &Scenario) -> Value {
    let module = conformance::segno_module();
    let mut test = Test::new();
    test.invocation("ID");
    for (name, value) in &settings.env {
        test.env(name, value);
    }
    for (name, value) in &settings.secrets {
        test.secret(name, value);
    }
    for (path, content) in &settings.files {
        test.file(path, content.as_str());
    }
    if let Some(RefusedAddress { url, refusal }) = scenario.refused.clone() {
        test.on_http("GET", &url, move |_| {
            Err(Error::with_code(refusal.code, refusal.message.clone()))
        });
    }
    for (function, refusal) in scenario.doubles.clone() {
        test.on_named(&function, move |_: Value| -> segno::Result<Value> {
            Err(Error::with_code(refusal.code, refusal.message.clone()))
        });
    }
    serve(&mut test, &scenario.http);
    let asked: Vec<Asked<Value>> = (0_u64..)
        .zip(&scenario.steps)
        .filter_map(|(number, step)| tell(&mut test, name, step, number))
        .collect();
    let input = scenario.input.to_string().replace("URL", SHOP);
    let input = from_str(&input).expect("it was JSON before");
    let run = AssertUnwindSafe(|| drop(test.run_named(&module, name, &input)));
    if catch_unwind(run).is_err() {
        let (place, message) = PANIC.take();
        return match scenario.halts {
            Some(_) => json!({ "halted_at": place, "answers": [], "journals": {} }),
            None => json!({ "error": message }),
        };
    }
    test.replay_check();
    let own = ["ID".to_owned()];
    let ids = match &scenario.journals[..] {
        [] => &own,
        ids => ids,
    };
    let journals: Map<String, Value> =
        ids.iter().map(|id| (id.clone(), test.journal(id).into())).collect();
    let answers: Vec<Value> = asked.iter().map(answer).collect();
    let streams = scenario.streams.iter().map(|(name, wanted)| {
        let items = test.stream::<Value>(name);
        let shown = match wanted.is_string() {
            true => items.iter().filter_map(Value::as_str).collect::<String>().into(),
            false => Value::Array(items),
        };
        (name.clone(), shown)
    });
    let streams: Map<String, Value> = streams.collect();
    json!({ "journals": journals, "streams": streams, "answers": answers })
}

fn answer(asked: &Asked<Value>) -> Value {
    match asked.answer() {
        Ok(value) => json!({ "value": value }),
        Err(error) => json!({ "code": error.code() }),
    }
}

/// Sends a step of the scenario. Returns what was asked, if it has an answer.
fn tell(
    test: &mut Test,
    workflow: &str,
    step: &Map<String, Value>,
    number: u64,
) -> Option<Asked<Value>> {
    let after = step.get("at").and_then(Value::as_u64).unwrap_or(300 + 100 * number);
    let after = Duration::from_millis(after);
    let text = |name: &str| step.get(name).and_then(Value::as_str);
    let value = step.get("value").cloned().unwrap_or_default();
    if let Some(name) = text("signal") {
        test.signal(name, &value).after(after);
    } else if let Some(name) = text("resolve") {
        test.promise(name).after(after).resolve(&value);
    } else if let Some(name) = text("reject") {
        let code = step["code"].as_u64().and_then(|code| u32::try_from(code).ok());
        let message = text("message").unwrap_or_default();
        test.promise(name).after(after).reject(Error::with_code(code.unwrap_or(500), message));
    } else if step.contains_key("cancel") {
        test.cancel_after(after);
    } else if let Some(name) = text("query").or(text("update")) {
        let module = conformance::segno_module();
        return Some(test.ask_named(&module, workflow, name, &value).after(after));
    }
    None
}

/// Sets the server of a program: each answer once, the last one again and again.
fn serve(test: &mut Test, answers: &BTreeMap<String, Vec<(u16, Value)>>) {
    for method in ["GET", "POST"] {
        let mut left = answers.clone();
        test.on_http(method, SHOP, move |request| {
            let path = request.url().strip_prefix(SHOP).unwrap_or_default();
            let given = left.get_mut(&format!("{} {path}", request.method()));
            let (status, value) = match given {
                Some(given) if given.len() > 1 => given.remove(0),
                Some(given) => given[0].clone(),
                None => (404, Value::Null),
            };
            if let Some(text) = value.get("in_pieces").and_then(Value::as_str) {
                return Ok(Response::in_pieces(status, text.as_bytes().chunks(PIECE_BYTES)));
            }
            let body = value.to_string();
            let length = body.len().to_string();
            let answer =
                Response::new(status, body).with_header("content-type", "application/json");
            Ok(answer.with_header("content-length", length))
        });
    }
}
