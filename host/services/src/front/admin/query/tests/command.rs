//! The queries have the forms that release 1.7.12 of the command sends.

use serde_json::json;

use super::{answered, column};

#[test]
fn invocations_are_counted_within_the_newest() {
    let counted = "SELECT COUNT(1) FROM (SELECT
            *
        FROM sys_invocation inv
        LIMIT 50000
        )
        WHERE status != 'completed'";
    assert_eq!(answered(counted), json!([{ "count(1)": 4 }]));
    // The alias of the inner table is valid in the outer query.
    let orphans = "SELECT COUNT(1) FROM (SELECT * FROM sys_invocation inv LIMIT 50000)
        WHERE (inv.pinned_deployment_id IS NOT NULL AND inv.pinned_deployment_id NOT IN (select id from sys_deployment)) AND status != 'completed'";
    assert_eq!(answered(orphans), json!([{ "count(1)": 1 }]));
}

#[test]
fn invocations_are_listed_and_described() {
    let ids = "SELECT id FROM sys_invocation inv WHERE inv.target_service_name IN (select name from sys_service where ty = 'virtual_object') \
        AND status != 'completed' ORDER BY inv.created_at DESC, inv.id LIMIT 2";
    assert_eq!(column(ids, "id"), ["inv_5", "inv_4"]);
    let described = "SELECT
            inv.id,
            inv.created_at,
            inv.retry_count as num_retries,
            inv.invoked_by_id,
            dp.id IS NOT NULL as pinned_deployment_exists
        FROM sys_invocation inv
        LEFT JOIN sys_deployment dp ON dp.id = inv.pinned_deployment_id
        WHERE inv.id in ('inv_5', 'inv_3', 'inv_2')
        ORDER BY inv.created_at ASC, inv.id";
    let expected = json!([
        {
            "id": "inv_2", "created_at": "2026-01-31T11:02:00.000Z", "num_retries": 2,
            "invoked_by_id": "inv_1", "pinned_deployment_exists": false,
        },
        {
            "id": "inv_3", "created_at": "2026-01-31T11:03:00.000Z", "num_retries": 3,
            "pinned_deployment_exists": true,
        },
        {
            "id": "inv_5", "created_at": "2026-01-31T11:05:00.000Z", "num_retries": 5,
            "pinned_deployment_exists": false,
        },
    ]);
    assert_eq!(answered(described), expected);
}

#[test]
fn what_is_to_be_cancelled_is_found_by_its_target() {
    let found = "SELECT id, target FROM sys_invocation WHERE ((target = 'Cell/a' AND target_service_ty = 'service') \
        OR (target LIKE 'Cell/a/%' AND target_service_ty != 'service')) AND status != 'completed' LIMIT 500";
    assert_eq!(column(found, "id"), ["inv_4", "inv_3"]);
}

#[test]
fn services_have_their_status() {
    let handlers = "SELECT
                target_service_name,
                target_handler_name,
                status,
                COUNT(1) as num_invocations,
                MIN(created_at) as oldest_at,
                FIRST_VALUE(id ORDER BY created_at ASC) as oldest_invocation
            FROM sys_invocation
            WHERE target_service_name IN ('Cell')
            GROUP BY target_service_name, target_handler_name, status
            ORDER BY target_handler_name";
    let rows = answered(handlers);
    assert_eq!(rows.as_array().map(Vec::len), Some(3));
    assert_eq!(rows[2]["oldest_at"], "2026-01-31T11:03:00.000Z");
    let by_service = "SELECT target_service_name AS s, FIRST_VALUE(id ORDER BY created_at ASC) AS oldest, \
        LAST_VALUE(id ORDER BY created_at ASC) AS newest FROM sys_invocation GROUP BY s ORDER BY s";
    let expected = json!([
        { "s": "Cell", "oldest": "inv_3", "newest": "inv_5" },
        { "s": "Plain", "oldest": "inv_1", "newest": "inv_2" },
    ]);
    assert_eq!(answered(by_service), expected);
    let keys = "SELECT
                target_service_name as service_name,
                target_service_key as service_key,
                status as invocation_status,
                first_value(id) as invocation_holding_lock,
                first_value(next_retry_at) as next_retry_at,
                0 as num_pending,
                sum(retry_count) as num_retries
            FROM sys_invocation
            WHERE status != 'pending' AND target_service_name IN ('Cell')
            GROUP BY target_service_name, target_service_key, status";
    let expected = json!([
        {
            "service_name": "Cell", "service_key": "a", "invocation_status": "running",
            "invocation_holding_lock": "inv_3", "num_pending": 0, "num_retries": 3,
        },
        {
            "service_name": "Cell", "service_key": "b", "invocation_status": "running",
            "invocation_holding_lock": "inv_5", "num_pending": 0, "num_retries": 5,
        },
    ]);
    assert_eq!(answered(keys), expected);
}

#[test]
fn columns_are_asked_for_before_they_are_used() {
    let columns = "SELECT COUNT(*) FROM information_schema.columns
            WHERE
                table_name = 'sys_journal'
                AND column_name IN ('version', 'entry_json', 'appended_at', 'nothing')";
    // The test's reader has no rows for this table.
    assert_eq!(answered(columns), json!([{ "count(*)": 0 }]));
    let journal = "SELECT sj.index, sj.entry_type FROM sys_journal sj WHERE sj.id = 'inv_1' ORDER BY index DESC LIMIT 100";
    assert_eq!(answered(journal), json!([]));
}
