use super::{NOW, Statement};

/// The first table of a query.
fn first(sql: &str) -> super::super::statement::Loaded {
    let statement = Statement::read(sql, NOW).unwrap_or_else(|refused| panic!("{sql}: {refused}"));
    statement.sources.into_iter().next().expect("a table")
}

#[test]
fn what_a_query_says_of_a_table_narrows_it() {
    let one =
        first("SELECT inv.id FROM sys_invocation inv WHERE inv.id = 'a' AND status <> 'completed'");
    assert_eq!(one.source.text("id").as_deref(), Some("a"));
    assert!(one.source.may_be("status", "running") && !one.source.may_be("status", "completed"));
    assert!(one.source.needs("status") && !one.source.needs("target"));
    let two = "SELECT a.id FROM sys_invocation a LEFT JOIN sys_invocation b ON b.id = a.invoked_by_id WHERE b.id = 'x'";
    let two = Statement::read(two, NOW).expect("a query").sources;
    let texts: Vec<_> = two.iter().map(|loaded| loaded.source.texts("id")).collect();
    assert_eq!(texts[1], Some(vec!["x".to_owned()]));
    let all = first("SELECT * FROM sys_journal");
    assert!(all.source.needs("raw") && all.source.texts("id").is_none());
    // Of a table of the query itself nothing is loaded, and of one within another the inner condition counts.
    let with = Statement::read(
        "WITH mine AS (SELECT * FROM state WHERE service_name = 'Cell') SELECT * FROM mine WHERE key = 'n'",
        NOW,
    );
    let with = with.expect("a query").sources;
    assert_eq!(with.len(), 1);
    assert_eq!(with[0].source.text("service_name").as_deref(), Some("Cell"));
    assert_eq!(with[0].source.text("key"), None);
}

#[test]
fn the_first_rows_are_enough_where_nothing_later_can_come_before_them() {
    for (sql, rows) in [
        ("SELECT id FROM sys_invocation LIMIT 5", Some(5)),
        ("SELECT id FROM sys_invocation LIMIT 5 OFFSET 2", Some(7)),
        (
            "SELECT id FROM sys_invocation WHERE status = 'ready' ORDER BY created_at DESC LIMIT 5",
            Some(5),
        ),
        ("SELECT i.id FROM sys_invocation i ORDER BY i.created_at DESC, i.id LIMIT 5", Some(5)),
        ("SELECT COUNT(*) FROM (SELECT * FROM sys_invocation LIMIT 5)", Some(5)),
        ("SELECT id FROM sys_invocation", None),
        ("SELECT id FROM sys_invocation ORDER BY created_at LIMIT 5", None),
        ("SELECT id FROM sys_invocation ORDER BY id LIMIT 5", None),
        ("SELECT id AS created_at FROM sys_invocation ORDER BY created_at DESC LIMIT 5", None),
        ("SELECT COUNT(*) FROM sys_invocation LIMIT 5", None),
        ("SELECT ROW_NUMBER() OVER () FROM sys_invocation LIMIT 5", None),
        ("SELECT DISTINCT id FROM sys_invocation LIMIT 5", None),
        ("SELECT status FROM sys_invocation GROUP BY status LIMIT 5", None),
        ("SELECT id FROM sys_invocation JOIN sys_service ON true LIMIT 5", None),
        ("SELECT key FROM state ORDER BY key DESC LIMIT 5", None),
        ("SELECT id FROM sys_invocation UNION SELECT id FROM sys_inbox LIMIT 5", None),
    ] {
        assert_eq!(first(sql).enough.map(|enough| enough.rows), rows, "{sql}");
    }
}

#[test]
fn tables_within_others_are_loaded_first() {
    let sql = "SELECT id FROM sys_invocation WHERE target_service_name IN (SELECT name FROM sys_service) LIMIT 5";
    let statement = Statement::read(sql, NOW).expect("a query");
    let names = statement.sources.iter().map(|loaded| loaded.source.table.name());
    assert_eq!(names.collect::<Vec<_>>(), ["sys_service", "sys_invocation"]);
}
