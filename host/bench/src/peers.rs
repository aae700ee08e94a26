//! Measures several hosts on one PostgreSQL database, compared with the database when every row is
//! a separate commit.

use std::sync::{Mutex, PoisonError};

use futures::future::try_join_all;
use segno_core::id::PromiseId;
use segno_store::postgres::PostgresConfig;
use serde_json::{Value as Json, json};
use sqlx::{Connection as _, Executor as _, PgConnection};

use super::{
    bare_guest,
    baseline::GroupedLog,
    context::BenchContext,
    harness::Harness,
    measure::{MeasuredTime, Stopwatch},
    report::{BenchSection, Goal},
    store_only::StoreOnly,
    temporary_schema::TemporarySchema,
};

/// Number of steps of each workflow.
const STEPS: u32 = 20;
/// Size of the records of a step, in bytes.
const RECORD: usize = 51;
/// Number of connections that commit single rows.
const CONNECTIONS: u32 = 16;
/// Numbers of concurrent batches per host to try; the best one is used.
const WRITERS: [usize; 3] = [2, 4, 16];
/// Number of clients that start workflows, distributed over the hosts. Each starts the next
/// workflow when the last one is stored.
const CLIENTS: usize = 256;
/// Maximum number of hosts.
const HOSTS: usize = 3;

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let mut schema = TemporarySchema::new(context).await?;
    let measured = measure(context, &mut schema).await;
    let dropped = schema.drop().await;
    measured.and_then(|section| dropped.map(|()| section))
}

async fn measure(
    context: &BenchContext,
    schema: &mut TemporarySchema,
) -> anyhow::Result<BenchSection> {
    let commits = schema.commits().await?;
    let workflows = context.size(1_000, 30);
    let all = workflows * STEPS;
    let mut rates = [const { Vec::new() }; HOSTS];
    let mut by_writers = WRITERS.map(|_| Vec::new());
    let (mut cpu, mut shared, mut repeated, mut single) = (vec![], vec![], vec![], vec![]);
    let (mut trips, mut each) = (vec![], vec![]);
    let (mut stored, mut stored_cpu, mut logged) = (vec![], vec![], vec![]);
    let (mut stored_shared, mut plain) = (vec![], vec![]);
    for repetition in 0..context.repetitions {
        for hosts in 1..=HOSTS {
            let mut beds = Vec::new();
            for host in 0..hosts {
                let config = PostgresConfig::new(&schema.address)?;
                beds.push(Harness::postgres(context, config, &format!("bench-{host}")).await?);
            }
            // Warm-up, not measured: connections in use have cached plans and pages.
            crowd(context, &beds, &format!("warm-up-{repetition}-{hosts}"), workflows).await?;
            let before: Vec<_> = beds.iter().map(Harness::written_together).collect();
            let passed =
                crowd(context, &beds, &format!("crowd-{repetition}-{hosts}"), workflows).await?;
            rates[hosts - 1].push(passed.rate(all));
            if hosts == 1 {
                let (before, after) = (before[0], beds[0].written_together());
                let commits = (after.commits - before.commits) as f64;
                cpu.push(passed.cpu_each_us(all));
                shared.push(f64::from(all) / commits);
                trips.push((after.statements - before.statements) as f64 / commits);
                each.push((after.statements - before.statements) as f64 / f64::from(all));
                repeated.push((after.repeats - before.repeats) as f64);
                let ended = PromiseId::new(format!("crowd-{repetition}-1-0"));
                let steps =
                    StoreOnly::of(&beds[0], &ended, "steps", input(), context.digest).await?;
                steps.append(&beds[0], &format!("stored-{repetition}-warm-up"), workflows).await?;
                let before = beds[0].written_together().commits;
                let passed =
                    steps.append(&beds[0], &format!("stored-{repetition}"), workflows).await?;
                let commits = beds[0].written_together().commits - before;
                stored.push(passed.rate(all));
                stored_cpu.push(passed.cpu_each_us(all));
                let shared = (u64::from(all) / commits.max(1)).max(1) as u32;
                stored_shared.push(f64::from(shared));
                plain.push(shared_rows(schema, all, shared, repetition).await?);
            }
            for harness in beds {
                harness.close().await;
            }
        }
        for (writers, rates) in WRITERS.into_iter().zip(&mut by_writers) {
            let mut config = PostgresConfig::new(&schema.address)?;
            config.writers = writers;
            let beds = [Harness::postgres(context, config, "bench-alone").await?];
            crowd(context, &beds, &format!("warm-up-{repetition}-writers-{writers}"), workflows)
                .await?;
            let name = format!("crowd-{repetition}-writers-{writers}");
            rates.push(crowd(context, &beds, &name, workflows).await?.rate(all));
            let [harness] = beds;
            harness.close().await;
        }
        single.push(single_rows(schema, context.size(200, 10)).await?);
        let place = context.place()?;
        let log = GroupedLog::new(place.path())?;
        let stopwatch = Stopwatch::start();
        bare_guest::crowd(context, workflows, STEPS, Some((&log, RECORD))).await?;
        logged.push(stopwatch.passed().rate(all));
        log.close()?;
    }

    let mut section = BenchSection::new(format!(
        "{workflows} workflows of {STEPS} `run` steps with results of 20 bytes, all at once, begun for {CLIENTS} clients and \
         shared out among hosts in this process; starts and ends are in the figures. Without guests, one host appends the records of such workflows under as \
         many claims; next to it, rows of the size of a step in commits of as many, one statement each, without a claim \
         or an index but their key. {CONNECTIONS} connections commit a row of 100 bytes each, again and again, and the \
         guests on a log in a file, which is what no database could be faster than. {commits}"
    ));
    let [one, two, three] = &rates;
    section.measured("durable steps, one host", "/s", one);
    section.measured("durable steps, two hosts", "/s", two);
    section.measured("durable steps, three hosts", "/s", three);
    section.measured("CPU time of a step, without the database's", "µs", &cpu);
    section.measured("steps a commit", "", &shared);
    section.measured("statements a commit", "", &trips);
    section.measured("statements a step", "", &each);
    for (writers, rates) in WRITERS.into_iter().zip(&by_writers) {
        section.measured(
            format!("durable steps, one host, {writers} batches at a time"),
            "/s",
            rates,
        );
    }
    section.measured("batches decided again", "", &repeated);
    section.measured("the same steps without guests, one host", "/s", &stored);
    section.measured("CPU time of one, without the database's", "µs", &stored_cpu);
    section.measured("steps a commit there", "", &stored_shared);
    section.floor("rows in commits of as many, by plain statements", "/s", &plain);
    section.floor("single rows committed", "/s", &single);
    section
        .ratio("steps/s / single rows/s", one, &single)
        .goal(Goal::AtLeast { must: 5.0, aim: 15.0 });
    section
        .ratio("steps/s without guests / single rows/s", &stored, &single)
        .goal(Goal::AtLeast { must: 5.0, aim: 15.0 });
    section.ratio("steps/s without guests / rows in commits of as many", &stored, &plain);
    section.ratio("rows in commits of as many / single rows/s", &plain, &single);
    section.floor("the same guests on a raw log with group commit, no database", "/s", &logged);
    section.ratio("the guests on a raw log / single rows/s", &logged, &single);
    Ok(section)
}

/// The input of each workflow.
fn input() -> Json {
    json!({ "steps": STEPS, "result_bytes": 22 })
}

/// Runs workflows distributed over the hosts; each host waits for its own.
async fn crowd(
    context: &BenchContext,
    beds: &[Harness],
    name: &str,
    workflows: u32,
) -> anyhow::Result<MeasuredTime> {
    let input = input();
    let shares = (0..beds.len()).map(|host| {
        (0..workflows)
            .skip(host)
            .step_by(beds.len())
            .map(|number| (PromiseId::new(format!("{name}-{number}")), input.clone()))
            .collect::<Vec<_>>()
    });
    let clients = CLIENTS / beds.len();
    let stopwatch = Stopwatch::start();
    let begun = beds
        .iter()
        .zip(shares)
        .map(|(harness, share)| harness.begin(share, "steps", context.digest, clients));
    try_join_all(begun).await?;
    Ok(stopwatch.passed())
}

/// Rows per second when each row is a commit and several connections commit concurrently.
async fn single_rows(schema: &TemporarySchema, each: u32) -> anyhow::Result<f64> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(PgConnection::connect(&schema.address).await?);
    }
    let stopwatch = Stopwatch::start();
    let writing = connections.iter_mut().map(async |connection| {
        for _ in 0..each {
            let row =
                sqlx::query("INSERT INTO single_rows (record) VALUES ($1)").bind(vec![1_u8; 100]);
            connection.execute(row).await?;
        }
        anyhow::Ok(())
    });
    try_join_all(writing).await?;
    Ok(stopwatch.passed().rate(each * CONNECTIONS))
}

/// Rows per second when `each` of them share a statement and its commit, on as many connections as a
/// host has writers. The rows are those of 20 steps of many journals.
async fn shared_rows(
    schema: &TemporarySchema,
    all: u32,
    each: u32,
    repetition: usize,
) -> anyhow::Result<f64> {
    let first = i64::try_from(repetition)? * i64::from(all);
    let writers = PostgresConfig::new(&schema.address)?.writers;
    let mut connections = Vec::new();
    for _ in 0..writers {
        connections.push(PgConnection::connect(&schema.address).await?);
    }
    let places: Vec<(i64, i64)> = (0..i64::from(STEPS))
        .flat_map(|at| (0..i64::from(all / STEPS)).map(move |journal| (journal, at)))
        .map(|(journal, at)| (first + journal, at))
        .collect();
    let left = Mutex::new(places.chunks(each as usize));
    let stopwatch = Stopwatch::start();
    let writing = connections.iter_mut().map(async |connection| {
        loop {
            let next = left.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(rows) = next else { return anyhow::Ok(()) };
            let (journals, ats): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
            let row = sqlx::query(
                "INSERT INTO shared_rows SELECT * FROM UNNEST($1::BIGINT[], $2::BIGINT[], $3::BYTEA[])",
            );
            let records = vec![vec![1_u8; RECORD]; rows.len()];
            connection.execute(row.bind(journals).bind(ats).bind(records)).await?;
        }
    });
    try_join_all(writing).await?;
    Ok(stopwatch.passed().rate(all))
}
