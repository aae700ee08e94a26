use std::sync::{Arc, atomic::Ordering};

use serde_json::json;

use super::{HandMadeRows, Json, QueryTable, WantedRows, asked_of, row, rows};

/// Returns the conditions with which a query read each table.
fn wanted(sql: &str) -> Vec<(QueryTable, WantedRows)> {
    let by_hand = Arc::new(HandMadeRows { rows: rows(), ..HandMadeRows::default() });
    asked_of(&by_hand, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let wanted = by_hand.wanted.lock().expect("no query panics with it");
    wanted.clone()
}

#[test]
fn what_a_query_says_of_a_table_narrows_it() {
    let sql = "SELECT inv.id FROM sys_invocation inv WHERE inv.id = 'inv_1' AND status NOT IN ('paused', 'ready')";
    let [(_, one)] = &wanted(sql)[..] else { panic!("one table is read") };
    assert_eq!(one.text("id"), Some("inv_1"));
    assert!(one.may_be("status", "running") && !one.may_be("status", "paused"));
    assert!(one.needs("status") && !one.needs("target"));
    for (sql, column, texts) in [
        (
            "SELECT id FROM sys_invocation WHERE id IN ('a', 'b') AND id <> 'c'",
            "id",
            vec!["a", "b"],
        ),
        (
            "SELECT id FROM sys_invocation WHERE target_service_name IN (SELECT name FROM sys_service WHERE public)",
            "target_service_name",
            vec!["Plain"],
        ),
        (
            "WITH mine AS (SELECT * FROM state WHERE service_name = 'Cell') SELECT * FROM mine WHERE key = 'n'",
            "service_name",
            vec!["Cell"],
        ),
    ] {
        let all = wanted(sql);
        let found = all.iter().find_map(|(_, wanted)| wanted.texts(column));
        let found: Vec<_> = found.unwrap_or_else(|| panic!("{sql}: {all:?}")).iter().collect();
        assert_eq!(found, texts, "{sql}");
    }
    for any in
        ["id = 'a' OR retry_count = 1", "id > 'a'", "id IS NULL", "lower(id) = 'a'", "id = 7"]
    {
        let all = wanted(&format!("SELECT id FROM sys_invocation WHERE {any}"));
        assert!(all.iter().any(|(_, wanted)| wanted.texts("id").is_none()), "{any}: {all:?}");
    }
}

#[test]
fn a_join_narrows_the_inner_table() {
    let joined = "SELECT j.index FROM sys_invocation i LEFT JOIN sys_journal j ON i.id = j.id";
    let journals = |condition: &str| {
        let mut ids: Vec<_> = wanted(&format!("{joined} {condition}"))
            .into_iter()
            .filter(|(table, _)| *table == QueryTable::Journal)
            .map(|(_, wanted)| wanted.text("id").expect("an id").to_owned())
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(journals("WHERE i.id = 'inv_1'"), ["inv_1"]);
    assert_eq!(journals("WHERE i.target_service_name = 'Plain'"), ["inv_1", "inv_2"]);
    let by_hand = Arc::new(HandMadeRows { rows: rows(), ..HandMadeRows::default() });
    let refused = asked_of(&by_hand, "SELECT * FROM sys_journal").expect_err("it names none");
    assert!(refused.contains("write WHERE id = "), "{refused}");
}

/// `count` invocations, newest first, each with another caller.
fn many(count: usize) -> Arc<HandMadeRows> {
    let rows = (0..count).map(|number| {
        row(
            QueryTable::Invocation,
            &json!({
                "id": format!("inv_{number:05}"), "status": "ready", "target": "Plain/calls",
                "invoked_by_id": format!("inv_{:05}", count - 1 - number),
                "created_at": "2026-01-31T11:00:00Z",
            }),
        )
    });
    Arc::new(HandMadeRows { rows: rows.collect(), ..HandMadeRows::default() })
}

#[test]
fn no_more_rows_are_read_than_are_enough() {
    for (order, is_enough) in [
        ("LIMIT 5", true),
        ("LIMIT 5 OFFSET 2", true),
        ("WHERE status = 'ready' ORDER BY created_at DESC LIMIT 5", true),
        ("i ORDER BY i.created_at DESC, i.id LIMIT 5", true),
        ("LEFT JOIN sys_service ON true LIMIT 5", true),
        ("ORDER BY created_at LIMIT 5", false),
        ("ORDER BY id LIMIT 5", false),
        ("GROUP BY status LIMIT 5", false),
    ] {
        let all = many(3_000);
        let sql = format!("SELECT sys_invocation.id FROM sys_invocation {order}");
        let sql =
            sql.replace("sys_invocation.id FROM sys_invocation i ", "i.id FROM sys_invocation i ");
        asked_of(&all, &sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let offered = all.offered.load(Ordering::Relaxed);
        assert_eq!(offered < 3_000, is_enough, "{sql}: {offered} rows");
    }
    let renamed =
        "SELECT target AS created_at FROM sys_invocation ORDER BY created_at DESC LIMIT 5";
    let all = many(3_000);
    asked_of(&all, renamed).expect("rows");
    assert_eq!(all.offered.load(Ordering::Relaxed), 3_000, "another column of this name");
}

#[test]
fn a_table_that_is_joined_with_itself_is_read_twice_at_most() {
    for column in ["id", "invoked_by_id"] {
        let all = many(3_000);
        let sql = format!(
            "SELECT COUNT(*) AS n FROM sys_invocation child JOIN sys_invocation parent ON parent.invoked_by_id = child.{column}"
        );
        let answer = asked_of(&all, &sql).expect("fewer steps than a query may take");
        assert_eq!(Json::from(answer.json()), json!([{ "n": 3_000 }]), "{column}");
        assert!(all.offered.load(Ordering::Relaxed) <= 6_000, "{column}");
    }
}

#[test]
fn a_row_that_two_conditions_find_is_answered_once() {
    let by_hand = Arc::new(HandMadeRows { rows: rows(), ..HandMadeRows::default() });
    let sql = "SELECT id FROM sys_invocation WHERE target_service_name = 'Cell' OR status = 'running' OR id = 'inv_1' ORDER BY id";
    let answer = asked_of(&by_hand, sql).expect("rows");
    let ids = ["inv_1", "inv_3", "inv_4", "inv_5"].map(|id| json!({ "id": id }));
    assert_eq!(answer.json(), ids);
}
