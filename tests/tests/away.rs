//! A host on two databases, one of which is away: everything in the other one goes on, also what is
//! read or committed together with work that needs both, and also if the host starts again.

use std::{collections::BTreeMap, process::Command, time::Duration};

use segno_api::model::{CreateSchedule, InvocationQuery, StartInvocation};
use segno_client::ClientError;
use segno_core::{id::PromiseId, shard::ShardMap, time::Millis};
use segno_demo::payments::PaymentsOptions;
use serde_json::json;
use tests::host_group::HostGroup;
use throwaway_postgres::Cluster;
use tokio::task::block_in_place;

const SEGNO: &str = env!("CARGO_BIN_EXE_segno-under-test");

/// Guest of the benchmarks, which is in the repository.
const BENCH: &[u8] = include_bytes!("../../host/bench/guest/bench.wasm");
/// Longest lateness of a timer while a database is away, on a busy machine.
const LATE_MAX: Millis = Millis(5_000);

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_database_that_is_away_holds_up_nothing_else() {
    let clusters = || Some([Cluster::start(&[])?, Cluster::start(&[])?]);
    let Some(clusters) = block_in_place(clusters) else { return };
    let databases = block_in_place(|| clusters.each_ref().map(|cluster| cluster.database()));
    let [here, away] = databases.each_ref().map(|database| database.url());
    let url = format!("{here} {away}");
    let payments = PaymentsOptions::default();
    let mut group = HostGroup::start(SEGNO, &url, 1, payments, &["--lease", "5"]).await;
    group.deploy("bench", BENCH.to_vec()).await;
    let map = ShardMap::dealt(2);
    let mut ids: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for id in (0..200).map(|number| format!("nap-{number}")) {
        ids.entry(map.promise(&PromiseId::from(id.as_str()))).or_default().push(id);
    }
    // Half of the ids of its executions lie in the database that is away.
    let schedule = CreateSchedule {
        id: ticks(&map),
        cron: "* * * * * *".to_owned(),
        target: "bench/noop".to_owned(),
        ..CreateSchedule::default()
    };
    group.client(0).create_schedule(&schedule).await.expect("it can be made");

    block_in_place(|| clusters[1].stop());
    let (early, late) = ids[&0].split_at(20);
    naps_end(&group, &early[..10]).await;
    assert_eq!(missing(&group).await, std::slice::from_ref(&away));
    lists_say_what_they_leave_out(&group, &away).await;
    // Occurrences of the schedule wait by now.
    naps_end(&group, &early[10..]).await;

    group.hosts[0].kill().expect("it runs");
    group.hosts[0].restart().await.expect("it starts without the database");
    assert_eq!(missing(&group).await, std::slice::from_ref(&away));
    naps_end(&group, &late[..10]).await;
    let lost = group.client(0).start(&nap(&group, &ids[&1][0], 0)).await.expect_err("it is away");
    assert!(lost.to_string().contains("was away when this host started"), "{lost}");

    block_in_place(|| clusters[1].up().expect("it starts"));
    while !missing(&group).await.is_empty() {
        group.env.runtime.sleep(Millis(100)).await;
    }
    naps_end(&group, &ids[&1][..10]).await;
    naps_end(&group, &late[10..20]).await;
    let of_schedule = format!("{}@", schedule.id);
    let in_each = [0, 1].map(|database| {
        let found = block_in_place(|| {
            databases[database]
                .sql(&format!("SELECT id FROM promises WHERE id LIKE '{of_schedule}%'"))
        });
        found.lines().filter(|line| line.contains(&of_schedule)).count()
    });
    assert!(in_each.iter().all(|count| *count > 0), "{in_each:?}");
}

/// A list is refused, unless it may leave something out; the command line asks for that by itself.
async fn lists_say_what_they_leave_out(group: &HostGroup, away: &str) {
    let client = group.client(0);
    let query = InvocationQuery { function: Some("nap".to_owned()), ..InvocationQuery::default() };
    let refused = client.list(&query).await.expect_err("it would be incomplete");
    assert!(refused.to_string().contains("partial=true"), "{refused}");
    let ClientError::Refused(problem) = &refused else { panic!("{refused}") };
    assert_eq!((problem.status, &problem.fields["missing"]), (503, &json!([away])));
    let query = InvocationQuery { partial: Some(true), counts: Some(true), ..query };
    let page = client.list(&query).await.expect("a list of the others");
    assert_eq!((page.items.len(), &*page.missing), (10, &[away.to_owned()][..]));
    assert_eq!(page.counts.expect("counts").states["resolved"], 10);
    // An execution in the other database is seen, without what it may call in this one.
    let seen = client.invocation(&page.items[0].id).await.expect("it is in the other database");
    assert_eq!(seen.missing, [away]);
    assert!(client.modules().await.expect("every database has the modules").modules.len() == 1);
    for list in [&["list"][..], &["schedule", "list"], &["promise", "list"], &["task", "list"]] {
        let mut command = Command::new(SEGNO);
        command.args(list).args(["--server", client.server().as_str()]);
        let said = block_in_place(|| command.output()).expect("it runs");
        let warning = String::from_utf8_lossy(&said.stderr);
        let words = warning.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.status.success(), "{list:?}: {warning}");
        assert!(
            words.contains("does not answer: what lies in this database is not listed"),
            "{list:?}: {words}"
        );
    }
}

/// An id of a schedule that lies in the first database.
fn ticks(map: &ShardMap) -> String {
    let mut ids = (0..).map(|number| format!("tick{number}"));
    ids.find(|id| map.schedule(&id.as_str().into()) == 0).expect("one of them")
}

async fn missing(group: &HostGroup) -> Vec<String> {
    group.client(0).ready().await.expect("one database takes writes").missing
}

/// A workflow that sleeps.
fn nap(group: &HostGroup, id: &str, ms: i64) -> StartInvocation {
    let until = group.env.clock.now() + Millis(ms);
    StartInvocation {
        id: Some(id.to_owned()),
        target: "bench/nap".to_owned(),
        input: json!({ "until_ms": until.0 }),
        ..StartInvocation::default()
    }
}

/// Starts workflows that sleep, and checks that none is late.
async fn naps_end(group: &HostGroup, ids: &[String]) {
    let mut naps = Vec::with_capacity(ids.len());
    for id in ids {
        let started = group.client(0).start(&nap(group, id, 2_000)).await;
        naps.push((id, started.unwrap_or_else(|error| panic!("{id}: {error}"))));
    }
    for (id, _) in naps {
        let ended = group.client(0).wait(id, Duration::from_secs(20)).await.expect("an answer");
        let late = ended.output.as_ref().and_then(serde_json::Value::as_i64).map(Millis);
        assert!(late.is_some_and(|late| late < LATE_MAX), "{id}: {ended:?}");
    }
}
