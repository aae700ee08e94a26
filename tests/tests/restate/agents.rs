//! Agents on the Vercel AI SDK, the OpenAI Agents SDK and Pydantic AI, each made durable by Restate's released
//! extension, with a real host as the runtime. The host is killed while they wait for a person.

use std::collections::BTreeMap;

use segno_core::time::Millis;
use segno_env::{Env, Proxies, http_client};
use serde_json::{Value, json};
use tests::restate::{AgentWorld, Endpoints, register};

use super::host;

/// The services, one for each of the SDKs.
const AGENTS: [&str; 3] = ["vercel", "openai_agents", "pydantic_ai"];

/// Time limit of each part of the work.
const PATIENCE: Millis = Millis(120_000);

#[tokio::test(flavor = "multi_thread")]
async fn agents_of_a_killed_host_call_neither_model_nor_tools_again() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let env = Env::system();
    let world = AgentWorld::start(&env).await;
    let Some(endpoints) = Endpoints::agents(folder.path(), world.address()) else { return };
    let (mut server, runtime) = host::start(folder.path(), &[], &env).await;
    for endpoint in &endpoints {
        register(&runtime, endpoint.url()).await;
    }
    let http = http_client(Proxies::None).build().expect("there is a client");
    let mut started = BTreeMap::new();
    for agent in AGENTS {
        let url = format!("{}/{agent}/run/send", runtime.ingress);
        let trip = json!({ "name": agent, "city": "Lisbon" });
        let answer = http.post(url).json(&trip).send().await.expect("an answer");
        let answer: Value = answer.json().await.expect("JSON");
        let id = answer["invocationId"].as_str().expect("an id").to_owned();
        started.insert(agent, id);
    }
    let asked = env.within(PATIENCE, async {
        while AGENTS.iter().any(|agent| world.question(agent).is_none()) {
            env.runtime.sleep(Millis(50)).await;
        }
    });
    assert!(asked.await.is_some(), "{:?}", AGENTS.map(|agent| world.calls(agent)));

    server.kill().unwrap_or_else(|error| panic!("{error}"));
    server.restart().await.unwrap_or_else(|error| panic!("{error}"));
    for (agent, id) in started {
        let question = world.question(agent).expect("it was asked");
        let url = format!("{}/restate/awakeables/{question}/resolve", runtime.ingress);
        let resolved = http.post(url).json("yes").send().await.expect("an answer");
        assert!(resolved.status().is_success(), "{agent}: {}", resolved.status());
        let url = format!("{}/restate/invocation/{id}/attach", runtime.ingress);
        let ended = env.within(PATIENCE, async {
            http.get(url).send().await.expect("an answer").json::<Value>().await.expect("JSON")
        });
        assert_eq!(ended.await, Some(json!("rain / yes / booked")), "{agent}");
        let once = ["model 0", "model 1", "model 2", "model 3", "question", "weather"];
        let mut calls: BTreeMap<_, _> = once.map(|call| (call.to_owned(), 1)).into();
        // The first booking fails, and is tried again.
        calls.insert("book".to_owned(), 2);
        assert_eq!(world.calls(agent), calls, "{agent}");
    }
}
