//! `segno dev` on a new project: it runs its own host, and starts a round after every change.

use std::{
    fs,
    io::BufReader,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use segno_client::{Client, ClientError};
use segno_core::time::Millis;
use segno_env::{Runtime as _, SystemRuntime};
use serde_json::{Value as Json, json};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");
/// Time limit of a round. Most of it is the build.
const PATIENCE: Duration = Duration::from_secs(600);

/// A running command, and the rounds that it reports.
struct Dev {
    child: Child,
    rounds: Receiver<Json>,
}

impl Dev {
    fn start(project: &Path, server: &str, arguments: &[&str]) -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents");
        let mut command = Command::new(SEGNO);
        command.args(["--server", server, "--json", "dev"]).arg(project).args(arguments);
        command.env("CARGO_TARGET_DIR", target).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let said = BufReader::new(child.stdout.take().expect("it was asked for"));
        let (sender, rounds) = mpsc::channel();
        std::thread::spawn(move || {
            let documents = serde_json::Deserializer::from_reader(said).into_iter::<Json>();
            documents.map_while(Result::ok).try_for_each(|round| sender.send(round))
        });
        Self { child, rounds }
    }

    fn round(&self) -> Json {
        self.rounds.recv_timeout(PATIENCE).expect("a round comes to its end")
    }

    /// Ends the command with SIGINT, as Ctrl-C does. Returns its exit code.
    fn stop(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let killed = Command::new("kill").args(["-INT", &id]).status().expect("there is `kill`");
        assert!(killed.success());
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // The command has ended, or the test has failed, so an error is ignored.
        let _ = self.child.kill();
    }
}

/// Replaces a piece of the project's source.
fn change(source: &PathBuf, from: &str, to: &str) {
    let text = fs::read_to_string(source).expect("it is there");
    assert_eq!(text.matches(from).count(), 1, "{from}");
    fs::write(source, text.replace(from, to)).expect("there is room");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_is_built_checked_and_deployed_after_every_change() {
    let folder = tempfile::tempdir().expect("there is room");
    let made = Command::new(SEGNO).args(["new", "flow"]).current_dir(folder.path()).status();
    assert!(made.expect("it runs").success());
    let project = folder.path().join("flow");
    let source = project.join("src/lib.rs");
    let address = TcpListener::bind("127.0.0.1:0").expect("there is a port").local_addr();
    let server = format!("http://{}", address.expect("it is bound"));
    let client = Client::new(&server, None).expect("it is an address");

    let dev = Dev::start(&project, &server, &["--migrate", "same"]);
    let first = dev.round();
    assert_eq!(first["report"]["in_flight"], json!({}), "{first:#}");
    let digest = first["module"].as_str().expect("it was deployed").to_owned();
    assert_eq!(client.module("flow").await.expect("it is there").digest, digest);
    let started = Command::new(SEGNO)
        .args(["--server", &server, "start", "flow/signup", "\"ada@example.org\"", "--id", "ada"])
        .output();
    assert!(started.expect("it runs").status.success());
    waits_for_its_answer(&client).await;

    // A part of the code that has not run yet may change: the execution moves to the new code.
    change(&source, "\"refused\"", "\"turned away\"");
    let compatible = dev.round();
    assert_eq!(compatible["report"]["in_flight"], json!({ "same": 1 }), "{compatible:#}");
    assert_eq!(compatible["report"]["moved"]["done"], json!(["ada"]));
    let moved = client.invocation("ada").await.expect("it is there").module;
    assert_eq!(moved.as_deref(), compatible["module"].as_str());
    assert_ne!(moved.as_deref(), Some(&*digest));

    // An error is reported by file and line, and nothing is deployed.
    change(&source, "use segno::", "use segmo::");
    let broken = dev.round();
    let why = broken["error"]["detail"].as_str().expect("it does not compile");
    assert!(why.contains("src/lib.rs:3"), "{why}");
    assert_eq!(client.module("flow").await.expect("it is there").digest, *moved.as_ref().unwrap());

    // The fix restores the previous code.
    change(&source, "use segmo::", "use segno::");
    assert_eq!(dev.round()["unchanged"], json!(true));

    // A part that has already run must not change: the execution stays on its code.
    change(&source, "below(1_000_000)", "below(1_000)");
    let differs = dev.round();
    assert_eq!(differs["report"]["in_flight"], json!({ "diverges": 1 }), "{differs:#}");
    assert_ne!(differs["module"].as_str(), moved.as_deref(), "new executions have the new code");
    assert_eq!(client.invocation("ada").await.expect("it is there").module, moved);

    assert_eq!(dev.stop(), Some(0));
    let error = client.health().await.expect_err("its host was stopped");
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    assert!(project.join("segno-dev/data").is_dir(), "its store is kept");
}

async fn waits_for_its_answer(client: &Client) {
    for _ in 0..600 {
        let seen = client.invocation("ada").await.expect("it is there");
        if seen.waits.iter().any(|wait| wait.id == "ada/p/confirmed") {
            return;
        }
        SystemRuntime.sleep(Millis(100)).await;
    }
    panic!("it does not come to its promise");
}
