//! Selects the runs: all orders if there are few, samples beyond; then every fault at every place
//! of the first order, and of other orders while runs are left.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    decide::{RandomDecider, ScheduleDecider, TimersFirstDecider},
    error::VerifyError,
    finding::{self, Finding, FindingIdentity},
    orders::OrderDecider,
    report::{FindingReport, OrdersReport, VerifyReport},
    run::{self, Decider, RunConclusion, RunResult},
    schedule::{CommitSide, EventChoice, InjectedFault, RunSchedule, ScheduleEntry},
    setup::VerifySetup,
};

/// Number of events after which a run with timers first is given up.
const TIMERS_FIRST: usize = 100;
/// Maximum share of the runs that is spent on orders, in percent; each order is run twice.
const ON_ORDERS: usize = 60;
/// Maximum share of the runs that is used before the remaining orders are sampled, in percent.
const WITH_FAULTS: usize = 80;
/// Maximum number of orders for which all faults are tried.
const FAULTY_ORDERS: usize = 50;

/// The bounds of an exploration.
#[derive(Debug, Clone, Copy)]
pub struct ExplorationBounds {
    /// Maximum number of runs, not counting those that shorten findings.
    pub runs: usize,
    /// Seed of the samples.
    pub seed: u64,
}

/// State of an exploration.
struct Explorer<'a> {
    setup: &'a Arc<VerifySetup>,
    bounds: ExplorationBounds,
    runs: usize,
    redundant: usize,
    faults: BTreeMap<&'static str, usize>,
    outcomes: BTreeMap<String, usize>,
    found: BTreeMap<FindingIdentity, (Finding, RunResult)>,
    tell: &'a mut dyn FnMut(usize, usize),
}

/// Explores the setup. Calls `tell` with the number of runs and of findings so far. This blocks,
/// and must not be called within an async runtime.
///
/// # Errors
/// Nothing can be verified.
pub fn explore(
    setup: &Arc<VerifySetup>,
    bounds: ExplorationBounds,
    tell: &mut dyn FnMut(usize, usize),
) -> Result<VerifyReport, VerifyError> {
    let mut explorer = Explorer {
        setup,
        bounds,
        runs: 0,
        redundant: 0,
        faults: BTreeMap::new(),
        outcomes: BTreeMap::new(),
        found: BTreeMap::new(),
        tell,
    };
    explorer.explore()
}

/// Runs one schedule exactly and reports its findings.
///
/// # Errors
/// Nothing can be verified, or the schedule does not fit.
pub fn repeat(
    setup: &Arc<VerifySetup>,
    schedule: &RunSchedule,
    bounds: ExplorationBounds,
) -> Result<VerifyReport, VerifyError> {
    let run = run_exactly(setup, schedule)?;
    let references = ReferenceRuns::of(setup, &run)?;
    let findings = references.judge(setup, &run);
    let failures = findings.into_iter().map(|finding| FindingReport::new(finding, &run)).collect();
    Ok(VerifyReport {
        function: setup.function().to_owned(),
        seed: bounds.seed,
        runs: 1,
        commits: run.commits,
        orders: OrdersReport { explored: 1, sampled: 0, complete: false },
        faults: run.schedule.faults().map(finding::word).fold(
            BTreeMap::new(),
            |mut counts, word| {
                *counts.entry(word).or_default() += 1;
                counts
            },
        ),
        outcomes: BTreeMap::from([(run.end.line(), 1)]),
        failures,
        steps: run.steps.iter().map(|step| (step.choice.to_string(), step.label.clone())).collect(),
        journal: run.journal,
    })
}

fn run_exactly(setup: &Arc<VerifySetup>, schedule: &RunSchedule) -> Result<RunResult, VerifyError> {
    let cold = schedule.faults().any(|fault| *fault == InjectedFault::Cold);
    run::run(setup, cold, &mut ScheduleDecider::exactly(schedule))
}

fn run_roughly(setup: &Arc<VerifySetup>, schedule: &RunSchedule) -> Result<RunResult, VerifyError> {
    let cold = schedule.faults().any(|fault| *fault == InjectedFault::Cold);
    run::run(setup, cold, &mut ScheduleDecider::roughly(schedule))
}

/// The reference runs that another run is compared with.
struct ReferenceRuns {
    /// The run with default decisions.
    first: RunResult,
    /// The same events without faults, if there were faults.
    faultless: Option<RunResult>,
}

impl ReferenceRuns {
    fn of(setup: &Arc<VerifySetup>, run: &RunResult) -> Result<Self, VerifyError> {
        let first = run_roughly(setup, &RunSchedule::default())?;
        let faultless = match run.schedule.faults().next() {
            Some(_) => Some(run_roughly(setup, &run.schedule.events())?),
            None => None,
        };
        Ok(Self { first, faultless })
    }

    fn judge(&self, setup: &VerifySetup, run: &RunResult) -> Vec<Finding> {
        judge(setup, run, self.faultless.as_ref(), Some(&self.first))
    }
}

/// All findings of a run: alone, and compared with the same events without faults and with the
/// first run.
fn judge(
    setup: &VerifySetup,
    run: &RunResult,
    faultless: Option<&RunResult>,
    first: Option<&RunResult>,
) -> Vec<Finding> {
    let script = setup.script();
    let mut findings = finding::alone(run, script);
    if let Some(faultless) = faultless {
        findings.extend(finding::beside(run, faultless));
    } else if let Some(first) = first
        && !finding::changes_what_happens(run)
    {
        let early =
            run.steps.iter().any(|step| step.choice == EventChoice::Time && step.enabled.len() > 1);
        match early {
            true if script.timers_must_not_differ => findings.extend(finding::by_timer(run, first)),
            false if !script.orders_may_differ => findings.extend(finding::by_order(run, first)),
            true | false => {}
        }
    }
    findings
}

impl Explorer<'_> {
    fn explore(&mut self) -> Result<VerifyReport, VerifyError> {
        let (orders, complete, commits) = self.orders()?;
        let first = orders.first().cloned();
        if let Some(first) = &first {
            self.timers_first(first)?;
            // If not all orders were explored, the remaining runs sample those.
            let limit =
                if complete { self.bounds.runs } else { self.bounds.runs * WITH_FAULTS / 100 };
            for (number, order) in orders.iter().take(FAULTY_ORDERS).enumerate() {
                if number > 0 && self.runs >= limit {
                    break;
                }
                self.faults_of(order, first)?;
            }
        }
        let sampled = match complete {
            true => 0,
            false => self.samples(first.as_ref())?,
        };
        let found = std::mem::take(&mut self.found);
        let mut failures = Vec::new();
        for (identity, (finding, run)) in found {
            let (finding, run) = self.shorten(&identity, finding, run)?;
            failures.push(FindingReport::new(finding, &run));
        }
        Ok(VerifyReport {
            function: self.setup.function().to_owned(),
            seed: self.bounds.seed,
            runs: self.runs,
            commits,
            orders: OrdersReport { explored: orders.len(), sampled, complete },
            faults: std::mem::take(&mut self.faults),
            outcomes: std::mem::take(&mut self.outcomes),
            failures,
            steps: Vec::new(),
            journal: Vec::new(),
        })
    }

    /// Explores all orders, or as many as fit. Returns the runs, true if they are complete, and the
    /// number of commits of the first.
    fn orders(&mut self) -> Result<(Vec<RunResult>, bool, u64), VerifyError> {
        let limit = self.bounds.runs * ON_ORDERS / 100;
        let (mut orders, mut explored) = (Vec::<RunResult>::new(), OrderDecider::default());
        loop {
            if !explored.next() {
                return Ok((orders.clone(), true, commits(&orders)));
            }
            if self.runs >= limit.max(2) {
                return Ok((orders.clone(), false, commits(&orders)));
            }
            let run = self.run(false, &mut explored)?;
            if explored.is_redundant() {
                self.redundant += 1;
                continue;
            }
            self.look_at(&run, None, orders.first());
            let ended = matches!(run.end, RunConclusion::Settled { .. });
            if ended {
                let cold = self.run(true, &mut ScheduleDecider::roughly(&run.schedule))?;
                self.look_at(&cold, Some(&run), None);
            }
            orders.push(run);
        }
    }

    /// Runs random orders.
    fn samples(&mut self, first: Option<&RunResult>) -> Result<usize, VerifyError> {
        let (mut seen, mut number) = (BTreeSet::new(), 0);
        while self.runs < self.bounds.runs {
            number += 1;
            let seed = self.bounds.seed.wrapping_add(number);
            let run = self.run(false, &mut RandomDecider::new(seed))?;
            self.look_at(&run, None, first);
            if seen.insert(run.schedule.to_string())
                && matches!(run.end, RunConclusion::Settled { .. })
            {
                let cold = self.run(true, &mut ScheduleDecider::roughly(&run.schedule))?;
                self.look_at(&cold, Some(&run), None);
            }
        }
        Ok(seen.len())
    }

    fn timers_first(&mut self, first: &RunResult) -> Result<(), VerifyError> {
        let run = self.run(false, &mut TimersFirstDecider(TIMERS_FIRST))?;
        self.look_at(&run, None, Some(first));
        let cold = self.run(true, &mut ScheduleDecider::roughly(&run.schedule))?;
        self.look_at(&cold, Some(&run), None);
        Ok(())
    }

    /// Tries every fault at every place of an order.
    fn faults_of(&mut self, order: &RunResult, first: &RunResult) -> Result<(), VerifyError> {
        for (step, event) in order.steps.iter().enumerate() {
            for fault in [InjectedFault::Crash, InjectedFault::Supplant] {
                self.fault(order, step, fault)?;
            }
            for place in &event.repeatable {
                if event.choice == EventChoice::Go(place.clone()) {
                    self.fault(order, step, InjectedFault::Again(place.clone()))?;
                }
            }
            for deviation in [EventChoice::Time, EventChoice::Cancel] {
                let is_one = match deviation {
                    EventChoice::Time => {
                        event.choice != EventChoice::Time
                            && event.enabled.contains(&EventChoice::Time)
                    }
                    _ => true,
                };
                if is_one {
                    self.deviation(order, first, step, deviation)?;
                }
            }
        }
        for side in [CommitSide::Before, CommitSide::After] {
            for skipped in 0.. {
                let schedule = order
                    .schedule
                    .with(0, ScheduleEntry::Fault(InjectedFault::Die { skipped, side }));
                let run = self.run(false, &mut ScheduleDecider::roughly(&schedule))?;
                if run.death_left {
                    break;
                }
                self.count(&InjectedFault::Die { skipped, side });
                self.look_at(&run, Some(order), None);
            }
        }
        Ok(())
    }

    fn fault(
        &mut self,
        order: &RunResult,
        step: usize,
        fault: InjectedFault,
    ) -> Result<(), VerifyError> {
        let schedule = order.schedule.with(step, ScheduleEntry::Fault(fault.clone()));
        let run = self.run(false, &mut ScheduleDecider::roughly(&schedule))?;
        self.count(&fault);
        self.look_at(&run, Some(order), None);
        Ok(())
    }

    /// Lets an event happen earlier than in this order, then repeats the run with a replay at every
    /// wait.
    fn deviation(
        &mut self,
        order: &RunResult,
        first: &RunResult,
        step: usize,
        choice: EventChoice,
    ) -> Result<(), VerifyError> {
        let word = match choice {
            EventChoice::Time => "timers before completions",
            _ => "cancellations at waits",
        };
        let schedule = order.schedule.with(step, ScheduleEntry::Event(choice));
        let run = self.run(false, &mut ScheduleDecider::roughly(&schedule))?;
        *self.faults.entry(word).or_default() += 1;
        self.look_at(&run, None, Some(first));
        let cold = self.run(true, &mut ScheduleDecider::roughly(&run.schedule))?;
        self.look_at(&cold, Some(&run), None);
        Ok(())
    }

    fn count(&mut self, fault: &InjectedFault) {
        *self.faults.entry(finding::word(fault)).or_default() += 1;
    }

    fn run(&mut self, cold: bool, decider: &mut dyn Decider) -> Result<RunResult, VerifyError> {
        let run = run::run(self.setup, cold, decider)?;
        self.runs += 1;
        if cold {
            self.count(&InjectedFault::Cold);
        }
        (self.tell)(self.runs, self.found.len());
        Ok(run)
    }

    fn look_at(
        &mut self,
        run: &RunResult,
        faultless: Option<&RunResult>,
        first: Option<&RunResult>,
    ) {
        *self.outcomes.entry(run.end.line()).or_default() += 1;
        for finding in judge(self.setup, run, faultless, first) {
            let identity = finding.identity.clone();
            let shorter = |(_, known): &(Finding, RunResult)| {
                run.schedule.faults().count() < known.schedule.faults().count()
            };
            if self.found.get(&identity).is_none_or(shorter) {
                self.found.insert(identity, (finding, run.clone()));
            }
        }
    }

    /// Finds the shortest schedule with the same finding: drops unneeded entries and cuts the end;
    /// later events are decided by default.
    fn shorten(
        &mut self,
        identity: &FindingIdentity,
        finding: Finding,
        run: RunResult,
    ) -> Result<(Finding, RunResult), VerifyError> {
        let mut best = (finding, run.schedule.clone());
        let shows = |schedule: &RunSchedule| -> Result<Option<Finding>, VerifyError> {
            let Ok(run) = run_exactly(self.setup, schedule) else { return Ok(None) };
            let references = ReferenceRuns::of(self.setup, &run)?;
            let findings = references.judge(self.setup, &run);
            Ok(findings.into_iter().find(|finding| finding.identity == *identity))
        };
        for len in 0..run.schedule.0.len() {
            let prefix = RunSchedule(run.schedule.0[..len].to_vec());
            if let Some(finding) = shows(&prefix)? {
                best = (finding, prefix);
                break;
            }
        }
        let mut at = 0;
        while at < best.1.0.len() {
            let mut fewer = best.1.clone();
            fewer.0.remove(at);
            match shows(&fewer)? {
                Some(finding) => best = (finding, fewer),
                None => at += 1,
            }
        }
        let shown = run_exactly(self.setup, &best.1)?;
        Ok((best.0, RunResult { schedule: best.1, ..shown }))
    }
}

fn commits(orders: &[RunResult]) -> u64 {
    orders.first().map_or(0, |run| run.commits)
}
