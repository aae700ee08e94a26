//! `segno budget`, and the errors of bad input.

use std::process::{Command, Output};

use serde_json::json;
use tests::test_host::TestHost;

use super::{SEGNO, ended, host, output};

async fn segno(host: &TestHost, arguments: &[&str]) -> Output {
    let mut command = Command::new(SEGNO);
    command.args(arguments).args(["--server", &host.client().server()]);
    let ran = tokio::task::spawn_blocking(move || command.output()).await;
    ran.expect("it is waited for").expect("it runs")
}

pub(super) async fn printed(host: &TestHost, arguments: &[&str]) -> Vec<Vec<String>> {
    let ran = segno(host, arguments).await;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).expect("text");
    text.lines().map(|line| line.split_whitespace().map(ToOwned::to_owned).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_given_shown_and_raised() {
    let host = host().await;
    let order = json!({ "limit": 60, "plan": { "calls": 9, "tokens": 25 } }).to_string();
    let call = ["call", "purse/delegate", &order, "--id", "a", "--budget", "tokens=100"];
    printed(&host, &[&call[..], &["--budget", "usd=2.50"]].concat()).await;
    let shown = printed(&host, &["budget", "show", "a"]).await;
    assert_eq!(shown[1], ["a", "tokens", "100", "75", "25"]);
    assert_eq!(shown[2], ["a", "usd", "2.5", "0.075", "2.425"]);
    assert_eq!(shown[3], ["a/0", "tokens", "60", "75", "0"]);
    let set = ["budget", "set", "a/0", "tokens=+40"];
    assert_eq!(printed(&host, &set).await[1], ["a/0", "tokens", "100", "75", "25"]);
    let set = ["budget", "set", "a", "usd=1", "calls=7"];
    let shown = printed(&host, &set).await;
    assert_eq!(shown[1], ["a", "calls", "7", "0", "7"]);
    assert_eq!(shown[3], ["a", "usd", "1", "0.075", "0.925"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_named() {
    let host = host().await;
    let plan = json!({ "calls": 1, "tokens": 1 });
    let free = ended(&host, "free", ("spend", plan.clone()), &[]).await;
    assert_eq!(output(&free)["done"], 1);
    let plan = plan.to_string();
    let start = |budget| ["start", "purse/spend", &plan, "--id", "x", "--budget", budget];
    let cases: [(&[&str], i32, &str); 8] = [
        (&start("tokens"), 2, "`tokens` is no amount of a unit: write UNIT=AMOUNT"),
        (&start("tokens=-1"), 2, "`-1` is no amount"),
        (&start("a b=1"), 2, "`a b` is no unit"),
        (&["budget", "show", "nobody"], 3, "there is no invocation `nobody`"),
        (&["budget", "set", "nobody", "tokens=1"], 3, "`nobody`"),
        (&["budget", "set", "free", "tokens=1"], 1, "has no budget of its own"),
        (&["budget", "set", "free"], 2, "UNIT=AMOUNT"),
        (&["budget", "set", "free/0", "tokens=1"], 1, "has no budget of its own"),
    ];
    for (arguments, code, said) in cases {
        let ran = segno(&host, arguments).await;
        let error = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
    let shown = segno(&host, &["budget", "show", "free"]).await;
    assert!(String::from_utf8_lossy(&shown.stderr).contains("has no budget"));
}
