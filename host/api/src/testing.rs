//! Test support for this crate and the command line: a host without workers, its API, and functions
//! that send requests.

pub mod signed;

use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    Router,
    body::Body,
    http::{Method, Request, StatusCode, header},
    response::Response,
};
use segno_core::{
    command::{ClaimRequest, Command, FenceAction, FenceOperation},
    config::Config,
    graph::{NodeRow, NodeState},
    id::{Claim, CommandIndex, Digest, Holder, HostName, PromiseId, Version},
    invocation::{
        CommandKind, CommandRequest as Asked, LogLine, Outcome, Record, RecordBody, Seed,
        StepResult,
    },
    limit::{AdmissionBounds, AdmissionRule},
    promise::{NewPromise, Note, ReleaseReason, Verdict},
    reply::Reply,
    tags,
    time::{Millis, Timestamp},
    value::{Payload, Tags, Text, Value as Stored},
};
use segno_engine::{delivery::Reach, host::Host, notifier::CommitNotifier};
use segno_env::Env;
use segno_guest::NoGuests;
use segno_store::MemoryStore;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::{
    AccessControl, AdmissionLimits, Api, ComponentInspector, ComponentRefusal,
    model::{
        Function, FunctionKind, Import, ImportStatus, Message, MessageKind, ModuleDescription,
        ObjectAccess,
    },
    router,
};

/// Maximum size of a component in these tests, in bytes.
pub const LIMIT: usize = 64 * 1024;

fn message(kind: MessageKind, name: &str, schema: serde_json::Value) -> Message {
    Message { kind, name: name.to_owned(), schema }
}

/// Accepts components that begin with `wasm`; the words after it are the names of the functions.
struct FirstWordInspector;

/// A limit of five concurrent executions for each customer.
fn limit() -> AdmissionRule {
    let per_key = AdmissionBounds { concurrency: Some(5), rate: None };
    AdmissionRule { key: Some("customer.id".into()), per_key, ..AdmissionRule::default() }
}

#[async_trait]
impl ComponentInspector for FirstWordInspector {
    async fn inspect(&self, component: Arc<[u8]>) -> Result<ModuleDescription, ComponentRefusal> {
        let text = String::from_utf8_lossy(&component);
        let Some(names) = text.strip_prefix("wasm ") else {
            return Err(ComponentRefusal {
                code: "not-wasm".to_owned(),
                message: "this is not WebAssembly".to_owned(),
                report: Some(json!({ "size": component.len() })),
            });
        };
        let function = |name: &str| Function {
            name: name.to_owned(),
            kind: FunctionKind::Workflow,
            summary: Some(format!("does {name}")),
            input_schema: (name == "order").then(|| {
                json!({
                    "type": "object",
                    "required": ["items"],
                    "properties": { "items": { "type": "array", "items": { "type": "integer" } } }
                })
            }),
            output_schema: None,
            access: name.split_once('/').map(|(_, function)| match function {
                "run" | "pay-in" => ObjectAccess::Exclusive,
                _ => ObjectAccess::Shared,
            }),
            runs_once: name.ends_with("/run"),
            signals: name != "short",
            messages: match name {
                "desk" => vec![
                    message(MessageKind::Promise, "approved", json!({ "type": "boolean" })),
                    message(MessageKind::Signal, "close", json!({ "type": "null" })),
                ],
                _ => Vec::new(),
            },
            handlers: Vec::new(),
            timeout_ms: (name == "short").then_some(1_000),
            retry: None,
            limit: (name == "limited").then(limit),
            commits_each: false,
            expose: Vec::new(),
        };
        Ok(ModuleDescription {
            functions: names.split_whitespace().map(function).collect(),
            imports: vec![Import {
                name: "wasi:filesystem/types@0.2.6".to_owned(),
                status: ImportStatus::Refused,
                functions: vec!["open-at".to_owned()],
                note: Some("use an activity".to_owned()),
            }],
            exports: vec!["segno:workflow/functions@0.1.0".to_owned()],
            no_snapshots: None,
        })
    }
}

/// A node of a run, its state, and the outcome of its attempt if it has settled.
pub type NodeStep<'a> = (&'a str, NodeState, Option<Result<&'a str, &'a str>>);

/// A host without workers.
pub struct ApiWorld {
    /// State of the API.
    pub api: Api,
    router: Router,
}

/// A response.
#[derive(Debug)]
pub struct TestResponse {
    pub status: StatusCode,
    /// `Content-Type`, or empty.
    pub content_type: String,
    /// `Retry-After`.
    pub retry_after: Option<String>,
    /// The body: JSON, or text.
    pub body: Value,
}

impl Default for ApiWorld {
    fn default() -> Self {
        Self::new()
    }
}

impl ApiWorld {
    /// Creates a host that serves any client on this machine.
    pub fn new() -> Self {
        Self::with(|access| access)
    }

    /// Creates a host with modified access rules; the default serves any client on this machine.
    pub fn with(access: impl FnOnce(AccessControl) -> AccessControl) -> Self {
        Self::within(Env::system(), access)
    }

    /// Does the same in another environment.
    pub fn within(env: Env, access: impl FnOnce(AccessControl) -> AccessControl) -> Self {
        let notifier = Arc::new(CommitNotifier::default());
        let config = Config::default();
        let store = MemoryStore::new(config.clone(), env.clone(), notifier.clone());
        Self::over(
            Host::new(env, config, store, Arc::new(NoGuests), Arc::new(NoGuests), notifier),
            access,
        )
    }

    /// Creates the API over another host.
    pub fn over(host: Host, access: impl FnOnce(AccessControl) -> AccessControl) -> Self {
        let open = AccessControl::new(([127, 0, 0, 1], 7766).into(), None, false, vec![]);
        let access = access(open.expect("loopback needs no token"));
        let api = Api::new(host, Arc::new(FirstWordInspector), access, LIMIT);
        Self { router: router(api.clone()), api }
    }

    /// Sets other admission limits.
    pub fn admitting(self, limits: AdmissionLimits) -> Self {
        let api = self.api.admitting(limits);
        Self { router: router(api.clone()), api }
    }

    /// Sets other reachable addresses.
    pub fn reaching(self, reach: Reach) -> Self {
        let mut api = self.api;
        api.reach = reach;
        Self { router: router(api.clone()), api }
    }

    /// Creates a host with a module `shop`, whose functions are `order`, `ship` and `short`.
    pub async fn shop() -> Self {
        let world = Self::new();
        let answer = world.upload("shop", "wasm order ship short").await;
        assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
        world
    }

    /// Uploads `component` as `alias`.
    pub async fn upload(&self, alias: &str, component: &str) -> TestResponse {
        let request = Request::post(format!("/v1/modules?alias={alias}"))
            .header(header::CONTENT_TYPE, "application/wasm")
            .body(Body::from(component.to_owned()));
        self.ask(request.expect("a request")).await
    }

    /// Begins an invocation `id` with a saga `trip` that has these steps, numbered from 0. Each
    /// flag is true if the step is undone when it is unknown if it acted. Promises that the
    /// invocation creates under `undone` are compensations of its steps, and those under `asked`
    /// are questions to an operator.
    pub async fn saga(&self, id: &str, steps: &[bool]) -> Claim {
        self.start(id).await.ok();
        let claim = self.acquire(id).await;
        let step = |(seq, in_doubt): (usize, &bool)| {
            let mut tags = trip_step(seq);
            if *in_doubt {
                tags.insert(tags::UNKNOWN.into(), "compensate".into());
            }
            tags.insert(tags::TARGET.into(), "wasm:///ship".into());
            (format!("{id}/{seq}"), tags)
        };
        self.make(&claim, steps.iter().enumerate().map(step)).await;
        claim
    }

    /// Writes the results of a run, as its coordinator does: for each node its state, and the
    /// promise of its attempt, settled with a value or a rejection. `None` leaves the promise
    /// pending; a skipped node gets no promise.
    pub async fn nodes(&self, claim: &Claim, nodes: &[NodeStep<'_>]) {
        let mut acts = Vec::new();
        for (node, state, value) in nodes {
            let id = claim.id.attempt(node, 0);
            if *state != NodeState::Skipped {
                acts.push(FenceOperation::Create {
                    new: new_promise(id.clone(), &[]),
                    request: None,
                });
            }
            if let Some(value) = value {
                let (verdict, value) = match value {
                    Ok(value) => (Verdict::Resolved, value),
                    Err(value) => (Verdict::Rejected, value),
                };
                let value = Stored::of(value.as_bytes());
                acts.push(FenceOperation::Settle { id, verdict, value });
            }
            let row = NodeRow { state: *state, attempt: 0 };
            acts.push(FenceOperation::Node { node: Text::from(*node), row, reset: None });
        }
        self.fence(claim, acts).await;
    }

    /// Commits these actions under a claim, numbered from 0.
    pub async fn fence(&self, claim: &Claim, acts: impl IntoIterator<Item = FenceOperation>) {
        let actions = (0..).zip(acts);
        let actions = actions.map(|(index, act)| FenceAction { index: CommandIndex(index), act });
        let (claim, actions) = (claim.clone(), actions.collect());
        self.command(Command::TaskFence { claim, records: vec![], logs: vec![], actions }).await;
    }

    /// Suspends the task of a claim until one of these promises settles.
    pub async fn suspend(&self, claim: Claim, awaits: impl IntoIterator<Item = PromiseId>) {
        let awaits = awaits.into_iter().collect();
        self.command(Command::TaskSuspend { claim, records: vec![], logs: vec![], awaits }).await;
    }

    /// Creates a promise without a deadline, with these tags.
    pub async fn promise(&self, id: &str, tags: &[(&str, &str)]) {
        self.command(Command::PromiseCreate(new_promise(id, tags))).await;
    }

    /// Begins the compensation of a step of the saga `trip`.
    pub async fn undo(&self, claim: &Claim, seq: usize) {
        let id = claim.id.compensation("trip", u32::try_from(seq).expect("few"));
        let tags = Tags::from([(tags::TARGET.to_owned(), "wasm:///undo".to_owned())]);
        self.make(claim, [(id.to_string(), tags)]).await;
    }

    /// Asks the operator if a step of the saga `trip` acted.
    pub async fn ask_about(&self, claim: &Claim, seq: usize) {
        let id = claim.id.verdict_on("trip", u32::try_from(seq).expect("few"));
        self.make(claim, [(id.to_string(), trip_step(seq))]).await;
    }

    async fn make(&self, claim: &Claim, promises: impl IntoIterator<Item = (String, Tags)>) {
        let param = Stored::of(&b"{\"func\":\"ship\",\"args\":[]}"[..]);
        let create = |(id, tags): (String, Tags)| FenceOperation::Create {
            new: NewPromise { tags, param: param.clone(), ..new_promise(id.as_str(), &[]) },
            request: None,
        };
        self.fence(claim, promises.into_iter().map(create)).await;
    }

    /// Settles a promise of any kind.
    pub async fn settle(&self, id: &str, verdict: Verdict, value: &str) {
        let value = Stored::of(value.to_owned().into_bytes());
        self.command(Command::PromiseSettle { id: id.into(), verdict, value }).await;
    }

    /// Sends `GET`.
    pub async fn get(&self, path: &str) -> TestResponse {
        self.ask(Request::get(path).body(Body::empty()).expect("a request")).await
    }

    /// Sends `POST` with a JSON body.
    pub async fn post(&self, path: &str, body: Value) -> TestResponse {
        self.send(Method::POST, path, body.to_string()).await
    }

    /// Sends a request with a body declared as JSON.
    pub async fn send(&self, method: Method, path: &str, json: impl Into<Body>) -> TestResponse {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(json.into());
        self.ask(request.expect("a request")).await
    }

    /// Sends `request` and returns the response. The default host is localhost.
    pub async fn ask(&self, request: Request<Body>) -> TestResponse {
        let response = self.respond(request).await;
        let status = response.status();
        let said = |name| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
        let content_type = said(header::CONTENT_TYPE).unwrap_or_default();
        let retry_after = said(header::RETRY_AFTER);
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        let body = serde_json::from_slice(&bytes)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(&bytes)));
        TestResponse { status, content_type, retry_after, body }
    }

    /// Sends `request` and returns the response as it is. The default host is localhost.
    pub async fn respond(&self, mut request: Request<Body>) -> Response {
        let headers = request.headers_mut();
        if !headers.contains_key(header::HOST) {
            headers.insert(header::HOST, header::HeaderValue::from_static("localhost:7766"));
        }
        self.router.clone().oneshot(request).await.expect("the router answers")
    }

    /// Starts `shop/ship` with the id `id`.
    pub async fn start(&self, id: &str) -> TestResponse {
        self.post(
            "/v1/invocations",
            json!({ "id": id, "target": "shop/ship", "input": { "no": 1 } }),
        )
        .await
    }

    /// Sends a command, as a worker would.
    pub async fn command(&self, command: Command) -> Reply {
        let name = command.name();
        let mut replies =
            self.api.host.store.execute(vec![command]).await.expect("a store in memory");
        let reply = replies.pop().expect("one reply");
        assert!(!matches!(reply, Reply::Refused(_)), "{name}: {reply:?}");
        reply
    }

    /// Acquires the task of `id`.
    pub async fn acquire(&self, id: &str) -> Claim {
        let claim = Claim { id: PromiseId::from(id), version: Version(0) };
        let holder = Holder { node: HostName::from("test"), incarnation: 1 };
        let request = ClaimRequest { holder, nonce: 1, ttl: Millis(60_000) };
        match self.command(Command::TaskAcquire { claim, request, stall_limit: None }).await {
            Reply::Task(task) => Claim { id: PromiseId::from(id), version: task.task.version },
            other => panic!("{other:?}"),
        }
    }

    /// Halts `id`, which has no holder.
    pub async fn halt(&self, id: &str) {
        let claim = self.acquire(id).await;
        let report = Note {
            kind: Text::from("divergence"),
            message: Text::from("the replay leaves the journal at record 3"),
            details: b"{\"seq\":3}".to_vec().into(),
        };
        self.command(Command::TaskRelease { claim, reason: ReleaseReason::Halt { report } }).await;
    }

    /// Creates an external promise.
    pub async fn gate(&self, id: &str) {
        self.promise(id, &[]).await;
    }

    /// Returns the digest of the module with this alias.
    pub async fn digest(&self, alias: &str) -> Digest {
        let module = self.get(&format!("/v1/modules/{alias}")).await.ok();
        module["digest"].as_str().and_then(|digest| digest.parse().ok()).expect("a digest")
    }

    /// Writes the journal of an invocation that has begun, called a function, received its result
    /// and logged.
    pub async fn journal(&self, id: &str, digest: Digest) -> Claim {
        let claim = self.acquire(id).await;
        let at = self.api.host.env.clock.now();
        let bodies = [
            RecordBody::Started {
                function: Text::from("ship"),
                input: Payload::Json(Text::from("{\"no\":1}")),
                module: digest,
                seed: Seed([7; 32]),
                engine: Default::default(),
            },
            RecordBody::Command {
                index: CommandIndex(0),
                kind: CommandKind::Run,
                name: Text::from("weigh"),
                request: Asked::of(&[("unit", b"\"kg\"")]),
            },
            RecordBody::Notified {
                index: CommandIndex(0),
                outcome: Outcome::Inline(StepResult::Failure {
                    code: 422,
                    message: Text::from("too heavy"),
                    details: None,
                }),
            },
        ];
        let records = (0..).zip(bodies).map(|(seq, body)| Record { seq, at, body }).collect();
        let logs = vec![self.log(at, "weighing")];
        self.command(Command::TaskFence { claim: claim.clone(), records, logs, actions: vec![] })
            .await;
        claim
    }

    fn log(&self, at: Timestamp, message: &str) -> LogLine {
        LogLine {
            seq: 1,
            level: segno_core::invocation::LogLevel::Warn,
            at,
            message: Text::from(message),
        }
    }
}

impl TestResponse {
    /// Checks that the response is a problem with this status and code. Returns its detail.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> &str {
        assert_eq!(self.body["code"], code, "{self:?}");
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        assert_eq!(self.content_type, "application/problem+json");
        assert_eq!(self.body["status"], status);
        assert_eq!(self.body["type"], format!("urn:segno:problem:{code}"));
        assert!(!self.body["title"].as_str().unwrap_or_default().is_empty());
        self.body["detail"].as_str().expect("a detail")
    }

    /// Checks that the response is a success. Returns its body.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(self.status.is_success(), "{self:?}");
        self.body
    }
}

/// A promise without a deadline, with these tags.
pub fn new_promise(id: impl Into<PromiseId>, tags: &[(&str, &str)]) -> NewPromise {
    let tags = tags.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    NewPromise { id: id.into(), param: Stored::default(), tags, timeout_at: Timestamp::NEVER }
}

fn trip_step(seq: usize) -> Tags {
    let tags = [
        (tags::SAGA, "trip".to_owned()),
        (tags::SEQ, seq.to_string()),
        (tags::COMPENSATE, "wasm:///undo".to_owned()),
    ];
    tags.map(|(name, value)| (name.to_owned(), value)).into()
}
