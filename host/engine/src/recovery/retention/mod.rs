//! Removes finished trees after their retention period.
//!
//! A slow scan of all stored promises finds settled roots. For each root, a command reads the
//! current rows and decides if the whole tree may be removed. A tree that is too large for one
//! command is first read completely and then removed from the leaves up, see `large`.

mod keep_rule;
mod large;
mod rules;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use segno_core::{
    address::{Address, ModuleRef},
    command::Command,
    footprint::TREE_LIMIT,
    id::{Digest, PromiseId},
    promise::Promise,
    reply::{PruneResult, Reply, RetentionReason},
    tags,
    time::{Millis, Timestamp},
};

pub use keep_rule::KeepRule;
pub use large::remove as remove_large;
pub use rules::{ObjectStateRetention, Retention, RetentionError, RetentionPeriod, RetentionRule};

use segno_store::{ScheduleFilter, StoreError};

use super::{blobs, isolate, next_turn::NextTurn};
use crate::host::Host;

/// Maximum number of promises read in one turn.
pub const PAGE: u32 = 1_000;
/// The delay between two turns of a round.
pub const PERIOD: Millis = Millis(500);
/// The delay between two rounds.
pub const ROUND_PAUSE: Millis = Millis(60_000);

/// The position of a round, between its turns.
#[derive(Debug, Default)]
pub struct RetentionRound {
    after: i64,
    /// True if the database file may have free pages to return.
    room: bool,
    pace: RemovalPace,
}

/// The number of trees removed in one transaction: about [`TREE_LIMIT`] promises, estimated from
/// the last transactions.
#[derive(Debug, Clone, Copy)]
struct RemovalPace {
    trees: usize,
}

impl Default for RemovalPace {
    fn default() -> Self {
        Self { trees: 4 }
    }
}

impl RemovalPace {
    fn learn(&mut self, trees: usize, promises: usize) {
        let each = promises.div_ceil(trees.max(1)).max(1);
        self.trees = (TREE_LIMIT as usize / each).clamp(1, 256).min(self.trees * 2);
    }
}

/// The numbers of trees and promises that one turn removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct RemovalCounts {
    trees: u64,
    promises: u64,
}

/// Reads one page of old roots and removes the trees whose retention period has passed. The last
/// turn of a round also removes unreferenced modules.
pub async fn turn(
    host: Host,
    retention: Arc<Retention>,
    round: Arc<Mutex<RetentionRound>>,
) -> Result<NextTurn, StoreError> {
    let scan = host.store.scan();
    let protocols = host.protocols.all();
    let mut youngest = retention.shortest();
    for protocol in &protocols {
        youngest = [youngest, protocol.least().await?].into_iter().flatten().min();
    }
    let Some(youngest) = youngest else { return Ok(NextTurn::After(ROUND_PAUSE)) };
    let (after, mut pace) = {
        let round = round.lock().unwrap_or_else(PoisonError::into_inner);
        (round.after, round.pace)
    };
    let now = host.env.clock.now();
    let page = scan.finished(after, PAGE, ago(now, youngest)).await?;
    // The promises of an object are removed with the object.
    let roots = || page.items.iter().filter(|root| tags::object(&root.spec.tags).is_none());
    let asked: Vec<&Promise> = roots().filter(|root| retention.rule(root).is_none()).collect();
    let mut said = BTreeMap::new();
    for protocol in &protocols {
        said.append(&mut protocol.keeps(retention.of_silent_services(), &asked).await?);
    }
    let keep = |root: &Promise| {
        let said = || said.get(root.id()).copied();
        retention.rule(root).or_else(said).unwrap_or(retention.others())
    };
    let old = roots().filter_map(|root| match keep(root) {
        RetentionPeriod::Forever => None,
        RetentionPeriod::For(age) => {
            let before = ago(now, age);
            let settled_at = root.settlement()?.settled_at;
            (settled_at <= before).then(|| (root.id().clone(), before))
        }
    });
    let state = retention.objects() == ObjectStateRetention::WithExecutions;
    let removed = remove(&host, &old.collect::<Vec<_>>(), state, &mut pace).await?;
    if removed.promises > 0 {
        tracing::info!(
            trees = removed.trees,
            promises = removed.promises,
            "old executions were removed"
        );
    }
    let ends = page.next.is_none();
    let modules = match ends {
        true => match remove_modules(&host, &retention, now).await {
            Err(error) if isolate::is_partly_away(&*host.store, &error) => {
                tracing::debug!(%error, "modules are looked at in the next round");
                0
            }
            removed => removed?,
        },
        false => 0,
    };
    let room = round.lock().unwrap_or_else(PoisonError::into_inner).room;
    let room = (room || removed.promises > 0 || modules > 0) && host.store.vacuum().await?;
    let mut round = round.lock().unwrap_or_else(PoisonError::into_inner);
    *round = RetentionRound { after: page.next.unwrap_or_default(), room, pace };
    Ok(NextTurn::After(if ends && !room { ROUND_PAUSE } else { PERIOD }))
}

/// Removes these trees by commands, if they may be removed. Also removes the state of objects if
/// `state` is true.
async fn remove(
    host: &Host,
    roots: &[(PromiseId, Timestamp)],
    state: bool,
    pace: &mut RemovalPace,
) -> Result<RemovalCounts, StoreError> {
    let mut removed = RemovalCounts::default();
    let mut gone_roots = Vec::new();
    let mut left = roots;
    while !left.is_empty() {
        let (batch, rest) = left.split_at(pace.trees.min(left.len()));
        left = rest;
        let command = |(top, before): &(PromiseId, Timestamp)| Command::Prune {
            top: top.clone(),
            before: *before,
            part: false,
            state,
        };
        let now = host.env.clock.now();
        let batch: Vec<_> =
            batch.iter().filter(|tree| !host.quarantine.rests(&command(tree), now)).collect();
        let commands = batch.iter().map(|tree| vec![command(tree)]).collect();
        let replies = isolate::each(host, commands).await?;
        let mut gone = 0;
        for ((top, before), reply) in batch.iter().zip(replies) {
            let Some(reply) = reply.and_then(|mut replies| replies.pop()) else { continue };
            match reply {
                Reply::Pruned(PruneResult::Gone { promises }) => {
                    removed.trees += 1;
                    gone += promises as usize;
                    gone_roots.push((top.clone(), *before));
                }
                Reply::Pruned(PruneResult::Kept(RetentionReason::Large)) => {
                    let parts = match large::remove(host, top, *before, state).await {
                        Err(error) if isolate::is_partly_away(&*host.store, &error) => {
                            tracing::debug!(root = %top, %error, "the rest of an old tree stays for now");
                            continue;
                        }
                        parts => parts?,
                    };
                    let parts = parts.unwrap_or_else(|kept| {
                        tracing::debug!(root = %top, %kept, "an old tree stays");
                        0
                    });
                    gone_roots.push((top.clone(), *before));
                    removed.trees += u64::from(parts > 0);
                    removed.promises += parts;
                }
                Reply::Pruned(PruneResult::Kept(kept)) => {
                    tracing::debug!(root = %top, %kept, "an old tree stays");
                }
                other => tracing::warn!(root = %top, reply = ?other, "an old tree was not removed"),
            }
        }
        pace.learn(batch.len(), gone);
        removed.promises += gone as u64;
    }
    blobs::owners_removed(host, gone_roots).await;
    Ok(removed)
}

/// Removes unreferenced modules. Returns their number.
async fn remove_modules(
    host: &Host,
    retention: &Retention,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let RetentionPeriod::For(age) = retention.modules() else { return Ok(0) };
    let mut removed = 0;
    let scheduled = scheduled_modules(host).await?;
    for module in host.store.modules().list().await? {
        if module.aliases.is_empty()
            && !scheduled.contains(&module.digest)
            && host.store.modules().remove(module.digest, ago(now, age)).await?
        {
            tracing::info!(module = %module.digest, bytes = module.size, "an unused module was removed");
            removed += 1;
        }
    }
    Ok(removed)
}

/// Modules that schedules refer to by digest. A module that a schedule refers to by alias is kept
/// by the alias.
async fn scheduled_modules(host: &Host) -> Result<BTreeSet<Digest>, StoreError> {
    let mut filter = ScheduleFilter::default();
    let mut digests = BTreeSet::new();
    loop {
        let page = host.store.read().schedules(&filter).await?;
        let targets =
            page.items.iter().filter_map(|schedule| tags::target(&schedule.template.tags));
        digests.extend(targets.filter_map(|target| match Address::parse(target) {
            Ok(Address::Wasm { module: ModuleRef::Exact(digest), .. }) => Some(digest),
            _ => None,
        }));
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return Ok(digests),
        }
    }
}

fn ago(now: Timestamp, age: Millis) -> Timestamp {
    Timestamp(now.0.saturating_sub(age.0))
}
