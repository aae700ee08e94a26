//! Turns the external events of executions in a bundle into a script: activities and requests get
//! their recorded outcomes, and signals and promises are sent as recorded.

use std::collections::BTreeMap;

use segno_core::{
    address,
    id::{CommandIndex, PromiseId},
    invocation::{CommandKind, Outcome as Stored, RecordBody},
    promise::Promise,
    update,
};
use segno_engine::{
    bundles::BundleContents,
    values::{self, journals},
    worker::commands,
};
use segno_guest::Outcome;
use serde_json::Value as Json;

use crate::{
    outside::json_of,
    schedule::RelativeId,
    script::{ScriptedAnswer, ScriptedOutcome, ScriptedSend, VerifyScript},
};

/// The call of an execution and the world around it, from a bundle.
#[derive(Debug)]
pub struct RecordedExecution {
    pub function: String,
    pub input: Json,
    /// The external events in it and in its descendants.
    pub script: VerifyScript,
}

/// A recorded command.
struct RecordedCommand {
    kind: CommandKind,
    name: String,
    fields: Json,
}

/// Reads an execution of a bundle with its descendants. `None` if its journal is not in the bundle.
pub fn recorded(contents: &BundleContents, root: &PromiseId) -> Option<RecordedExecution> {
    let (_, records) = contents.execution(root)?;
    let RecordBody::Started { function, input, .. } = &records.first()?.body else { return None };
    let mut script = VerifyScript::default();
    for (promise, records) in contents.executions() {
        let Some(place) = place_below(root, promise.id()) else { continue };
        let journal = BundleJournal { contents, id: promise.id(), place };
        journal.read(records.iter().map(|record| &record.body), &mut script);
    }
    let input = json_of(&journals::guest_payload(input));
    Some(RecordedExecution { function: function.to_string(), input, script })
}

/// The place of an invocation relative to its ancestor; empty for the ancestor itself.
fn place_below(root: &PromiseId, id: &PromiseId) -> Option<String> {
    if id == root {
        return Some(String::new());
    }
    Some(id.as_str().strip_prefix(root.as_str())?.strip_prefix('/')?.to_owned())
}

/// One of the journals.
struct BundleJournal<'a> {
    contents: &'a BundleContents,
    id: &'a PromiseId,
    place: String,
}

impl BundleJournal<'_> {
    fn read<'r>(&self, records: impl Iterator<Item = &'r RecordBody>, script: &mut VerifyScript) {
        let mut asked: BTreeMap<CommandIndex, RecordedCommand> = BTreeMap::new();
        for record in records {
            match record {
                RecordBody::Command { index, kind, name, request } => {
                    let fields = commands::display(request);
                    asked.insert(
                        *index,
                        RecordedCommand { kind: *kind, name: name.to_string(), fields },
                    );
                }
                RecordBody::Notified { index, outcome } => {
                    let Some(asked) = asked.get(index) else { continue };
                    if let Some(outcome) = self.outcome(*index, asked, outcome) {
                        self.told(*index, asked, outcome, script);
                    }
                }
                // An update is answered by a separate promise, which nothing waits for here.
                RecordBody::Signal { name, payload } if !name.starts_with(update::SIGNAL) => {
                    let value = json_of(&journals::guest_payload(payload));
                    let signal = Some(name.to_string());
                    let (to, value) = (self.to(), Some(value));
                    script.sends.push(ScriptedSend {
                        signal,
                        to,
                        value,
                        ..ScriptedSend::default()
                    });
                }
                _ => {}
            }
        }
    }

    fn told(
        &self,
        index: CommandIndex,
        asked: &RecordedCommand,
        outcome: Outcome,
        script: &mut VerifyScript,
    ) {
        match asked.kind {
            CommandKind::Call | CommandKind::Http => {
                let of = |field: &str| asked.fields.get(field).cloned();
                let is_http = asked.kind == CommandKind::Http;
                let http = is_http.then(|| asked.name.clone());
                let function = (!is_http).then(|| address::function_of(&asked.name).into_owned());
                // A long input is kept as a digest only, and so matches every input.
                let is_kept = |input: &Json| input.get("sha256").is_none();
                let input = of(if is_http { "body" } else { "input" }).filter(is_kept);
                let recorded = Some(outcome);
                let outcomes = vec![ScriptedOutcome { recorded, ..ScriptedOutcome::default() }];
                let recorded_at = Some(self.place_of(index));
                script.answers.push(ScriptedAnswer {
                    function,
                    http,
                    input,
                    recorded_at,
                    outcomes,
                });
            }
            CommandKind::Promise => {
                let promise = Some(match asked.name.as_str() {
                    "" => format!("/{index}"),
                    name => name.to_owned(),
                });
                let (value, fails, message) = match outcome {
                    Outcome::Success(value) => (Some(json_of(&value)), None, None),
                    // No sender settled it: its deadline passed.
                    Outcome::Failure(failure) if is_the_engines(failure.code) => return,
                    Outcome::Failure(failure) => (None, Some(failure.code), Some(failure.message)),
                };
                let to = self.to();
                script.sends.push(ScriptedSend {
                    promise,
                    to,
                    value,
                    fails,
                    message,
                    signal: None,
                });
            }
            _ => {}
        }
    }

    fn outcome(
        &self,
        index: CommandIndex,
        asked: &RecordedCommand,
        stored: &Stored,
    ) -> Option<Outcome> {
        match stored {
            Stored::Inline(result) => Some(journals::recorded(result)),
            Stored::Own => {
                let own = match asked.kind {
                    CommandKind::Promise => self.id.named(&asked.name),
                    _ => self.id.command(index),
                };
                let of = |id: &PromiseId| self.contents.execution(id).map(|(promise, _)| promise);
                let promise: &Promise = of(&own).or_else(|| of(&self.id.command(index)))?;
                values::told(promise)
            }
        }
    }

    fn place_of(&self, index: CommandIndex) -> RelativeId {
        RelativeId(match self.place.as_str() {
            "" => index.0.to_string(),
            place => format!("{place}/{index}"),
        })
    }

    fn to(&self) -> Option<String> {
        Some(self.place.clone()).filter(|place| !place.is_empty())
    }
}

/// Returns true if the engine settles promises with this code, not a sender.
fn is_the_engines(code: u32) -> bool {
    matches!(code, values::code::TIMED_OUT | values::code::CANCELLED)
}
