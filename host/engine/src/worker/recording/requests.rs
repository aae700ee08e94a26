//! Handles the commands and questions of a workflow during a poll.

use segno_core::{
    command::FenceAct,
    id::CommandIndex,
    invocation::{self, Asked, CommandKind, CursorError, Ending, LogLine, RecordBody},
};
use segno_guest::{Answer, Ask, GuestCommand, Journal, Level, Outcome, Stop, border};

use super::{Open, Recorder};
use crate::{
    values::journals,
    worker::commands::{self, Completion, Site},
};

impl Journal for Recorder {
    fn ask(&mut self, ask: Ask) -> Result<Answer, Stop> {
        if self.finished.is_some() {
            return Ok(self.ignored(&ask));
        }
        if let Some((_, name)) = &self.running
            && !matches!(ask, Ask::RunDone { .. } | Ask::Now | Ask::Log { .. })
        {
            return Err(Stop::Contract(format!(
                "a command was issued inside the `run` step `{name}`: a step only computes; make calls, sleeps and \
                 promises outside of it"
            )));
        }
        match ask {
            Ask::Now => Ok(self.now()),
            Ask::Log { level, message } => {
                self.log(level, message);
                Ok(Answer::Done)
            }
            Ask::Forget { command } => {
                self.open.close(command);
                Ok(Answer::Done)
            }
            Ask::RunDone { command, outcome } => match self.running.take() {
                Some((running, _)) if running == command => {
                    border::run_result(command, &outcome)?;
                    self.results.push_back((command, outcome));
                    Ok(Answer::Done)
                }
                _ => Err(Stop::Contract(format!(
                    "`run-done({command})` came without a `run` that was to be executed"
                ))),
            },
            Ask::Finish { outcome } => self.finish(outcome),
            Ask::Command(GuestCommand::ContinueAsNew(next)) => {
                let answer = self.command(&next.clone().into())?;
                self.finish(journals::null())?;
                self.next = Some(next);
                Ok(answer)
            }
            Ask::Command(command) => {
                if let GuestCommand::Unread(unread) = &command {
                    self.unread.clone_from(&unread.signals);
                }
                self.command(&command)
            }
        }
    }
}

impl Recorder {
    fn command(&mut self, command: &GuestCommand) -> Result<Answer, Stop> {
        let rules = commands::rules(command);
        if self.halt_at == Some(self.commands) {
            return Err(Stop::Contract("it is stopped at this command".to_owned()));
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
                Ok(invocation::Answer::Recorded { notified, .. }) => {
                    live = false;
                    completed = notified;
                }
                Ok(invocation::Answer::Live { .. }) => {}
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
            return Err(Stop::Contract(refused));
        }
        let site = Site { identity: &self.identity, index, at, named: &self.named };
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
        let fails = acts && (live || matches!(completion, Completion::State(_)));
        if let Some(failure) = misnamed.as_ref().filter(|_| fails && act.is_none()) {
            self.results.push_back((index, Outcome::Failure(failure.clone())));
        }
        let mut open = Open { kind: asked.kind, completion, act, misnamed };
        if live {
            self.batch.bytes += command.size();
            let Asked { kind, name, request } = asked;
            self.push(RecordBody::Command { index: CommandIndex(index), kind, name, request });
            let misnamed = open.misnamed.take();
            let act = open.act.take().and_then(|act| self.allowed(index, act, misnamed));
            self.batch.actions.extend(act);
        }
        if open.completion != Completion::Record {
            self.open.add(index, open);
        }
        Ok(answer)
    }

    /// Tracks a command that concerns the object's state. Writes in the journal are stored already.
    /// A read without a recorded answer is answered after the replay.
    fn note_state(
        &mut self,
        index: u32,
        (kind, completion): (CommandKind, &Completion),
        act: Option<&FenceAct>,
        live: bool,
        reads: bool,
    ) -> Result<(), Stop> {
        let writes = matches!(
            kind,
            CommandKind::SetState | CommandKind::ClearState | CommandKind::ClearAllState
        );
        let is_about_state = writes
            || matches!(completion, Completion::State(_))
            || matches!(act, Some(FenceAct::ObjectPromise { .. }));
        let Some(state) = &mut self.state else {
            return match is_about_state {
                true => Err(Stop::Contract(
                    "a function of no object has no state, and no promises of an object".to_owned(),
                )),
                false => Ok(()),
            };
        };
        match (completion, act) {
            (Completion::State(read), _) if reads => state.read(index, read),
            (Completion::Record, Some(FenceAct::State(write))) if live => {
                state.wrote(write);
                self.is_overtaken |= self.open.has_state_reads();
            }
            (_, Some(FenceAct::ObjectPromise { settles: Some(_), .. })) if live => {
                self.is_overtaken |= self.open.has_state_reads();
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, outcome: Outcome) -> Result<Answer, Stop> {
        let ending = match &mut self.cursor {
            // A replay for a report compares the whole outcome.
            Some(cursor) => cursor.finish(&journals::stored(&outcome, !self.read_only)),
            None => Ok(Ending::Live),
        };
        match ending {
            Err(error) => return Err(self.stopped(error)),
            Ok(Ending::Recorded) => {}
            Ok(Ending::Live) => border::result(&outcome)?,
        }
        self.finished = Some(outcome);
        Ok(Answer::Done)
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

    fn now(&self) -> Answer {
        Answer::Now(u64::try_from(self.at.0).unwrap_or(0))
    }

    /// The answer to a request after the end of the invocation: the request has no effect.
    fn ignored(&self, ask: &Ask) -> Answer {
        match ask {
            Ask::Command(command) => commands::rules(command).answer(u32::MAX, None, false),
            Ask::Now => self.now(),
            Ask::Log { .. } | Ask::Forget { .. } | Ask::RunDone { .. } | Ask::Finish { .. } => {
                Answer::Done
            }
        }
    }
}
