//! Handles the commands and questions of a workflow during a poll.

use segno_core::{
    command::FenceOperation,
    id::CommandIndex,
    invocation::{self, CommandKind, CursorError, EndMatch, IssuedCommand, LogLine, RecordBody},
};
use segno_guest::{
    GuestCommand, GuestJournal, JournalAnswer, JournalCall, Level, Outcome, StopReason, border,
};

use super::{OpenCommand, Recorder};
use crate::{
    values::journals,
    worker::commands::{self, CommandContext, CompletionEvent},
};

impl GuestJournal for Recorder {
    fn ask(&mut self, ask: JournalCall) -> Result<JournalAnswer, StopReason> {
        if self.finished.is_some() {
            return Ok(self.ignored(&ask));
        }
        if let Some((_, name)) = &self.running
            && !matches!(
                ask,
                JournalCall::RunDone { .. } | JournalCall::Now | JournalCall::Log { .. }
            )
        {
            return Err(StopReason::Contract(format!(
                "a command was issued inside the `run` step `{name}`: a step only computes; make calls, sleeps and \
                 promises outside of it"
            )));
        }
        match ask {
            JournalCall::Now => Ok(self.now()),
            JournalCall::Log { level, message } => {
                self.log(level, message);
                Ok(JournalAnswer::Done)
            }
            JournalCall::Forget { command } => {
                self.open.close(command);
                Ok(JournalAnswer::Done)
            }
            JournalCall::RunDone { command, outcome } => match self.running.take() {
                Some((running, _)) if running == command => {
                    border::run_result(command, &outcome)?;
                    self.results.push_back((command, outcome));
                    Ok(JournalAnswer::Done)
                }
                _ => Err(StopReason::Contract(format!(
                    "`run-done({command})` came without a `run` that was to be executed"
                ))),
            },
            JournalCall::Finish { outcome } => self.finish(outcome),
            JournalCall::Command(GuestCommand::ContinueAsNew(next)) => {
                let answer = self.command(&next.clone().into())?;
                self.finish(journals::null())?;
                self.next = Some(next);
                Ok(answer)
            }
            JournalCall::Command(command) => {
                if let GuestCommand::Unread(unread) = &command {
                    self.unread.clone_from(&unread.signals);
                }
                self.command(&command)
            }
        }
    }
}

impl Recorder {
    fn command(&mut self, command: &GuestCommand) -> Result<JournalAnswer, StopReason> {
        let rules = commands::rules(command);
        if self.halt_at == Some(self.commands) {
            return Err(StopReason::Contract("it is stopped at this command".to_owned()));
        }
        let asked = commands::asked(rules);
        let misnamed = commands::misnamed(command);
        let ends = misnamed.is_some() && commands::is_silent(command);
        let mut live = true;
        // True if the journal has the completion of the command as well.
        let mut completed = false;
        if let Some(cursor) = &mut self.cursor {
            let answered = match (cursor.answer(&asked), &self.ledger) {
                (Err(CursorError::Diverged(divergence)), Some(ledger)) => {
                    let translated = cursor.answer(&ledger.translate(rules));
                    translated.map_err(|_| CursorError::Diverged(divergence))
                }
                (answered, _) => answered,
            };
            match answered {
                // A command with an invalid name may have ended the invocation here without a
                // record.
                Err(_) if ends => {}
                Err(error) => return Err(self.stopped(error)),
                Ok(invocation::CommandMatch::Recorded { notified, .. }) => {
                    live = false;
                    completed = notified;
                }
                Ok(invocation::CommandMatch::Live { .. }) => {}
            }
        }
        if live {
            border::command(command)?;
        }
        if let Some(failure) = misnamed.as_ref().filter(|_| live && ends) {
            self.finish(Outcome::Failure(failure.clone()))?;
            return Ok(rules.answer(u32::MAX, None, false));
        }
        let index = self.commands;
        if let Some(ledger) = &mut self.ledger {
            ledger.note(asked.clone(), rules);
        }
        // Commands that were open at the beginning of a fork begin at its creation.
        let at = self.at.max(self.identity.made_at);
        if live && let Some(refused) = commands::too_far(command, at) {
            return Err(StopReason::Contract(refused));
        }
        let site = CommandContext { identity: &self.identity, index, at, named: &self.named };
        let acts = !completed && !self.read_only;
        let act = if acts { rules.act(&site)? } else { None };
        let completion = rules.completion(&site);
        let reads = acts && misnamed.is_none();
        self.note_state(index, (asked.kind, &completion), act.as_ref(), live, reads)?;
        self.commands += 1;
        let promise = completion.promise();
        if let Some(id) = promise.filter(|id| **id != self.identity.id.command(CommandIndex(index)))
        {
            self.named.insert(index, id.clone());
        }
        // The host that recorded a name accepted it.
        let executes = acts && (misnamed.is_none() || !live);
        let answer = rules.answer(index, promise, executes);
        if let (GuestCommand::Run(run), true) = (command, executes) {
            self.running = Some((index, run.name.clone()));
        }
        let fails = acts && (live || matches!(completion, CompletionEvent::State(_)));
        if let Some(failure) = misnamed.as_ref().filter(|_| fails && act.is_none()) {
            self.results.push_back((index, Outcome::Failure(failure.clone())));
        }
        let mut open = OpenCommand { kind: asked.kind, completion, act, misnamed };
        if live {
            self.batch.bytes += command.size();
            let IssuedCommand { kind, name, request } = asked;
            self.push(RecordBody::Command { index: CommandIndex(index), kind, name, request });
            let misnamed = open.misnamed.take();
            let act = open.act.take().and_then(|act| self.allowed(index, act, misnamed));
            self.batch.actions.extend(act);
        }
        if open.completion != CompletionEvent::Record {
            self.open.add(index, open);
        }
        Ok(answer)
    }

    /// Tracks a command that concerns the object's state. Writes in the journal are stored already.
    /// A read without a recorded answer is answered after the replay.
    fn note_state(
        &mut self,
        index: u32,
        (kind, completion): (CommandKind, &CompletionEvent),
        act: Option<&FenceOperation>,
        live: bool,
        reads: bool,
    ) -> Result<(), StopReason> {
        let writes = matches!(
            kind,
            CommandKind::SetState | CommandKind::ClearState | CommandKind::ClearAllState
        );
        let is_about_state = writes
            || matches!(completion, CompletionEvent::State(_))
            || matches!(act, Some(FenceOperation::ObjectPromise { .. }));
        let Some(state) = &mut self.state else {
            return match is_about_state {
                true => Err(StopReason::Contract(
                    "a function of no object has no state, and no promises of an object".to_owned(),
                )),
                false => Ok(()),
            };
        };
        match (completion, act) {
            (CompletionEvent::State(read), _) if reads => state.read(index, read),
            (CompletionEvent::Record, Some(FenceOperation::State(write))) if live => {
                state.wrote(write);
                self.is_overtaken |= self.open.has_state_reads();
            }
            (_, Some(FenceOperation::ObjectPromise { settles: Some(_), .. })) if live => {
                self.is_overtaken |= self.open.has_state_reads();
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, outcome: Outcome) -> Result<JournalAnswer, StopReason> {
        let ending = match &mut self.cursor {
            // A replay for a report compares the whole outcome.
            Some(cursor) => cursor.finish(&journals::stored(&outcome, !self.read_only)),
            None => Ok(EndMatch::Live),
        };
        match ending {
            Err(error) => return Err(self.stopped(error)),
            Ok(EndMatch::Recorded) => {}
            Ok(EndMatch::Live) => border::result(&outcome)?,
        }
        self.finished = Some(outcome);
        Ok(JournalAnswer::Done)
    }

    fn log(&mut self, level: Level, message: String) {
        let line = self.lines;
        self.lines += 1;
        if line >= self.stored_lines && !self.read_only {
            let level = journals::level(level);
            self.batch.bytes += message.len();
            self.batch.logs.push(LogLine {
                seq: line,
                level,
                at: self.at,
                message: message.into(),
            });
        }
    }

    fn now(&self) -> JournalAnswer {
        JournalAnswer::Now(u64::try_from(self.at.0).unwrap_or(0))
    }

    /// The answer to a request after the end of the invocation: the request has no effect.
    fn ignored(&self, ask: &JournalCall) -> JournalAnswer {
        match ask {
            JournalCall::Command(command) => commands::rules(command).answer(u32::MAX, None, false),
            JournalCall::Now => self.now(),
            JournalCall::Log { .. }
            | JournalCall::Forget { .. }
            | JournalCall::RunDone { .. }
            | JournalCall::Finish { .. } => JournalAnswer::Done,
        }
    }
}
