//! The place in the author's code at which an interpreter computes. Its wasm stack has no frame of
//! the author, so the place is read from its memory when a call ends early.
//!
//! [`cpython`] keeps its frames up to date, and describes their layout in its memory. [`quickjs`]
//! does not keep the position in the function that computes, so it is interrupted, which makes it
//! write its stack to standard error.

mod bytecode;
mod cpython;
mod memory;
mod quickjs;
mod source_lines;

use std::sync::Arc;

pub(super) use self::{memory::InstanceMemory, source_lines::SourceLines};
use super::BacktraceFrame;

/// The interpreter in one instance of a source module. Only the store of the instance uses it.
pub(super) struct Interpreter {
    memories: Vec<Arc<InstanceMemory>>,
    /// The table of a bundle. `None` for sources that are loaded as they are.
    lines: Option<Arc<SourceLines>>,
    /// The memory of the interrupted interpreter, and the address of the code that it executed.
    interrupted: Option<(Arc<InstanceMemory>, usize)>,
}

impl Interpreter {
    pub(super) fn new(memories: Vec<Arc<InstanceMemory>>, lines: Option<Arc<SourceLines>>) -> Self {
        Self { memories, lines, interrupted: None }
    }

    /// Makes the interpreter end its call soon, and tell its stack. Returns false if its memory has
    /// the stack, or if it is unknown how to interrupt it.
    pub(super) fn interrupt(&mut self) -> bool {
        let interrupted = self.memories.iter().find_map(|memory| {
            // SAFETY: the store of the instance calls this while the instance is suspended.
            let code = quickjs::interrupt(unsafe { memory.bytes_mut() })?;
            Some((Arc::clone(memory), code))
        });
        self.interrupted = interrupted;
        self.interrupted.is_some()
    }

    /// The frames of the author's code, the innermost first. Empty if they are unknown. `last_words`
    /// is the last output on standard error.
    pub(super) fn frames(&self, last_words: &str) -> Vec<BacktraceFrame> {
        if let Some(lines) = &self.lines {
            let (memory, code) = match &self.interrupted {
                // SAFETY: the store of the instance calls this after its call has ended.
                Some((memory, code)) => (unsafe { memory.bytes() }, *code),
                None => (&[][..], 0),
            };
            return quickjs::frames(last_words, lines, memory, code);
        }
        let frames = self.memories.iter().map(|memory| {
            // SAFETY: the store of the instance calls this after its call has ended.
            cpython::frames(unsafe { memory.bytes() })
        });
        frames.into_iter().find(|frames| !frames.is_empty()).unwrap_or_default()
    }
}
