//! The world of the agents of `tests/restate/agent_services.*`: a model with a script, which speaks the
//! protocol of OpenAI's chat completions, and the systems that the agents' tools use. It counts
//! every call.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::post,
};
use segno_env::Env;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The tools, in the order in which the model calls them. Then it ends with their results.
const TOOLS: [&str; 3] = ["weather", "ask_person", "book"];

/// The model and the systems, as long as the test's runtime.
pub struct AgentWorld {
    address: String,
    shared: Arc<Mutex<WorldState>>,
}

#[derive(Default)]
struct WorldState {
    /// Number of calls by trip, and by the system or the turn of the model.
    calls: BTreeMap<(String, String), u32>,
    /// The awakeables of the questions that were asked, by trip.
    questions: BTreeMap<String, String>,
}

type Shared = State<Arc<Mutex<WorldState>>>;

impl AgentWorld {
    /// Starts the world on a free port.
    ///
    /// # Panics
    /// If there is none.
    pub async fn start(env: &Env) -> Self {
        let shared = Arc::default();
        let router = Router::new()
            .route("/v1/chat/completions", post(complete))
            .route("/{system}", post(act))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = format!("http://{}", listener.local_addr().expect("it is bound"));
        let serving = async move { axum::serve(listener, router).await.expect("it does not end") };
        env.runtime.spawn("agents", Box::pin(serving));
        Self { address, shared }
    }

    /// Address of the systems, such as `http://127.0.0.1:9000`. The model is under `/v1`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Number of calls for this trip, by the system or the turn of the model.
    pub fn calls(&self, trip: &str) -> BTreeMap<String, u32> {
        let state = lock(&self.shared);
        let of_trip = state.calls.iter().filter(|((name, _), _)| name == trip);
        of_trip.map(|((_, what), count)| (what.clone(), *count)).collect()
    }

    /// The awakeable of the question for this trip. `None` if none was asked yet.
    pub fn question(&self, trip: &str) -> Option<String> {
        lock(&self.shared).questions.get(trip).cloned()
    }
}

fn lock(shared: &Mutex<WorldState>) -> std::sync::MutexGuard<'_, WorldState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WorldState {
    /// Counts a call, and returns the number of such calls.
    fn count(&mut self, trip: &str, what: &str) -> u32 {
        let count = self.calls.entry((trip.to_owned(), what.to_owned())).or_default();
        *count += 1;
        *count
    }
}

/// A system: the weather, a person, or bookings, which fail once for each trip.
async fn act(
    State(shared): Shared,
    Path(system): Path<String>,
    Json(body): Json<Value>,
) -> Result<Json<Value>, StatusCode> {
    let trip = body["name"].as_str().ok_or(StatusCode::BAD_REQUEST)?;
    let mut state = lock(&shared);
    let count = state.count(trip, &system);
    match system.as_str() {
        "weather" => Ok(Json("rain".into())),
        "question" => {
            let id = body["id"].as_str().ok_or(StatusCode::BAD_REQUEST)?;
            state.questions.insert(trip.to_owned(), id.to_owned());
            Ok(Json("asked".into()))
        }
        "book" if count == 1 => Err(StatusCode::SERVICE_UNAVAILABLE),
        "book" => Ok(Json("booked".into())),
        _ => Err(StatusCode::NOT_FOUND),
    }
}

/// The next message of the model: the next tool, or the results of all of them.
async fn complete(
    State(shared): Shared,
    Json(body): Json<Value>,
) -> Result<Json<Value>, StatusCode> {
    let messages = body["messages"].as_array().ok_or(StatusCode::BAD_REQUEST)?;
    let by = |role: &'static str| messages.iter().filter(move |it| it["role"] == role);
    let prompt = by("user").next().map(text).ok_or(StatusCode::BAD_REQUEST)?;
    let (trip, wish) = prompt.split_once(": ").ok_or(StatusCode::BAD_REQUEST)?;
    let city = wish.rsplit(' ').next().unwrap_or_default();
    let results: Vec<String> = by("tool").map(text).collect();
    lock(&shared).count(trip, &format!("model {}", results.len()));
    let (reason, message) = match TOOLS.get(results.len()) {
        Some(tool) => {
            let arguments = match *tool {
                "ask_person" => json!({ "question": format!("go to {city}?") }),
                _ => json!({ "city": city }),
            };
            let function = json!({ "name": tool, "arguments": arguments.to_string() });
            let id = format!("call_{}", results.len());
            let calls = json!([{ "id": id, "type": "function", "function": function }]);
            ("tool_calls", json!({ "role": "assistant", "content": null, "tool_calls": calls }))
        }
        None => ("stop", json!({ "role": "assistant", "content": results.join(" / ") })),
    };
    Ok(Json(json!({
        "id": "completion", "object": "chat.completion", "created": 1, "model": "scripted",
        "choices": [{ "index": 0, "finish_reason": reason, "message": message }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 },
    })))
}

/// The text of a message, which some clients send in parts.
fn text(message: &Value) -> String {
    let content = &message["content"];
    let part = content.as_str().or_else(|| content[0]["text"].as_str());
    part.unwrap_or_default().to_owned()
}
