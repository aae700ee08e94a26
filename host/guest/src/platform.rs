//! Features of Rust's standard library that a component (`wasm32-unknown-unknown`) lacks,
//! recognised by their panic messages, with alternatives. For components that import WASI,
//! `imports.rs` has the same advice.

use super::FunctionKind;

/// A fragment of a panic message, and the advice for a workflow and for an activity.
struct MissingFeature {
    message: &'static str,
    workflow: &'static str,
    activity: &'static str,
}

const NO_THREADS: &str = "a component has one thread: use `segno::join` and `segno::select` to wait for several things, or calls to do them at the same time";
const NO_THREADS_IN_ACTIVITY: &str =
    "a component has one thread: let the workflow call several activities at the same time";
const NO_PROCESS: &str = "a component is not a process: return from the function to end it";
const NO_ENVIRONMENT: &str =
    "a workflow has no environment: put the value into its input, or read it in an activity";
const NO_ENVIRONMENT_IN_ACTIVITY: &str =
    "use `ctx.env`, or `ctx.secret`; the operator sets both in policy.toml";

/// In order: the first match wins.
const LACKS: [MissingFeature; 11] = [
    MissingFeature {
        message: "time not implemented on this platform",
        workflow: "use `ctx.now()`, which a replay repeats, in place of `SystemTime` and `Instant`",
        activity: "use `ctx.started_at()` in place of `SystemTime` and `Instant`",
    },
    MissingFeature {
        message: "can't sleep",
        workflow: "use `ctx.sleep(…).await`, which outlives the host, in place of `thread::sleep`",
        activity: "return an error to be tried again later by the retry policy, or sleep in the workflow, with `ctx.sleep`",
    },
    MissingFeature {
        message: "failed to spawn thread",
        workflow: NO_THREADS,
        activity: NO_THREADS_IN_ACTIVITY,
    },
    MissingFeature {
        message: "condvar wait not supported",
        workflow: NO_THREADS,
        activity: NO_THREADS_IN_ACTIVITY,
    },
    MissingFeature {
        message: "this target does not support random data generation",
        workflow: "use `ctx.random()`, which a replay repeats",
        activity: "draw the number in the workflow, with `ctx.random()`, and put it into the input",
    },
    MissingFeature {
        message: "no pids on this platform",
        workflow: NO_PROCESS,
        activity: NO_PROCESS,
    },
    MissingFeature {
        message: "no filesystem on this platform",
        workflow: "a workflow has no files: read and write them in an activity, by `ctx.files()`",
        activity: "use `ctx.files()`; the operator allows directories in policy.toml (`dirs`)",
    },
    // `std::env::vars`, and `set_var` with its reason.
    MissingFeature {
        message: "cannot set env vars on this platform",
        workflow: NO_ENVIRONMENT,
        activity: NO_ENVIRONMENT_IN_ACTIVITY,
    },
    // `std::env::var(…).unwrap()`.
    MissingFeature {
        message: "on an `Err` value: NotPresent",
        workflow: NO_ENVIRONMENT,
        activity: NO_ENVIRONMENT_IN_ACTIVITY,
    },
    // The `unwrap` of a result of `std::fs`, `std::net`, `std::process` and others.
    MissingFeature {
        message: "operation not supported on this platform",
        workflow: "a workflow has no files, sockets, processes and threads: use `ctx.http`, or call an activity",
        activity: "a component has no files, sockets, processes and threads of its own: use `ctx.files()` and `ctx.http`, as far as policy.toml allows it",
    },
    MissingFeature {
        message: "not supported on this platform",
        workflow: NO_ENVIRONMENT,
        activity: NO_ENVIRONMENT_IN_ACTIVITY,
    },
];

/// The alternative to suggest, if a panic with this message in a function of this kind reports a
/// missing feature.
pub(super) fn hint(message: &str, kind: FunctionKind) -> Option<&'static str> {
    let lack = LACKS.iter().find(|lack| message.contains(lack.message))?;
    Some(match kind {
        FunctionKind::Workflow => lack.workflow,
        FunctionKind::Activity => lack.activity,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_of_the_standard_library_are_told_apart() {
        let spawn = "failed to spawn thread: Error { kind: Unsupported, message: \"operation not supported on this platform\" }";
        let open = "called `Result::unwrap()` on an `Err` value: Error { kind: Unsupported, message: \"operation not supported on this platform\" }";
        for (message, word) in [
            ("time not implemented on this platform", "`ctx.now()`"),
            ("can't sleep", "`ctx.sleep(…).await`"),
            (spawn, "one thread"),
            (open, "`ctx.http`"),
            ("called `Result::unwrap()` on an `Err` value: NotPresent", "environment"),
            ("not supported on this platform", "environment"),
        ] {
            let hint = hint(message, FunctionKind::Workflow).expect(message);
            assert!(hint.contains(word), "{message}: {hint}");
        }
        assert_eq!(hint("a must be over 100", FunctionKind::Workflow), None);
        let hint = hint("time not implemented on this platform", FunctionKind::Activity);
        assert!(hint.is_some_and(|hint| hint.contains("`ctx.started_at()`")), "{hint:?}");
    }
}
