//! A host with the front end, and functions that send requests to it.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, BodyDataStream},
    http::{HeaderMap, Request, StatusCode, header},
};
use segno_api::{AccessControl, Api, testing::ApiWorld as Native};
use segno_core::{
    command::Command,
    config::{Config, VersionRule},
    id::Digest,
    time::Timestamp,
};
use segno_engine::{host::Host, notifier::CommitNotifier};
use segno_env::{DebugClock, Env};
use segno_store::{
    MemoryStore, NewModule, Store,
    postgres::{PostgresConfig, PostgresStore},
    sqlite::{SqliteConfig, SqliteStore},
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use throwaway_postgres::Database;
use tower::ServiceExt as _;

use crate::{Resonate, ResonateSettings, envelope::VERSION};

/// A host.
pub(super) struct ResonateWorld {
    pub(super) host: Host,
    pub(super) front: Resonate,
    /// The engine's time, if debugging is allowed.
    pub(super) clock: Arc<DebugClock>,
    router: Router,
}

impl ResonateWorld {
    pub(super) fn new() -> Self {
        Self::with(ResonateSettings::new("http://here"), |access| access)
    }

    pub(super) fn with(
        settings: ResonateSettings,
        access: impl FnOnce(AccessControl) -> AccessControl,
    ) -> Self {
        Self::on(Native::new().api, settings, access)
    }

    /// Creates a host with a stopped clock, on which only acquisitions raise versions.
    pub(super) fn debugging() -> Self {
        let mut api = Native::new().api;
        let host = &mut api.host;
        let clock = DebugClock::new(host.env.clock.clone());
        clock.stop(true);
        let config = Config { version_rule: VersionRule::AcquireOnly, ..Config::default() };
        let deciding = Env { clock: clock.clone(), ..host.env.clone() };
        host.store = MemoryStore::new(config, deciding, host.notifier.clone());
        let settings =
            ResonateSettings { debug: Some(clock.clone()), ..ResonateSettings::new("http://here") };
        Self { clock, ..Self::on(api, settings, |access| access) }
    }

    /// Creates a host for debugging, over a new store with a module `shop`, without a worker.
    pub(super) async fn over(place: &TestStore, config: Config) -> Self {
        let mut api = Native::new().api;
        let host = &mut api.host;
        let clock = DebugClock::new(host.env.clock.clone());
        let deciding = Env { clock: clock.clone(), ..host.env.clone() };
        host.config = Arc::new(config.clone());
        host.store = place.open(config, deciding, host.notifier.clone()).await;
        let (component, module) = (Arc::from(&b"component"[..]), Digest([7; 32]));
        let kept =
            host.store.modules().put(NewModule::plain(module, component, Timestamp(0))).await;
        kept.expect("a store keeps components");
        let named = Command::Deploy { alias: "shop".into(), module };
        host.store.execute(vec![named]).await.expect("a store keeps names");
        let settings =
            ResonateSettings { debug: Some(clock.clone()), ..ResonateSettings::new("http://here") };
        Self { clock, ..Self::on(api, settings, |access| access) }
    }

    pub(super) fn on(
        mut api: Api,
        settings: ResonateSettings,
        access: impl FnOnce(AccessControl) -> AccessControl,
    ) -> Self {
        api.access = access(api.access.clone());
        let front = Resonate::start(&api, settings).expect("a client");
        let host = api.host.clone();
        let clock = DebugClock::new(host.env.clock.clone());
        Self { host, router: front.router(), front, clock }
    }

    /// Sends an operation, and returns the status and the data of the answer.
    pub(super) async fn ask(&self, kind: &str, data: Json) -> (u16, Json) {
        let head = json!({ "corrId": "c", "version": VERSION });
        let request = json!({ "kind": kind, "head": head, "data": data });
        let (status, reply) = self.post(request.to_string(), HeaderMap::new()).await;
        assert_eq!(reply["kind"], kind);
        assert_eq!(reply["head"], json!({ "corrId": "c", "status": status, "version": VERSION }));
        assert!(!reply.to_string().contains("null"), "{reply}");
        assert_eq!(reply["data"].is_string(), status >= 400, "{reply}");
        (status, reply["data"].clone())
    }

    /// Sends an operation that must succeed, and returns the data of the answer.
    pub(super) async fn done(&self, kind: &str, data: Json) -> Json {
        let (status, answer) = self.ask(kind, data).await;
        assert_eq!(status, 200, "{kind}: {answer}");
        answer
    }

    /// Posts any body, and returns the answer.
    pub(super) async fn post(&self, body: impl Into<Body>, headers: HeaderMap) -> (u16, Json) {
        let mut request = Request::post("/").body(body.into()).expect("a request");
        *request.headers_mut() = headers;
        let (status, bytes) = self.raw(request).await;
        let reply: Json = serde_json::from_slice(&bytes).expect("every answer is JSON");
        if reply.get("head").is_some() {
            assert_eq!(reply["head"]["status"], status.as_u16(), "the status is said twice");
        }
        (status.as_u16(), reply)
    }

    pub(super) async fn raw(&self, mut request: Request<Body>) -> (StatusCode, Vec<u8>) {
        let headers = request.headers_mut();
        if !headers.contains_key(header::HOST) {
            headers.insert(header::HOST, header::HeaderValue::from_static("localhost:7766"));
        }
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        let status = response.status();
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        (status, bytes.to_vec())
    }

    /// Opens a stream of messages.
    pub(super) async fn stream(&self, path: &str) -> BodyDataStream {
        self.stream_as(path, "nobody").await
    }

    /// Opens a stream of messages under a token.
    pub(super) async fn stream_as(&self, path: &str, token: &str) -> BodyDataStream {
        let request = Request::get(path).header(header::HOST, "localhost:7766");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        let request = request.body(Body::empty()).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        response.into_body().into_data_stream()
    }

    /// Lets all tasks of the runtime run until they wait.
    pub(super) async fn settle_down(&self) {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    /// Creates and acquires a task, and returns its version.
    pub(super) async fn task(&self, id: &str) -> u64 {
        let action = create(id, "poll://any@g");
        let data = json!({ "pid": "w", "ttl": 60_000, "action": { "kind": "promise.create", "data": action } });
        let made = self.done("task.create", data).await;
        made["task"]["version"].as_u64().expect("a version")
    }

    pub(super) fn stores(&self) -> Arc<dyn Store> {
        self.host.store.clone()
    }
}

/// The kind of the host's store.
pub(super) enum TestStore {
    Memory,
    Sqlite(TempDir),
    Postgres(Database<'static>),
}

impl TestStore {
    async fn open(&self, config: Config, env: Env, hints: Arc<CommitNotifier>) -> Arc<dyn Store> {
        match self {
            Self::Memory => MemoryStore::new(config, env, hints),
            Self::Sqlite(dir) => {
                let sqlite = SqliteConfig { dir: dir.path().to_owned(), relaxed: true };
                let store = SqliteStore::open(sqlite, config, env, hints).await;
                store.unwrap_or_else(|error| panic!("{error}"))
            }
            Self::Postgres(database) => {
                let mut postgres = PostgresConfig::new(&database.url()).expect("an address");
                // The debug clock sets the time.
                postgres.server_time = false;
                let store = PostgresStore::open(postgres, config, env, hints).await;
                store.unwrap_or_else(|error| panic!("{error}"))
            }
        }
    }
}

/// The data of `promise.create` with a target.
pub(super) fn create(id: &str, target: &str) -> Json {
    json!({ "id": id, "timeoutAt": 9_000_000_000_000_i64, "tags": { "resonate:target": target, "resonate:branch": id } })
}
