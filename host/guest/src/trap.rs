//! Why a call ended early, in words for the author of the guest.

use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};

use super::{GuestError, Stop, budget::Budget};

/// Part of wasmtime's message for a call by the guest that makes the host allocate too much; it has no type.
const CROSSED_TOO_MUCH: &str = "fuel allocated for hostcalls has been exhausted";

/// What a host function ends a call with.
#[derive(Debug, thiserror::Error)]
pub(super) enum Halt {
    /// The journal said so.
    #[error("{0}")]
    Stopped(Stop),
    /// Too many epochs.
    #[error("more than {limit_ms} ms of CPU time in one call")]
    OutOfTime { limit_ms: u64 },
    /// A payload above the limit.
    #[error("the guest's {what} has {size} bytes; the limit is {limit}")]
    OutputTooLarge { what: String, size: usize, limit: usize },
    /// The machine is short of memory, and not the guest.
    #[error("the host is out of memory for wasm instances: {0}")]
    HostMemory(String),
    /// As many compute as may.
    #[error("{limit} calls compute for long already")]
    Crowded { limit: u32 },
    /// An import that is not for this kind of function, or not allowed; says what to use instead.
    #[error("{0}")]
    Refused(String),
}

/// Turns what wasmtime answered into what the worker acts on.
pub(super) fn explain(error: &wasmtime::Error, budget: &Budget) -> GuestError {
    let backtrace = || error.downcast_ref::<WasmBacktrace>().and_then(readable);
    match error.downcast_ref::<Halt>() {
        Some(Halt::Stopped(stop)) => {
            return GuestError::Stopped { stop: stop.clone(), backtrace: backtrace() };
        }
        Some(Halt::OutOfTime { limit_ms }) => {
            return GuestError::OutOfTime { limit_ms: *limit_ms, backtrace: backtrace() };
        }
        Some(Halt::OutputTooLarge { what, size, limit }) => {
            return GuestError::OutputTooLarge { what: what.clone(), size: *size, limit: *limit };
        }
        Some(Halt::Refused(message)) => {
            return GuestError::Trap { message: message.clone(), backtrace: backtrace() };
        }
        Some(Halt::Crowded { limit }) => return GuestError::Crowded { limit: *limit },
        Some(halt @ Halt::HostMemory(_)) => return GuestError::Host(halt.to_string()),
        None => {}
    }
    // Whatever the pool lacks, a guest that comes at another time gets it.
    if let Some(full) = error.downcast_ref::<PoolConcurrencyLimitError>() {
        return GuestError::Host(format!("there is no room for an instance just now: {full}"));
    }
    let mut message = if let Some(trap) = error.downcast_ref::<Trap>() {
        in_words(*trap, budget)
    } else if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        format!("it called `exit` with status {}; a function ends by returning", exit.0)
    } else {
        // Without the backtrace, which wasmtime puts in front as the error's context.
        match error.root_cause().to_string() {
            cause if cause.contains(CROSSED_TOO_MUCH) => format!(
                "it handed too much to the host in one call: the limit is {} bytes (`limits.output_bytes`)",
                budget.limits().output_bytes
            ),
            cause => cause,
        }
    };
    if let Some(bytes) = budget.refused_bytes() {
        let limit = budget.limits().memory_bytes;
        message.push_str(&format!(
            "; before that, its memory was refused to grow to {bytes} bytes: the limit is {limit} (`limits.memory_bytes`)"
        ));
    }
    GuestError::Trap { message, backtrace: backtrace() }
}

fn in_words(trap: Trap, budget: &Budget) -> String {
    match trap {
        Trap::StackOverflow => format!(
            "the stack overflowed its {} bytes (`limits.stack_bytes`): endless recursion, or very deep",
            budget.limits().stack_bytes
        ),
        // Compilers keep large values on a stack of their own in memory, which ends in memory that is not there.
        Trap::MemoryOutOfBounds => {
            "it reached beyond its memory: endless or very deep recursion, or unsafe code gone astray".into()
        }
        Trap::UnreachableCodeReached => "it panicked or aborted (`unreachable`)".into(),
        other => other.to_string(),
    }
}

/// wasmtime's own rendering, demangled, without its heading. The engine collects the innermost frames only.
fn readable(backtrace: &WasmBacktrace) -> Option<String> {
    if backtrace.frames().is_empty() {
        return None;
    }
    let text = backtrace.to_string();
    let frames: Vec<&str> = text.lines().skip(1).map(str::trim_end).collect();
    Some(frames.join("\n"))
}
