use axum::http::StatusCode;
use segno_blobs::BlobStore;
use segno_core::{id::PromiseId, promise::Verdict};
use segno_env::Env;
use serde_json::json;

use super::ServicesHost;

/// A well-formed id that no deployment has.
const UNKNOWN: &str = "dp_10000000000000000000001";

async fn patch(services: &ServicesHost, id: &str, how: &str) -> (StatusCode, String) {
    let (status, body) = services.admin("PATCH", &format!("/invocations/{id}/{how}"), None).await;
    (status, body["message"].as_str().unwrap_or_default().to_owned())
}

async fn is_known(services: &ServicesHost, id: &str) -> bool {
    let rows = services.rows(&format!("SELECT id FROM sys_invocation WHERE id = '{id}'")).await;
    rows != json!([])
}

#[tokio::test]
async fn what_has_completed_is_purged_with_what_it_made() {
    let services = ServicesHost::new().await;
    let id = services.send("Greeter/greet").await;
    let claim = services.journal(&id).await;
    let child = format!("{id}/2");
    let (status, message) = patch(&services, &id, "purge").await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(message.contains("has not completed"), "{message}");
    assert!(is_known(&services, &id).await, "it runs");
    services.end(&child, Verdict::Resolved, "1").await;
    services.ended(claim, Verdict::Resolved, "1").await;
    let (status, message) = patch(&services, &child, "purge").await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(message.contains(&format!("it goes with `{id}`")), "{message}");

    // Delivers the end to its children.
    let owed = segno_core::promise::OutboxKey::CancelChildren(id.as_str().into());
    services.world.command(segno_core::command::Command::OutboxDue { key: owed }).await;
    let (status, message) = patch(&services, &id, "purge").await;
    assert_eq!(status, StatusCode::OK, "{message}");
    assert!(!is_known(&services, &id).await && !is_known(&services, &child).await);
    let rows = services.rows(&format!("SELECT index FROM sys_journal WHERE id = '{id}'")).await;
    assert_eq!(rows, json!([]));
    let (status, message) = patch(&services, &id, "purge").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(message.contains("no invocation"), "{message}");
}

#[tokio::test]
async fn the_blobs_of_a_tree_are_purged_with_it() {
    let services = ServicesHost::new().await;
    let blobs = BlobStore::in_memory(1 << 20, Env::system());
    services.world.api.host.keep_blobs(blobs.clone());
    let id = services.send("Greeter/greet").await;
    let other = services.send("Greeter/greet").await;
    for owner in [&id, &other] {
        let upload =
            blobs.create(PromiseId::from(owner.as_str()), "text/plain").expect("an upload");
        upload.finish(None).await.expect("it is stored");
    }
    services.end(&id, Verdict::Resolved, "1").await;
    let (status, message) = patch(&services, &id, "purge").await;
    assert_eq!(status, StatusCode::OK, "{message}");
    let left: Vec<_> =
        blobs.owners().await.expect("a list").into_iter().map(|it| it.owner).collect();
    assert_eq!(left, [PromiseId::from(other.as_str())]);
}

#[tokio::test]
async fn what_has_ended_is_not_paused_though_it_is_still_listed() {
    let services = ServicesHost::new().await;
    let id = services.send("Greeter/greet").await;
    let listed = services.api.services.pauses().begin(&id.as_str().into());
    assert_eq!(patch(&services, &id, "pause").await.0, StatusCode::ACCEPTED);
    assert!(listed.is_asked());
    services.end(&id, Verdict::Resolved, "1").await;
    let (status, message) = patch(&services, &id, "pause").await;
    assert_eq!(status, StatusCode::CONFLICT, "{message}");
}

#[tokio::test]
async fn the_older_form_of_purge_does_the_same() {
    let services = ServicesHost::new().await;
    let id = services.send("Greeter/greet").await;
    let path = format!("/invocations/{id}?mode=Purge");
    assert_eq!(services.admin("DELETE", &path, None).await.0, StatusCode::CONFLICT);
    services.end(&id, Verdict::Resolved, "1").await;
    assert_eq!(services.admin("DELETE", &path, None).await.0, StatusCode::OK);
    assert!(!is_known(&services, &id).await);
}

#[tokio::test]
async fn a_journal_is_removed_after_the_end_and_the_result_stays() {
    let services = ServicesHost::new().await;
    let id = services.send("Greeter/greet").await;
    assert_eq!(patch(&services, &id, "purge-journal").await.0, StatusCode::CONFLICT);
    let claim = services.journal(&id).await;
    services.ended(claim, Verdict::Resolved, "1").await;
    let journal = format!("SELECT index FROM sys_journal WHERE id = '{id}'");
    assert_ne!(services.rows(&journal).await, json!([]));
    assert_eq!(patch(&services, &id, "purge-journal").await, (StatusCode::OK, String::new()));
    assert_eq!(services.rows(&journal).await, json!([]));
    let output = services.ingress("GET", &format!("/restate/invocation/{id}/output"), None).await;
    assert_eq!(output, (StatusCode::OK, json!(1)));
    assert_eq!(patch(&services, &id, "purge-journal").await.0, StatusCode::OK, "once more");
    assert_eq!(patch(&services, "inv_none", "purge-journal").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_has_ended_begins_anew_under_another_id() {
    let services = ServicesHost::new().await;
    let id = services.send("Cart/a/add").await;
    let restart = |query: &str| format!("/invocations/{id}/restart-as-new{query}");
    let (status, body) = services.admin("PATCH", &restart(""), None).await;
    assert_eq!(status, StatusCode::CONFLICT, "{body}");
    services.end(&id, Verdict::Resolved, "1").await;
    for refused in ["?from=two", "?deployment=dp_none"] {
        let (status, body) = services.admin("PATCH", &restart(refused), None).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{refused}: {body}");
    }
    let (status, body) = services.admin("PATCH", &restart("?deployment=latest&from=0"), None).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let new = body["new_invocation_id"].as_str().expect("an id");
    assert_ne!(new, id);
    let columns = "target, status, invoked_by, restarted_from";
    let rows =
        services.rows(&format!("SELECT {columns} FROM sys_invocation WHERE id = '{new}'")).await;
    assert_eq!(
        rows,
        json!([{
            "target": "Cart/a/add", "status": "ready", "invoked_by": "restart_as_new", "restarted_from": id,
        }])
    );
    let store = services.world.api.host.store.clone();
    let read =
        async |id: &str| store.read().promise(&id.into()).await.expect("a store").expect("a row");
    let (old, new) = (read(&id).await, read(new).await);
    assert_eq!(old.promise.spec.param, new.promise.spec.param);
    services.world.start("elsewhere").await;
    let (status, _) = services.admin("PATCH", "/invocations/inv_none/restart-as-new", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_has_ended_begins_anew_after_the_entries_of_its_journal() {
    let services = ServicesHost::new().await;
    let id = services.send("Greeter/greet").await;
    let claim = services.journal(&id).await;
    services.ended(claim, Verdict::Resolved, "1").await;
    let restart = async |query: &str| {
        let path = format!("/invocations/{id}/restart-as-new?{query}");
        let (status, body) = services.admin("PATCH", &path, None).await;
        (status.as_u16(), body)
    };
    let refused = async |query: &str| {
        let (status, body) = restart(query).await;
        (status, body["message"].as_str().unwrap_or_default().to_owned())
    };
    // The sleep at 3 and the call at 4 have no result; 5 is a cancellation, the last record before
    // the end.
    for (query, code, says) in [
        ("from=3", 409, "the entry 3 of"),
        ("from=4", 409, "(`sleep`) never completed"),
        ("from=6", 400, "has the entries 0 to 5 before its end, and not 6"),
        ("from=2&deployment=dp_none", 400, "`dp_none` is no id of a deployment"),
        (&format!("from=2&deployment={UNKNOWN}"), 404, "there is no deployment"),
    ] {
        let (status, message) = refused(query).await;
        assert_eq!(status, code, "{query}: {message}");
        assert!(message.contains(says), "{query}: {message}");
    }
    // The run at 1 has its result at 2, which is copied with it.
    for from in [1, 2] {
        let (status, body) = restart(&format!("from={from}")).await;
        assert_eq!(status, 200, "{body}");
        let new = body["new_invocation_id"].as_str().expect("an id");
        let rows = services
            .rows(&format!("SELECT index, name FROM sys_journal WHERE id = '{new}' ORDER BY index"))
            .await;
        assert_eq!(rows.as_array().map(Vec::len), Some(3), "{rows}");
        let columns = "status, restarted_from";
        let of = format!("SELECT {columns} FROM sys_invocation WHERE id = '{new}'");
        assert_eq!(services.rows(&of).await, json!([{ "status": "ready", "restarted_from": id }]));
    }
    assert_eq!(patch(&services, &id, "purge-journal").await.0, StatusCode::OK);
    let (status, message) = refused("from=1").await;
    assert_eq!(status, 409, "{message}");
    assert!(message.contains("has no journal any more"), "{message}");
}

#[tokio::test]
async fn what_is_paused_goes_on_with_its_own_deployment() {
    let services = ServicesHost::new().await;
    let id = services.send("Greeter/greet").await;
    services.world.halt(&id).await;
    let first = services.rows("SELECT id FROM sys_deployment").await[0]["id"].clone();
    for own in ["", "?deployment=keep", &format!("?deployment={}", first.as_str().expect("an id"))]
    {
        let (status, message) = patch(&services, &id, &format!("resume{own}")).await;
        assert_eq!(status, StatusCode::OK, "{own}: {message}");
        let (status, _) = patch(&services, &id, &format!("resume{own}")).await;
        assert_eq!(status, StatusCode::CONFLICT, "{own}: it is not paused any more");
        let claim = segno_core::id::Claim { id: id.as_str().into(), ..claim(&services, &id).await };
        services.world.command(halted(claim)).await;
    }
    assert_eq!(patch(&services, "inv_none", "resume").await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_is_paused_goes_on_with_another_deployment() {
    let services = ServicesHost::new().await;
    let id = services.send("Greeter/greet").await;
    let held = services.journal(&id).await;
    let on =
        format!("SELECT pinned_deployment_id AS at, status FROM sys_invocation WHERE id = '{id}'");
    let first = services.rows(&on).await[0]["at"].clone();
    let others = services.register("http://localhost:9081/others").await;
    let second = services.register("http://localhost:9082/small").await;
    let (status, _) = patch(&services, &id, &format!("resume?deployment={second}")).await;
    assert_eq!(status, StatusCode::CONFLICT, "it runs");
    services.world.command(halted(held)).await;
    for (other, status, says) in [
        ("nothing", StatusCode::BAD_REQUEST, "is no id of a deployment"),
        (UNKNOWN, StatusCode::NOT_FOUND, "there is no deployment"),
        (others.as_str(), StatusCode::BAD_REQUEST, "has no service `Greeter`"),
    ] {
        let (answered, message) =
            patch(&services, &id, &format!("resume?deployment={other}")).await;
        assert_eq!(answered, status, "{other}: {message}");
        assert!(message.contains(says), "{other}: {message}");
    }
    assert_eq!(services.rows(&on).await, json!([{ "at": first, "status": "paused" }]));
    for other in [second.as_str(), "latest"] {
        let (status, message) = patch(&services, &id, &format!("resume?deployment={other}")).await;
        assert_eq!(status, StatusCode::OK, "{other}: {message}");
        assert_eq!(services.rows(&on).await, json!([{ "at": second, "status": "ready" }]));
        let claim = segno_core::id::Claim { id: id.as_str().into(), ..claim(&services, &id).await };
        services.world.command(halted(claim)).await;
    }
}

/// Claims the task of an invocation.
async fn claim(services: &ServicesHost, id: &str) -> segno_core::id::Claim {
    use segno_core::{
        command::{ClaimRequest, Command},
        id::{Claim, Holder, HostName},
        reply::Reply,
        time::Millis,
    };
    let store = services.world.api.host.store.clone();
    let row = store.read().promise(&id.into()).await.expect("a store").expect("a row");
    let version = row.task.expect("a task").version;
    let holder = Holder { node: HostName::from("test"), incarnation: 1 };
    let request = ClaimRequest { holder, nonce: version.0 + 2, ttl: Millis(60_000) };
    let claim = Claim { id: id.into(), version };
    let acquire = Command::TaskAcquire { claim, request, stall_limit: None };
    match services.world.command(acquire).await {
        Reply::Task(task) => Claim { id: id.into(), version: task.task.version },
        other => panic!("{other:?}"),
    }
}

fn halted(claim: segno_core::id::Claim) -> segno_core::command::Command {
    let report = segno_core::promise::Note {
        kind: "paused".into(),
        message: "for a look".into(),
        details: Vec::new().into(),
    };
    let reason = segno_core::promise::ReleaseReason::Halt { report };
    segno_core::command::Command::TaskRelease { claim, reason }
}
