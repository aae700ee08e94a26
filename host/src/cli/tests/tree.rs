//! Drawing a call graph.

use super::{Exit, host, run};

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
        said.out.contains("├─ … 2 left out: `--width 3` shows them\n└─ order:2 "),
        "{}",
        said.out
    );
    let said = run(&server, &["tree", "order", "--all", "--json"]).await;
    assert_eq!(said.json()["nodes"].as_array().map(Vec::len), Some(5));
    let said = run(&server, &["tree", "order", "--limit", "2"]).await;
    assert!(said.err.contains("there is more: `--all`"), "{}", said.err);
    assert_eq!(run(&server, &["tree", "nothing"]).await.exit, Exit::NotFound);
}
