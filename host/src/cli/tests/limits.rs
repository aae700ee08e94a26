//! Setting and showing limits, and the messages about executions that wait for them.

use segno_api::testing::ApiWorld;
use segno_core::command::Command;

use super::{CommandOutput, Exit, host, run, run_in};

/// Evaluates the keys of a limit that was set, as a host's timers do.
async fn due(world: &ApiWorld, name: &str) {
    world.command(Command::LimitDue { name: name.into() }).await;
}

async fn start(server: &str, id: &str, input: &str) -> CommandOutput {
    run(server, &["start", "shop/ship", input, "--id", id]).await
}

#[tokio::test]
async fn a_limit_is_set_shown_and_cleared() {
    let (_world, server) = host().await;
    let said = run(&server, &["limit", "list"]).await;
    assert_eq!(said.err, "no limits; set one with `segno limit set MODULE/FUNCTION`\n");
    let said = run(&server, &["limit", "show", "shop/ship"]).await;
    assert_eq!(said.out, "shop/ship  not limited\n");
    let set = ["limit", "set", "shop/ship", "--key", "c", "--concurrency", "5", "--rate", "10/s"];
    let more = ["--burst", "20", "--total-concurrency", "100", "--total-rate", "100/s"];
    let order = ["--priority", "urgency", "--weighted", "--weight", "acme=5"];
    let said = run(&server, &[&set[..], &more, &order].concat()).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    let rule = "at most 5 per c, 10/s (burst 20); in all at most 100, 100/s; more turns for higher urgency; 1 key has a weight";
    assert_eq!(
        said.out,
        format!(
            "shop/ship  {rule}\n  before    not limited\n  rule      set by an operator\n  running   0\n  waiting   0\n"
        )
    );
    let said = run(&server, &["limit", "show", "shop/ship"]).await;
    assert!(said.out.contains("  weights   acme=5\n"), "{}", said.out);
    assert!(said.out.contains("  tokens    100 of 100\n"), "{}", said.out);
    let said = run(&server, &["limit", "show", "shop/ship", "--json"]).await.json();
    assert_eq!((&said["rule"]["per_key"]["rate"]["burst"], said.get("keys")), (&20.into(), None));
    // The whole rule is replaced, and may come from a file.
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "{\"key\": \"c\", \"singleton\": \"skip\"}")
        .expect("it is written");
    let path = file.path().display().to_string();
    let said = run(&server, &["limit", "set", "shop/ship", "--file", &path]).await;
    assert!(said.out.starts_with("shop/ship  one per c, another is skipped\n"), "{}", said.out);
    assert!(said.out.contains("(burst 20)") && said.out.contains("(set by an operator)"));
    let said = run(&server, &["limit", "list"]).await;
    let words: Vec<&str> = said.out.lines().nth(1).expect("a row").split_whitespace().collect();
    assert_eq!(words.join(" "), "shop/ship 0 0 operator one per c, another is skipped");
    let said = run(&server, &["limit", "clear", "shop/ship", "--json"]).await.json();
    assert_eq!((said.get("rule"), &said["before"]["rule"]["singleton"]), (None, &"skip".into()));
}

#[tokio::test]
async fn what_is_wrong_with_a_limit_is_said() {
    let (_world, server) = host().await;
    let said = run(&server, &["limit", "set", "shop/ship", "--concurrency", "0"]).await;
    assert_eq!(said.exit, Exit::Error);
    assert!(said.err.contains("a concurrency of 0 would let nothing begin"), "{}", said.err);
    let said = run(&server, &["limit", "set", "shop/ship"]).await;
    assert!(said.err.contains("give it a concurrency, a rate"), "{}", said.err);
    let said = run(&server, &["limit", "show", "shop/shp"]).await;
    assert_eq!(said.exit, Exit::NotFound);
    assert!(said.err.contains("it has order, ship, short"), "{}", said.err);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "{\"concurrency\": 5}").expect("it is written");
    let path = file.path().display().to_string();
    let said = run(&server, &["limit", "set", "shop/ship", "--file", &path]).await;
    assert_eq!(said.exit, Exit::Usage);
    assert!(said.err.contains("unknown field `concurrency`"), "{}", said.err);
}

#[tokio::test]
async fn an_execution_that_waits_behind_a_limit_is_seen_to() {
    let (world, server) = host().await;
    let set = ["limit", "set", "shop/ship", "--key", "c", "--concurrency", "1", "--priority", "p"];
    run(&server, &set).await;
    due(&world, "shop/ship").await;
    let input = "{\"c\": \"acme\", \"p\": 2}";
    assert_eq!(start(&server, "a", input).await.out, "a  started\n");
    let behind = "waits behind the limit of shop/ship, key acme, priority 2";
    assert_eq!(start(&server, "b", input).await.out, format!("b  {behind}\n"));
    assert_eq!(start(&server, "b", input).await.out, "b  exists, suspended behind a limit\n");
    start(&server, "c", input).await;
    start(&server, "d", "{\"c\": \"acme\"}").await;
    let said = run(&server, &["inspect", "a"]).await;
    assert!(said.out.contains("  limit     shop/ship, key acme, priority 2\n"), "{}", said.out);
    assert!(!said.out.contains("waits behind"), "{}", said.out);
    let said = run(&server, &["inspect", "c"]).await;
    let why = format!(
        "{behind}: 1 of 1 run, 1 of its priority before it, held by a; `segno limit show shop/ship --keys` shows the others"
    );
    assert!(said.out.contains(&why), "{}", said.out);
    let said = run(&server, &["limit", "show", "shop/ship", "--keys"]).await;
    let table: Vec<&str> = said.out.lines().skip_while(|line| !line.starts_with("KEY")).collect();
    assert_eq!(
        table,
        ["KEY   RUNNING  WAITING  BY PRIORITY  HELD BY", "acme        1        3  2: 2, 0: 1   a"]
    );
    let said = run(&server, &["limit", "show", "shop/ship", "--keys", "--json"]).await.json();
    assert_eq!(said["keys"][0]["priorities"]["2"], 2);
    for arguments in
        [&["inspect", "c"][..], &["limit", "show", "shop/ship", "--keys"], &["limit", "list"]]
    {
        let said = run_in(Some(80), &server, arguments).await;
        assert!(said.out.lines().all(|line| crate::cli::text::width(line) <= 80), "{}", said.out);
    }
    let said = run(&server, &["result", "c", "--wait", "10ms"]).await;
    assert_eq!(said.exit, Exit::TimedOut);
    assert!(
        said.err.contains("`c` has not ended: it is suspended; `segno inspect c`"),
        "{}",
        said.err
    );
}

#[tokio::test]
async fn a_start_that_does_not_begin_ends_as_a_failure() {
    let (world, server) = host().await;
    run(&server, &["limit", "set", "shop/ship", "--key", "c", "--singleton", "skip"]).await;
    due(&world, "shop/ship").await;
    let input = "{\"c\": \"acme\"}";
    assert_eq!(start(&server, "a", input).await.exit, Exit::Done);
    let why = "`b` does not begin: `a` is under way, and its key has one at a time";
    let said = start(&server, "b", input).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Failed, "b  does not begin\n"));
    assert!(said.err.contains(why), "{}", said.err);
    let said = run(&server, &["call", "shop/ship", input, "--id", "b2"]).await;
    assert_eq!(said.exit, Exit::Failed);
    assert!(said.err.contains("`b2` is rejected: `b2` does not begin"), "{}", said.err);
    let said = run(&server, &["inspect", "b"]).await;
    assert!(said.out.contains(&format!("failed with 409: {why}")), "{}", said.out);
}
