use segno_core::{
    command::{Command, HeartbeatItem},
    id::{Claim, Holder, HostName, Version},
    reply::Reply,
};

use super::ApiWorld;

/// Returns a value in the text, by its exact name and labels.
fn figure(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let value = line.unwrap_or_else(|| panic!("there is no `{name}` in\n{text}"));
    value.parse().unwrap_or_else(|_| panic!("`{value}` is no number"))
}

async fn scraped(world: &ApiWorld) -> String {
    let answer = world.get("/metrics").await;
    assert!(answer.status.is_success(), "{answer:?}");
    assert!(answer.content_type.starts_with("application/openmetrics-text"), "{answer:?}");
    answer.body.as_str().expect("text").to_owned()
}

#[tokio::test]
async fn a_scripted_life_is_counted_exactly() {
    let world = ApiWorld::shop().await;
    for id in ["a", "b", "c"] {
        world.start(id).await.ok();
    }
    let claim = world.acquire("a").await;
    let holder = Holder { node: HostName::from("test"), incarnation: 1 };
    let item = |claim: &Claim| HeartbeatItem { claim: claim.clone(), progress: None };
    let stale = Claim { id: claim.id.clone(), version: Version(claim.version.0 + 1) };
    let items = vec![item(&claim), item(&stale), item(&claim)];
    world.command(Command::TaskHeartbeat { holder, items }).await;
    let digest = world.digest("shop").await;
    world.journal("b", digest).await;
    world.halt("c").await;
    world.post("/v1/invocations/a/kill", serde_json::json!({})).await.ok();
    let refused =
        Command::TaskFence { claim: stale, records: vec![], logs: vec![], actions: vec![] };
    let replies = world.api.host.store.execute(vec![refused]).await.expect("memory answers");
    assert!(matches!(replies[0], Reply::Refused(_)));
    world.get("/v1/invocations/nobody").await.problem(404, "unknown-invocation");
    let text = scraped(&world).await;
    for (name, expected) in [
        ("segno_leases_active", 1.0),
        ("segno_quarantined_tasks", 1.0),
        ("segno_ready_tasks", 0.0),
        ("segno_lease_acquisition_latency_seconds_count", 3.0),
        ("segno_heartbeats_total{result=\"extended\"}", 2.0),
        ("segno_heartbeats_total{result=\"stale\"}", 1.0),
        ("segno_heartbeats_total{result=\"stalled\"}", 0.0),
        ("segno_lease_expirations_total", 0.0),
        ("segno_recovery_requeues_total{cause=\"expiry\"}", 0.0),
        ("segno_settlements_total{state=\"cancelled\",cause=\"request\"}", 1.0),
        ("segno_chain_length_count", 1.0),
        ("segno_outbox_messages{kind=\"event\"}", 0.0),
        (
            "segno_http_requests_total{method=\"POST\",route=\"/v1/invocations\",status=\"2xx\"}",
            3.0,
        ),
        (
            "segno_http_requests_total{method=\"GET\",route=\"/v1/invocations/{id}\",status=\"4xx\"}",
            1.0,
        ),
    ] {
        assert_eq!(figure(&text, name), expected, "{name}");
    }
    assert!(figure(&text, "segno_process_resident_memory_bytes") > 1e6);
}

#[tokio::test]
async fn the_text_is_what_scrapers_read() {
    let world = ApiWorld::shop().await;
    world.start("a").await.ok();
    world.get("/nowhere").await;
    let text = scraped(&world).await;
    assert!(text.ends_with("# EOF\n"), "{text}");
    let mut described = std::collections::BTreeSet::new();
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (keyword, name) = (words.next().expect("a keyword"), words.next().expect("a name"));
            let rest = words.next().unwrap_or_default();
            assert!(name.starts_with("segno_"), "{line}");
            match keyword {
                "HELP" => assert!(rest.ends_with('.') && rest.len() > 10, "{line}"),
                "TYPE" => {
                    assert!(["counter", "gauge", "histogram"].contains(&rest), "{line}");
                    described.insert(name.to_owned());
                }
                "UNIT" => assert!(name.ends_with(&format!("_{rest}")), "{line}"),
                _ => panic!("{line}"),
            }
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(value.parse::<f64>().is_ok(), "{line}");
        let name = sample.split('{').next().expect("a name");
        let family = ["_total", "_bucket", "_sum", "_count", ""]
            .iter()
            .find_map(|suffix| described.get(name.strip_suffix(suffix)?));
        assert!(family.is_some(), "{line}");
        assert!(!sample.contains('{') || sample.ends_with('}'), "{line}");
    }
    assert!(
        text.contains("route=\"none\",status=\"4xx\""),
        "paths that do not exist make no metrics"
    );
}
