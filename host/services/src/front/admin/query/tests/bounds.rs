use super::{answered, asked, refused};

#[test]
fn a_query_ends_after_a_number_of_steps() {
    let endless =
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n";
    assert!(refused(endless).contains("steps"), "{}", refused(endless));
}

#[test]
fn an_answer_has_a_size() {
    let many = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 100001) SELECT i FROM n";
    let said = refused(many);
    assert!(said.contains("more than 100000 rows") || said.contains("steps"), "{said}");
    let large = "SELECT replace(hex(zeroblob(40000000)), '00', 'x')";
    assert!(refused(large).contains("too big"), "{}", refused(large));
}

#[test]
fn what_is_nested_without_end_is_refused() {
    let chain = |count: usize| {
        let parts: Vec<_> = (0..count).map(|number| format!("retry_count = {number}")).collect();
        format!("SELECT id FROM sys_invocation WHERE {}", parts.join(" OR "))
    };
    asked(&chain(300)).expect("a long chain");
    assert!(refused(&chain(2_000)).contains("words and signs"));
    let many: Vec<_> = (0..2_000).map(|number| number.to_string()).collect();
    let list = format!("SELECT id FROM sys_invocation WHERE retry_count IN ({})", many.join(", "));
    assert_eq!(answered(&list).as_array().map(Vec::len), Some(5));
    let nested = format!("SELECT {}1{}", "(".repeat(400), ")".repeat(400));
    assert!(refused(&nested).contains("recursion"), "{}", refused(&nested));
}
