use super::{
    condition::{Condition, Operator},
    parse::parse,
    plan::Source,
    value::Value,
};

fn refusal(sql: &str) -> String {
    parse(sql).expect_err(sql).to_string()
}

fn condition(sql: &str) -> Condition {
    let sql = format!("SELECT * FROM sys_journal WHERE {sql}");
    parse(&sql).unwrap_or_else(|error| panic!("{sql}: {error}")).condition.expect(&sql)
}

#[test]
fn a_query_is_read_as_it_is_meant() {
    let sql = "select inv.id, status AS state, created_at FROM sys_invocation inv WHERE target = 'a/b' ORDER BY created_at DESC LIMIT 5 OFFSET 2;";
    let plan = parse(sql).expect("a query");
    let names: Vec<_> = plan.outputs.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(names, ["id", "state", "created_at"]);
    assert_eq!((plan.limit, plan.offset, plan.enough()), (Some(5), 2, Some(7)));
    assert!(plan.order[0].descends && plan.order[0].nulls_first);
    assert!(plan.needs("target") && plan.needs("status") && !plan.needs("id_of_another"));

    let plan = parse(
        "SELECT status, COUNT(*) AS n FROM sys_invocation GROUP BY status ORDER BY n DESC, status",
    )
    .expect("a query");
    assert_eq!(plan.order[0].source, Source::Count(None));
    assert_eq!((plan.groups.as_slice(), plan.enough()), (&["status"][..], None));

    let plan =
        parse("SELECT \"index\", index FROM sys_journal WHERE id = 'x' ORDER BY index NULLS FIRST")
            .expect("a query");
    assert_eq!(plan.outputs[0].source, Source::Column("index"));
    assert!(!plan.order[0].descends && plan.order[0].nulls_first);
    let all = parse("SELECT sys_service.*, COUNT(1) FROM sys_service").expect_err("a mixture");
    assert!(all.to_string().contains("GROUP BY"), "{all}");
}

#[test]
fn conditions_are_read_with_every_operator() {
    let is = |operator, number| Condition::Compares("index", operator, Value::Number(number));
    for (sql, operator) in [
        ("index = 7", Operator::Equal),
        ("index == 7", Operator::Equal),
        ("index <> 7", Operator::NotEqual),
        ("index != '7'", Operator::NotEqual),
        ("index < 7", Operator::Less),
        ("7 > index", Operator::Less),
        ("index <= 7", Operator::AtMost),
        ("index > 7", Operator::Greater),
        ("index >= (7)", Operator::AtLeast),
    ] {
        assert_eq!(condition(sql), is(operator, 7), "{sql}");
    }
    assert_eq!(condition("index = -1"), is(Operator::Equal, -1));
    let [one, two, three] = [1, 2, 3].map(|number| is(Operator::Equal, number));
    let all = |parts: &[Condition]| Condition::All(parts.to_vec());
    let any = |parts: &[Condition]| Condition::Any(parts.to_vec());
    let not = |part: Condition| Condition::Not(Box::new(part));
    for (sql, read) in [
        ("index = 1 AND index = 2 AND index = 3", all(&[one.clone(), two.clone(), three.clone()])),
        (
            "index = 1 OR index = 2 AND index = 3",
            any(&[one.clone(), all(&[two.clone(), three.clone()])]),
        ),
        ("(index = 1 OR index = 2) AND NOT index = 3", all(&[any(&[one, two]), not(three)])),
        ("index IN (1, 2)", Condition::In("index", vec![Value::Number(1), Value::Number(2)])),
        ("index NOT IN (1)", not(Condition::In("index", vec![Value::Number(1)]))),
        ("name LIKE 'a%'", Condition::Like("name", "a%".to_owned())),
        ("name NOT LIKE '_'", not(Condition::Like("name", "_".to_owned()))),
        ("name IS NULL", Condition::IsNull("name")),
        ("name IS NOT NULL", not(Condition::IsNull("name"))),
        ("completed", Condition::Compares("completed", Operator::Equal, Value::Bool(true))),
        (
            "completed = false",
            Condition::Compares("completed", Operator::Equal, Value::Bool(false)),
        ),
        (
            "name = 'it''s'",
            Condition::Compares("name", Operator::Equal, Value::Text("it's".to_owned())),
        ),
    ] {
        assert_eq!(condition(sql), read, "{sql}");
    }
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    for (sql, named) in [
        ("", "it is empty"),
        ("SELEC 1", "cannot be read"),
        ("SELECT 1; SELECT 2", "more than one statement"),
        ("DELETE FROM state", "DELETE"),
        ("SELECT 1", "without a table"),
        ("SELECT id FROM sys_invocation, sys_service", "more than one table"),
        ("SELECT id FROM sys_invocation JOIN sys_service ON true", "JOIN"),
        ("WITH a AS (SELECT 1) SELECT id FROM a", "WITH"),
        ("SELECT id FROM sys_invocation UNION SELECT id FROM sys_inbox", "UNION"),
        ("SELECT DISTINCT id FROM sys_invocation", "DISTINCT"),
        ("SELECT id FROM (SELECT id FROM sys_invocation)", "as a table"),
        ("SELECT id FROM sys_invocation TABLESAMPLE (10)", "as a table"),
        ("SELECT id FROM nothing", "no table `nothing`; there are sys_invocation,"),
        ("SELECT id FROM restate.sys_invocation", "no table `restate.sys_invocation`"),
        ("SELECT nothing FROM sys_invocation", "no column `nothing`; it has id, target,"),
        ("SELECT other.id FROM sys_invocation", "no column `other.id`"),
        ("SELECT other.* FROM sys_invocation", "`other.*`"),
        ("SELECT * EXCLUDE (id) FROM sys_invocation", "EXCLUDE"),
        ("SELECT sys_invocation.id FROM sys_invocation inv", "no column `sys_invocation.id`"),
        ("SELECT UPPER(id) FROM sys_invocation", "UPPER"),
        ("SELECT COUNT(DISTINCT id) FROM sys_invocation", "COUNT(DISTINCT id)"),
        ("SELECT COUNT(*) OVER () FROM sys_invocation", "OVER"),
        ("SELECT COUNT(*) FILTER (WHERE completed) FROM sys_journal", "FILTER"),
        ("SELECT SUM(retry_count) FROM sys_invocation", "SUM"),
        ("SELECT MIN(*) FROM sys_invocation", "MIN(*)"),
        ("SELECT 'x' FROM sys_invocation", "`'x'`"),
        ("SELECT CAST(id AS STRING) FROM sys_invocation", "CAST"),
        ("SELECT id FROM sys_invocation WHERE 1 = 1", "a column is compared with a value"),
        ("SELECT id FROM sys_invocation WHERE id = target", "a column is compared with a value"),
        ("SELECT id FROM sys_invocation WHERE id || 'a' = 'b'", "`id || 'a'`"),
        ("SELECT id FROM sys_invocation WHERE id ~ 'a'", "the operator"),
        ("SELECT id FROM sys_invocation WHERE id IN (SELECT id FROM sys_inbox)", "in WHERE"),
        ("SELECT id FROM sys_invocation WHERE id IN (target)", "`target` in place of a value"),
        ("SELECT id FROM sys_invocation WHERE id BETWEEN 'a' AND 'b'", "BETWEEN"),
        ("SELECT id FROM sys_invocation WHERE id ILIKE 'a'", "ILIKE"),
        ("SELECT id FROM sys_invocation WHERE id LIKE 'a' ESCAPE 'b'", "ESCAPE"),
        ("SELECT id FROM sys_invocation WHERE retry_count LIKE '1'", "LIKE"),
        ("SELECT id FROM sys_invocation WHERE id", "`id` cannot be compared with TRUE"),
        ("SELECT id FROM sys_invocation WHERE id = 7", "it is text in single quotes"),
        ("SELECT id FROM sys_invocation WHERE retry_count = 'x'", "it is a whole number"),
        ("SELECT id FROM sys_invocation WHERE retry_count > 1.5", "compared with a value"),
        ("SELECT id FROM sys_invocation WHERE created_at > 'noon'", "it is an instant like"),
        ("SELECT id FROM state", "the table `state` has no column `id`"),
        ("SELECT key FROM state WHERE value = 'ff'", "bytes, which are not compared"),
        ("SELECT id FROM sys_invocation GROUP BY ALL", "GROUP BY ALL"),
        ("SELECT id FROM sys_invocation GROUP BY status", "`id` is neither in GROUP BY"),
        ("SELECT COUNT(*) FROM sys_invocation ORDER BY id", "`id` is neither in GROUP BY"),
        ("SELECT status FROM sys_invocation GROUP BY status HAVING COUNT(*) > 1", "HAVING"),
        ("SELECT id FROM sys_invocation ORDER BY 1", "`1`"),
        ("SELECT id FROM sys_invocation ORDER BY ALL", "no column `all`"),
        ("SELECT id FROM sys_invocation LIMIT 'x'", "as LIMIT or OFFSET"),
        ("SELECT id FROM sys_invocation LIMIT -1", "as LIMIT or OFFSET"),
        ("SELECT id FROM sys_invocation FETCH FIRST 1 ROWS ONLY", "FETCH"),
        ("SELECT id FROM sys_invocation FOR UPDATE", "FOR UPDATE"),
        ("SELECT id INTO x FROM sys_invocation", "INTO x"),
        ("SELECT TOP 3 id FROM sys_invocation", "TOP 3"),
    ] {
        let refusal = refusal(sql);
        assert!(refusal.contains(named), "{sql}: {refusal}");
    }
}

#[test]
fn what_is_nested_without_end_is_refused() {
    let chain = |count| {
        let parts: Vec<_> = (0..count).map(|number| format!("index = {number}")).collect();
        format!("SELECT * FROM sys_journal WHERE {}", parts.join(" OR "))
    };
    parse(&chain(300)).expect("a long chain");
    assert!(refusal(&chain(2_000)).contains("words and signs"));
    let many: Vec<_> = (0..2_000).map(|number| number.to_string()).collect();
    parse(&format!("SELECT * FROM sys_journal WHERE index IN ({})", many.join(", ")))
        .expect("a list of values");
    let nested = format!("{}index = 1{}", "(".repeat(400), ")".repeat(400));
    let nested = refusal(&format!("SELECT * FROM sys_journal WHERE {nested}"));
    assert!(nested.contains("recursion"), "{nested}");
}
