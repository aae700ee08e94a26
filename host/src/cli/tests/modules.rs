//! Deploying components.

use super::{Exit, host, run, run_in};

#[tokio::test]
async fn a_crate_is_not_compiled_for_a_host_that_does_not_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    // The discard port, on which nothing listens.
    let said = run("http://127.0.0.1:9", &["deploy", &path]).await;
    assert_eq!(said.exit, Exit::Unreachable, "{}", said.err);
    let (_world, server) = host().await;
    let said = run(&server, &["deploy", &path]).await;
    assert!(said.err.contains("has no Cargo.toml"), "{}", said.err);
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
    assert!(said.out.contains("pay") && said.out.contains("refused in workflows:"), "{}", said.out);
    let said = run(&server, &["deploy", &path, "--as", "shop"]).await;
    assert!(said.out.contains("on which executions in flight finish"), "{}", said.out);
    let said = run(&server, &["modules"]).await;
    assert!(said.out.contains("my-shop, shop"), "{}", said.out);
    let said = run(&server, &["modules", "shop", "--json"]).await;
    assert_eq!(said.json()["functions"][1]["name"], "pay");
    let digest = said.json()["digest"].as_str().expect("a digest").to_owned();
    let said = run(&server, &["deploy", &digest[..8], "--as", "other"]).await;
    assert!(said.out.starts_with(&format!("other  {}", &digest[..8])), "{}{}", said.out, said.err);
    let said = run(&server, &["deploy", &digest]).await;
    assert_eq!(said.exit, Exit::Usage);
    assert!(said.err.contains("give it with --as NAME"), "{}", said.err);
    let said = run(&server, &["deploy", "00000000", "--as", "other"]).await;
    assert_eq!(said.exit, Exit::NotFound);
    assert!(said.err.contains("there is no module `00000000`"), "{}", said.err);
    std::fs::write(&path, "no module").expect("it is writable");
    let said = run(&server, &["deploy", &path]).await;
    assert_eq!((said.exit, said.err.as_str()), (Exit::Error, "error: this is not WebAssembly\n"));
    let said = run(&server, &["deploy", "/does/not/exist.wasm"]).await;
    assert!(said.err.contains("cannot read /does/not/exist.wasm"), "{}", said.err);
}

#[tokio::test]
async fn a_name_is_taken_away_and_a_start_by_it_says_so() {
    let (_world, server) = host().await;
    run(&server, &["start", "shop/order", r#"{"items":[]}"#, "--id", "order-1"]).await;
    let said = run(&server, &["undeploy", "shop"]).await;
    assert_eq!(said.exit, Exit::Done, "{}", said.err);
    assert!(said.out.starts_with("shop  no longer names "), "{}", said.out);
    assert!(said.out.contains(", on which 1 execution in flight finishes"), "{}", said.out);
    for late in [&["start", "shop/order", "{}"][..], &["undeploy", "shop"]] {
        let said = run(&server, late).await;
        assert_ne!(said.exit, Exit::Done);
        assert!(said.err.contains("there is no module `shop`"), "{}", said.err);
    }
}

#[tokio::test]
async fn a_module_is_shown_with_the_limits_that_it_declares() {
    let (_world, server) = host().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("mail.wasm");
    std::fs::write(&path, "wasm limited pay").expect("it is writable");
    run(&server, &["deploy", &path.display().to_string()]).await;
    let said = run_in(Some(80), &server, &["modules", "mail"]).await;
    let limit = said.out.lines().find(|line| line.trim_start().starts_with("limit "));
    let words: Vec<&str> = limit.expect("a line of its own").split_whitespace().collect();
    assert_eq!(words.join(" "), "limit at most 5 per customer.id", "{}", said.out);
    let said = run(&server, &["modules", "mail", "--json"]).await;
    assert_eq!(said.json()["functions"][0]["limit"]["per_key"]["concurrency"], 5);
}
