//! Estimates how far sharding by execution tree scales: the calculation behind
//! docs/concepts/growing.md.
//!
//! ```console
//! $ cargo run --release -p segno-core --example growth            # with the figures of the page
//! $ cargo run --release -p segno-core --example growth -- 25000   # one database does 25,000 steps/s
//! ```
//!
//! Trees of many sizes are assigned to shards by a hash of the first part of their root's id. The
//! most loaded shard sets the throughput of the whole: when it is saturated, the trees on it wait.
//! Steps that wait for a promise in another tree cost additional commits on both shards. The load
//! of idle polling (every host polls every shard it serves, with or without work) is subtracted
//! first.

use segno_core::id::{CommandIndex, Digest, PromiseId};

/// Steps per second of one database, unless given as an argument.
const STEPS_PER_SECOND: f64 = 20_000.0;
/// Number of trees that are alive at the same time.
const TREES: u32 = 200_000;
/// Steps of the smallest tree. Sizes follow a power law: one tree in a thousand is 300 times as
/// large.
const SMALLEST: f64 = 10.0;
const POWER: f64 = 1.2;
/// Upper bound on the size of a tree, as a fraction of all work.
const LARGEST: f64 = 1e-3;

/// Cost of a wait across trees, in commits the size of a step. The waiting shard commits three
/// times: it owes a message that asks for the outcome, the message is acknowledged, and the wait
/// ends. The other shard also commits three times: it records the asker, and when the promise
/// settles it owes a message and has it acknowledged.
const CROSSING_HERE: f64 = 3.0;
const CROSSING_THERE: f64 = 3.0;

/// Polling queries per second that each host sends to each shard it serves when idle: timers, ready
/// tasks, three kinds of messages and watched promises every 500 ms, and an occasional heartbeat.
const IDLE_QUESTIONS: f64 = 13.0;
/// Cost of a query that finds nothing, in steps.
const QUESTION: f64 = 2.0;
/// Connections that a host opens to each shard it serves.
const CONNECTIONS: u32 = 19;
/// Connections that one database can serve.
const CONNECTIONS_BORNE: u32 = 400;

fn main() {
    let rate =
        std::env::args().nth(1).and_then(|rate| rate.parse().ok()).unwrap_or(STEPS_PER_SECOND);
    let shards = [1, 2, 4, 8, 16, 32, 64, 128];
    let trees: Vec<GrowingTree> = (0..TREES).map(GrowingTree::number).collect();
    let work: f64 = trees.iter().map(|tree| tree.steps).sum();

    println!("{TREES} trees, {work:.0} steps; one database does {rate:.0} steps/s\n");
    println!(
        "Steps/s of all shards together, by the part of the steps that wait for another tree:"
    );
    print!("{:>8}", "shards");
    let crossings = [0.0, 0.01, 0.1, 0.5];
    crossings.iter().for_each(|part| print!("{:>12}", format!("{} %", part * 100.0)));
    println!("{:>16}", "fullest/mean");
    for count in shards {
        print!("{count:>8}");
        for part in crossings {
            print!("{:>12.0}", work / loads(&trees, count, part).max() * rate);
        }
        let even = loads(&trees, count, 0.0);
        println!("{:>16.2}", even.max() / (even.sum() / f64::from(count)));
    }

    println!("\nThe same without crossings, where one tree does a part of all work:");
    print!("{:>8}", "shards");
    let heavy = [0.01, 0.1, 0.3];
    heavy.iter().for_each(|part| print!("{:>12}", format!("{} %", part * 100.0)));
    println!();
    for count in shards {
        print!("{count:>8}");
        for part in heavy {
            let mut loads = loads(&trees, count, 0.0);
            let extra = work * part / (1.0 - part);
            loads.0[shard_of(&PromiseId::from("the-large-one"), count)] += extra;
            print!("{:>12.0}", (work + extra) / loads.max() * rate);
        }
        println!();
    }

    println!(
        "\nCapacity of a shard besides the polls of idle hosts, and its connections, if every host serves"
    );
    println!("every shard, or each serves so many that a shard has four hosts:");
    println!(
        "{:>8}{:>8}{:>12}{:>14}{:>12}{:>14}",
        "shards", "hosts", "all: left", "connections", "four: left", "connections"
    );
    for count in shards {
        let hosts = count.max(4);
        let left = |serving: u32| {
            (1.0 - f64::from(serving) * IDLE_QUESTIONS * QUESTION / rate).max(0.0) * 100.0
        };
        let borne = |serving: u32| {
            let wanted = serving * CONNECTIONS;
            format!("{wanted}{}", if wanted > CONNECTIONS_BORNE { " (!)" } else { "" })
        };
        println!(
            "{count:>8}{hosts:>8}{:>12}{:>14}{:>12}{:>14}",
            format!("{:.1} %", left(hosts)),
            borne(hosts),
            format!("{:.1} %", left(4)),
            borne(4)
        );
    }
}

/// One tree of executions.
struct GrowingTree {
    root: PromiseId,
    steps: f64,
}

impl GrowingTree {
    fn number(number: u32) -> Self {
        let drawn = (f64::from(number) + 0.5) / f64::from(TREES);
        let largest = LARGEST * SMALLEST * f64::from(TREES);
        // The digest below spreads the sizes as if they were drawn at random: neighbours are
        // uncorrelated.
        let steps = (SMALLEST * drawn.powf(-1.0 / POWER)).min(largest);
        Self { root: PromiseId::from(format!("order-{number}").as_str()), steps }
    }
}

/// Steps assigned to each shard.
struct ShardLoads(Vec<f64>);

impl ShardLoads {
    fn max(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    fn sum(&self) -> f64 {
        self.0.iter().sum()
    }
}

fn loads(trees: &[GrowingTree], shards: u32, crossing: f64) -> ShardLoads {
    let mut loads = vec![0.0; shards as usize];
    for (number, tree) in trees.iter().enumerate() {
        let own = shard_of(&tree.root, shards);
        // A tree's promises are on the same shard as its root; otherwise they could not be written
        // in one transaction.
        assert_eq!(own, shard_of(&tree.root.command(CommandIndex(7)), shards));
        let other = shard_of(&trees[(number * 7_919 + 1) % trees.len()].root, shards);
        // A wait within one shard is a callback, as it is without shards.
        let crosses = if own == other { 0.0 } else { crossing };
        loads[own] += tree.steps * (1.0 + crosses * CROSSING_HERE);
        loads[other] += tree.steps * crosses * CROSSING_THERE;
    }
    ShardLoads(loads)
}

/// The shard of a promise: the hash of its id up to the first slash, which all ids of a tree share.
fn shard_of(id: &PromiseId, shards: u32) -> usize {
    let root = id.as_str().split('/').next().unwrap_or_default();
    let digest = Digest::of(root.as_bytes()).0;
    let hash = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    (hash % shards) as usize
}
