//! Position of a replay in a journal. When the records run out, possibly in the middle of a poll,
//! the same driver continues live: from there on every answer is `Live`.
//!
//! A journal may not fit into memory. Its records are fed in pages, always enough that the next
//! poll cannot run out of them.
//!
//! ```text
//! lacks()? feed() more
//! start the guest; it asks: answer() for each command, finish() at the end
//! loop: lacks()? feed() more
//!       next_event()? Event(record): resume the guest with it; it asks again
//!                     Live: the records are used up and the guest waits; continue live
//!                     Finished: the journal ended, and the guest with it
//! ```

use std::collections::VecDeque;

use super::{
    AppendRefusal, CommandKind, CommandRequest, Divergence, JournalHead, Outcome, Outline, Record,
    RecordBody, ReplayStep,
};
use crate::{id::CommandIndex, time::Timestamp, value::Text};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedCommand {
    pub kind: CommandKind,
    /// Name of the function, step or promise.
    pub name: Text,
    /// Remaining fields of the command.
    pub request: CommandRequest,
}

/// Result of matching a command with the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandMatch {
    /// The command is in the journal.
    Recorded {
        index: CommandIndex,
        /// True if the journal also contains the outcome. Otherwise a `run` is executed again, and
        /// any other command is still awaited.
        notified: bool,
    },
    /// The command is new. It joins the batch: the commit comes before the action.
    Live { index: CommandIndex },
}

/// Next step of the driver after a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextEvent {
    /// An event was recorded: deliver it to the guest again.
    Event(Record),
    /// The records are used up, and the guest has not ended.
    Live,
    /// The guest has ended, as recorded.
    Finished,
}

/// Result of matching the guest's end with the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndMatch {
    /// The journal contains the same end.
    Recorded,
    /// The journal contains no end yet.
    Live,
}

/// Error: a replay cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// The journal differs from the guest at this position. The execution must stop and write
    /// nothing.
    #[error("{0}")]
    Diverged(Box<Divergence>),
    /// A record that the journal contains according to its outline was not fed: the stored journal
    /// is damaged.
    #[error("record {at} of the journal is missing: it has {len}")]
    Missing {
        /// Position of the missing record.
        at: u32,
        /// Length of the journal, in records.
        len: u32,
    },
}

/// A replay's position in a journal.
#[derive(Clone, Debug)]
pub struct ReplayCursor {
    outline: Outline,
    /// The next records to match, as far as they have been fed.
    records: VecDeque<Record>,
    /// Number of events among `records`.
    events: usize,
    /// Position of the next record to match.
    place: u32,
    next_command: CommandIndex,
    now: Timestamp,
}

impl ReplayCursor {
    /// A cursor at the beginning of a journal that is fully loaded. With an empty journal it is
    /// live immediately.
    ///
    /// # Errors
    /// [`AppendRefusal`]: the records are not a valid journal.
    pub fn new(records: Vec<Record>) -> Result<Self, AppendRefusal> {
        let mut cursor = Self::over(Outline::of(&records)?);
        cursor.feed(records);
        Ok(cursor)
    }

    /// A cursor at the beginning of a journal whose records have not been fed yet.
    pub fn over(outline: Outline) -> Self {
        let now = outline.started().map_or(Timestamp::default(), |started| started.at);
        let place = outline.head().len.min(1);
        let next_command = CommandIndex(0);
        Self { outline, records: VecDeque::new(), events: 0, place, next_command, now }
    }

    /// A cursor at `place` of a journal that has grown, for a guest that has matched everything
    /// before `place`, including all commands below `next_command`.
    pub fn beyond(outline: Outline, place: u32, next_command: CommandIndex) -> Self {
        Self { place: place.min(outline.head().len), next_command, ..Self::over(outline) }
    }

    /// Position of the first record that must be fed before the guest is called again. `None` if
    /// enough are loaded. A poll needs the records between two events, so both the event that
    /// starts it and the following event must be loaded.
    pub fn lacks(&self) -> Option<u32> {
        let held = self.place + self.records.len() as u32;
        (self.events < 2 && held < self.head().len).then_some(held)
    }

    /// Feeds the next records of the journal. Skips records that it already has, records behind a
    /// gap, and records appended after the outline was made. Returns the number of records taken.
    pub fn feed(&mut self, records: Vec<Record>) -> usize {
        let len = self.head().len;
        let mut taken = 0;
        for record in records {
            let held = self.place + self.records.len() as u32;
            if record.seq == held && held < len {
                self.events += usize::from(record.body.is_event());
                self.records.push_back(record);
                taken += 1;
            }
        }
        taken
    }

    /// The record that started the invocation. `None` if the journal is empty.
    pub fn started(&self) -> Option<&Record> {
        self.outline.started()
    }

    /// Head of the recorded journal: the position where live records are appended.
    pub fn head(&self) -> JournalHead {
        self.outline.head()
    }

    /// True if all records are used up.
    pub fn is_live(&self) -> bool {
        self.place == self.head().len
    }

    /// Number of records matched so far.
    pub fn matched(&self) -> u32 {
        self.place
    }

    /// Logical time of the current poll, as far as it is recorded.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Matches the guest's next command with the journal.
    ///
    /// # Errors
    /// [`CursorError`]: the journal differs at this position, or is incomplete.
    pub fn answer(&mut self, asked: &IssuedCommand) -> Result<CommandMatch, CursorError> {
        let index = self.next_command;
        let Some(record) = self.front()? else {
            self.next_command = index.next();
            return Ok(CommandMatch::Live { index });
        };
        match &record.body {
            RecordBody::Command { kind, name, request, .. }
                if *kind == asked.kind && *name == asked.name && *request == asked.request =>
            {
                self.next_command = index.next();
                self.pass();
                Ok(CommandMatch::Recorded { index, notified: self.outline.tells(index.0) })
            }
            _ => Err(diverged(record, ReplayStep::asked(index, asked))),
        }
    }

    /// Determines the next event, once the guest has issued all commands of this poll.
    ///
    /// # Errors
    /// [`CursorError`]: the journal has a command, or an end, that the guest did not issue, or it
    /// is incomplete.
    pub fn next_event(&mut self) -> Result<NextEvent, CursorError> {
        let Some(record) = self.front()? else {
            return Ok(if self.head().finished { NextEvent::Finished } else { NextEvent::Live });
        };
        match record.body {
            RecordBody::Notified { .. } | RecordBody::Signal { .. } | RecordBody::Cancelled => {
                let record = record.clone();
                self.pass();
                self.now = record.at;
                Ok(NextEvent::Event(record))
            }
            RecordBody::Started { .. }
            | RecordBody::Command { .. }
            | RecordBody::Finished { .. } => Err(diverged(record, ReplayStep::Waits)),
        }
    }

    /// Matches the end of the guest with the journal.
    ///
    /// # Errors
    /// [`CursorError`]: the journal continues, has a different end, or is incomplete.
    pub fn finish(&mut self, outcome: &Outcome) -> Result<EndMatch, CursorError> {
        let Some(record) = self.front()? else { return Ok(EndMatch::Live) };
        match &record.body {
            RecordBody::Finished { outcome: recorded } if recorded == outcome => {
                self.pass();
                Ok(EndMatch::Recorded)
            }
            _ => Err(diverged(record, ReplayStep::Finishes { outcome: outcome.clone() })),
        }
    }

    /// The next record to match. `None` if the records are used up.
    fn front(&self) -> Result<Option<&Record>, CursorError> {
        match self.records.front() {
            None if !self.is_live() => {
                Err(CursorError::Missing { at: self.place, len: self.head().len })
            }
            front => Ok(front),
        }
    }

    /// Moves past the matched record.
    fn pass(&mut self) {
        if let Some(record) = self.records.pop_front() {
            self.place += 1;
            self.events -= usize::from(record.body.is_event());
        }
    }
}

fn diverged(recorded: &Record, asked: ReplayStep) -> CursorError {
    CursorError::Diverged(Box::new(Divergence::new(recorded, asked)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::Digest,
        invocation::{EngineFacts, Seed, StepResult},
        value::Payload,
    };

    fn body_started() -> RecordBody {
        RecordBody::Started {
            function: Text::from("order"),
            input: Payload::Json(Text::from("{}")),
            module: Digest([1; 32]),
            seed: Seed([2; 32]),
            engine: EngineFacts::default(),
        }
    }

    fn asked(kind: CommandKind, name: &str) -> IssuedCommand {
        IssuedCommand {
            kind,
            name: Text::from(name),
            request: CommandRequest::of(&[("input", name.as_bytes())]),
        }
    }

    fn body_command(index: u32, asked: &IssuedCommand) -> RecordBody {
        let IssuedCommand { kind, name, request } = asked.clone();
        RecordBody::Command { index: CommandIndex(index), kind, name, request }
    }

    fn body_notified(index: u32) -> RecordBody {
        RecordBody::Notified {
            index: CommandIndex(index),
            outcome: Outcome::Inline(StepResult::Empty),
        }
    }

    fn journal(bodies: Vec<RecordBody>) -> Vec<Record> {
        let number = |(seq, body)| Record { seq: seq as u32, at: Timestamp(10 + seq as i64), body };
        bodies.into_iter().enumerate().map(number).collect()
    }

    fn finished() -> Outcome {
        Outcome::Inline(StepResult::Value(Payload::Json(Text::from("1"))))
    }

    /// start: call a, run b; after a completes: sleep c; after b completes: finish.
    fn whole() -> (Vec<Record>, [IssuedCommand; 3]) {
        let [a, b, c] = [
            asked(CommandKind::Call, "a"),
            asked(CommandKind::Run, "b"),
            asked(CommandKind::Sleep, "c"),
        ];
        let records = journal(vec![
            body_started(),
            body_command(0, &a),
            body_command(1, &b),
            body_notified(0),
            body_command(2, &c),
            body_notified(1),
            RecordBody::Finished { outcome: finished() },
        ]);
        (records, [a, b, c])
    }

    /// Replays the guest of [`whole`] over the first `stored` records. Live execution continues
    /// with the same events.
    fn drive(stored: usize) -> (Vec<CommandMatch>, u32) {
        let (records, [a, b, c]) = whole();
        let mut cursor = ReplayCursor::new(records[..stored].to_vec())
            .expect("a prefix of a journal is a journal");
        let mut answers = Vec::new();
        answers.push(cursor.answer(&a).expect("a matches"));
        answers.push(cursor.answer(&b).expect("b matches"));
        let mut events = 0;
        if let NextEvent::Event(_) = cursor.next_event().expect("an event or live") {
            events += 1;
        }
        answers.push(cursor.answer(&c).expect("c matches"));
        if let NextEvent::Event(_) = cursor.next_event().expect("an event or live") {
            events += 1;
        }
        cursor.finish(&finished()).expect("the end matches");
        assert!(cursor.is_live());
        (answers, events)
    }

    #[test]
    fn every_prefix_replays_and_goes_on_live_from_where_it_ends() {
        let (records, _) = whole();
        for stored in 0..=records.len() {
            let (answers, events) = drive(stored);
            let recorded = answers
                .iter()
                .filter(|answer| matches!(answer, CommandMatch::Recorded { .. }))
                .count();
            let commands_stored =
                records[..stored].iter().filter(|r| matches!(r.body, RecordBody::Command { .. }));
            assert_eq!(recorded, commands_stored.count(), "{stored} stored");
            assert_eq!(
                events as usize,
                records[..stored].iter().filter(|r| r.body.is_event()).count()
            );
            let indexes = answers.iter().map(|answer| match answer {
                CommandMatch::Recorded { index, .. } | CommandMatch::Live { index } => index.0,
            });
            assert_eq!(indexes.collect::<Vec<_>>(), [0, 1, 2]);
        }
    }

    #[test]
    fn a_run_without_an_outcome_is_told_apart() {
        let (records, [a, b, _]) = whole();
        let mut cursor = ReplayCursor::new(records[..4].to_vec()).expect("a journal");
        assert_eq!(
            cursor.answer(&a),
            Ok(CommandMatch::Recorded { index: CommandIndex(0), notified: true })
        );
        assert_eq!(
            cursor.answer(&b),
            Ok(CommandMatch::Recorded { index: CommandIndex(1), notified: false })
        );
    }

    #[test]
    fn logical_time_is_that_of_the_event_that_began_the_poll() {
        let (records, [a, b, _]) = whole();
        let mut cursor = ReplayCursor::new(records).expect("a journal");
        assert_eq!(cursor.now(), Timestamp(10));
        cursor.answer(&a).expect("matches");
        cursor.answer(&b).expect("matches");
        assert_eq!(cursor.now(), Timestamp(10));
        cursor.next_event().expect("an event");
        assert_eq!(cursor.now(), Timestamp(13));
    }

    /// Position of the record at which a replay diverged.
    fn place<T: std::fmt::Debug>(answer: Result<T, CursorError>) -> u32 {
        match answer {
            Err(CursorError::Diverged(divergence)) => divergence.seq(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_kind_of_difference_is_a_divergence_at_its_record() {
        let (records, [a, b, c]) = whole();
        let at_start = || ReplayCursor::new(records.clone()).expect("a journal");
        // A different command than the recorded one.
        assert_eq!(place(at_start().answer(&b)), 1);
        // A missing command.
        let mut cursor = at_start();
        cursor.answer(&a).expect("matches");
        assert_eq!(place(cursor.next_event()), 2);
        // An extra command.
        let mut cursor = at_start();
        cursor.answer(&a).expect("matches");
        cursor.answer(&b).expect("matches");
        assert_eq!(place(cursor.answer(&c)), 3);
        // An end that is too early, and one that is missing.
        assert_eq!(place(at_start().finish(&finished())), 1);
        let mut cursor = at_start();
        cursor.answer(&a).expect("matches");
        cursor.answer(&b).expect("matches");
        cursor.next_event().expect("told a");
        cursor.answer(&c).expect("matches");
        cursor.next_event().expect("told b");
        assert_eq!(place(cursor.clone().next_event()), 6);
        // A different end.
        assert_eq!(place(cursor.finish(&Outcome::Own)), 6);
        assert_eq!(cursor.finish(&finished()), Ok(EndMatch::Recorded));
        assert_eq!(cursor.next_event(), Ok(NextEvent::Finished));
    }

    #[test]
    fn a_command_differs_in_its_kind_its_name_or_its_request() {
        let (records, [a, b, _]) = whole();
        let differing = [
            IssuedCommand { kind: b.kind, ..a.clone() },
            IssuedCommand { name: b.name, ..a.clone() },
            IssuedCommand { request: b.request, ..a },
        ];
        for asked in differing {
            let mut cursor = ReplayCursor::new(records.clone()).expect("a journal");
            assert_eq!(place(cursor.answer(&asked)), 1, "{asked:?}");
        }
    }

    #[test]
    fn a_journal_in_pages_of_any_size_replays_as_a_whole_one() {
        let (records, [a, b, c]) = whole();
        for page in 1..=records.len() {
            let mut pages = records.chunks(page);
            let outline = Outline::of(&records).expect("a journal");
            let mut cursor = ReplayCursor::over(outline);
            let mut most = 0;
            let mut fill = |cursor: &mut ReplayCursor| {
                while let Some(from) = cursor.lacks() {
                    let next = pages.next().expect("it lacks no more than there is");
                    assert!(next.iter().any(|record| record.seq >= from || from == 1));
                    cursor.feed(next.to_vec());
                }
                most = most.max(cursor.records.len());
            };
            fill(&mut cursor);
            assert!(
                matches!(cursor.answer(&a), Ok(CommandMatch::Recorded { .. })),
                "pages of {page}"
            );
            assert!(matches!(cursor.answer(&b), Ok(CommandMatch::Recorded { .. })));
            fill(&mut cursor);
            assert!(matches!(cursor.next_event(), Ok(NextEvent::Event(_))));
            assert!(matches!(cursor.answer(&c), Ok(CommandMatch::Recorded { .. })));
            fill(&mut cursor);
            assert!(matches!(cursor.next_event(), Ok(NextEvent::Event(_))));
            assert_eq!(cursor.finish(&finished()), Ok(EndMatch::Recorded));
            assert!(page > 1 || most < records.len() - 1, "{most} were held at once");
        }
    }

    #[test]
    fn records_appended_since_the_outline_are_no_part_of_the_replay() {
        let (records, [a, b, c]) = whole();
        for outlined in 1..records.len() {
            let outline = Outline::of(&records[..outlined]).expect("a prefix is a journal");
            let mut cursor = ReplayCursor::over(outline);
            assert_eq!(cursor.feed(records.clone()), outlined - 1);
            for asked in [&a, &b] {
                cursor.answer(asked).expect("it matches or is live");
            }
            cursor.next_event().expect("an event or live");
            cursor.answer(&c).expect("it matches or is live");
            cursor.next_event().expect("an event or live");
            assert!(cursor.is_live());
            assert_eq!(cursor.next_event(), Ok(NextEvent::Live), "the end came after the outline");
            assert_eq!(cursor.matched() as usize, outlined);
        }
    }

    #[test]
    fn what_was_appended_since_is_matched_from_where_the_guest_stands() {
        let (records, [_, _, c]) = whole();
        let beyond = |place, commands| {
            let outline = Outline::of(&records).expect("a journal");
            let mut cursor = ReplayCursor::beyond(outline, place, CommandIndex(commands));
            assert_eq!(cursor.lacks(), Some(place));
            assert_eq!(cursor.feed(records.clone()), records.len() - place as usize);
            assert!(matches!(cursor.next_event(), Ok(NextEvent::Event(_))));
            cursor
        };
        let mut cursor = beyond(3, 2);
        let recorded = CommandMatch::Recorded { index: CommandIndex(2), notified: false };
        assert_eq!(cursor.answer(&c), Ok(recorded));
        assert!(matches!(cursor.next_event(), Ok(NextEvent::Event(_))));
        for mut cursor in [cursor, beyond(5, 3)] {
            assert_eq!(cursor.finish(&finished()), Ok(EndMatch::Recorded));
            assert_eq!(cursor.next_event(), Ok(NextEvent::Finished));
        }
    }

    #[test]
    fn a_record_that_is_missing_is_an_error() {
        let (records, [a, b, _]) = whole();
        let over = |handed: &[Record]| {
            let mut cursor = ReplayCursor::over(Outline::of(&records).expect("a journal"));
            cursor.feed(handed.to_vec());
            cursor
        };
        let missing = |at| CursorError::Missing { at, len: 7 };
        assert_eq!(over(&[]).answer(&a), Err(missing(1)));
        assert_eq!(over(&[]).next_event(), Err(missing(1)));
        assert_eq!(over(&[]).finish(&finished()), Err(missing(1)));
        // Records behind a gap are ignored.
        let mut gap = over(&[records[1].clone(), records[3].clone()]);
        gap.answer(&a).expect("matches");
        assert_eq!(gap.answer(&b), Err(missing(2)));
        assert_eq!(gap.lacks(), Some(2));
    }

    #[test]
    fn records_that_are_no_journal_are_refused() {
        let (records, _) = whole();
        assert!(ReplayCursor::new(records[1..].to_vec()).is_err());
        let mut twice = records[..4].to_vec();
        twice.push(Record { seq: 4, ..twice[3].clone() });
        assert_eq!(
            ReplayCursor::new(twice).err(),
            Some(AppendRefusal::NothingToNotify(CommandIndex(0)))
        );
    }
}
