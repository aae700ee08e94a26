//! The streams of forks of executions.

use std::{cmp::Ordering, collections::BTreeSet};

use super::super::draft::DecisionDraft;
use crate::{
    fork::{Fork, ForkedStream},
    id::{PromiseId, StreamId},
    invocation::{CommandKind, RecordBody},
    stream::{StreamChunk, StreamClosure, WriterGeneration},
};

impl DecisionDraft<'_> {
    /// Gives a fork of an execution the streams of the original, with the data that the copied
    /// records and the activities completed in them appended. An activity that was open is executed
    /// again.
    pub(crate) fn fork_streams(&mut self, fork: &Fork) {
        let completed: BTreeSet<PromiseId> = fork.completed().collect();
        for forked in &fork.streams {
            let source = self.stream(&forked.id).filter(|source| !source.deleted);
            let Some(content_type) = source.map(|source| source.content_type.clone()) else {
                continue;
            };
            let name = forked.id.name();
            let mut stream =
                self.new_stream(StreamId::of_execution(&fork.new.id, name), content_type);
            let chunks: Vec<&StreamChunk> = self.view.stream_chunks(&forked.id).collect();
            let mut copied = CopiedItems::new(fork, forked, &completed, &chunks);
            let parts: Vec<_> = chunks.iter().filter_map(|chunk| copied.part(chunk)).collect();
            parts.into_iter().for_each(|part| self.extend_by_chunk(&mut stream, part));
            let closes = fork.records.iter().any(|record| match &record.body {
                RecordBody::Command { kind: CommandKind::CloseStream, name: closed, .. } => {
                    closed.as_str() == name
                }
                _ => false,
            });
            stream.closed = closes.then(StreamClosure::default);
            if stream.tail > 0 || closes {
                self.put_stream(stream);
            }
        }
    }
}

/// Decides which data of a stream a fork has.
struct CopiedItems<'f> {
    fork: &'f Fork,
    completed: &'f BTreeSet<PromiseId>,
    /// Number of the generation that is forked.
    generation: u32,
    /// Number of positions that copied records appended in a commit that is copied in part.
    partial: u64,
}

impl<'f> CopiedItems<'f> {
    fn new(
        fork: &'f Fork,
        stream: &ForkedStream,
        completed: &'f BTreeSet<PromiseId>,
        chunks: &[&StreamChunk],
    ) -> Self {
        let generation = WriterGeneration::of(stream.id.owner().as_ref(), &fork.of).number;
        let own = WriterGeneration { number: generation, is_workflow: true };
        // The length of a journal that data has is that after a commit. What a record appended is
        // in the first data with a greater length than the number of the record.
        let whole = chunks.iter().filter(|chunk| chunk.writer_generation() == own);
        let whole = whole.map(|chunk| chunk.records).filter(|length| *length <= fork.copied);
        let whole = whole.max().unwrap_or(0);
        let partial =
            stream.appends.iter().filter(|(record, _)| (whole..fork.copied).contains(record));
        Self { fork, completed, generation, partial: partial.map(|(_, count)| count).sum() }
    }

    /// The part of a piece of data that the fork has, as if the fork had appended it. Parts are
    /// asked for in order.
    fn part(&mut self, chunk: &StreamChunk) -> Option<StreamChunk> {
        let WriterGeneration { number, is_workflow } = chunk.writer_generation();
        let copied = self.fork.copied;
        match number.cmp(&self.generation) {
            Ordering::Less => Some(StreamChunk { writer: None, records: 0, ..chunk.clone() }),
            Ordering::Greater => None,
            Ordering::Equal if is_workflow && chunk.records <= copied => {
                Some(StreamChunk { writer: None, ..chunk.clone() })
            }
            Ordering::Equal if is_workflow => {
                let count = self.partial.min(chunk.count);
                self.partial -= count;
                let part = chunk.cut(chunk.position, chunk.position + count)?;
                Some(StreamChunk { writer: None, records: copied, ..part })
            }
            Ordering::Equal => {
                let writer =
                    chunk.writer.as_ref().filter(|writer| self.completed.contains(writer))?;
                let below = writer.as_str().strip_prefix(self.fork.of.as_str())?;
                let writer = Some(PromiseId::new(format!("{}{below}", self.fork.new.id)));
                Some(StreamChunk { writer, records: chunk.records.min(copied), ..chunk.clone() })
            }
        }
    }
}
