//! Reading promises and tasks, and manual operations on them.

use super::{Exit, host, run};

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
    let said = run(&server, &["promise", "create", "gate", "{\"sum\": 8}"]).await;
    assert_eq!((said.exit, said.out.as_str()), (Exit::Error, ""), "{}", said.err);
    assert!(said.err.contains("was used for another request: another param"), "{}", said.err);
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
