//! The table of problems: the stable code and title of each kind, by status.

use axum::http::StatusCode;

/// A kind of problem. Clients depend on its code.
#[derive(Clone, Copy, Debug)]
pub struct ProblemKind {
    pub status: StatusCode,
    /// The stable code, in kebab case.
    pub code: &'static str,
    pub title: &'static str,
}

impl ProblemKind {
    /// A refusal of the engine, which has its own codes.
    pub fn of_engine(status: StatusCode, code: &'static str) -> Self {
        Self { status, code, title: "Refused" }
    }
}

/// The problems with one status, as the OpenAPI document lists them.
pub(crate) struct ProblemGroup {
    pub status: StatusCode,
    /// The description, with `{}` for a code. The last `{}` is for all remaining codes.
    pub text: &'static str,
    pub codes: &'static [&'static str],
}

/// Rows without a name are problems of the engine, whose kinds have their status and code. Rows
/// under `again` have a code that the document lists already.
macro_rules! problem_kinds {
    ($($status:ident $text:literal {
        $($name:tt $code:literal $title:literal;)*
    } again {
        $($other:ident $other_code:literal $other_title:literal;)*
    })*) => {
        $(
            $(pub(crate) const $name: ProblemKind =
                ProblemKind { status: StatusCode::$status, code: $code, title: $title };)*
            $(pub(crate) const $other: ProblemKind = ProblemKind {
                status: StatusCode::$status, code: $other_code, title: $other_title
            };)*
        )*

        /// All groups, by status.
        pub(crate) const PROBLEM_GROUPS: &[ProblemGroup] = &[$(ProblemGroup {
            status: StatusCode::$status, text: $text, codes: &[$($code),*]
        }),*];
    };
}

problem_kinds! {
    BAD_REQUEST "The request cannot be read: {}." {
        INVALID_JSON           "invalid-json"           "Invalid JSON";
        INVALID_QUERY          "invalid-query"          "Invalid query";
        INVALID_PATH           "invalid-path"           "Invalid path";
        INVALID_FIELD          "invalid-field"          "Invalid field";
        INVALID_ID             "invalid-id"             "Invalid id";
        INVALID_HEADER         "invalid-header"         "Invalid header";
        INVALID_BODY           "invalid-body"           "Invalid body";
        _                      "beyond-the-end"         "Refused";
        INVALID_TARGET         "invalid-target"         "Invalid target";
        BROKEN_BODY            "broken-body"            "Body not read";
        _                      "bad-request"            "Refused";
    } again {
        INVALID_FILTER         "invalid-query"          "Store unavailable";
        GIVEN_TWICE            "invalid-field"          "Refused";
    }
    UNAUTHORIZED "{}: this host requires a token." {
        UNAUTHORIZED           "unauthorized"           "Token needed";
    } again {}
    FORBIDDEN "The request is for another host or from a page of another site: {}, {}; it lacks \
               the header of its session: {}; or the token does not allow it: {}; or \
               a later epoch of its producer appends to the stream: {}." {
        FOREIGN_HOST           "foreign-host"           "Foreign host";
        FOREIGN_ORIGIN         "foreign-origin"         "Foreign origin";
        MISSING_CSRF           "missing-csrf"           "CSRF header needed";
        NOT_ALLOWED            "not-allowed"            "Not allowed by the token";
        _                      "stale-epoch"            "Refused";
    } again {}
    NOT_FOUND "{}." {
        UNKNOWN_ROUTE          "unknown-route"          "No such route";
        UNKNOWN_MODULE         "unknown-module"         "Unknown module";
        UNKNOWN_FUNCTION       "unknown-function"       "Unknown function";
        UNKNOWN_INVOCATION     "unknown-invocation"     "Unknown invocation";
        UNKNOWN_PROMISE        "unknown-promise"        "Unknown promise";
        UNKNOWN_TASK           "unknown-task"           "Unknown task";
        UNKNOWN_SCHEDULE       "unknown-schedule"       "Unknown schedule";
        UNKNOWN_RESOURCE       "unknown-resource"       "Unknown resource";
        UNKNOWN_STREAM         "unknown-stream"         "Unknown stream";
        UNKNOWN_BLOB           "unknown-blob"           "Unknown blob";
        UNKNOWN_QUERY          "unknown-query"          "Unknown query";
        UNKNOWN_UPDATE         "unknown-update"         "Unknown update";
    } again {
        NO_TASK                "unknown-task"           "No task";
    }
    METHOD_NOT_ALLOWED "{}." {
        METHOD_NOT_ALLOWED     "method-not-allowed"     "Method not allowed";
        _                      "stream-of-execution"    "Refused";
    } again {}
    REQUEST_TIMEOUT "{}." {
        BODY_TOO_SLOW          "body-too-slow"          "Body too slow";
    } again {}
    CONFLICT "The object's state does not allow the operation: {}." {
        ALREADY_SETTLED        "already-settled"        "Already settled";
        WRONG_STATE            "wrong-state"            "Wrong state";
        IS_AN_INVOCATION       "is-an-invocation"       "Not settled from outside";
        ID_TAKEN               "id-taken"               "Refused";
        NO_JOURNAL             "no-journal"             "Refused";
        JOURNAL_DAMAGED        "journal-damaged"        "Refused";
        _                      "resource-busy"          "Refused";
        _                      "object-busy"            "Refused";
        _                      "ran-already"            "Refused";
        _                      "stale-token"            "Refused";
        NOT_A_GRAPH_RUN        "not-a-graph-run"        "Refused";
        IS_A_GRAPH_RUN         "is-a-graph-run"         "Refused";
        ALREADY_SENT           "already-sent"           "Refused";
        NO_HANDLERS            "no-handlers"            "Refused";
        _                      "journal-grew"           "Refused";
        _                      "alias-moved"            "Refused";
        _                      "schedule-overlaps"      "Refused";
        NO_SUCH_RECORD         "no-such-record"         "Refused";
        NO_SUCH_COMMAND        "no-such-command"        "Refused";
        NO_FORK_THERE          "no-fork-there"          "Refused";
        DIVERGES               "diverges"               "Refused";
        _                      "key-reused"             "Refused";
        _                      "stale-version"          "Refused";
        _                      "not-holder"             "Refused";
        _                      "stream-closed"          "Refused";
        _                      "stream-content-type"    "Refused";
        _                      "stream-differs"         "Refused";
        _                      "stream-sequence"        "Refused";
        _                      "sequence-gap"           "Refused";
        NO_MODULE              "no-module"              "Refused";
        UNREADABLE_MODULE      "unreadable-module"      "Refused";
        UNREADABLE_INPUT       "unreadable-input"       "Refused";
        NOT_REMOVABLE          "not-removable"          "Refused";
        NOT_ENDED              "not-ended"              "Refused";
        NOT_COUNTED            "not-counted"            "Refused";
        REPLAY_FAILED          "replay-failed"          "Refused";
        NO_BLOBS               "no-blobs"               "No place for blobs";
        NOT_SIGNED             "not-signed"             "No signed addresses";
    } again {
        RUN_NOT_ENDED          "wrong-state"            "Refused";
    }
    GONE "{}." {
        _                      "stream-gone"            "Refused";
    } again {}
    PAYLOAD_TOO_LARGE "{}." {
        BODY_TOO_LARGE         "body-too-large"         "Body too large";
        _                      "too-large"              "Refused";
    } again {}
    UNSUPPORTED_MEDIA_TYPE "{}." {
        UNSUPPORTED_MEDIA_TYPE "unsupported-media-type" "Unsupported content type";
    } again {}
    UNPROCESSABLE_ENTITY "{}, or the fault of an uploaded module." {
        INVALID_INPUT          "invalid-input"          "Input does not fit";
        INVALID_LIMIT          "invalid-limit"          "Refused";
        INVALID_PLAN           "invalid-plan"           "Invalid plan";
        INVALID_RESULT         "invalid-result"         "Refused";
        QUERY_FAILED           "query-failed"           "Query failed";
        QUERY_TRAPPED          "query-trapped"          "Refused";
        UPDATE_REFUSED         "update-refused"         "Update refused";
        UNKNOWN_SIGNAL         "unknown-signal"         "Unknown signal";
        WRONG_DIGEST           "wrong-digest"           "Wrong digest";
        BLOB_DAMAGED           "blob-damaged"           "Blob damaged";
        _                      "unprocessable"          "Refused";
        _                      "journal-mismatch"       "Refused";
    } again {
        INVALID_VALUE          "invalid-input"          "Value does not fit";
        // The fault of a component has its own code instead.
        INVALID_MODULE         "invalid-module"         "Module refused";
    }
    TOO_MANY_REQUESTS "Too much for now; retry after the time that the answer names: {}." {
        _                      "stream-rate"            "Refused";
    } again {}
    INTERNAL_SERVER_ERROR "{}." {
        INTERNAL               "internal"               "Internal error";
        _                      "unreadable"             "Refused";
    } again {}
    SERVICE_UNAVAILABLE "Temporary; retry later: {}." {
        NOT_READY              "not-ready"              "Not ready";
        STORE_UNAVAILABLE      "store-unavailable"      "Store unavailable";
        UNKNOWN_OUTCOME        "unknown-outcome"        "Store unavailable";
        CONFLICT               "conflict"               "Store unavailable";
        NOT_BEGUN              "not-begun"              "Refused";
        OVERLOADED             "overloaded"             "Overloaded";
        READ_TOO_LONG          "read-too-long"          "Read took too long";
        BLOBS_UNAVAILABLE      "blobs-unavailable"      "Place for blobs unavailable";
    } again {}
}
