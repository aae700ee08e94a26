use serde_json::{Value as Json, json};

use super::{answered, column, refused};

/// Returns the value of an expression without a table.
#[track_caller]
fn value(expression: &str) -> Json {
    answered(&format!("SELECT {expression} AS x"))[0]["x"].clone()
}

#[test]
fn words_of_tools_mean_what_they_mean_there() {
    for (expression, expected) in [
        ("1 + 2", json!(3)),
        ("1.5 - 1", json!(0.5)),
        ("NULL + 1", Json::Null),
        ("'a' || 'b'", json!("ab")),
        ("'it''s'", json!("it's")),
        ("'\\'", json!("\\")),
        ("'\\' || '''' || '\"`'", json!("\\'\"`")),
        ("'abc' LIKE 'A%'", json!(false)),
        ("'abc' LIKE 'a_c'", json!(true)),
        ("'abc' ILIKE 'A%'", json!(true)),
        ("'abc' NOT ILIKE 'A%'", json!(false)),
        ("'50%' LIKE '50\\%'", json!(true)),
        ("'50x' LIKE '50\\%'", json!(false)),
        ("CAST('7' AS INT)", json!(7)),
        ("'7'::bigint + 1", json!(8)),
        ("7::text", json!("7")),
        ("CAST(7 AS STRING) || '!'", json!("7!")),
        ("CAST('1.5' AS DOUBLE)", json!(1.5)),
        ("arrow_cast(7, 'Utf8')", json!("7")),
        ("now()", json!("2026-01-31T12:00:00.000Z")),
        ("CURRENT_TIMESTAMP", json!("2026-01-31T12:00:00.000Z")),
        ("now() - INTERVAL '1 hour'", json!("2026-01-31T11:00:00.000Z")),
        ("now() + INTERVAL '2 days 3 hours'", json!("2026-02-02T15:00:00.000Z")),
        ("now() + INTERVAL '5' MINUTE", json!("2026-01-31T12:05:00.000Z")),
        ("now() - TIMESTAMP '2026-01-31 11:59:59'", json!(1_000)),
        ("TIMESTAMP '2026-01-31'", json!("2026-01-31T00:00:00.000Z")),
        ("CAST('2026-01-31' AS TIMESTAMP)", json!("2026-01-31T00:00:00.000Z")),
        ("to_timestamp(10)", json!("1970-01-01T00:00:10.000Z")),
        ("now() AT TIME ZONE 'UTC'", json!("2026-01-31T12:00:00.000Z")),
        ("EXTRACT(EPOCH FROM now() - INTERVAL '12 hours')", json!(1_769_817_600.0)),
        ("EXTRACT(EPOCH FROM now() - TIMESTAMP '2026-01-31 11:59:00')", json!(60.0)),
        ("date_trunc('month', now())", json!("2026-01-01T00:00:00.000Z")),
        ("date_trunc('hour', TIMESTAMP '2026-01-31 12:59:59')", json!("2026-01-31T12:00:00.000Z")),
        ("now() > '2026-01-31'", json!(true)),
        ("now() BETWEEN '2026-01-31 12:00:00' AND '2026-02-01'", json!(true)),
        ("now() IN ('2026-01-31T12:00:00+00:00')", json!(true)),
        ("substring('abcdef' FROM 2 FOR 3)", json!("bcd")),
        ("substr('abcdef', 2)", json!("bcdef")),
        ("char_length('abc')", json!(3)),
        ("trim(' a ')", json!("a")),
        ("starts_with('abc', 'ab')", json!(true)),
        ("'{\"a\":{\"b\":\"c\"}}' -> 'a' ->> 'b'", json!("c")),
        ("CASE WHEN 1 = 1 THEN 'yes' ELSE 'no' END", json!("yes")),
        ("CASE WHEN 1 = 1 THEN true ELSE false END", json!(true)),
        ("NOT (1 = 1)", json!(false)),
        ("NULL IS NULL", json!(true)),
        ("1 IN (1, 2)", json!(true)),
        ("5 = ANY (SELECT retry_count FROM sys_invocation)", json!(true)),
        ("EXISTS (SELECT 1 FROM sys_service)", json!(true)),
        ("COALESCE(NULL, 'a')", json!("a")),
    ] {
        assert_eq!(value(expression), expected, "{expression}");
    }
}

#[test]
fn a_query_may_join_nest_and_gather() {
    let joined = "WITH busy AS (SELECT target_service_name AS name, COUNT(*) AS n FROM sys_invocation WHERE status <> 'completed' GROUP BY 1) \
        SELECT s.name, s.public, busy.n FROM sys_service s LEFT JOIN busy ON busy.name = s.name ORDER BY n DESC";
    let expected = json!([
        { "name": "Cell", "public": false, "n": 3 },
        { "name": "Plain", "public": true, "n": 1 },
    ]);
    assert_eq!(answered(joined), expected);
    let ranked = "SELECT id FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY target_service_name ORDER BY created_at DESC) AS place \
        FROM sys_invocation) WHERE place = 1 ORDER BY id";
    assert_eq!(column(ranked, "id"), ["inv_2", "inv_5"]);
    let united = "SELECT id FROM sys_deployment UNION ALL SELECT name FROM sys_service ORDER BY id";
    assert_eq!(column(united, "id"), ["Cell", "Plain", "dp_1"]);
    let having =
        "SELECT status, COUNT(*) AS n FROM sys_invocation GROUP BY status HAVING COUNT(*) > 1";
    assert_eq!(answered(having), json!([{ "status": "running", "n": 2 }]));
    let of_itself = "SELECT child.id FROM sys_invocation child JOIN sys_invocation parent ON parent.id = child.invoked_by_id \
        WHERE parent.status = 'completed'";
    assert_eq!(column(of_itself, "id"), ["inv_2"]);
    let distinct =
        "SELECT DISTINCT target_service_name AS s FROM sys_invocation ORDER BY s LIMIT 1";
    assert_eq!(column(distinct, "s"), ["Cell"]);
    let filtered = "SELECT COUNT(*) FILTER (WHERE status = 'running') AS n FROM sys_invocation";
    assert_eq!(column(filtered, "n"), [2]);
    let hours = "SELECT date_trunc('hour', created_at) AS hour, COUNT(*) AS n FROM sys_invocation WHERE created_at > now() - INTERVAL '1 day' \
        GROUP BY date_trunc('hour', created_at)";
    assert_eq!(answered(hours), json!([{ "hour": "2026-01-31T11:00:00.000Z", "n": 5 }]));
}

#[test]
fn what_has_no_value_comes_where_it_does_there() {
    let ordered = |order: &str| {
        column(&format!("SELECT id FROM sys_invocation ORDER BY {order}, id LIMIT 1"), "id")
    };
    assert_eq!(ordered("pinned_deployment_id"), ["inv_1"]);
    assert_eq!(ordered("pinned_deployment_id DESC"), ["inv_2"]);
    assert_eq!(ordered("pinned_deployment_id NULLS FIRST"), ["inv_2"]);
    assert_eq!(ordered("pinned_deployment_id DESC NULLS LAST"), ["inv_5"]);
}

#[test]
fn values_are_answered_as_tools_read_them() {
    let rows = answered("SELECT * FROM state");
    assert_eq!(rows, json!([{ "service_name": "Cell", "key": "n", "value": "35" }]));
    let yes = "SELECT public, public AS p, name = 'Cell' FROM sys_service WHERE public";
    assert_eq!(answered(yes), json!([{ "public": true, "p": true, "name = 'cell'": false }]));
    let within =
        "SELECT is_cell FROM (SELECT name = 'Cell' AS is_cell FROM sys_service) ORDER BY 1";
    assert_eq!(column(within, "is_cell"), [false, true]);
    let names = "SELECT COUNT(*), MIN(s.name), s.ty, \"ty\" AS \"Type\" FROM sys_service s GROUP BY s.ty ORDER BY s.ty LIMIT 1";
    assert_eq!(
        answered(names),
        json!([{ "count(*)": 1, "min(s.name)": "Plain", "ty": "service", "Type": "service" }])
    );
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    for (sql, named) in [
        ("", "it is empty"),
        ("SELEC 1", "cannot be read"),
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("DELETE FROM state", "DELETE is not answered here"),
        ("WITH a AS (SELECT 1) INSERT INTO state SELECT * FROM a", "INSERT"),
        ("PRAGMA table_list", "PRAGMA"),
        ("ATTACH DATABASE 'x' AS y", "ATTACH"),
        ("EXPLAIN SELECT 1", "EXPLAIN"),
        ("SELECT id FROM nothing", "no table `nothing`; there are sys_invocation,"),
        ("SELECT id FROM restate.sys_invocation", "no table `restate.sys_invocation`"),
        ("SELECT * FROM sqlite_master", "no table `sqlite_master`"),
        ("SELECT * FROM pragma_database_list", "no table `pragma_database_list`"),
        ("SELECT * FROM pragma_table_info('state')", "in place of a table"),
        ("SELECT * FROM generate_series(1, 10)", "in place of a table"),
        ("SELECT nothing FROM sys_service", "no column `nothing`; `sys_service` has name,"),
        ("SELECT \"nothing\" FROM sys_service", "no column `nothing`"),
        ("SELECT other.id FROM sys_invocation", "no column `other.id`"),
        ("SELECT sys_invocation.id FROM sys_invocation inv", "no column `sys_invocation.id`"),
        ("SELECT array_agg(id) FROM sys_invocation", "array_agg"),
        ("SELECT load_extension('x')", "not authorized"),
        ("SELECT id FROM sys_invocation WHERE id ~ 'a'", "the operator `~`"),
        ("SELECT id FROM sys_invocation WHERE id = ANY(ARRAY['a'])", "ANY"),
        ("SELECT id FROM sys_invocation WHERE created_at > 'noon'", "'noon' is no instant, like"),
        ("SELECT id FROM sys_invocation WHERE created_at > 7", "7 is no instant, like"),
        ("SELECT now() - INTERVAL 'a while'", "no length of time, like INTERVAL '5 minutes'"),
        ("SELECT now() + 'a'", "text is neither a number nor an instant"),
        ("SELECT now() + now()", "to an instant a length is added"),
        ("SELECT id - 1 FROM sys_invocation", "text is neither a number nor an instant"),
        ("SELECT CAST('x' AS INT)", "`x` is no whole number"),
        ("SELECT CAST(id AS BOOLEAN) FROM sys_invocation", "`CAST(… AS BOOLEAN)`"),
        ("SELECT date_trunc('week', now())", "no `week`"),
        ("SELECT EXTRACT(DOW FROM now())", "EXTRACT(DOW …)"),
        ("SELECT now() AT TIME ZONE 'Europe/Berlin'", "the time zone 'Europe/Berlin'"),
        ("SELECT $1", "`$1` in place of a value"),
        ("SELECT id FROM sys_invocation FETCH FIRST 1 ROWS ONLY", "syntax error"),
        ("SELECT id FROM sys_invocation FOR UPDATE", "syntax error"),
        ("SELECT id INTO x FROM sys_invocation", "INTO"),
        ("SELECT TOP 3 id FROM sys_invocation", "3"),
    ] {
        let refused = refused(sql);
        assert!(refused.contains(named), "{sql}: {refused}");
    }
}
