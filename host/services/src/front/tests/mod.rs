//! The admin API: queries, and operations on invocations and deployments. No deployment responds;
//! the tests claim and end invocations themselves.

mod control;
mod query;
mod registered;
mod scopes;

use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    Router,
    body::Body,
    http::{Method, Request, StatusCode, header},
};
use segno_api::testing::ApiWorld;
use segno_core::{
    command::{Command, FenceAction, FenceOperation},
    id::{Claim, CommandIndex, PromiseId},
    invocation::{
        CommandKind, CommandRequest as Asked, EngineFacts, Outcome, Record, RecordBody, StepResult,
    },
    promise::{Note, ReleaseReason, Verdict},
    time::Millis,
    value::{Payload, Text, Value as Stored},
};
use segno_restate::{immutable, version::ProtocolVersion, wire};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::{ServicesApi, admin_router, ingress_router};
use crate::{
    AttemptRequest, ConnectError, Connector, DeploymentAddress, DeploymentAnswer, Exchange,
    frames::FRAME,
};

/// A deployment with a service, an object and a workflow. An address or a header with `small` has
/// only the service, and one with `others` has everything else.
struct FixedDeployment;

#[async_trait]
impl Connector for FixedDeployment {
    fn identity(&self) -> Option<&str> {
        Some("publickeyv1_test")
    }

    async fn discover(
        &self,
        endpoint: &DeploymentAddress,
        _: &str,
    ) -> Result<DeploymentAnswer, ConnectError> {
        let handler = |name: &str, ty: Option<&str>| match ty {
            Some(ty) => json!({ "name": name, "ty": ty, "input": { "contentType": "*/*" } }),
            None => json!({
                "name": name,
                "input": {
                    "required": true,
                    "contentType": "application/json",
                    "jsonSchema": { "type": "string" },
                },
                "output": { "contentType": "text/plain" },
            }),
        };
        let greeter = json!({
            "name": "Greeter", "ty": "SERVICE",
            "handlers": [handler("greet", None), handler("part", None)],
        });
        let others = [
            json!({
                "name": "Cart", "ty": "VIRTUAL_OBJECT",
                "handlers": [handler("add", Some("EXCLUSIVE")), handler("look", Some("SHARED"))],
            }),
            json!({ "name": "Sign", "ty": "WORKFLOW", "handlers": [handler("run", Some("WORKFLOW"))] }),
        ];
        let is =
            |what| endpoint.uri.ends_with(what) || endpoint.headers.values().any(|has| has == what);
        let mut services = Vec::new();
        if !is("others") {
            services.push(greeter);
        }
        if !is("small") {
            services.extend(others);
        }
        if is("bare") {
            let handlers = [json!({ "name": "echo" })];
            services.push(json!({ "name": "Bare", "ty": "SERVICE", "handlers": handlers }));
        }
        if is("many") {
            let handlers = (0..5_001).map(|n| json!({ "name": format!("h{n}") }));
            let handlers: Vec<_> = handlers.collect();
            services.push(json!({ "name": "Many", "ty": "SERVICE", "handlers": handlers }));
        }
        let manifest = json!({
            "protocolMode": "BIDI_STREAM", "minProtocolVersion": 5, "maxProtocolVersion": 6,
            "services": services,
        });
        Ok(DeploymentAnswer {
            content_type: "application/vnd.restate.endpointmanifest.v2+json".to_owned(),
            body: manifest.to_string().into(),
            server: Some("test/1.0".to_owned()),
        })
    }

    async fn open(
        &self,
        endpoint: &DeploymentAddress,
        _: AttemptRequest,
    ) -> Result<Exchange, ConnectError> {
        let reason = "nobody is there".to_owned();
        Err(ConnectError::Unreachable { uri: endpoint.uri.clone(), reason })
    }
}

/// The front end of a host that has no services yet.
fn front(world: &ApiWorld) -> ServicesApi {
    ServicesApi::new(world.api.clone(), crate::Services::join(&world.api.host))
}

/// A host with these services registered.
struct ServicesHost {
    world: ApiWorld,
    api: ServicesApi,
    admin: Router,
    ingress: Router,
}

impl ServicesHost {
    async fn new() -> Self {
        let world = ApiWorld::new();
        let api = front(&world);
        api.services.connect(Arc::new(FixedDeployment));
        let (admin, ingress) = (admin_router(api.clone()), ingress_router(api.clone()));
        let services = Self { world, api, admin, ingress };
        services.register("http://localhost:9080").await;
        services
    }

    async fn register(&self, uri: &str) -> String {
        let answer = self.admin("POST", "/deployments", Some(json!({ "uri": uri }))).await;
        assert_eq!(answer.0, StatusCode::CREATED, "{answer:?}");
        answer.1["id"].as_str().expect("an id").to_owned()
    }

    async fn admin(&self, method: &str, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        ask(&self.admin, method, path, body).await
    }

    async fn ingress(&self, method: &str, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        ask(&self.ingress, method, path, body).await
    }

    /// Removes a resource by path. Returns the status and the message of a refusal.
    async fn remove(&self, path: &str) -> (StatusCode, String) {
        let (status, body) = self.admin("DELETE", path, None).await;
        (status, body["message"].as_str().unwrap_or_default().to_owned())
    }

    /// Begins an invocation and returns its id.
    async fn send(&self, target: &str) -> String {
        let (status, body) =
            self.ingress("POST", &format!("/{target}/send"), Some(json!("Mary"))).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{target}: {body}");
        body["invocationId"].as_str().expect("an id").to_owned()
    }

    /// Executes a query that must succeed.
    async fn rows(&self, sql: &str) -> Value {
        let (status, body) = self.admin("POST", "/query", Some(json!({ "query": sql }))).await;
        assert_eq!(status, StatusCode::OK, "{sql}: {body}");
        body["rows"].clone()
    }

    /// Returns the reason why a query is refused.
    async fn refused(&self, sql: &str) -> String {
        let (status, body) = self.admin("POST", "/query", Some(json!({ "query": sql }))).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{sql}: {body}");
        body["message"].as_str().expect("a message").to_owned()
    }

    async fn end(&self, id: &str, verdict: Verdict, value: &str) {
        let claim = self.world.acquire(id).await;
        self.ended(claim, verdict, value).await;
    }

    async fn ended(&self, claim: Claim, verdict: Verdict, value: &str) {
        let value = Stored::of(value.as_bytes());
        let (records, logs) = (vec![], vec![]);
        let fulfill = Command::TaskFulfill { claim, records, logs, verdict, value };
        self.world.command(fulfill).await;
    }

    /// Fails an attempt; the next one follows in an hour.
    async fn fail(&self, id: &str) {
        let claim = self.world.acquire(id).await;
        let error = Note {
            kind: Text::from("failure"),
            message: Text::from("no answer"),
            details: Vec::new().into(),
        };
        let retry_after = Some(Millis(3_600_000));
        let reason = ReleaseReason::Failed { retry_after, error, trap: None };
        self.world.command(Command::TaskRelease { claim, reason }).await;
    }

    /// Writes a journal: the input, a run with its result, a sleep, and a call, which is executed.
    async fn journal(&self, id: &str) -> Claim {
        let claim = self.world.acquire(id).await;
        let row = self.world.api.host.store.read().promise(&claim.id).await.expect("a store");
        let module = row.and_then(|row| row.task).and_then(|task| task.module).expect("a module");
        let called = claim.id.command(CommandIndex(2));
        let run = immutable::Run { result_completion_id: 1, name: "charge".to_owned() };
        let sleep =
            immutable::Sleep { wake_up_at_ms: 1_000, result_completion_id: 2, name: String::new() };
        let call = immutable::Call {
            service_name: "Greeter".to_owned(),
            handler_name: "part".to_owned(),
            invocation_id_completion_id: 3,
            result_completion_id: 4,
            headers: vec![wire::Header { key: "a".to_owned(), value: "b".to_owned() }],
            ..Default::default()
        };
        let bodies = vec![
            RecordBody::Started {
                function: Text::from("Greeter/greet"),
                input: Payload::Json(Text::from("\"Mary\"")),
                module,
                seed: segno_core::invocation::Seed([7; 32]),
                engine: EngineFacts { class: ProtocolVersion::V6.number(), ..Default::default() },
            },
            command(0, CommandKind::Run, "charge", run.into(), None),
            RecordBody::Notified {
                index: CommandIndex(0),
                outcome: Outcome::Inline(StepResult::Value(Payload::Json(Text::from("7")))),
            },
            command(1, CommandKind::Sleep, "", sleep.into(), None),
            command(2, CommandKind::Call, "Greeter/part", call.into(), Some(&called)),
            RecordBody::Cancelled,
        ];
        let at = self.world.api.host.env.clock.now();
        let records = (0..).zip(bodies).map(|(seq, body)| Record { seq, at, body }).collect();
        let param = segno_engine::values::param(
            "Greeter/part",
            &segno_guest::Payload::Bytes(Vec::new()),
            Default::default(),
        );
        let tags = [("target".to_owned(), "restate://Greeter/part".to_owned())].into();
        let timeout_at = segno_core::time::Timestamp::NEVER;
        let new = segno_core::promise::NewPromise { id: called, param, tags, timeout_at };
        let actions = vec![FenceAction {
            index: CommandIndex(2),
            act: FenceOperation::Create { new, request: None },
        }];
        let fence = Command::TaskFence { claim: claim.clone(), records, logs: vec![], actions };
        self.world.command(fence).await;
        claim
    }
}

fn command(
    index: u32,
    kind: CommandKind,
    name: &str,
    command: immutable::Command,
    awaits: Option<&PromiseId>,
) -> RecordBody {
    let frame = immutable::Message::Command(command).encode(ProtocolVersion::V6).to_bytes();
    let promise = awaits.map(|id| ("promise", id.as_str().as_bytes()));
    let fields: Vec<_> = [(FRAME, &frame[..])].into_iter().chain(promise).collect();
    let request = Asked::verbatim(&fields);
    RecordBody::Command { index: CommandIndex(index), kind, name: Text::from(name), request }
}

async fn ask(
    router: &Router,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> (StatusCode, Value) {
    ask_with(router, method, path, &[("content-type", "application/json")], body).await
}

async fn ask_with(
    router: &Router,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<Value>,
) -> (StatusCode, Value) {
    let method: Method = method.parse().expect("a method");
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::HOST, "localhost")
        .header(header::ACCEPT, "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())));
    let response = router.clone().oneshot(request.expect("a request")).await.expect("an answer");
    let status = response.status();
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
    let text = || Value::from(String::from_utf8_lossy(&bytes));
    (status, serde_json::from_slice(&bytes).unwrap_or_else(|_| text()))
}
