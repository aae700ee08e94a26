//! The recordings in the documents: terminal sessions that this suite runs.
//!
//! `SEGNO_PICTURES=docs/images cargo test -p tests recording::` records them again.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::json;
use tests::{
    documents::repository,
    guests,
    recording::{COLUMNS, Recording, commands},
    test_host::TestHost,
};

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// A session: its host, and the recording.
struct Session {
    host: TestHost,
    recording: Recording,
}

impl Session {
    /// Types a command and shows its output.
    fn run(&mut self, command: &str) {
        self.recording.types(command);
        let printed = self.printed(command, "");
        self.recording.print(&format!("{printed}\n"));
        self.recording.shows(2_600);
    }

    /// Output of a command on a terminal that is 80 columns wide. `typed` are input lines for it.
    fn printed(&self, command: &str, typed: &str) -> String {
        let words = command.strip_prefix("segno ").expect("commands of segno only");
        let line = format!("stty cols {COLUMNS} rows 24 -echo; {SEGNO} {words}");
        let mut child = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .current_dir(self.host.folder())
            .env("SEGNO_SERVER", self.host.client().server())
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux is there");
        let mut stdin = child.stdin.take().expect("it was asked for");
        // The command reads its input once it has started. A terminal buffers it until then.
        stdin.write_all(typed.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        drop(stdin);
        let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
        // Removes input that was echoed before the echo was off.
        let text = typed.lines().fold(text, |text, line| {
            let echoed = format!("{line}\n");
            text.strip_prefix(&echoed).map(str::to_owned).unwrap_or(text)
        });
        let text = without_progress(&text);
        assert!(output.status.success(), "{command}: {text}");
        text.trim_end().to_owned()
    }
}

/// Removes progress lines, which a terminal erases.
fn without_progress(text: &str) -> String {
    text.lines()
        .map(|line| line.rsplit("\u{1b}[K").next().unwrap_or_default())
        .map(|line| line.rsplit("\u{1b}[2K").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_waits_is_approved_and_is_stepped_through() {
    let host = TestHost::start(SEGNO).await;
    host.deploy("order", guests::component("order")).await;
    let item = |sku| json!({ "sku": sku, "quantity": 1, "price_cents": 900 });
    let order = json!({
        "id": "o-7", "items": [item("tea"), item("cup")], "payments": host.payments.address(),
    });
    fs::write(host.folder().join("order.json"), order.to_string()).expect("there is room");
    let mut session = Session { host, recording: Recording::default() };
    session.run("segno start order/order @order.json --id order-7");
    session
        .host
        .until("order-7", "waiting for its approval", |seen| {
            seen.waits.iter().any(|wait| wait.id.ends_with("/p/approval"))
        })
        .await;
    session.run("segno why order-7");
    session.run("segno resolve order-7/p/approval true");
    session.host.ended("order-7").await;
    session.run("segno inspect order-7");
    let step = "segno replay order-7 --step";
    session.recording.types(step);
    // Presses one key after the other.
    let (mut typed, mut shown) = (String::new(), 0);
    for key in ["n", "n", "n", "n", "p", "q"] {
        let printed = session.printed(step, &format!("{typed}q\n"));
        let screens: Vec<&str> = printed.split("q quit").collect();
        let fresh = screens.get(shown..).map(|fresh| fresh.join("q quit")).unwrap_or_default();
        shown = screens.len().saturating_sub(1);
        session.recording.print(fresh.trim_matches('\n'));
        session.recording.shows(1_800);
        session.recording.print(&format!("\u{1b}[1m{key}\u{1b}[0m\n"));
        typed += key;
        typed.push('\n');
    }
    session.recording.shows(1_200);
    let svg = session.recording.svg(
        "segno start, why, resolve, inspect and replay --step: an order waits for its approval, and is stepped through",
    );
    let file = repository().join("docs/images/session.svg");
    match std::env::var("SEGNO_PICTURES") {
        Ok(folder) => write(&repository().join(folder).join("session.svg"), &svg),
        Err(_) => {
            let kept = fs::read_to_string(&file).expect("the recording is in the repository");
            assert_eq!(commands(&kept), commands(&svg), "make {} anew", file.display());
        }
    }
}

fn write(file: &Path, svg: &str) {
    fs::write(file, svg).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}
