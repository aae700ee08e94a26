//! The rules that hold for every step: the invariants, the claims as tracked outside the engine,
//! the metrics, and the bounds on the time until a lost claim is released.

use std::collections::{BTreeMap, BTreeSet};

use segno_core::{
    command::Command,
    config::Config,
    effect::{Effect, Metric, RequeueCause},
    id::{Claim, PromiseId, Version},
    invariants::{check, check_step},
    promise::{Task, TaskStatus},
    reply::Reply,
    snapshot::Snapshot,
};

use super::{
    metrics::{self, Step},
    occurrences::Timetable,
    tokens::Tokens,
    trip_rules,
};

/// Judge of all steps of a run.
pub(super) struct Judge {
    config: Config,
    /// Live claim of each task.
    live: BTreeMap<PromiseId, Version>,
    /// Every claim ever granted.
    granted: BTreeSet<Claim>,
    /// Tasks whose lease has expired, with the time of the world since when.
    overdue: BTreeMap<PromiseId, (Version, i64)>,
    /// Longest time from the expiry of a lease to the release of its task.
    pub longest_overdue: i64,
    /// For each expired claim, the time since the last heartbeat of its holder.
    pub unheard: Vec<i64>,
    timetable: Timetable,
    tokens: Tokens,
}

impl Judge {
    /// Creates a judge for stores that decide with `config`.
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            live: BTreeMap::new(),
            granted: BTreeSet::new(),
            overdue: BTreeMap::new(),
            longest_overdue: 0,
            unheard: Vec::new(),
            timetable: Timetable::default(),
            tokens: Tokens::default(),
        }
    }

    /// Findings about a step.
    pub(super) fn step(&mut self, step: &Step<'_>, effects: &[Effect]) -> Vec<String> {
        let mut wrong: Vec<String> = Vec::new();
        if step.before != step.after {
            wrong.extend(check(step.after).iter().map(ToString::to_string));
            let violations =
                check_step(step.before, step.command, step.after, step.now, &self.config);
            wrong.extend(violations.iter().map(ToString::to_string));
            wrong.extend(step.after.tasks.values().filter_map(|task| self.lease(task)));
        }
        wrong.extend(self.claims(step));
        self.unheard.extend(effects.iter().filter_map(|effect| match effect {
            Effect::Count(Metric::Requeued(RequeueCause::Expiry, unheard)) => Some(unheard.0),
            _ => None,
        }));
        wrong.extend(self.timetable.step(step));
        wrong.extend(self.tokens.step(step));
        wrong.extend(trip_rules::step(step));
        for difference in metrics::difference(step, effects) {
            wrong.push(format!("counted wrongly: {difference}"));
        }
        if let Some((counted, rose)) = metrics::woken(step, effects)
            && counted != rose
        {
            wrong.push(format!("{counted} tasks were counted as woken, and {rose} were"));
        }
        wrong.into_iter().map(|wrong| format!("{}: {wrong}", step.command.name())).collect()
    }

    /// Checks that only the live claim writes, and that no claim is granted twice.
    fn claims(&mut self, step: &Step<'_>) -> Vec<String> {
        let mut wrong = Vec::new();
        let refused = matches!(step.reply, Reply::Refused(_));
        if let Some(claim) = guard(step.command).filter(|_| !refused && step.before != step.after) {
            let live = self.live.get(&claim.id);
            if live != Some(&claim.version) {
                wrong.push(format!("ghost claim: {claim:?} wrote while {live:?} was live"));
            }
        }
        for (id, task) in &step.after.tasks {
            let live = self.live.get(id).copied();
            if task.status() != TaskStatus::Acquired {
                self.live.remove(id);
            } else if live != Some(task.version) {
                let claim = Claim { id: id.clone(), version: task.version };
                if live.is_some() {
                    wrong.push(format!("ghost claim: `{id}` was taken from its live holder"));
                }
                if !self.granted.insert(claim.clone()) {
                    wrong.push(format!("ghost claim: {claim:?} was granted again"));
                }
                self.live.insert(id.clone(), task.version);
            }
        }
        wrong
    }

    /// Checks that a lease ends no later than its holder's last heartbeat and its duration allow.
    fn lease(&self, task: &Task) -> Option<String> {
        let lease = task.lease()?;
        let heard = task.last_heartbeat.unwrap_or(task.progress.at).max(task.progress.at);
        let latest = heard + lease.ttl;
        let stalled = task
            .stall_limit
            .filter(|limit| *limit >= lease.ttl)
            .is_some_and(|limit| lease.until > task.progress.at + limit);
        (lease.until > latest || stalled).then(|| {
            format!(
                "recovery bound: the lease of `{}` ends at {}, heard {heard}",
                task.id, lease.until
            )
        })
    }

    /// True if this claim was granted and has ended.
    pub(super) fn is_over(&self, claim: &Claim) -> bool {
        self.granted.contains(claim) && self.live.get(&claim.id) != Some(&claim.version)
    }

    /// True if this claim was granted.
    pub(super) fn was_granted(&self, claim: &Claim) -> bool {
        self.granted.contains(claim)
    }

    /// Checks expired leases. `calm_since` is the time since when some host could have released
    /// them.
    pub(super) fn look(
        &mut self,
        rows: &Snapshot,
        now: segno_core::time::Timestamp,
        at: i64,
        calm_since: i64,
        bound: i64,
    ) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut overdue = BTreeMap::new();
        for (id, task) in &rows.tasks {
            let Some(lease) = task.lease().filter(|lease| lease.until < now) else { continue };
            let known = self.overdue.get(id).filter(|(version, _)| *version == task.version);
            let since = known.map_or(at, |(_, since)| *since);
            overdue.insert(id.clone(), (task.version, since));
            let lasted = at - since.max(calm_since);
            self.longest_overdue = self.longest_overdue.max(lasted);
            if lasted > bound {
                wrong.push(format!(
                    "recovery bound: the lease of `{id}` ran out at {} and it is still held {lasted} ms later",
                    lease.until
                ));
            }
        }
        self.overdue = overdue;
        wrong
    }
}

/// Claim that a command presents.
pub(super) fn guard(command: &Command) -> Option<&Claim> {
    match command {
        Command::TaskFence { claim, .. }
        | Command::TaskSuspend { claim, .. }
        | Command::TaskFulfill { claim, .. }
        | Command::TaskRelease { claim, .. } => Some(claim),
        _ => None,
    }
}
