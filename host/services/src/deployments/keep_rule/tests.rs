//! Retention of ended invocations of services, on a real database with a clock that the test sets.

use std::sync::Arc;

use segno_core::{
    command::Command,
    config::Config,
    id::Digest,
    promise::{NewPromise, OutboxKey},
    reply::Reply,
    snapshot::Snapshot,
    tags,
    time::{Millis, Timestamp},
    value::{Tags, Value},
};
use segno_engine::{
    host::Host,
    notifier::CommitNotifier,
    recovery::{
        NextTurn,
        retention::{ROUND_PAUSE, Retention, turn},
    },
};
use segno_env::{Clock as _, Env, HandClock, SystemRuntime};
use segno_guest::NoGuests;
use segno_store::{
    NewModule,
    sqlite::{SqliteConfig, SqliteStore},
};

use super::super::{Deployment, DeploymentAddress, IDEMPOTENCY, Services};

/// A host with its own database and without background loops.
struct Fixture {
    host: Host,
    services: Arc<Services>,
    clock: Arc<HandClock>,
    _dir: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let clock = HandClock::new();
        let env = Env { clock: clock.clone(), runtime: Arc::new(SystemRuntime) };
        let notifier = Arc::new(CommitNotifier::default());
        let sqlite = SqliteConfig { dir: dir.path().to_owned(), relaxed: true };
        let config = Config::default();
        let store = SqliteStore::open(sqlite, config.clone(), env.clone(), notifier.clone());
        let store = store.await.expect("it opens");
        let guests = Arc::new(NoGuests);
        let host = Host::new(env, config, store, guests.clone(), guests, notifier);
        let services = Services::join(&host);
        Self { host, services, clock, _dir: dir }
    }

    fn wait(&self, length: i64) {
        self.clock.advance(Millis(length));
    }

    async fn run(&self, command: Command) {
        let mut replies = self.host.store.execute(vec![command.clone()]).await.expect("an answer");
        let reply = replies.remove(0);
        assert!(!matches!(reply, Reply::Refused(_)), "{command:?}: {reply:?}");
    }

    async fn dump(&self) -> Snapshot {
        self.host.store.read().dump().await.expect("a dump")
    }

    /// Runs turns of the retention duty for one complete round.
    async fn round(&self, rules: &Retention) {
        let (rules, round) = (Arc::new(rules.clone()), Arc::default());
        for _ in 0..500 {
            let next = turn(self.host.clone(), rules.clone(), Arc::clone(&round)).await;
            if next.expect("a turn") == NextTurn::After(ROUND_PAUSE) {
                return;
            }
        }
        panic!("a round does not end");
    }
}

fn rules(text: &str) -> Retention {
    toml::from_str(text).expect("valid rules")
}

fn new(id: &str, tags: &[(&str, &str)]) -> NewPromise {
    let tags: Tags = tags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    NewPromise { id: id.into(), param: Value::of(&b"{}"[..]), tags, timeout_at: Timestamp::NEVER }
}

/// Stores a deployment and routes new invocations of its service there.
async fn register(fixture: &Fixture, service: &str) {
    let manifest = format!(
        r#"{{ "minProtocolVersion": 5, "maxProtocolVersion": 7, "services": [{service}] }}"#
    );
    let endpoint =
        DeploymentAddress { uri: "http://x".to_owned(), headers: [].into(), http11: false };
    let manifest = serde_json::from_str(&manifest).expect("a manifest");
    let deployment = Deployment::new(&endpoint, None, manifest);
    let kept: Arc<[u8]> = deployment.to_bytes().into();
    let module = Digest::of(&kept);
    let new = NewModule::plain(module, kept, fixture.clock.now());
    fixture.host.store.modules().put(new).await.expect("it is kept");
    fixture.run(Command::Deploy { alias: "restate:Greeter".into(), module }).await;
    fixture.services.forget();
}

#[tokio::test]
async fn an_invocation_is_kept_as_its_service_said_when_it_was_accepted() {
    let fixture = Fixture::new().await;
    let hours = |n: i64| n * 3_600_000;
    let end = async |id: &str| {
        fixture.run(Command::Kill { invocation: id.into() }).await;
        fixture.run(Command::OutboxDue { key: OutboxKey::CancelChildren(id.into()) }).await;
    };
    let accepted = async |id: &str, key: Option<&str>| {
        let mut greet = new(id, &[(tags::TARGET, "restate://Greeter/greet")]);
        let key = key.map(|key| (IDEMPOTENCY.to_owned(), key.to_owned()));
        greet.param.headers.extend(key);
        fixture.run(Command::PromiseCreate(greet)).await;
        end(id).await;
    };
    let service = |retention: &str| {
        format!(
            r#"{{ "name": "Greeter", "ty": "SERVICE"{retention}, "handlers": [{{ "name": "greet" }}] }}"#
        )
    };
    register(&fixture, &service("")).await;
    accepted("silent", None).await;
    let said = format!(r#", "journalRetention": 0, "idempotencyRetention": {}"#, hours(3));
    register(&fixture, &service(&said)).await;
    accepted("soon", None).await;
    accepted("keyed", Some("k")).await;
    fixture.run(Command::PromiseCreate(new("plain", &[]))).await;
    end("plain").await;
    let left = async |text: &str| {
        fixture.round(&rules(text)).await;
        let rows = fixture.dump().await;
        rows.promises.keys().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(left("").await, ["keyed", "plain", "silent", "soon"], "for who waits for its end");
    fixture.wait(hours(2));
    assert_eq!(left("").await, ["keyed", "plain", "silent"]);
    fixture.wait(hours(2));
    let rule = "[[rule]]\nservice = \"Greeter\"\nkeep = \"30d\"\n";
    assert_eq!(left(rule).await, ["keyed", "plain", "silent"], "a rule goes before a service");
    assert_eq!(
        left("default = \"30d\"").await,
        ["plain", "silent"],
        "a service before the default"
    );
    fixture.wait(hours(24));
    assert_eq!(left("default = \"30d\"").await, ["plain", "silent"], "the default before a day");
    assert_eq!(left("").await, ["plain"]);
}
