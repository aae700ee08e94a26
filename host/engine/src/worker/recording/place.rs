//! The state of a recorder at the end of the matched records, as data. Another recorder continues
//! from it without the records.

use std::collections::BTreeMap;

use segno_core::{
    id::PromiseId,
    invocation::{CommandKind, Outline},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{OpenCommand, Recorder};
use crate::worker::commands::{CompletionEvent, InvocationFacts};

/// The serialisable state of a recorder at the end of its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecorderPosition {
    outline: Outline,
    at: Timestamp,
    lines: u32,
    waiting: Vec<WaitingCommand>,
    named: BTreeMap<u32, PromiseId>,
}

/// An open command whose action has been executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct WaitingCommand {
    index: u32,
    kind: CommandKind,
    completion: CompletionEvent,
}

impl RecorderPosition {
    /// The outline of the records up to this place.
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// The promises that complete the open commands. `None` if one of them is completed by an event
    /// that does not survive a suspension.
    pub fn promises(&self) -> Option<Vec<PromiseId>> {
        self.waiting.iter().map(|waiting| waiting.completion.promise().cloned()).collect()
    }
}

impl Recorder {
    /// The place of the recorder. `None` unless it is exactly at the end of the journal of this
    /// outline.
    pub fn place(&self, outline: Outline) -> Option<RecorderPosition> {
        let is_settled = self.is_at(outline.head())
            && self.batch.records.is_empty()
            && self.batch.actions.is_empty()
            && self.results.is_empty();
        let waiting = |(index, open): (u32, &OpenCommand)| WaitingCommand {
            index,
            kind: open.kind,
            completion: open.completion.clone(),
        };
        is_settled.then(|| RecorderPosition {
            outline,
            at: self.at,
            lines: self.lines,
            waiting: self.open.entries().map(waiting).collect(),
            named: self.named.clone(),
        })
    }

    /// True if the guest did not replay the whole journal.
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// A recorder at this place, which then [continues](Recorder::go_on). `read_only`: for a
    /// report.
    pub fn resumed_at(identity: InvocationFacts, place: RecorderPosition, read_only: bool) -> Self {
        let RecorderPosition { outline, at, lines, waiting, named } = place;
        let mut recorder = Self::at(identity, None, at, read_only);
        let head = outline.head();
        (recorder.seq, recorder.commands) = (head.len, head.commands);
        (recorder.lines, recorder.named) = (lines, named);
        recorder.is_resumed = true;
        for WaitingCommand { index, kind, completion } in waiting {
            recorder.open.add(index, OpenCommand { kind, completion, act: None, misnamed: None });
        }
        recorder
    }
}
