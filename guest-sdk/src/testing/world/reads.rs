//! Workflows that read streams.

use super::{TestWorld, failure};
use crate::{
    bindings::segno::workflow::types as wit,
    error::Error,
    payload::{self, Payload},
    testing::{
        recorder::lock,
        streams::{StreamRead, StreamReadInput, first_generation},
    },
};

impl TestWorld<'_> {
    /// Answers a read, or keeps it until there is data.
    pub(super) fn read_stream(&mut self, id: &str, command: u32, input: &Payload) {
        match payload::decode("the input of `segno:stream`", input) {
            Ok(query) => self.reads.push(StreamRead { reader: (id.to_owned(), command), query }),
            Err(error) => return self.answer(self.now_ms, id, command, failure(error)),
        }
        self.serve_reads();
    }

    /// Answers the reads that have data, or whose stream is at its end.
    pub(super) fn serve_reads(&mut self) {
        for read in std::mem::take(&mut self.reads) {
            match self.outcome_of(&read.query) {
                Some(outcome) => {
                    let (id, command) = &read.reader;
                    self.answer(self.now_ms, id, *command, outcome);
                }
                None => self.reads.push(read),
            }
        }
    }

    fn outcome_of(&self, query: &StreamReadInput) -> Option<wit::Outcome> {
        let StreamReadInput { invocation, stream, position } = query;
        let owner = first_generation(invocation);
        let ended = self.invocations.get(&self.newest(owner)).map(|it| it.outcome.is_some());
        let missing = |what: String| Some(failure(Error::terminal(Error::NOT_FOUND, what)));
        let is_expected = self.due.values().any(|action| action.begins(owner));
        if ended.is_none() && !is_expected {
            if let Some((_, path)) = invocation.split_once('/').filter(|_| invocation.contains('@'))
            {
                let streams = &self.scenario.object_streams;
                let of_other =
                    || streams.part(&format!("wasm://{invocation}"), stream, *position, false);
                let part = streams.part(path, stream, *position, false).or_else(of_other);
                let (part, _) = part.filter(|(_, is_ready)| *is_ready)?;
                return Some(wit::Outcome::Success(Payload::Json(part.to_string())));
            }
            return missing(format!("there is no invocation `{owner}`"));
        }
        let ended = ended.unwrap_or_default();
        let common = lock(&self.common);
        match common.streams.part(owner, stream, *position, ended) {
            None if ended => missing(format!("`{owner}` has no stream `{stream}`")),
            None => None,
            Some((part, is_ready)) => {
                let part = Payload::Json(part.to_string());
                is_ready.then_some(wit::Outcome::Success(part))
            }
        }
    }
}
