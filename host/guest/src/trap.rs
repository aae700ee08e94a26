//! The reason that a call ended early, for the author of the guest.

use wasmtime::{PoolConcurrencyLimitError, Trap, WasmBacktrace};

use super::{
    FunctionKind, GuestError, StopReason, backtrace::Backtrace, budget::ComputeBudget,
    panics::Panic,
};

/// A part of wasmtime's message for a call that makes the host allocate too much; the error has no
/// dedicated type.
const CROSSED_TOO_MUCH: &str = "fuel allocated for hostcalls has been exhausted";

/// The error with which a host function ends a call.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrapCause {
    #[error("{0}")]
    Stopped(StopReason),
    /// The call used more epochs than its limit.
    #[error("more than {limit_ms} ms of CPU time in one call")]
    OutOfTime { limit_ms: u64 },
    /// A payload exceeds the limit.
    #[error("the guest's {what} has {size} bytes; the limit is {limit}")]
    OutputTooLarge { what: String, size: usize, limit: usize },
    /// The machine is short of memory, not the guest.
    #[error("the host is out of memory for wasm instances: {0}")]
    HostMemory(String),
    /// The maximum number of long-computing calls is running already.
    #[error("{limit} calls compute for long already")]
    Crowded { limit: u32 },
    /// The import is not available to this kind of function, or not allowed; the message names an
    /// alternative.
    #[error("{0}")]
    Refused(String),
}

/// Refuses a value larger than `limit`.
pub(super) fn check_size(
    size: usize,
    limit: usize,
    what: impl FnOnce() -> String,
) -> wasmtime::Result<()> {
    if size > limit {
        return Err(TrapCause::OutputTooLarge { what: what(), size, limit }.into());
    }
    Ok(())
}

/// Converts wasmtime's error to one for the worker. `last_words` is the last standard error output
/// of the guest, a function of this kind.
pub(super) fn explain(
    error: &wasmtime::Error,
    budget: &ComputeBudget,
    kind: FunctionKind,
    last_words: String,
) -> GuestError {
    let backtrace = || {
        let backtrace = error.downcast_ref::<WasmBacktrace>().and_then(Backtrace::of);
        let own = budget.interpreter().map(|interpreter| interpreter.frames(&last_words));
        let own = own.unwrap_or_default();
        match backtrace {
            Some(backtrace) if !own.is_empty() => Some(Backtrace { own, ..backtrace }),
            backtrace => backtrace,
        }
    };
    if let Err(TrapCause::OutOfTime { limit_ms }) = budget.check_time() {
        return GuestError::OutOfTime { limit_ms, backtrace: backtrace() };
    }
    match error.downcast_ref::<TrapCause>() {
        Some(TrapCause::Stopped(stop)) => {
            return GuestError::Stopped { stop: stop.clone(), backtrace: backtrace() };
        }
        Some(TrapCause::OutOfTime { limit_ms }) => {
            return GuestError::OutOfTime { limit_ms: *limit_ms, backtrace: backtrace() };
        }
        Some(TrapCause::OutputTooLarge { what, size, limit }) => {
            return GuestError::OutputTooLarge { what: what.clone(), size: *size, limit: *limit };
        }
        Some(TrapCause::Refused(message)) => {
            let backtrace = backtrace();
            return GuestError::trap(message.clone(), last_words, backtrace);
        }
        Some(TrapCause::Crowded { limit }) => return GuestError::Crowded { limit: *limit },
        Some(halt @ TrapCause::HostMemory(_)) => return GuestError::Host(halt.to_string()),
        None => {}
    }
    // The pool is full for the moment; a retry finds places later.
    if let Some(full) = error.downcast_ref::<PoolConcurrencyLimitError>() {
        return GuestError::Host(format!("there is no room for an instance just now: {full}"));
    }
    let backtrace = backtrace();
    let aborted = error.downcast_ref::<Trap>() == Some(&Trap::UnreachableCodeReached);
    let panic = budget.log_room().panic().filter(|_| aborted);
    if let Some(panic) = panic.and_then(|line| Panic::read(&line, backtrace.as_ref(), kind)) {
        return GuestError::Panicked { panic, backtrace };
    }
    let mut message = if let Some(trap) = error.downcast_ref::<Trap>() {
        in_words(*trap, budget)
    } else if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        format!("it called `exit` with status {}; a function ends by returning", exit.0)
    } else {
        // Without the backtrace, which wasmtime adds as context of the error.
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
    GuestError::trap(message, last_words, backtrace)
}

fn in_words(trap: Trap, budget: &ComputeBudget) -> String {
    match trap {
        Trap::StackOverflow => format!(
            "the stack overflowed its {} bytes (`limits.stack_bytes`): endless recursion, or very deep",
            budget.limits().stack_bytes
        ),
        // Compilers keep large values on a separate stack in linear memory; its overflow causes an
        // out-of-bounds access.
        Trap::MemoryOutOfBounds => {
            "it reached beyond its memory: endless or very deep recursion, or unsafe code gone astray".into()
        }
        Trap::UnreachableCodeReached => "it panicked or aborted (`unreachable`)".into(),
        other => other.to_string(),
    }
}
