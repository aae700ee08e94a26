//! One run, from an empty store to the report.

use std::{collections::BTreeMap, path::Path, process::Command, sync::Arc, time::Duration};

use segno_api::model::{InvocationOutcome, InvocationState, ReplayVerdict};
use segno_client::Client;
use segno_core::address::GRAPH_RUN;
use segno_demo::{
    rng::DemoRng,
    server::{DemoServer, ServerOptions},
};
use segno_env::Env;
use tempfile::TempDir;
use throwaway_postgres::Cluster;

use super::{
    access::OpenAccess,
    events::Events,
    faults::{LEASE, Victims},
    flows::{self, Flow, Kind, MODULE},
    ledger::Ledger,
    memory::{IDLE, Memory},
    outside::Outside,
    plan::Plan,
    preload::Preload,
    proxy::Proxy,
    quiet,
    report::{Findings, Report},
};
use crate::guests;

/// Number of each client's last executions whose outcomes are read again at the end. Outcomes must
/// not change.
const KEPT: usize = 200;
/// For each kind of flow, one execution per this many seconds of the run is replayed, plus one.
const REPLAYED_SECONDS: u64 = 20;

/// Plays `plan`.
///
/// # Errors
/// If the run cannot be set up. Faults of hosts are in the report.
pub async fn run(plan: Plan) -> anyhow::Result<Report> {
    let env = Env::system();
    let findings = Arc::new(Findings::default());
    let folder = tempfile::tempdir()?;
    let mut chance = DemoRng::new(plan.seed);
    let (ledger, address) = Ledger::start(&findings, &env).await;
    let mut victims = victims(&plan, &folder, &address, ledger.clone(), &env).await?;
    let module = guests::component(MODULE);
    victims.hosts[0].client().deploy(module, Some(MODULE)).await?;

    let clients = victims
        .proxies
        .iter()
        .map(|proxy| Client::new(&format!("http://{}", proxy.address()), None));
    let clients = clients.collect::<Result<Vec<_>, _>>()?;
    let draws = DemoRng::new(plan.seed.wrapping_add(1));
    let outside = Outside::new(clients, address, draws, findings.clone(), env.clone());
    let events = Events::default();
    let mut memory = Memory::default();

    let served =
        (0..plan.clients).map(|number| serve(number, &plan.flows, &outside, &ledger, &events));
    let served = async {
        let served = futures::future::join_all(served).await;
        events.no_more();
        served
    };
    let injecting = async {
        let injected = victims.inject(&plan, &mut chance, &mut memory.tenths).await;
        let healed = victims.heal().await;
        outside.finish();
        let injected = injected.and_then(|counts| healed.map(|()| counts));
        injected.unwrap_or_else(|error| {
            findings.add(format!("a host did not survive: {}", chain(&error)));
            BTreeMap::new()
        })
    };
    let (served, faults, _) = tokio::join!(served, injecting, events.consume(&outside));

    let mut counts_of_flows = BTreeMap::new();
    let mut ended = Vec::new();
    for (counts, some) in served {
        for (kind, count) in counts {
            *counts_of_flows.entry(kind).or_default() += count;
        }
        ended.extend(some);
    }
    let replays = look_again(&ended, &plan, &outside).await;
    if let Err(wrong) = flows::room_was_kept(&ledger) {
        findings.add(format!("hall: {wrong}"));
    }
    // Errors are already among the findings.
    let _ = quiet::nothing_is_left(&outside).await;
    let _ = quiet::nothing_is_requested(&outside, &ended).await;
    if plan.faults.is_empty() {
        env.runtime.sleep(IDLE).await;
        memory.idle = Some(victims.largest_mib());
        memory.findings().into_iter().for_each(|finding| findings.add(finding));
    }
    for refused in victims.access.refused() {
        findings.add(format!("a host asked for more than some servers know: {refused}"));
    }
    stop(victims, &plan, &findings).await;
    if findings.count() > 0 {
        eprintln!("logs and data are kept in {}", folder.keep().display());
    }
    let report = Report {
        faults,
        flows: counts_of_flows,
        requests: outside.requests(),
        effects: ledger.requests(),
        events: events.acknowledged(),
        replays,
        memory,
        findings: Vec::new(),
        plan,
    };
    Ok(report.with(&findings))
}

async fn victims(
    plan: &Plan,
    folder: &TempDir,
    ledger_address: &str,
    ledger: Arc<Ledger>,
    env: &Env,
) -> anyhow::Result<Victims> {
    let preload = Preload::build(folder.path())?;
    let mut clusters = Vec::new();
    for _ in (0..plan.databases).filter(|_| plan.hosts > 1) {
        let cluster = Cluster::start(&[]);
        let cluster = cluster.ok_or_else(|| anyhow::anyhow!("several hosts need PostgreSQL"))?;
        let name = cluster.database().name();
        clusters.push((cluster, name));
    }
    // Only direct access is possible to several.
    let opened = clusters.first().map(|(cluster, name)| plan.access.open(cluster, name));
    let access = opened.unwrap_or(Some(OpenAccess::Direct));
    let access = access.ok_or_else(|| anyhow::anyhow!("PgBouncer is not installed"))?;
    let urls: Vec<String> =
        clusters.iter().map(|(cluster, name)| access.url(cluster, name)).collect();
    let url = Some(urls.join(" ")).filter(|url| !url.is_empty());
    let (mut hosts, mut proxies) = (Vec::new(), Vec::new());
    for number in 0..plan.hosts {
        let own = folder.path().join(format!("host-{number}"));
        let mut options = ServerOptions::within(&own, &plan.segno)?;
        options.arguments = vec!["--lease".to_owned(), (LEASE.0 / 1_000).to_string()];
        match &url {
            Some(url) => options.arguments.extend(["--store".to_owned(), url.clone()]),
            None => options.environment = preload.environment(&options.data),
        }
        options.allow_http(MODULE, ledger_address)?;
        proxies.push(Proxy::start(options.listen, env).await);
        hosts.push(DemoServer::start(options, env.clone()).await?);
    }
    let env = env.clone();
    Ok(Victims { hosts, proxies, ledger, preload, access, clusters, env })
}

/// Runs one client: flow after flow until the run is over. Returns the number of ended flows of
/// each kind, and the last outcomes.
async fn serve(
    number: usize,
    kinds: &[Kind],
    outside: &Outside,
    ledger: &Arc<Ledger>,
    events: &Events,
) -> (BTreeMap<&'static str, u64>, Vec<InvocationOutcome>) {
    let (mut counts, mut ends) = (BTreeMap::new(), Vec::new());
    for flow in 0.. {
        if outside.is_over() {
            break;
        }
        let kind = kinds[outside.draw(0, kinds.len() as u64 - 1) as usize];
        let id = format!("{}-{number}-{flow}", kind.name());
        // A flow that cannot end is already a finding. The client continues with another.
        let Ok(some) = (Flow { kind, id, outside, ledger, events }).play().await else { continue };
        *counts.entry(kind.name()).or_default() += 1;
        ends.extend(some);
        ends.drain(..ends.len().saturating_sub(KEPT));
    }
    (counts, ends)
}

/// Reads ended executions again, and replays some of each kind. Returns the number of identical
/// replays.
async fn look_again(ended: &[InvocationOutcome], plan: &Plan, outside: &Outside) -> usize {
    let mut replays = 0;
    let mut chosen: BTreeMap<&str, u64> = BTreeMap::new();
    for end in ended {
        let what = format!("reading `{}` again", end.id);
        let again =
            outside.ask(&what, &[], async |host| host.wait(&end.id, Duration::ZERO).await).await;
        let Ok(again) = again else { return replays };
        if (again.state, &again.output) != (end.state, &end.output) {
            outside.findings.add(format!("`{}` was {end:?} and is {again:?}", end.id));
        }
        // A plan's run has no journal.
        let kind = end.id.split('-').next().unwrap_or_default();
        let count = chosen.entry(kind).or_default();
        if end.target == GRAPH_RUN || *count > plan.seconds / REPLAYED_SECONDS {
            continue;
        }
        let row = outside.ask(&what, &[], async |host| host.invocation(&end.id).await).await;
        let Ok(row) = row else { return replays };
        // It was stopped before its first record.
        if row.journal_len == 0 && end.state != InvocationState::Resolved {
            continue;
        }
        *count += 1;
        let what = format!("replaying `{}`", end.id);
        let replay = outside.ask(&what, &[], async |host| host.replay(&end.id, None).await).await;
        let Ok(replay) = replay else { return replays };
        match replay.verdict {
            ReplayVerdict::Identical => replays += 1,
            ReplayVerdict::Diverged | ReplayVerdict::Failed => {
                outside.findings.add(format!("`{}` replays otherwise: {replay:?}", end.id));
            }
        }
    }
    replays
}

/// Stops the hosts gracefully, and runs `segno doctor`.
async fn stop(victims: Victims, plan: &Plan, findings: &Findings) {
    let store = victims.hosts[0]
        .options()
        .arguments
        .iter()
        .skip_while(|word| *word != "--store")
        .nth(1)
        .cloned();
    let store = store.unwrap_or_else(|| victims.hosts[0].options().data.display().to_string());
    for host in victims.hosts {
        let log = host.options().log.clone();
        if let Err(error) = host.stop().await {
            findings.add(format!("a host did not stop: {}", chain(&error)));
        }
        read_log(&log, findings);
    }
    let doctor = Command::new(&plan.segno).args(["doctor", "--store", &store]).output();
    match doctor {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            findings.add(format!(
                "segno doctor ({}): {}",
                output.status,
                String::from_utf8_lossy(&said)
            ));
        }
        Err(error) => findings.add(format!("segno doctor does not run: {error}")),
    }
}

/// Records panics and broken invariants in a host's log as findings, even if no client noticed
/// them.
fn read_log(log: &Path, findings: &Findings) {
    let text = std::fs::read(log).unwrap_or_default();
    for line in String::from_utf8_lossy(&text).lines() {
        if line.contains("panicked at") || line.contains("invariant") {
            findings.add(format!("{}: {line}", log.display()));
        }
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(&format!(": {error}"));
        cause = error.source();
    }
    words
}
