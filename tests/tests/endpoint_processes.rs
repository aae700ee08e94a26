//! `segno endpoint` as a process, called by a runtime in another process. The runtime is Segno's
//! own, or with `SEGNO_RESTATE_SERVER=1` the released server of Restate (npm
//! `@restatedev/restate-server`). The server must be installed in the folder that
//! `SEGNO_RESTATE_SERVER_DIR` names, or in `target/restate-server`.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use segno_api::model::InvocationState;
use segno_core::time::Millis;
use segno_demo::{
    payments::PaymentsOptions,
    process::{Process, free_port},
};
use segno_env::Env;
use segno_restate::id::{AwakeableId, AwakeableKind, InvocationId};
use serde_json::{Value as Json, json};
use tests::{guests, payments::PaymentService, test_host::TestHost};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
const LIMIT: Millis = Millis(60_000);

/// An endpoint process.
struct Endpoint {
    process: Process,
    uri: String,
}

impl Endpoint {
    /// Serves the component of an example as the module with the same name.
    async fn start(name: &str, folder: &Path, policy: Option<&Path>, env: &Env) -> Self {
        let component = folder.join(format!("{name}.wasm"));
        if !component.exists() {
            std::fs::write(&component, guests::component(name)).expect("a file");
        }
        let uri = format!("127.0.0.1:{}", free_port().expect("a port"));
        let mut command = Command::new(SEGNO);
        command
            .args(["endpoint", "--listen", &uri, "--module"])
            .arg(&component)
            .arg("--compiled")
            .arg(folder.join("compiled"));
        if let Some(policy) = policy {
            command.arg("--policy").arg(policy);
        }
        let log = folder.join(format!("{name}.log"));
        let uri = format!("http://{uri}");
        let mut process = Process::start("endpoint", command, &log).expect("it starts");
        let health = format!("{uri}/health");
        let is_there =
            async || reqwest::get(&health).await.is_ok_and(|said| said.status().is_success());
        let ready = process.ready(env, LIMIT, is_there).await;
        ready.unwrap_or_else(|error| panic!("{error}"));
        Self { process, uri }
    }

    /// Stops the process gracefully.
    async fn stop(self, env: &Env) {
        let status = self.process.terminate(env, LIMIT).await.expect("it ends");
        assert!(status.success(), "{status}");
    }
}

/// A runtime, with its addresses for calls and registrations.
struct Runtime {
    ingress: String,
    admin: String,
    client: reqwest::Client,
    env: Env,
}

impl Runtime {
    async fn register(&self, uri: &str, http11: bool) {
        let body = json!({ "uri": uri, "use_http_11": http11 });
        let sent = self.client.post(format!("{}/deployments", self.admin)).json(&body).send().await;
        let said = sent.expect("it answers");
        let (status, text) = (said.status(), said.text().await.expect("a body"));
        assert!(status.is_success(), "{status}: {text}");
    }

    /// Begins an invocation. Returns its id.
    async fn send(&self, path: &str, input: &Json) -> String {
        let url = format!("{}/{path}/send", self.ingress);
        let said = self.client.post(url).json(input).send().await.expect("it answers");
        assert!(said.status().is_success(), "{}", said.status());
        let body: Json = said.json().await.expect("JSON");
        body["invocationId"].as_str().expect("an id").to_owned()
    }

    /// Calls a handler. Returns the status and the body of its result.
    async fn call(&self, path: &str, input: &Json) -> (u16, Json) {
        let asked = self.client.post(format!("{}/{path}", self.ingress)).json(input).send();
        let said = self.env.within(LIMIT, asked).await.expect("it ends").expect("it answers");
        answered(said).await
    }

    /// Waits for the confirmation code in the state of a sign-up. Returns it.
    async fn code_of(&self, person: &str) -> u64 {
        let query = format!(
            "SELECT value_utf8 FROM state WHERE service_name = 'Signup' AND service_key = '{person}' AND key = 'code'"
        );
        loop {
            let asked = self.client.post(format!("{}/query", self.admin));
            let asked = asked.header("accept", "application/json").json(&json!({ "query": query }));
            let said: Json = asked.send().await.expect("it answers").json().await.expect("JSON");
            if let Some(code) = said["rows"][0]["value_utf8"].as_str() {
                return code.parse().expect("a number");
            }
            self.env.runtime.sleep(Millis(50)).await;
        }
    }

    async fn resolve(&self, awakeable: &str, value: &Json) {
        let url = format!("{}/restate/awakeables/{awakeable}/resolve", self.ingress);
        let said = self.client.post(url).json(value).send().await.expect("it answers");
        assert!(said.status().is_success(), "{}", said.status());
    }

    /// Waits for the result of an invocation. Returns its status and body.
    async fn result(&self, id: &str) -> (u16, Json) {
        let url = format!("{}/restate/invocation/{id}/attach", self.ingress);
        let asked = self.client.get(url).send();
        let said = self.env.within(LIMIT, asked).await.expect("it ends").expect("it answers");
        answered(said).await
    }
}

/// Status and body of an answer.
async fn answered(said: reqwest::Response) -> (u16, Json) {
    let status = said.status().as_u16();
    let text = said.text().await.expect("a body");
    (status, serde_json::from_str(&text).unwrap_or(Json::String(text)))
}

/// Id of the first awakeable of an invocation, whose id consists of these bytes.
fn first_awakeable(invocation: &[u8]) -> String {
    let invocation = invocation.to_vec().into();
    AwakeableId { kind: AwakeableKind::Signal, invocation, index: 17 }.to_string()
}

fn order(payments: &str) -> Json {
    json!({
        "id": "o-1",
        "items": [
            { "sku": "hat", "quantity": 1, "price_cents": 2500 },
            { "sku": "glove", "quantity": 2, "price_cents": 900 },
        ],
        "payments": payments,
    })
}

/// An order over HTTP/2, and an approval over HTTP/1.1, from start to end.
async fn order_and_approval(
    runtime: &Runtime,
    folder: &Path,
    payments: &PaymentService,
    bytes_of: impl Fn(&str) -> Vec<u8>,
) {
    let env = &runtime.env;
    let policy = folder.join("endpoint-policy.toml");
    let allowed = format!("[order]\nhttp.allow = [\"{}\"]\n", payments.address());
    std::fs::write(&policy, allowed).expect("a file");
    let orders = Endpoint::start("order", folder, Some(&policy), env).await;
    let approvals = Endpoint::start("approval", folder, None, env).await;
    runtime.register(&orders.uri, false).await;
    runtime.register(&approvals.uri, true).await;

    let id = runtime.send("order/order", &order(payments.address())).await;
    runtime.resolve(&first_awakeable(&bytes_of(&id)), &json!(true)).await;
    let (status, receipt) = runtime.result(&id).await;
    assert_eq!(status, 200, "{receipt}");
    assert_eq!(receipt["amount_cents"], 4300);
    assert_eq!(receipt["shipments"].as_array().expect("a list").len(), 2);
    assert_eq!(payments.entries().len(), 1);

    let document =
        json!({ "title": "Report", "approver": "Ada", "remind_after_s": 1, "reminders": 9 });
    let id = runtime.send("approval/approval", &document).await;
    // Leaves time for a reminder.
    env.runtime.sleep(Millis(2_500)).await;
    runtime.resolve(&first_awakeable(&bytes_of(&id)), &json!("approve")).await;
    let (status, verdict) = runtime.result(&id).await;
    assert_eq!((status, &verdict["decision"]), (200, &json!("approve")), "{verdict}");
    assert!(verdict["reminders"].as_u64().expect("a number") >= 1, "{verdict}");

    let sold_out = json!({ "id": "o-2", "items": [{ "sku": "sold-out", "quantity": 1, "price_cents": 1 }],
        "payments": payments.address() });
    let id = runtime.send("order/order", &sold_out).await;
    let (status, failure) = runtime.result(&id).await;
    assert_eq!(status, 409, "{failure}");
    assert!(failure.to_string().contains("sold out"), "{failure}");

    orders.stop(env).await;
    approvals.stop(env).await;
}

/// A person signs up: the run of a workflow, which is queried and gets the code from the mail.
async fn sign_up(runtime: &Runtime, folder: &Path) {
    let env = &runtime.env;
    let signups = Endpoint::start("signup", folder, None, env).await;
    runtime.register(&signups.uri, false).await;

    let mail = json!("ada@example.org");
    let run = runtime.send("Signup/ada/run", &mail).await;
    let code = env.within(LIMIT, runtime.code_of("ada")).await.expect("it is sent");
    let waiting = json!({ "mail": mail, "confirmed_by": null });
    assert_eq!(runtime.call("Signup/ada/status", &Json::Null).await, (200, waiting));
    let (status, refused) = runtime.call("Signup/ada/confirm", &json!(code + 1)).await;
    assert_eq!(status, 403, "{refused}");
    let (status, _) = runtime.call("Signup/ada/confirm", &json!(code)).await;
    assert_eq!(status, 200);

    let confirmed = json!({ "mail": mail, "confirmed_by": "code" });
    assert_eq!(runtime.result(&run).await, (200, confirmed.clone()));
    let (status, late) = runtime.call("Signup/ada/confirm", &json!(code)).await;
    assert_eq!(status, 409, "{late}");
    assert_eq!(runtime.call("Signup/ada/status", &Json::Null).await, (200, confirmed));

    // The endpoint is gone, so the runtime answers alone.
    signups.stop(env).await;
    let (status, again) = runtime.call("Signup/ada/run", &mail).await;
    assert_eq!(
        (status, &again["message"]),
        (409, &json!("the workflow method was already invoked"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn segnos_own_runtime_calls_an_endpoint() {
    let [ingress, admin] = [(); 2].map(|()| format!("127.0.0.1:{}", free_port().expect("a port")));
    let arguments = ["--restate-ingress", &ingress, "--restate-admin", &admin];
    let host = TestHost::with(SEGNO, PaymentsOptions::default(), &arguments).await;
    let runtime = Runtime {
        ingress: format!("http://{ingress}"),
        admin: format!("http://{admin}"),
        client: reqwest::Client::new(),
        env: host.env.clone(),
    };
    let bytes_of = |id: &str| id.as_bytes().to_vec();
    order_and_approval(&runtime, host.folder(), &host.payments, bytes_of).await;
    sign_up(&runtime, host.folder()).await;
    // The host lists them like its own executions. They would be halted if anything had gone wrong.
    let listed = host.client().list(&Default::default()).await.expect("it answers");
    assert!(listed.items.iter().all(|it| it.state != InvocationState::Halted), "{listed:#?}");
}

/// Folder in which the released server is installed. `None` if it is not requested.
fn restate_server() -> Option<PathBuf> {
    std::env::var_os("SEGNO_RESTATE_SERVER").filter(|said| said == "1")?;
    let folder = std::env::var_os("SEGNO_RESTATE_SERVER_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/restate-server"),
        PathBuf::from,
    );
    let platform = match std::env::consts::ARCH {
        "aarch64" => "linux-arm64",
        _ => "linux-x64",
    };
    let binary = format!("node_modules/@restatedev/restate-server-{platform}/bin/restate-server");
    let binary = folder.join(binary);
    assert!(binary.exists(), "the server is not installed: there is no `{}`", binary.display());
    Some(binary)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_released_server_calls_an_endpoint() {
    let Some(binary) = restate_server() else { return };
    for experimental_v7 in [false, true] {
        let env = Env::system();
        let folder = tempfile::tempdir().expect("a folder");
        let payments = PaymentService::start(folder.path(), PaymentsOptions::default(), &env).await;
        let port = || free_port().expect("a port");
        let [ingress, admin, fabric] = [port(), port(), port()];
        let mut command = Command::new(&binary);
        command
            .arg("--base-dir")
            .arg(folder.path().join("server"))
            .env("RESTATE_INGRESS__BIND_ADDRESS", format!("127.0.0.1:{ingress}"))
            .env("RESTATE_ADMIN__BIND_ADDRESS", format!("127.0.0.1:{admin}"))
            .env("RESTATE_BIND_ADDRESS", format!("127.0.0.1:{fabric}"))
            .env("RESTATE_ADVERTISED_ADDRESS", format!("http://127.0.0.1:{fabric}"))
            .env("RESTATE_DEFAULT_NUM_PARTITIONS", "2")
            .env("RESTATE_EXPERIMENTAL_ENABLE_PROTOCOL_V7", experimental_v7.to_string());
        let mut server = Process::start("server", command, &folder.path().join("server.log"))
            .expect("it starts");
        let runtime = Runtime {
            ingress: format!("http://127.0.0.1:{ingress}"),
            admin: format!("http://127.0.0.1:{admin}"),
            client: reqwest::Client::new(),
            env: env.clone(),
        };
        let health = format!("{}/restate/health", runtime.ingress);
        let is_there =
            async || reqwest::get(&health).await.is_ok_and(|said| said.status().is_success());
        let ready = server.ready(&env, LIMIT, is_there).await;
        ready.unwrap_or_else(|error| panic!("{error}"));
        let bytes_of = |id: &str| id.parse::<InvocationId>().expect("an id").to_bytes().to_vec();
        order_and_approval(&runtime, folder.path(), &payments, bytes_of).await;
        sign_up(&runtime, folder.path()).await;
        server.terminate(&env, LIMIT).await.expect("it ends");
    }
}
