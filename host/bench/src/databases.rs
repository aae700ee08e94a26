//! Measures a store in one, two and four databases, without guests: promises that are made and
//! settled, and commands that touch two databases.
//!
//! The databases are schemas of those that `--postgres` names, so on one server they share its
//! processors: the figures show what several databases cost, and not what they gain.

use std::sync::Arc;

use futures::future::try_join_all;
use segno_core::{
    command::Command,
    config::Config,
    id::PromiseId,
    promise::{NewPromise, Verdict},
    time::Timestamp,
    value::{Tags, Value},
};
use segno_engine::notifier::CommitNotifier;
use segno_store::{
    Store,
    postgres::{PostgresConfig, PostgresStore, ShardedStore},
};

use super::{
    context::BenchContext,
    measure::{MeasuredTime, Stopwatch},
    report::BenchSection,
    temporary_schema::TemporarySchema,
};

/// Numbers of databases.
const DATABASES: [usize; 3] = [1, 2, 4];
/// Number of clients, each of which makes a promise and settles it, and then the next one.
const CLIENTS: u32 = 256;

pub(crate) async fn run(context: &BenchContext) -> anyhow::Result<BenchSection> {
    let mut schemas = Vec::new();
    for databases in DATABASES {
        for place in 0..databases {
            schemas.push(TemporarySchema::at(context, place).await?);
        }
    }
    let measured = measure(context, &mut schemas).await;
    let mut dropped = Ok(());
    for schema in schemas {
        dropped = dropped.and(schema.drop().await);
    }
    measured.and_then(|section| dropped.map(|()| section))
}

async fn measure(
    context: &BenchContext,
    schemas: &mut [TemporarySchema],
) -> anyhow::Result<BenchSection> {
    let commits = schemas[0].commits().await?;
    let (pairs, calls) = (context.size(20, 2), context.size(300, 10));
    let (mut rates, mut cpu) = (DATABASES.map(|_| vec![]), DATABASES.map(|_| vec![]));
    // Of the server of the first database.
    let mut server_cpu = DATABASES.map(|_| vec![]);
    let (mut inside, mut across) = (vec![], vec![]);
    let (mut inside_rate, mut across_rate) = (vec![], vec![]);
    let mut stores = Vec::new();
    let mut free = schemas.iter();
    for databases in DATABASES {
        let addresses = free.by_ref().take(databases).map(|schema| schema.address.as_str());
        stores.push(open(context, addresses.collect()).await?);
    }
    let server = &mut schemas[0];
    for repetition in 0..=context.repetitions {
        for (place, (store, _)) in stores.iter().enumerate() {
            let name = format!("pairs-{place}-{repetition}");
            let began = server.server_cpu_us().await;
            let passed = make_and_settle(store, &name, pairs).await?;
            let spent = server.server_cpu_us().await.zip(began).map(|(end, begin)| end - begin);
            // The first run fills caches and plans.
            if repetition > 0 {
                rates[place].push(passed.rate(CLIENTS * pairs));
                cpu[place].push(passed.cpu_each_us(CLIENTS * pairs));
                server_cpu[place].extend(spent.map(|us| us / f64::from(CLIENTS * pairs)));
            }
        }
        let (store, sharded) = &stores[1];
        let sharded = sharded.as_ref().expect("it has two databases");
        let map = sharded.shards();
        let is_inside = |[one, other]: &[PromiseId; 2]| map.promise(one) == map.promise(other);
        let mut passed = Vec::new();
        for clients in [1, 64] {
            for inside in [true, false] {
                let name = format!("two-{repetition}-{clients}-{inside}");
                let fits = |pair: &[PromiseId; 2]| is_inside(pair) == inside;
                passed.push(make_two(store, &name, calls, clients, fits).await?);
            }
        }
        if repetition > 0 {
            inside.push(passed[0].each_us(calls) / 1e3);
            across.push(passed[1].each_us(calls) / 1e3);
            inside_rate.push(passed[2].rate(calls * 64));
            across_rate.push(passed[3].rate(calls * 64));
        }
    }
    for (store, _) in stores {
        store.close().await;
    }
    let mut section = BenchSection::new(format!(
        "stores in {DATABASES:?} databases, schemas of those that --postgres names; {CLIENTS} clients each make a promise \
         and settle it, {pairs} times; two promises are made by one submission, both in one database, or in two, whose \
         commit has two phases. {commits}"
    ));
    section.floor("promises made and settled in one database", "/s", &rates[0]);
    section.floor("CPU time of one, without the database's", "µs", &cpu[0]);
    // A server on another machine does not tell.
    let has_server_cpu = server_cpu.iter().all(|spent| !spent.is_empty());
    if has_server_cpu {
        section.floor("CPU time of the server of the first database", "µs", &server_cpu[0]);
    }
    for (place, databases) in DATABASES.into_iter().enumerate().skip(1) {
        let name = format!("promises made and settled in {databases} databases");
        section.measured(name, "/s", &rates[place]);
        section.measured("CPU time of one, without the database's", "µs", &cpu[place]);
        section.ratio("/s / in one database", &rates[place], &rates[0]);
        section.ratio("CPU time / in one database", &cpu[place], &cpu[0]);
        if has_server_cpu {
            let name = "CPU time of the server of the first database";
            section.measured(name, "µs", &server_cpu[place]);
            section.ratio("CPU time / in one database", &server_cpu[place], &server_cpu[0]);
        }
    }
    section.floor("two promises in one of two databases, one client", "ms", &inside);
    section.measured("two promises in two databases, one client", "ms", &across);
    section.ratio("ms / in one of them", &across, &inside);
    section.floor("two promises in one of two databases, 64 clients", "/s", &inside_rate);
    section.measured("two promises in two databases, 64 clients", "/s", &across_rate);
    section.ratio("/s / in one of them", &across_rate, &inside_rate);
    Ok(section)
}

/// An open store; also as one of several databases, if it has them.
type OpenStore = (Arc<dyn Store>, Option<Arc<ShardedStore>>);

async fn open(context: &BenchContext, addresses: Vec<&str>) -> anyhow::Result<OpenStore> {
    let configs = addresses.into_iter().map(PostgresConfig::new);
    let mut configs: Vec<PostgresConfig> = configs.collect::<Result<_, _>>()?;
    let (env, hints) = (context.env.clone(), Arc::new(CommitNotifier::default()));
    match configs.len() {
        1 => {
            let store =
                PostgresStore::open(configs.remove(0), Config::default(), env, hints).await?;
            Ok((store, None))
        }
        _ => {
            let store = ShardedStore::open(configs, Config::default(), env, hints).await?;
            Ok((store.clone(), Some(store)))
        }
    }
}

fn new(id: PromiseId) -> NewPromise {
    let (param, tags, timeout_at) = (Value::default(), Tags::new(), Timestamp::NEVER);
    NewPromise { id, param, tags, timeout_at }
}

async fn make_and_settle(
    store: &Arc<dyn Store>,
    name: &str,
    pairs: u32,
) -> anyhow::Result<MeasuredTime> {
    let stopwatch = Stopwatch::start();
    let clients = (0..CLIENTS).map(async |client| {
        for pair in 0..pairs {
            let id = PromiseId::new(format!("{name}-{client}-{pair}"));
            store.execute(vec![Command::PromiseCreate(new(id.clone()))]).await?;
            let (verdict, value) = (Verdict::Resolved, Value::default());
            store.execute(vec![Command::PromiseSettle { id, verdict, value }]).await?;
        }
        anyhow::Ok(())
    });
    try_join_all(clients).await?;
    Ok(stopwatch.passed())
}

/// Makes two promises by each submission, for pairs of ids that `fits` takes.
async fn make_two(
    store: &Arc<dyn Store>,
    name: &str,
    each: u32,
    clients: u32,
    fits: impl Fn(&[PromiseId; 2]) -> bool,
) -> anyhow::Result<MeasuredTime> {
    let pairs = (0_u32..)
        .map(|number| [0, 1].map(|half| PromiseId::new(format!("{name}-{number}-{half}"))));
    let pairs: Vec<_> = pairs.filter(fits).take((each * clients) as usize).collect();
    let stopwatch = Stopwatch::start();
    let clients = pairs.chunks(each as usize).map(async |pairs| {
        for pair in pairs {
            let made = pair.clone().map(|id| Command::PromiseCreate(new(id)));
            store.execute(made.to_vec()).await?;
        }
        anyhow::Ok(())
    });
    try_join_all(clients).await?;
    Ok(stopwatch.passed())
}
