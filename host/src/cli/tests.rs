//! Commands against a host that listens on loopback; no worker runs, so promises are settled by hand.

use std::sync::{Arc, Mutex, PoisonError};

use segno_core::{command::Command, promise::Verdict, value::Value as Stored};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Cli, Console, Exit};
use crate::api::{serve, tests::World};

/// What was written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// How a command ended and what it said.
#[derive(Debug)]
struct Said {
    exit: Exit,
    out: String,
    err: String,
}

impl Said {
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).expect("JSON on standard output")
    }
}

async fn run(server: &str, arguments: &[&str]) -> Said {
    let given: Vec<&str> =
        ["segno", "--server", server].into_iter().chain(arguments.iter().copied()).collect();
    let cli = Cli::read(given).expect("the arguments are right");
    let (out, err) = (Written::default(), Written::default());
    let mut console = Console::plain(out.clone(), err.clone(), cli.json());
    let exit = cli.run(&mut console).await;
    Said { exit, out: out.text(), err: err.text() }
}

/// A host with the module `shop`, and its address.
async fn host() -> (World, String) {
    let world = World::shop().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    let served = serve(listener, world.api.clone(), std::future::pending());
    world.api.host.surroundings.runtime.spawn("server", Box::pin(served));
    (world, server)
}

async fn finish(world: &World, id: &str, verdict: Verdict, data: &str) {
    let claim = world.acquire(id).await;
    let value = Stored::of(data.as_bytes());
    world
        .command(Command::TaskFulfill { claim, records: vec![], logs: vec![], verdict, value })
        .await;
}

#[tokio::test]
async fn without_a_host_the_error_says_what_to_do() {
    let said = run("http://127.0.0.1:1", &["list"]).await;
    assert_eq!(said.exit, Exit::Unreachable);
    assert_eq!(
        said.err,
        "error: no host answers at http://127.0.0.1:1; start one with `segno serve`\n"
    );
    let said = run("http://127.0.0.1:1", &["list", "--json"]).await;
    let document: Value = serde_json::from_str(&said.err).expect("a document");
    assert_eq!(document["code"], "server-unreachable");
    let said = run("localhost:7766", &["list"]).await;
    assert_eq!(said.exit, Exit::Usage);
    assert!(said.err.contains("write it like http://127.0.0.1:7766"), "{}", said.err);
}

#[tokio::test]
async fn an_invocation_is_started_shown_and_awaited() {
    let (world, server) = host().await;
    let start = ["start", "shop/ship", "{\"no\": 1}", "--id", "a/1", "--label", "k=v"];
    let said = run(&server, &start).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "a/1  started\n"));
    let said = run(&server, &["start", "shop/ship", "2", "--id", "a/1"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "a/1  exists, pending\n"));
    assert!(said.err.contains("warning: `a/1` was started with another input"), "{}", said.err);
    let said = run(&server, &["result", "a/1"]).await;
    assert_eq!(said.exit, Exit::TimedOut);
    assert!(said.err.contains("has not ended: it is pending"), "{}", said.err);
    let said = run(&server, &["call", "shop/ship", "--id", "a/1", "--wait", "1ms"]).await;
    assert_eq!(said.exit, Exit::TimedOut);
    finish(&world, "a/1", Verdict::Resolved, "{\"shipped\":true}").await;
    let said = run(&server, &["result", "a/1", "--wait", "5s"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Done, "{\n  \"shipped\": true\n}\n"));
    let said = run(&server, &["list", "--label", "k=v", "--json"]).await;
    assert_eq!(said.json()["items"][0]["state"], "resolved");
    let said = run(&server, &["list"]).await;
    assert!(said.out.contains("ID ") && said.out.contains("shop/ship"), "{}", said.out);
    let said = run(&server, &["inspect", "a/1"]).await;
    assert!(said.out.starts_with("a/1  shop/ship  resolved\n"), "{}", said.out);
    assert!(said.out.contains("{\"shipped\":true}"), "{}", said.out);
}

#[tokio::test]
async fn exit_codes_say_how_it_ended() {
    let (world, server) = host().await;
    world.start("failed").await.ok();
    finish(&world, "failed", Verdict::Rejected, "{\"code\":402,\"message\":\"declined\"}").await;
    let said = run(&server, &["result", "failed"]).await;
    assert_eq!(said.exit, Exit::Failed);
    assert_eq!(said.err, "`failed` is rejected: declined (code 402)\n");
    world.start("killed").await.ok();
    assert_eq!(run(&server, &["kill", "killed"]).await.out, "killed  killed\n");
    assert_eq!(run(&server, &["kill", "killed"]).await.out, "killed  had ended already\n");
    assert_eq!(run(&server, &["result", "killed"]).await.exit, Exit::Cancelled);
    for arguments in [
        &["result", "nothing"][..],
        &["inspect", "nothing"],
        &["cancel", "nothing"],
        &["resolve", "nothing"],
        &["modules", "nothing"],
        &["start", "shop/nothing"],
        &["start", "nothing/ship"],
    ] {
        let said = run(&server, arguments).await;
        assert_eq!(said.exit, Exit::NotFound, "{arguments:?}: {}", said.err);
        assert!(said.err.starts_with("error: "), "{}", said.err);
    }
    let said = run(&server, &["call", "shop/order", "{\"items\": \"all\"}", "--json"]).await;
    assert_eq!(said.exit, Exit::Error);
    let problem: Value = serde_json::from_str(&said.err).expect("a problem");
    assert_eq!(
        (&problem["code"], &problem["errors"][0]["path"]),
        (&json!("invalid-input"), &json!("/items"))
    );
    let said = run(&server, &["start", "shop/ship", "{no json"]).await;
    assert_eq!(said.exit, Exit::Usage);
    assert!(said.err.contains("is not JSON"), "{}", said.err);
}

#[tokio::test]
async fn nobody_waits_for_ever_for_a_halted_invocation() {
    let (world, server) = host().await;
    world.start("a").await.ok();
    world.halt("a").await;
    let arguments = ["call", "shop/ship", "{\"no\": 1}", "--id", "a"];
    let call = run(&server, &arguments);
    let said = world.api.host.surroundings.within(segno_core::time::Millis(30_000), call).await;
    let said = said.expect("the command ends");
    assert_eq!(said.exit, Exit::TimedOut);
    assert!(said.err.contains("`a` is halted: the replay leaves the journal"), "{}", said.err);
    let said = run(&server, &["inspect", "a"]).await;
    assert!(said.out.contains("divergence: the replay leaves"), "{}", said.out);
    assert_eq!(run(&server, &["continue", "a"]).await.out, "a  continues\n");
}

#[tokio::test]
async fn promises_and_signals_are_sent() {
    let (world, server) = host().await;
    world.start("a").await.ok();
    let claim = world.acquire("a").await;
    world.gate("gate").await;
    let awaits = ["gate".into()].into();
    world.command(Command::TaskSuspend { claim, records: vec![], logs: vec![], awaits }).await;
    let said = run(&server, &["inspect", "a"]).await;
    assert!(said.out.contains("settle it with `segno resolve gate`"), "{}", said.out);
    let said = run(&server, &["signal", "a", "nudge", "1"]).await;
    assert_eq!(said.out, "a  signal 0 `nudge`\n");
    let said = run(&server, &["reject", "gate", "--message", "no", "--code", "409"]).await;
    assert_eq!(said.out, "gate  rejected  failed with 409: no\n");
    let said = run(&server, &["resolve", "gate", "1"]).await;
    assert!(said.err.contains("the first outcome stays"), "{}", said.err);
    let said = run(&server, &["resolve", "a"]).await;
    assert!(said.err.contains("settles itself"), "{}", said.err);
    assert_eq!(run(&server, &["cancel", "a"]).await.out, "a  cancellation requested\n");
    let said = run(&server, &["continue", "a"]).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("`a` is pending"), "{}", said.err);
}

#[tokio::test]
async fn components_are_uploaded_under_their_file_s_name() {
    let (_world, server) = host().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("my_shop.wasm");
    std::fs::write(&path, "wasm order pay").expect("it is writable");
    let path = path.display().to_string();
    let said = run(&server, &["deploy", &path]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.starts_with("my-shop  "), "{}", said.out);
    assert!(said.out.contains("pay") && said.out.contains("refused when called:"), "{}", said.out);
    let said = run(&server, &["deploy", &path, "--as", "shop"]).await;
    assert!(said.out.contains("on which executions in flight finish"), "{}", said.out);
    let said = run(&server, &["modules"]).await;
    assert!(said.out.contains("my-shop, shop"), "{}", said.out);
    let said = run(&server, &["modules", "shop", "--json"]).await;
    assert_eq!(said.json()["functions"][1]["name"], "pay");
    std::fs::write(&path, "no module").expect("it is writable");
    let said = run(&server, &["deploy", &path]).await;
    assert_eq!((said.exit, said.err.as_str()), (Exit::Error, "error: this is not WebAssembly\n"));
    let said = run(&server, &["deploy", "/does/not/exist.wasm"]).await;
    assert!(said.err.contains("cannot read /does/not/exist.wasm"), "{}", said.err);
}

#[tokio::test]
async fn journals_and_logs_are_lines() {
    let (world, server) = host().await;
    world.start("a").await.ok();
    let digest = world.digest("shop").await;
    world.journal("a", digest).await;
    let said = run(&server, &["inspect", "a"]).await;
    let timeline: Vec<&str> =
        said.out.lines().skip_while(|line| !line.starts_with("journal")).collect();
    assert_eq!(timeline.len(), 4, "{}", said.out);
    assert!(timeline[1].contains("started ship {\"no\":1}"), "{}", said.out);
    assert!(timeline[2].contains("#0 run weigh {\"unit\":\"kg\"}"), "{}", said.out);
    assert!(timeline[3].contains("#0 ← failed with 422: too heavy"), "{}", said.out);
    let said = run(&server, &["inspect", "a", "--records", "1", "--json"]).await;
    assert_eq!(said.json()["journal"].as_array().map(Vec::len), Some(1));
    assert_eq!(said.json()["journal"][0]["seq"], 2);
    let said = run(&server, &["logs", "a"]).await;
    assert!(said.out.ends_with("warn   weighing\n"), "{}", said.out);
    assert_eq!(run(&server, &["logs", "a", "--level", "error"]).await.out, "");
}

#[tokio::test]
async fn lists_go_on_page_after_page() {
    let (world, server) = host().await;
    for n in 0..3 {
        world.start(&format!("a{n}")).await.ok();
    }
    let said = run(&server, &["list", "--limit", "2"]).await;
    assert_eq!(said.out.lines().count(), 3);
    assert!(said.err.contains("there are more: add `--after "), "{}", said.err);
    let said = run(&server, &["list", "--all", "--json"]).await;
    assert_eq!(said.json()["items"].as_array().map(Vec::len), Some(3));
    let said = run(&server, &["list", "--state", "halted"]).await;
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", "no invocations\n"));
}

#[tokio::test]
async fn every_command_has_examples_and_completions() {
    use clap::CommandFactory as _;
    let mut command = Cli::command();
    command.build();
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let names: Vec<String> = shown.map(|sub| sub.get_name().to_owned()).collect();
    for name in names.iter().filter(|name| *name != "help") {
        let sub = command.find_subcommand_mut(name).expect("it is listed");
        let help = sub.render_long_help().to_string();
        assert!(help.contains("Examples:"), "{name}: {help}");
        assert!(help.contains(&format!("segno {name}")), "{name}: {help}");
    }
    let help = Cli::command().render_long_help().to_string();
    assert!(help.contains("Exit codes:") && help.contains("8  the host does not answer"), "{help}");
    for shell in ["bash", "zsh", "fish"] {
        let said = run("http://127.0.0.1:1", &["completions", shell]).await;
        assert_eq!(said.exit, Exit::Done);
        assert!(names.iter().all(|name| said.out.contains(name.as_str())), "{shell}");
    }
}

#[test]
fn wrong_usage_ends_with_code_2() {
    for arguments in [
        &["segno"][..],
        &["segno", "strat"],
        &["segno", "start"],
        &["segno", "list", "--state", "running"],
        &["segno", "start", "a/b", "--timeout", "soon"],
        &["segno", "start", "a/b", "--at", "2031-01-01T00:00:00Z", "--delay", "1s"],
        &["segno", "start", "a/b", "1", "--input", "2"],
        &["segno", "logs", "a", "--level", "loud"],
    ] {
        let error = Cli::read(arguments).expect_err("it is wrong");
        assert_eq!(error.exit_code(), 2, "{arguments:?}");
    }
    assert_eq!(Cli::read(["segno", "--version"]).expect_err("it only says so").exit_code(), 0);
}

#[tokio::test]
async fn a_schedule_is_made_looked_at_and_removed() {
    let (_world, server) = host().await;
    let create = [
        "schedule",
        "create",
        "nightly",
        "0 3 * * *",
        "shop/ship",
        "{\"no\": 1}",
        "--overlap",
        "queue",
    ];
    let said = run(&server, &create).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.starts_with("nightly  made, first "), "{}", said.out);
    let said = run(&server, &create).await;
    assert!(said.err.contains("warning: it existed before"), "{}", said.err);
    let said = run(&server, &["schedule", "list"]).await;
    assert!(said.out.contains("0 3 * * *") && said.out.contains("shop/ship"), "{}", said.out);
    let said = run(&server, &["schedule", "show", "nightly"]).await;
    assert!(said.out.starts_with("nightly  shop/ship  0 3 * * * (UTC)\n"), "{}", said.out);
    assert!(said.out.contains("queue: begins when the last has ended"), "{}", said.out);
    assert_eq!(run(&server, &["schedule", "pause", "nightly"]).await.out, "nightly  paused\n");
    let said = run(&server, &["schedule", "list", "--json"]).await;
    assert_eq!(said.json()["items"][0]["paused"], true);
    let said = run(&server, &["schedule", "resume", "nightly"]).await;
    assert!(said.out.starts_with("nightly  goes on, next in "), "{}", said.out);
    let range = ["--from", "2020-01-01T00:00:00Z", "--to", "2020-06-01T00:00:00Z"];
    let backfill = [&["schedule", "backfill", "nightly"][..], &range].concat();
    let said = run(&server, &backfill).await;
    assert_eq!(said.out, "nightly  152 started, 0 had been before, 0 left out\n", "{}", said.err);
    let said = run(&server, &backfill).await;
    assert_eq!(said.out, "nightly  0 started, 152 had been before, 0 left out\n");
    assert_eq!(run(&server, &["schedule", "delete", "nightly"]).await.out, "nightly  removed\n");
    assert_eq!(run(&server, &["schedule", "show", "nightly"]).await.exit, Exit::NotFound);
    let said = run(&server, &["schedule", "create", "x", "daily", "shop/ship"]).await;
    assert!(said.err.contains("is no cron expression"), "{}", said.err);
}

#[tokio::test]
async fn promises_are_made_listed_and_settled() {
    let (_world, server) = host().await;
    let create =
        ["promise", "create", "gate", "{\"sum\": 7}", "--timeout", "1h", "--tag", "team=x"];
    let said = run(&server, &create).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.starts_with("gate  made, times out in "), "{}", said.out);
    let said = run(&server, &create).await;
    assert!(said.err.contains("warning: it existed before and is unchanged"), "{}", said.err);
    assert_eq!(said.out, "gate  exists, pending\n");
    for n in 0..3 {
        run(&server, &["promise", "create", &format!("other-{n}")]).await;
    }
    let said = run(&server, &["promise", "list", "--prefix", "other-", "--limit", "2"]).await;
    assert_eq!(said.out.lines().count(), 3, "{}", said.out);
    assert!(said.err.contains("there are more: add `--after other-1`"), "{}", said.err);
    let said = run(&server, &["promise", "list", "--all", "--json"]).await;
    assert_eq!(said.json()["items"].as_array().map(Vec::len), Some(4));
    let said = run(&server, &["promise", "list", "--tag", "team=x", "--state", "pending"]).await;
    assert!(said.out.contains("gate") && !said.out.contains("other"), "{}", said.out);
    let said = run(&server, &["promise", "list", "--prefix", "nothing"]).await;
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", "no promises\n"));
    let said = run(&server, &["promise", "get", "gate"]).await;
    assert!(said.out.starts_with("gate  pending"), "{}", said.out);
    assert!(said.out.contains("{\"sum\":7}") && said.out.contains("team=x"), "{}", said.out);
    let said = run(&server, &["promise", "resolve", "gate", "true"]).await;
    assert_eq!(said.out, "gate  resolved  true\n");
    let said = run(&server, &["promise", "cancel", "other-0"]).await;
    assert!(said.out.starts_with("other-0  cancelled"), "{}", said.out);
    let said = run(&server, &["promise", "reject", "other-1", "--message", "no"]).await;
    assert!(said.out.contains("rejected  failed with 400: no"), "{}", said.out);
    assert_eq!(run(&server, &["promise", "get", "nothing"]).await.exit, Exit::NotFound);
    let said = run(&server, &["promise", "create", "x", "--tag", "target=shop/ship"]).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("no address"), "{}", said.err);
}

#[tokio::test]
async fn tasks_are_looked_at_and_stepped_in() {
    let (world, server) = host().await;
    let create =
        ["promise", "create", "pack", "{\"func\": \"pack\"}", "--tag", "target=poll://any@g"];
    run(&server, &create).await;
    world.acquire("pack").await;
    let said = run(&server, &["task", "list", "--state", "acquired"]).await;
    assert!(said.out.contains("poll://any@g#pack") && said.out.contains("test"), "{}", said.out);
    let said = run(&server, &["task", "get", "pack"]).await;
    assert!(said.out.starts_with("pack  poll://any@g#pack  acquired\n"), "{}", said.out);
    assert!(said.out.contains("holder    test"), "{}", said.out);
    let said = run(&server, &["task", "release", "pack", "--if-version", "9"]).await;
    assert!(said.err.contains("stale"), "{}", said.err);
    let said = run(&server, &["task", "release", "pack"]).await;
    assert_eq!(said.out, "pack  taken from its holder, and offered again\n");
    let said = run(&server, &["task", "halt", "pack"]).await;
    assert_eq!(said.out, "pack  halted; `segno task continue pack` sets it going again\n");
    assert_eq!(run(&server, &["task", "halt", "pack"]).await.out, "pack  was halted already\n");
    let said = run(&server, &["task", "get", "pack"]).await;
    assert!(said.out.contains("halted    requested; `segno task continue pack`"), "{}", said.out);
    assert_eq!(run(&server, &["task", "continue", "pack"]).await.out, "pack  continues\n");
    let said = run(&server, &["task", "list", "--json"]).await;
    assert_eq!(said.json()["items"][0]["state"], "pending");
    assert_eq!(run(&server, &["task", "get", "nothing"]).await.exit, Exit::NotFound);
    let said = run(&server, &["task", "list", "--holder", "nobody"]).await;
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", "no tasks\n"));
}

#[tokio::test]
async fn a_resource_is_taken_and_written() {
    let (_world, server) = host().await;
    assert_eq!(run(&server, &["resource", "get", "stock"]).await.exit, Exit::NotFound);
    let lease = ["resource", "lease", "stock", "--holder", "ada", "--for", "1m"];
    let said = run(&server, &lease).await;
    assert!(said.out.starts_with("stock  never written\n"), "{}", said.out);
    assert!(
        said.out.contains("lease     ada, until ") && said.out.contains("token     1"),
        "{}",
        said.out
    );
    let busy = ["resource", "lease", "stock", "--holder", "bob", "--for", "1m"];
    let said = run(&server, &busy).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("held by `ada`"), "{}", said.err);
    let said =
        run(&server, &["resource", "put", "stock", "{\"left\": 12}", "--lease-token", "1"]).await;
    assert!(
        said.out.starts_with("stock  {\"left\":12}\n  written   under token 1\n"),
        "{}",
        said.out
    );
    let said = run(&server, &["resource", "put", "stock", "0", "--lease-token", "1"]).await;
    assert!(said.err.contains("stale"), "{}", said.err);
    let said = run(&server, &["resource", "get", "stock", "--json"]).await;
    assert_eq!((&said.json()["value"], &said.json()["token"]), (&json!({ "left": 12 }), &json!(1)));
}

#[tokio::test]
async fn a_tree_is_drawn() {
    let (world, server) = host().await;
    world.start("order").await.ok();
    for (id, tags) in [
        ("order:0", &["parent=order", "target=poll://any@g"][..]),
        ("order:0.1", &["parent=order:0"]),
        ("order:1", &["parent=order"]),
        ("order:2", &["parent=order"]),
    ] {
        let tags = tags.iter().flat_map(|tag| ["--tag", tag]);
        let arguments: Vec<&str> = ["promise", "create", id].into_iter().chain(tags).collect();
        assert_eq!(run(&server, &arguments).await.exit, Exit::Done);
    }
    run(&server, &["resolve", "order:1"]).await;
    run(&server, &["reject", "order:2", "--message", "\u{1b}[31mno"]).await;
    let said = run(&server, &["tree", "order"]).await;
    let columns = |line: &str, n: usize| {
        let words: Vec<&str> = line.split("  ").filter(|word| !word.is_empty()).collect();
        words.get(n).map_or(String::new(), |word| word.trim().to_owned())
    };
    let lines: Vec<&str> = said.out.lines().collect();
    let ids: Vec<String> = lines.iter().map(|line| columns(line, 0)).collect();
    assert_eq!(ids[0], "order", "{}", said.out);
    assert!(
        lines[1].starts_with("├─ order:0 ") && lines[2].starts_with("│  └─ order:0.1 "),
        "{}",
        said.out
    );
    assert!(
        lines[3].starts_with("├─ order:1 ") && lines[4].starts_with("└─ order:2 "),
        "{}",
        said.out
    );
    assert!(lines[0].contains("shop/ship") && lines[0].contains("pending"), "{}", said.out);
    assert!(lines[3].contains("resolved"), "{}", said.out);
    assert!(
        lines[4].contains("400: \u{fffd}[31mno") && !said.out.contains('\u{1b}'),
        "{}",
        said.out
    );
    let said = run(&server, &["tree", "order:0.1"]).await;
    assert!(
        said.out.starts_with("part of order › order:0  (segno tree order)\norder:0.1 "),
        "{}",
        said.out
    );
    let said = run(&server, &["tree", "order", "--width", "1", "--depth", "1"]).await;
    assert!(
        said.out.contains("│  └─ … 1 below") && said.out.contains("└─ … 2 more"),
        "{}",
        said.out
    );
    let said = run(&server, &["tree", "order", "--all", "--json"]).await;
    assert_eq!(said.json()["nodes"].as_array().map(Vec::len), Some(5));
    let said = run(&server, &["tree", "order", "--limit", "2"]).await;
    assert!(said.err.contains("there is more: `--all`"), "{}", said.err);
    assert_eq!(run(&server, &["tree", "nothing"]).await.exit, Exit::NotFound);
}

/// A data directory with a finished tree, and one execution that has not ended.
async fn data() -> tempfile::TempDir {
    use crate::{
        hub::Hub,
        runtime::Surroundings,
        store::{
            Store as _,
            sqlite::{SqliteConfig, SqliteStore},
        },
    };
    let dir = tempfile::tempdir().expect("a directory");
    let config = SqliteConfig { relaxed: true, ..SqliteConfig::new(dir.path()) };
    let store = SqliteStore::open(
        config,
        segno_core::config::Config::default(),
        Surroundings::system(),
        std::sync::Arc::new(Hub::default()),
    );
    let store = store.await.expect("it opens");
    let create = |id: &str, target: Option<&str>| {
        let tags = target.map(|target| ("target".to_owned(), target.to_owned()));
        Command::PromiseCreate(segno_core::promise::NewPromise {
            id: id.into(),
            param: Stored::of(&b"{}"[..]),
            tags: tags.into_iter().collect(),
            timeout_at: segno_core::time::Timestamp::NEVER,
        })
    };
    let settle = Command::PromiseSettle {
        id: "done".into(),
        verdict: Verdict::Resolved,
        value: Stored::of(&b"1"[..]),
    };
    let commands = vec![create("done", None), settle, create("open", Some("poll://workers"))];
    store.execute(commands).await.expect("replies");
    store.close().await;
    dir
}

async fn past(dir: &std::path::Path, arguments: &[&str]) -> Said {
    let dir = dir.display().to_string();
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--store", &dir]).collect();
    run("http://127.0.0.1:1", &arguments).await
}

async fn damage(dir: &tempfile::TempDir, statement: &'static str) {
    use sqlx::{Connection as _, Executor as _};
    let file = dir.path().join("segno.db");
    let file = file.to_str().expect("a path");
    let mut tables = sqlx::SqliteConnection::connect(file).await.expect("it opens");
    tables.execute(statement).await.expect("it is damaged");
    tables.close().await.expect("it closes");
}

#[tokio::test]
async fn a_sound_store_is_found_sound_and_measured() {
    let dir = data().await;
    let said = past(dir.path(), &["doctor"]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.ends_with(": 2 promises looked at, nothing is wrong\n"), "{}", said.out);
    let said = past(dir.path(), &["doctor", "--json"]).await;
    assert_eq!(
        (said.json()["clean"].clone(), said.json()["promises"].clone()),
        (json!(true), json!(2))
    );
    let said = past(dir.path(), &["size"]).await;
    assert!(said.out.contains("promises") && said.out.contains("LARGEST TREES"), "{}", said.out);
    let said = past(dir.path(), &["size", "--json"]).await;
    assert_eq!(said.json()["trees"][0]["id"], "done");
    assert_eq!(said.json()["functions"][0]["target"], "poll://workers");
    let nowhere = tempfile::tempdir().expect("a directory");
    for command in ["doctor", "size"] {
        let said = past(nowhere.path(), &[command]).await;
        assert_eq!(said.exit, Exit::Error);
        assert!(said.err.contains("there is no database in"), "{}", said.err);
    }
    assert!(!nowhere.path().join("segno.db").exists(), "looking makes nothing");
}

#[tokio::test]
async fn damage_is_told_in_words_and_repaired_where_the_policy_allows() {
    let dir = data().await;
    damage(&dir, "DELETE FROM tasks").await;
    let said = past(dir.path(), &["doctor"]).await;
    assert_eq!(said.exit, Exit::Damaged);
    assert!(
        said.out.contains("task-missing") && said.out.contains("orphan_invokes"),
        "{}",
        said.out
    );
    assert!(said.err.contains("--repair does it"), "{}", said.err);
    let said = past(dir.path(), &["doctor", "--repair"]).await;
    assert_eq!(said.exit, Exit::Done, "{} {}", said.out, said.err);
    assert!(said.out.contains("halt it for a person, raise an alert"), "{}", said.out);
    assert!(said.out.ends_with("looked again: nothing is wrong any more\n"), "{}", said.out);
}

#[tokio::test]
async fn nothing_is_repaired_under_a_running_host() {
    use crate::store::{
        Store as _,
        sqlite::{SqliteConfig, SqliteStore},
    };
    let dir = data().await;
    let store = SqliteStore::open(
        SqliteConfig::new(dir.path()),
        segno_core::config::Config::default(),
        crate::runtime::Surroundings::system(),
        std::sync::Arc::new(crate::hub::Hub::default()),
    );
    let store = store.await.expect("it opens");
    assert_eq!(past(dir.path(), &["doctor"]).await.exit, Exit::Done, "looking is allowed");
    let said = past(dir.path(), &["doctor", "--repair"]).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("is in use by process"), "{}", said.err);
    store.close().await;
}

#[tokio::test]
async fn a_store_moves_by_way_of_a_file() {
    let (old, new) = (data().await, tempfile::tempdir().expect("a directory"));
    let file = old.path().join("store.segno").display().to_string();
    let said = past(old.path(), &["export", &file]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.starts_with(&format!("{file}  ")), "{}", said.out);
    let said = past(old.path(), &["export", &file]).await;
    assert_eq!(said.exit, Exit::Usage);
    assert!(said.err.contains("exists: name another file"), "{}", said.err);
    let said = past(new.path(), &["import", &file]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.contains("2 promises looked at, nothing is wrong"), "{}", said.out);
    let said = past(new.path(), &["import", &file]).await;
    assert!(
        said.err.contains("is not empty: a store moves into an empty one only"),
        "{}",
        said.err
    );
    std::fs::write(&file, "a letter").expect("a file");
    let other = tempfile::tempdir().expect("a directory");
    let said = past(other.path(), &["import", &file]).await;
    assert!(said.err.contains("this is not an export of a store"), "{}", said.err);
    assert!(!other.path().join("segno.db").exists());
}

#[tokio::test]
async fn damage_does_not_move_unless_it_is_asked_to() {
    let (old, new) = (data().await, tempfile::tempdir().expect("a directory"));
    damage(&old, "DELETE FROM tasks").await;
    let file = old.path().join("store.segno").display().to_string();
    assert_eq!(past(old.path(), &["export", &file]).await.exit, Exit::Done);
    let said = past(new.path(), &["import", &file]).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("Nothing was kept"), "{}", said.err);
    assert!(!new.path().join("segno.db").exists());
    let said = past(new.path(), &["import", &file, "--even-if-damaged"]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.contains("symptoms of damage, as before"), "{}", said.out);
}

#[tokio::test]
async fn the_recovery_policy_is_printed() {
    let said = run("http://127.0.0.1:1", &["recovery", "policy"]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    for word in ["timers", "retention", "journal-damaged", "all trees", "forever"] {
        assert!(said.out.contains(word), "{word}: {}", said.out);
    }
    let rules = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(rules.path(), "default = \"30d\"\n[[rule]]\nmodule = \"shop\"\nkeep = \"1h\"\n")
        .expect("it is written");
    let path = rules.path().display().to_string();
    let said = run("http://127.0.0.1:1", &["recovery", "policy", "--retention", &path]).await;
    assert!(said.out.contains("module shop"), "{}", said.out);
    let said =
        run("http://127.0.0.1:1", &["recovery", "policy", "--retention", &path, "--json"]).await;
    assert_eq!(said.json()["retention"]["rule"][0]["keep"], "1h");
    assert_eq!(said.json()["classes"][0]["action"], "finish-chain");
}
