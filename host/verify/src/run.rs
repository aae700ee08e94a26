//! One run: from the start until nothing can happen any more, with the decisions of a [`Decider`].

use std::{collections::BTreeSet, sync::Arc};

use segno_core::{
    id::PromiseId,
    invocation::{Outcome, RecordBody},
    promise::{TaskState, TaskStatus, Verdict},
    snapshot::Snapshot,
};
use segno_engine::values;
use segno_guest::Payload;
use serde::Serialize;
use serde_json::Value as Json;

use crate::{
    effect::ExternalEffect,
    error::VerifyError,
    footprint::EventFootprint,
    journal,
    outside::{ROOT, place_of},
    schedule::{EventChoice, InjectedFault, RelativeId, RunSchedule, ScheduleEntry},
    setup::VerifySetup,
    world::RunWorld,
};

/// Number of events after which a run counts as endless.
const MOST_EVENTS: usize = 2_000;
/// Maximum number of events after the end of the root, for the work that it left.
const MOST_LEFT: usize = 200;

/// Decides what happens in a run.
pub(crate) trait Decider {
    /// Chooses the deaths at commits that are planned before the root begins.
    fn deaths(&mut self) -> Vec<InjectedFault> {
        Vec::new()
    }

    /// Chooses the faults before the next event; `enabled` are the possible events.
    ///
    /// # Errors
    /// The decider's choice is not possible.
    fn faults(&mut self, enabled: &[EventChoice]) -> Result<Vec<InjectedFault>, VerifyError> {
        let _ = enabled;
        Ok(Vec::new())
    }

    /// Chooses the next event. `None` if this run is no longer of interest.
    ///
    /// # Errors
    /// The decider's choice is not possible.
    fn choose(&mut self, enabled: &[EventChoice]) -> Result<Option<EventChoice>, VerifyError>;

    /// Reports the footprint of the last event, if [`Decider::wants_footprints`].
    fn happened(&mut self, footprint: EventFootprint) {
        let _ = footprint;
    }

    /// Returns true if the decider uses footprints.
    fn wants_footprints(&self) -> bool {
        false
    }

    /// Reports the end of the run, with the events that are possible then.
    ///
    /// # Errors
    /// The decider had further choices.
    fn ended(&mut self, enabled: &[EventChoice]) -> Result<(), VerifyError> {
        let _ = enabled;
        Ok(())
    }
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunStep {
    /// The possible events.
    pub enabled: Vec<EventChoice>,
    /// The event that happened.
    pub choice: EventChoice,
    /// A description of the event.
    pub label: String,
    /// The places whose attempts could have run twice.
    pub repeatable: Vec<RelativeId>,
}

/// An execution that stopped for a person's attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HaltedExecution {
    /// The place of the execution.
    pub place: String,
    /// A short stable identifier: `divergence`, `trap`, `waits-for-nothing`…
    pub kind: String,
    /// The reason.
    pub message: String,
    /// The guest's stack, with names where known.
    pub backtrace: Option<String>,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunConclusion {
    /// The root has settled.
    Settled {
        /// Resolved, rejected, cancelled or timed out.
        verdict: Verdict,
        /// The value, as text.
        value: String,
    },
    /// These executions stopped.
    Halted(Vec<HaltedExecution>),
    /// Nothing can happen any more; the texts list what executions wait for.
    Stuck(Vec<String>),
    /// The run continues without end.
    Endless,
    /// The decider gave up the run.
    GivenUp,
}

impl RunConclusion {
    /// A one-line description.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Settled { verdict: Verdict::Resolved, value } => format!("resolved {value}"),
            Self::Settled { verdict: Verdict::Rejected, value } => format!("rejected {value}"),
            Self::Settled { verdict: Verdict::Canceled, value } => format!("cancelled {value}"),
            Self::Settled { verdict: Verdict::TimedOut, value } => format!("timed out {value}"),
            Self::Halted(halts) => {
                let kinds: Vec<&str> = halts.iter().map(|halt| halt.kind.as_str()).collect();
                format!("halted: {}", kinds.join(", "))
            }
            Self::Stuck(_) => "stuck".to_owned(),
            Self::Endless => "without end".to_owned(),
            Self::GivenUp => "given up".to_owned(),
        }
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunResult {
    /// The events and faults, in order.
    pub schedule: RunSchedule,
    pub steps: Vec<RunStep>,
    /// The end.
    pub end: RunConclusion,
    /// The external effects.
    pub effects: Vec<ExternalEffect>,
    /// The commands whose completion was delivered to their workflow.
    pub told: BTreeSet<RelativeId>,
    /// The journals, one line per record.
    pub journal: Vec<String>,
    /// Number of commits by hosts.
    pub commits: u64,
    /// True if a death was planned at a commit that did not happen.
    pub death_left: bool,
}

/// Performs one run. The schedule of the result repeats it.
///
/// # Errors
/// Nothing can be verified, or a choice of the decider is not possible.
pub(crate) fn run(
    setup: &Arc<VerifySetup>,
    cold: bool,
    decider: &mut dyn Decider,
) -> Result<RunResult, VerifyError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .map_err(|error| VerifyError::Host(error.to_string()))?;
    runtime.block_on(go(setup, cold, decider))
}

async fn go(
    setup: &Arc<VerifySetup>,
    cold: bool,
    decider: &mut dyn Decider,
) -> Result<RunResult, VerifyError> {
    let mut world = RunWorld::new(setup.clone(), cold).await?;
    let mut entries = Vec::new();
    if cold {
        entries.push(ScheduleEntry::Fault(InjectedFault::Cold));
    }
    let mut steps = Vec::new();
    // The root may end before anything else happens.
    for death in decider.deaths() {
        world.suffer(&death).await?;
        entries.push(ScheduleEntry::Fault(death));
    }
    world.idle().await?;
    let end = loop {
        let rows = world.rows().await?;
        if let Some(end) = ended(&rows) {
            break end;
        }
        if steps.len() == MOST_EVENTS {
            break RunConclusion::Endless;
        }
        let mut enabled = world.enabled().await?;
        let faults = decider.faults(&enabled)?;
        if !faults.is_empty() {
            for fault in faults {
                world.suffer(&fault).await?;
                entries.push(ScheduleEntry::Fault(fault));
            }
            // A fault may have ended an execution.
            if let Some(end) = ended(&world.rows().await?) {
                break end;
            }
            enabled = world.enabled().await?;
        }
        if enabled.is_empty() {
            break RunConclusion::Stuck(awaited(&world.rows().await?));
        }
        let Some(choice) = decider.choose(&enabled)? else { break RunConclusion::GivenUp };
        let (label, repeatable) = (world.label(&choice).await?, world.repeatable());
        let before = match decider.wants_footprints() {
            true => Some(world.rows().await?),
            false => None,
        };
        world.happen(&choice).await?;
        if let Some(before) = before {
            let footprint = match choice {
                EventChoice::Time | EventChoice::Cancel => EventFootprint::All,
                EventChoice::Go(_) | EventChoice::Send(_) => {
                    EventFootprint::between(&before, &world.rows().await?)
                }
            };
            decider.happened(footprint);
        }
        entries.push(ScheduleEntry::Event(choice.clone()));
        steps.push(RunStep { enabled, choice, label, repeatable });
    };
    let enabled = world.enabled().await?;
    if end != RunConclusion::GivenUp {
        decider.ended(&enabled)?;
    }
    if matches!(end, RunConclusion::Settled { .. }) {
        finish_what_is_left(&mut world).await?;
    }
    let rows = world.rows().await?;
    // The work that was left may have stopped.
    let end = match (end, halted(&rows)) {
        (RunConclusion::Settled { .. }, Some(halted)) => halted,
        (end, _) => end,
    };
    Ok(RunResult {
        schedule: RunSchedule(entries),
        steps,
        end,
        effects: world.outside().effects(),
        told: told(&rows),
        journal: journal::lines(&rows),
        commits: world.deaths().commits(),
        death_left: world.deaths().is_pending(),
    })
}

/// Continues after the end of the root with calls that it gave up and executions that outlive it.
async fn finish_what_is_left(world: &mut RunWorld) -> Result<(), VerifyError> {
    for _ in 0..MOST_LEFT {
        let enabled = world.enabled().await?;
        let Some(choice) = enabled.first() else { break };
        world.happen(choice).await?;
    }
    Ok(())
}

fn ended(rows: &Snapshot) -> Option<RunConclusion> {
    if let Some(halted) = halted(rows) {
        return Some(halted);
    }
    let root = rows.promises.get(&PromiseId::from(ROOT))?;
    let settlement = root.settlement()?;
    let value = settlement.value.as_ref().map(values::payload);
    let value = match value {
        None => String::new(),
        Some(Payload::Json(text)) => text,
        Some(Payload::Bytes(bytes)) => format!("{bytes:02x?}"),
    };
    Some(RunConclusion::Settled { verdict: settlement.verdict, value })
}

fn halted(rows: &Snapshot) -> Option<RunConclusion> {
    let halts: Vec<HaltedExecution> = rows
        .tasks
        .values()
        .filter(|task| matches!(task.state, TaskState::Halted { .. }))
        .map(|task| {
            let note = task.note.as_ref();
            let details = note.and_then(|note| serde_json::from_slice::<Json>(&note.details).ok());
            let backtrace = details.as_ref().and_then(|details| details["backtrace"].as_str());
            HaltedExecution {
                place: place_of(task.id.as_str()).0,
                kind: note.map_or("halted", |note| note.kind.as_str()).to_owned(),
                message: note.map(|note| note.message.to_string()).unwrap_or_default(),
                backtrace: backtrace.map(str::to_owned),
            }
        })
        .collect();
    (!halts.is_empty()).then_some(RunConclusion::Halted(halts))
}

/// Describes what suspended executions wait for.
fn awaited(rows: &Snapshot) -> Vec<String> {
    let suspended = rows.tasks.values().filter(|task| task.status() == TaskStatus::Suspended);
    let waits = suspended.flat_map(|task| {
        let on = rows.callbacks.keys().filter(|(_, awaiter)| *awaiter == task.id);
        on.map(|(awaited, awaiter)| {
            let who = who(awaiter);
            let place = place_of(awaited.as_str());
            let is_signal = awaited.as_str().strip_prefix(awaiter.as_str());
            match is_signal.is_some_and(|rest| rest.starts_with("/s/")) {
                true => format!("{who} waits for a signal"),
                false => format!("{who} waits for {place}"),
            }
        })
    });
    let offered = rows.tasks.values().filter(|task| task.status() == TaskStatus::Pending);
    let offered = offered.map(|task| {
        let target = rows.promises.get(&task.id).and_then(|promise| promise.target());
        let note = task.note.as_ref().map(|note| format!(" ({})", note.message));
        format!(
            "{} waits for a worker of {}{}",
            who(&task.id),
            target.unwrap_or("?"),
            note.unwrap_or_default()
        )
    });
    waits.chain(offered).collect()
}

fn who(id: &PromiseId) -> String {
    match id.as_str() {
        ROOT => "the workflow".to_owned(),
        other => place_of(other).to_string(),
    }
}

fn told(rows: &Snapshot) -> BTreeSet<RelativeId> {
    let journals = rows.journals.iter();
    journals
        .flat_map(|(id, journal)| {
            journal.records.iter().filter_map(|record| match &record.body {
                RecordBody::Notified { index, outcome: Outcome::Own | Outcome::Inline(_) } => {
                    Some(place_of(id.command(*index).as_str()))
                }
                _ => None,
            })
        })
        .collect()
}
