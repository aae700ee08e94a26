//! The stack of QuickJS, as componentize-qjs 0.4 has it (quickjs-ng 0.16).
//!
//! Nothing in the memory names its `JSRuntime`. It is found by its lists, each of which begins with
//! the addresses of its first and last link, and which lead back:
//!
//! ```text
//! offset   field of JSRuntime, from `context_list` on
//!      0   context_list: {next, prev}
//!      8   gc_obj_list: {next, prev}
//!     16   gc_zero_ref_count_list: {next, prev}, empty except for moments
//!     64   current_stack_frame
//!     68   interrupt_handler, which is null
//!     72   interrupt_opaque
//!     96   job_list: {next, prev}
//! ```
//!
//! An interrupt handler that does not return 0 makes QuickJS throw an error that no code can catch.
//! The function that allocates memory is one: it is called with the opaque value as the size, and
//! returns an address. A runtime with other offsets is not found, and its calls end without a line.

use super::{bytecode::interrupted_loop, memory::Words, source_lines::SourceLines};
use crate::{
    BacktraceFrame,
    backtrace::{FRAMES, NAME_BYTES},
    command_place::{StackLine, stack_line},
    text::cut,
};

/// Offsets in `JSRuntime`, from the list of contexts on.
const OBJECTS: usize = 8;
const WITHOUT_REFERENCE: usize = 16;
const FRAME: usize = 64;
const HANDLER: usize = 68;
const OPAQUE: usize = 72;
const JOBS: usize = 96;
/// Maximum distance of the list of contexts from the start of `JSRuntime`.
const CONTEXTS_MAX: usize = 1 << 10;
/// Offset of `js_malloc` in `JSRuntime`, and number of its functions for memory.
const MALLOC: usize = 4;
const FUNCTIONS: usize = 5;
/// Offsets in `JSContext`: its runtime, and its link in the list of contexts.
const RUNTIME: usize = 8;
const LINK: usize = 12;
/// The part of `JSContext` that has the interrupt counter, before the list of loaded modules.
const COUNTER: std::ops::Range<usize> = 128..512;
/// Maximum of the interrupt counter.
const COUNTER_MAX: u32 = 10_000;
/// Number of bytes that the interrupt handler allocates.
const ALLOCATED: u32 = 16;

/// Offset in `JSStackFrame` of its function, and in `JSObject` of the code of a function.
const FUNCTION: usize = 8;
const CODE: usize = 24;
/// The beginning of a frame in a stack.
const AT: &str = "    at ";

/// Makes QuickJS throw an error that has its stack and cannot be caught. Returns the address of the
/// code that is executed, or 0 if it is not known. `None` if QuickJS is not found in this memory.
pub(super) fn interrupt(memory: &mut [u8]) -> Option<usize> {
    let contexts = contexts(memory)?;
    let is_free = [HANDLER, OPAQUE].iter().all(|at| memory.u32_at(contexts + at) == Some(0));
    let malloc = context(memory, contexts)
        .and_then(|context| memory.pointer_at(context + RUNTIME))
        .and_then(|runtime| memory.u32_at(runtime + MALLOC));
    let malloc = malloc.filter(|_| is_free)?;
    let frame = memory.pointer_at(contexts + FRAME);
    let function = frame.and_then(|frame| memory.pointer_at(frame + FUNCTION));
    let code = function.and_then(|function| memory.pointer_at(function + CODE));
    // A function of QuickJS itself has its context there. A regular expression counts for itself,
    // and the next call would be interrupted, which asks for the stack.
    let code = code.filter(|code| Some(*code) != context(memory, contexts));
    if let Some(counter) = counter(memory, contexts) {
        write(memory, counter, if code.is_some() { 1 } else { COUNTER_MAX });
    }
    write(memory, contexts + OPAQUE, ALLOCATED);
    write(memory, contexts + HANDLER, malloc);
    Some(code.unwrap_or(0))
}

/// The frames of the author's code in the message with which componentize-qjs ends the call. It has
/// the stack of the error in the notation of Rust:
///
/// ```text
/// Failed to call 'start': Exception(Exception { …, stack: Some("    at price (<input>:12:3)\n") })
/// ```
///
/// `code` is the address of the code that was executed.
pub(super) fn frames(
    last_words: &str,
    lines: &SourceLines,
    memory: &[u8],
    code: usize,
) -> Vec<BacktraceFrame> {
    let frames = last_words.split(AT).skip(1).enumerate().filter_map(|(n, frame)| {
        let frame = frame.split("\\n").next()?;
        let frame = format!("at {frame}");
        let StackLine { function, line, column, .. } = stack_line(&frame)?;
        let told = (line, column?);
        let of_loop = if n == 0 { interrupted_loop(memory, code, told) } else { None };
        let (line, column) = of_loop.unwrap_or(told);
        let (file, line) = lines.source(line, column)?;
        let function = if function == "<anonymous>" { "" } else { function };
        Some(BacktraceFrame {
            function: cut(function.to_owned(), NAME_BYTES),
            file: Some(file.to_owned()),
            line: Some(line),
            column: None,
        })
    });
    let is_own = |frame: &BacktraceFrame| {
        frame.file.as_ref().is_some_and(|file| !file.contains("node_modules/"))
    };
    frames.filter(is_own).take(FRAMES).collect()
}

/// The address of the list of contexts.
fn contexts(memory: &[u8]) -> Option<usize> {
    let places = (0..memory.len().saturating_sub(JOBS)).step_by(size_of::<u32>());
    let mut lists = places.filter(|at| {
        memory.u32_at(at + WITHOUT_REFERENCE).map(|next| next as usize)
            == Some(at + WITHOUT_REFERENCE)
    });
    lists.find(|at| {
        let lead_back =
            [0, OBJECTS, WITHOUT_REFERENCE, JOBS].iter().all(|list| is_list(memory, at + list));
        lead_back && is_runtime(memory, *at).unwrap_or(false)
    })
}

/// True if the first context of the list at `contexts` is one of a runtime which has that list.
fn is_runtime(memory: &[u8], contexts: usize) -> Option<bool> {
    let runtime = memory.pointer_at(context(memory, contexts)? + RUNTIME)?;
    let is_near = contexts.checked_sub(runtime).is_some_and(|distance| distance < CONTEXTS_MAX);
    let functions = (0..FUNCTIONS).map(|n| memory.pointer_at(runtime + n * size_of::<u32>()));
    Some(is_near && functions.into_iter().all(|function| function.is_some()))
}

/// The address of the first context of a list.
fn context(memory: &[u8], contexts: usize) -> Option<usize> {
    memory.pointer_at(contexts)?.checked_sub(LINK).filter(|context| context + LINK != contexts)
}

/// The address of the counter of the first context: the interrupt handler is called when it is 0.
fn counter(memory: &[u8], contexts: usize) -> Option<usize> {
    let context = context(memory, contexts)?;
    let mut places = COUNTER.step_by(size_of::<u32>()).map(|offset| context + offset);
    places.find(|at| {
        let counts = memory.u32_at(*at).is_some_and(|count| (1..=COUNTER_MAX).contains(&count));
        counts && is_list(memory, at + size_of::<u32>())
    })
}

/// True if the list at this address leads back to it, in both directions.
fn is_list(memory: &[u8], list: usize) -> bool {
    let leads_back = |link: usize, back: usize| {
        let link = memory.pointer_at(list + link)?;
        memory.u32_at(link + back).map(|address| address as usize == list)
    };
    leads_back(0, 4) == Some(true) && leads_back(4, 0) == Some(true)
}

fn write(memory: &mut [u8], at: usize, word: u32) {
    if let Some(place) = memory.get_mut(at..at + size_of::<u32>()) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: usize = 256;
    const CONTEXTS: usize = START + 300;
    const CONTEXT: usize = 1 << 10;
    const MODULES: usize = CONTEXT + 280;

    /// A memory with a `JSRuntime` that has one context.
    fn memory() -> Vec<u8> {
        let mut memory = vec![0; 8 << 10];
        for n in 0..FUNCTIONS {
            write(&mut memory, START + n * 4, 40 + n as u32);
        }
        let empty = [CONTEXTS + OBJECTS, CONTEXTS + WITHOUT_REFERENCE, CONTEXTS + JOBS, MODULES];
        for list in empty {
            write(&mut memory, list, list as u32);
            write(&mut memory, list + 4, list as u32);
        }
        for (from, to) in [(CONTEXTS, CONTEXT + LINK), (CONTEXT + LINK, CONTEXTS)] {
            write(&mut memory, from, to as u32);
            write(&mut memory, from + 4, to as u32);
        }
        write(&mut memory, CONTEXT + RUNTIME, START as u32);
        write(&mut memory, MODULES - 4, 9_000);
        memory
    }

    #[test]
    fn the_handler_is_the_function_that_allocates_and_is_called_at_the_next_jump() {
        for (code, told, count) in [(3_000, 3_000, 1), (CONTEXT, 0, COUNTER_MAX)] {
            let (mut memory, frame, function) = (memory(), 2_048, 2_304);
            for (at, to) in
                [(CONTEXTS + FRAME, frame), (frame + FUNCTION, function), (function + CODE, code)]
            {
                write(&mut memory, at, to as u32);
            }
            assert_eq!(interrupt(&mut memory), Some(told));
            assert_eq!(memory.u32_at(MODULES - 4), Some(count));
        }
        let mut memory = memory();
        assert_eq!(interrupt(&mut memory), Some(0));
        let word = |at: usize| memory.u32_at(at);
        assert_eq!(word(CONTEXTS + HANDLER), Some(41));
        assert_eq!(word(CONTEXTS + OPAQUE), Some(ALLOCATED));
        assert_eq!(interrupt(&mut memory), None, "there is a handler");
    }

    #[test]
    fn a_memory_that_differs_anywhere_is_left_alone() {
        let places = [0, 4, OBJECTS, WITHOUT_REFERENCE, JOBS, JOBS + 4, HANDLER, OPAQUE];
        let places = places.map(|at| CONTEXTS + at);
        for at in places.into_iter().chain([CONTEXT + RUNTIME, START, START + MALLOC]) {
            let mut memory = memory();
            let other = if memory.u32_at(at) == Some(0) { 5 } else { 0 };
            write(&mut memory, at, other);
            let before = memory.clone();
            assert_eq!(interrupt(&mut memory), None, "at {at}");
            assert!(memory == before, "at {at}");
        }
    }

    #[test]
    fn the_stack_in_the_last_words_leads_to_the_sources() {
        let stack = "    at test (native)\n    at price (<input>:2:9)\n    at <anonymous> (<input>:3:1)\n    at of (<input>:4:1)\n    at start (<input>:90:1)\n";
        let told = format!(
            "panicked at runtime.rs:51:\nFailed to call 'start': Exception(Exception {{ message: Some(\"interrupted\"), stack: Some({stack:?}) }})"
        );
        let lines = br#"globalThis.segnoLines = {"sources":["a.ts","node_modules/b/b.js"],"packed":"\n0,0,12\n0,0,30\n0,1,4"};"#;
        let lines = SourceLines::of(lines).expect("it has a table");
        let frame = |function: &str, line| BacktraceFrame {
            function: function.to_owned(),
            file: Some("a.ts".to_owned()),
            line: Some(line),
            column: None,
        };
        assert_eq!(frames(&told, &lines, &[], 0), [frame("price", 12), frame("", 30)]);
        assert_eq!(frames("panicked at runtime.rs:51:\nno stack", &lines, &[], 0), []);
    }
}
