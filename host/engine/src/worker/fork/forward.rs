//! Runs a fork forward in memory. Nothing is stored, and no side effect happens.
//!
//! Commands of the guest are answered from the journal of the original invocation: by the same
//! command, or else by another one with equal function and input. The recorded events come in their
//! recorded order. Timers fire at their instants, and commands that are completed by their commit
//! complete without one. If none of this answers a command, a policy does, or the run stops.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use segno_core::{
    budget::Costs,
    id::{CommandIndex, PromiseId},
    invocation::{CommandKind, IssuedCommand, Outcome as Stored, Record, RecordBody},
    time::Timestamp,
};
use segno_guest::{Completion as Told, Event, GuestError, Outcome, Payload, Signal};
use segno_store::StoreError;

use super::{
    DryRunStream, ForkError, ForkPrefix, MissingAnswer, ReplayedFork, rehearsed::locked,
    streams::ForwardStreams,
};
use crate::{
    host::Host,
    values::{self, journals},
    worker::commands::{CommitResult, CompletionEvent},
};

/// Maximum number of timers that fire when no other event is left, since a workflow may wait for
/// ever.
const TIMERS: u32 = 1_000;
/// Maximum number of commands that the policy answers, since a workflow may repeat a failed one for
/// ever.
const SUBSTITUTES: u32 = 1_000;
/// Number of calls whose costs are read at once.
const COSTS_PAGE: usize = 1_000;

/// The result of a dry run: the continuation of a fork, as far as the original journal answers it.
#[derive(Debug)]
pub struct DryRun {
    /// The commands that were open where the fork begins, and those issued after it, in order.
    pub steps: Vec<DryRunStep>,
    /// The end of the run.
    pub end: DryRunEnd,
    /// The outcome of the original invocation. `None` if it is pending.
    pub recorded_end: Option<Outcome>,
    /// Commands that the original invocation issued after the beginning of the fork, and that the
    /// fork did not issue.
    pub left_out: Vec<(CommandIndex, IssuedCommand)>,
    /// The costs that the calls of the original reported.
    pub recorded_cost: Costs,
    /// The costs of those calls whose results the fork has.
    pub cost: Costs,
    /// The streams of both, by name.
    pub streams: Vec<DryRunStream>,
}

/// A command of a dry run.
#[derive(Debug)]
pub struct DryRunStep {
    pub index: CommandIndex,
    /// The request, rewritten as if the original invocation had issued it.
    pub asked: IssuedCommand,
    /// The source and the outcome of the answer. `None` if the command is open at the end.
    pub answered: Option<(AnswerSource, Outcome)>,
    /// True if the original journal has the same command at the same index.
    pub is_recorded: bool,
    /// True if the original journal has the same command, at this index or another one.
    pub is_known: bool,
}

/// The source of a command's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerSource {
    /// A command of the original journal with the same request.
    Recorded(CommandIndex),
    /// The clock: the command is a timer.
    Clock,
    /// A commit without its effect: the command would have been completed by being stored, or no
    /// event completes it.
    LeftOut,
    /// The policy for commands without a recorded answer.
    Policy,
}

/// The end of a dry run.
#[derive(Debug)]
pub enum DryRunEnd {
    /// The workflow ended.
    Ended(Outcome),
    /// The original journal answers none of the open commands.
    Waits,
    /// The workflow failed.
    Failed(GuestError),
}

impl DryRun {
    /// True if the workflow ended with the outcome of the original invocation.
    pub fn ends_as_recorded(&self) -> bool {
        match &self.end {
            DryRunEnd::Ended(outcome) => self.recorded_end.as_ref() == Some(outcome),
            DryRunEnd::Waits | DryRunEnd::Failed(_) => false,
        }
    }
}

/// Runs forward from the end of the records. The prefix was read with [`ForkPrefix::for_dry_run`].
///
/// # Errors
/// The streams of the original cannot be read.
pub async fn forward(
    host: &Host,
    prefix: &ForkPrefix,
    mut rehearsed: ReplayedFork,
    missing: MissingAnswer,
) -> Result<DryRun, ForkError> {
    let mut script = OriginalJournal::new(prefix, missing);
    let mut streams = ForwardStreams::read(host, prefix).await?;
    streams.repeat(prefix, &locked(&rehearsed.recorder));
    let end = loop {
        let (asked, finished) = {
            let recorder = locked(&rehearsed.recorder);
            let asked = recorder.ledger().map_or(&[][..], |ledger| ledger.translated()).to_vec();
            (asked, recorder.finished().cloned())
        };
        script.match_new(&asked);
        streams.write(&locked(&rehearsed.recorder));
        if let Some(outcome) = finished {
            break DryRunEnd::Ended(outcome);
        }
        let open = open(&rehearsed);
        let Some((at, event)) = script.next(&open, &rehearsed.origin.new.id) else {
            break DryRunEnd::Waits;
        };
        streams.reach(script.reached, &script.used);
        let admitted = locked(&rehearsed.recorder).admit(event, at);
        let Some(event) = admitted else { continue };
        let recorder = rehearsed.recorder.clone();
        if let Err(error) = rehearsed.instance.resume(recorder, event).await {
            let recorder = locked(&rehearsed.recorder);
            let asked = recorder.ledger().map_or(&[][..], |ledger| ledger.translated()).to_vec();
            script.match_new(&asked);
            streams.write(&locked(&rehearsed.recorder));
            break DryRunEnd::Failed(error);
        }
    };
    streams.reach(u32::MAX, &script.used);
    let settlement = prefix.row.promise.settlement();
    let costs = script.costs(host, prefix.row.promise.id()).await?;
    Ok(script.into_run(end, settlement.map(values::outcome), costs, streams.compared()))
}

/// The completions of the open commands.
fn open(rehearsed: &ReplayedFork) -> BTreeMap<u32, CompletionEvent> {
    let recorder = locked(&rehearsed.recorder);
    let open = recorder.open().entries();
    open.map(|(index, open)| (index, open.completion.clone())).collect()
}

/// The contents of the original journal, and the parts that were used.
struct OriginalJournal {
    /// The commands of the original, by index.
    commands: Vec<IssuedCommand>,
    /// The outcomes of those commands.
    outcomes: BTreeMap<u32, Outcome>,
    /// The events of the original after the beginning of the fork.
    events: VecDeque<Record>,
    /// The original command for each matched command of the fork. Commands before the beginning
    /// match themselves.
    matched: BTreeMap<u32, u32>,
    used: BTreeSet<u32>,
    asked: Vec<IssuedCommand>,
    answered: BTreeMap<u32, (AnswerSource, Outcome)>,
    /// Commands before the beginning that had completed there.
    ended: BTreeSet<u32>,
    /// Number of commands before the beginning.
    before: u32,
    timers: u32,
    /// The largest number of a record of the original that was answered with.
    reached: u32,
    missing: MissingAnswer,
    substitutes: u32,
}

impl OriginalJournal {
    fn new(prefix: &ForkPrefix, missing: MissingAnswer) -> Self {
        let mut script = Self {
            commands: Vec::new(),
            outcomes: BTreeMap::new(),
            events: VecDeque::new(),
            matched: BTreeMap::new(),
            used: BTreeSet::new(),
            asked: Vec::new(),
            answered: BTreeMap::new(),
            ended: BTreeSet::new(),
            before: 0,
            timers: 0,
            reached: prefix.at,
            missing,
            substitutes: 0,
        };
        for record in &prefix.records {
            match &record.body {
                RecordBody::Notified { index, .. } => drop(script.ended.insert(index.0)),
                RecordBody::Command { .. } => script.before += 1,
                _ => {}
            }
        }
        for record in prefix.records.iter().chain(&prefix.later) {
            match &record.body {
                RecordBody::Command { kind, name, request, .. } => {
                    script.commands.push(IssuedCommand {
                        kind: *kind,
                        name: name.clone(),
                        request: request.clone(),
                    })
                }
                RecordBody::Notified { index, outcome: Stored::Inline(result) } => {
                    script.outcomes.insert(index.0, journals::recorded(result));
                }
                _ => {}
            }
            // A result that was given for an open command is not delivered again.
            let is_told = |record: &Record| match &record.body {
                RecordBody::Notified { index, .. } => script.ended.contains(&index.0),
                _ => false,
            };
            if record.seq >= prefix.at && record.body.is_event() && !is_told(record) {
                script.events.push_back(record.clone());
            }
        }
        script
    }

    /// Matches new commands of the fork with commands of the original journal.
    fn match_new(&mut self, asked: &[IssuedCommand]) {
        for (index, asked) in asked.iter().enumerate().skip(self.asked.len()) {
            let index = index as u32;
            let is_same = |of: u32| {
                let known = self.commands.get(of as usize);
                known == Some(asked) && !self.used.contains(&of)
            };
            let others = self.before..self.commands.len() as u32;
            let found = match is_same(index) {
                true => Some(index),
                false if index < self.before => None,
                false => others.into_iter().find(|of| is_same(*of)),
            };
            if let Some(of) = found {
                self.matched.insert(index, of);
                self.used.insert(of);
            }
            self.asked.push(asked.clone());
        }
    }

    /// The next event for the guest, and its instant. `None` if no open command can be answered.
    fn next(
        &mut self,
        open: &BTreeMap<u32, CompletionEvent>,
        id: &PromiseId,
    ) -> Option<(Timestamp, Event)> {
        let place = self.events.iter().position(|record| self.answers(record, open).is_some());
        if let Some(record) = place.and_then(|place| self.events.remove(place)) {
            self.reached = self.reached.max(record.seq);
            let event = match &record.body {
                RecordBody::Signal { name, payload } => Event::Signal(Signal {
                    name: name.to_string(),
                    payload: journals::guest_payload(payload),
                }),
                RecordBody::Notified { index, .. } => {
                    let command = self.answers(&record, open).expect("it was found by that");
                    let outcome = self.outcomes.get(&index.0).cloned()?;
                    self.tell(command, AnswerSource::Recorded(*index), outcome)
                }
                _ => Event::Cancelled,
            };
            return Some((record.at, event));
        }
        self.by_itself(open, id)
    }

    /// The open command that a recorded event completes. `u32::MAX` for events that complete no
    /// command.
    fn answers(&self, record: &Record, open: &BTreeMap<u32, CompletionEvent>) -> Option<u32> {
        match &record.body {
            RecordBody::Notified { index, .. } => {
                open.keys().copied().find(|command| self.matched.get(command) == Some(&index.0))
            }
            _ => Some(u32::MAX),
        }
    }

    /// The event if the journal has none: first the completion of a stored command, then the policy's
    /// answer to a command that the original did not issue, then the next timer. The last one is the
    /// policy's answer to a command that was open in the original as well.
    fn by_itself(
        &mut self,
        open: &BTreeMap<u32, CompletionEvent>,
        id: &PromiseId,
    ) -> Option<(Timestamp, Event)> {
        let stored = open.iter().find_map(|(command, completion)| match completion {
            CompletionEvent::Commit(CommitResult::Nothing) => Some((*command, journals::null())),
            CompletionEvent::Commit(CommitResult::StartedId) => {
                let id = id.command(CommandIndex(*command));
                let id = serde_json::Value::from(id.as_str()).to_string();
                Some((*command, Outcome::Success(Payload::Json(id))))
            }
            _ => None,
        });
        if let Some((command, outcome)) = stored {
            let event = self.tell(command, AnswerSource::LeftOut, outcome);
            return Some((Timestamp::default(), event));
        }
        if let Some(event) = self.substitute(open, false) {
            return Some((Timestamp::default(), event));
        }
        let timers = open.iter().filter_map(|(command, completion)| match completion {
            CompletionEvent::Timer(_, at) if *at < Timestamp::NEVER => Some((*at, *command)),
            _ => None,
        });
        if let Some((at, command)) = timers.min().filter(|_| self.timers < TIMERS) {
            self.timers += 1;
            return Some((at, self.tell(command, AnswerSource::Clock, journals::null())));
        }
        self.substitute(open, true).map(|event| (Timestamp::default(), event))
    }

    /// The policy's answer to the first open command that the original issued, or did not issue.
    fn substitute(
        &mut self,
        open: &BTreeMap<u32, CompletionEvent>,
        was_issued: bool,
    ) -> Option<Event> {
        let is_meant = |(command, completion): &(&u32, &CompletionEvent)| {
            !matches!(completion, CompletionEvent::Timer(..))
                && self.matched.contains_key(*command) == was_issued
        };
        let (command, _) = open.iter().find(is_meant).filter(|_| self.substitutes < SUBSTITUTES)?;
        let outcome = self.missing.outcome(self.asked.get(*command as usize)?)?;
        self.substitutes += 1;
        Some(self.tell(*command, AnswerSource::Policy, outcome))
    }

    fn tell(&mut self, command: u32, by: AnswerSource, outcome: Outcome) -> Event {
        self.answered.insert(command, (by, outcome.clone()));
        Event::Completed(Told { command, outcome })
    }

    /// The costs of all calls of the original, and of those whose results the fork has.
    async fn costs(&self, host: &Host, original: &PromiseId) -> Result<[Costs; 2], StoreError> {
        let calls = self
            .commands
            .iter()
            .enumerate()
            .filter(|(_, asked)| matches!(asked.kind, CommandKind::Call | CommandKind::Http));
        let calls: Vec<u32> = calls.map(|(index, _)| index as u32).collect();
        let mut all = [Costs::default(), Costs::default()];
        for page in calls.chunks(COSTS_PAGE) {
            let ids: Vec<PromiseId> =
                page.iter().map(|index| original.command(CommandIndex(*index))).collect();
            for (index, costs) in page.iter().zip(host.store.read().costs(&ids).await?) {
                all[0].plus(&costs);
                if *index < self.before || self.used.contains(index) {
                    all[1].plus(&costs);
                }
            }
        }
        Ok(all)
    }

    fn into_run(
        mut self,
        end: DryRunEnd,
        recorded_end: Option<Outcome>,
        [recorded_cost, cost]: [Costs; 2],
        streams: Vec<DryRunStream>,
    ) -> DryRun {
        let completes = |kind: CommandKind| kind.completes();
        let asked = self.asked.into_iter().enumerate();
        let later = asked.filter(|(index, asked)| {
            let index = *index as u32;
            index >= self.before || (!self.ended.contains(&index) && completes(asked.kind))
        });
        let steps = later.map(|(index, asked)| {
            let index = index as u32;
            let of = self.matched.get(&index);
            let (is_recorded, is_known) = (of == Some(&index), of.is_some());
            let left_out = || (AnswerSource::LeftOut, journals::null());
            let answered = self.answered.remove(&index);
            let answered = answered.or_else(|| (!completes(asked.kind)).then(left_out));
            DryRunStep { index: CommandIndex(index), asked, answered, is_recorded, is_known }
        });
        let steps = steps.collect();
        let left_out = self.commands.into_iter().enumerate();
        let left_out = left_out
            .map(|(index, asked)| (index as u32, asked))
            .filter(|(index, _)| *index >= self.before && !self.used.contains(index))
            .map(|(index, asked)| (CommandIndex(index), asked));
        let left_out = left_out.collect();
        DryRun { steps, end, recorded_end, left_out, recorded_cost, cost, streams }
    }
}
