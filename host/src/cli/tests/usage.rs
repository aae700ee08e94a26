//! Commands without a host: help, wrong usage, and the message if no host answers.

use serde_json::Value;

use super::{Cli, Exit, run};

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

#[tokio::test]
async fn a_start_that_is_to_wait_is_told_of_the_command_that_waits() {
    for wait in [&["--wait"][..], &["--wait", "30s"], &["--wait=30s"]] {
        let said = run("http://127.0.0.1:1", &[&["start", "a/b", "1"], wait].concat()).await;
        assert_eq!(said.exit, Exit::Usage);
        assert!(said.err.contains("`segno call` takes the same arguments"), "{}", said.err);
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
