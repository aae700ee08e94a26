//! Problem responses common to all routes, for the OpenAPI document.

use utoipa::IntoResponses;

use super::model::Problem;

/// Problems that any route may answer; `code` in the problem document is more specific.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "a description: nothing is made of it but the document")]
pub enum Refusals {
    /// The request cannot be read: `invalid-json`, `invalid-query`, `invalid-path`,
    /// `invalid-field`, `invalid-id`, `invalid-target`.
    #[response(status = 400, content_type = "application/problem+json")]
    Bad(Problem),
    /// `unauthorized`: this host requires a token.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(Problem),
    /// The request is for another host or from a page of another site: `foreign-host`,
    /// `foreign-origin`; it lacks the header of its session: `missing-csrf`; or the token does not
    /// allow it: `not-allowed`.
    #[response(status = 403, content_type = "application/problem+json")]
    Foreign(Problem),
    /// `unknown-route`, `unknown-module`, `unknown-function`, `unknown-invocation`,
    /// `unknown-promise`, `unknown-task`, `unknown-schedule`, `unknown-resource`, `unknown-query`,
    /// `unknown-update`.
    #[response(status = 404, content_type = "application/problem+json")]
    Unknown(Problem),
    /// `method-not-allowed`.
    #[response(status = 405, content_type = "application/problem+json")]
    Method(Problem),
    /// `body-too-slow`.
    #[response(status = 408, content_type = "application/problem+json")]
    Slow(Problem),
    /// The object's state does not allow the operation: `already-settled`, `wrong-state`,
    /// `is-an-invocation`, `id-taken`, `no-journal`, `not-begun`, `journal-damaged`,
    /// `resource-busy`, `object-busy`, `ran-already`, `stale-token`, `not-a-graph-run`,
    /// `is-a-graph-run`, `already-sent`, `no-handlers`, `journal-grew`, `exists`, `no-such-record`,
    /// `no-such-command`, `no-fork-there`, `diverges`.
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(Problem),
    /// `body-too-large`.
    #[response(status = 413, content_type = "application/problem+json")]
    Large(Problem),
    /// `unsupported-media-type`.
    #[response(status = 415, content_type = "application/problem+json")]
    MediaType(Problem),
    /// `invalid-input`, `invalid-limit`, `invalid-plan`, `invalid-result`, `query-failed`,
    /// `query-trapped`, `update-refused`, or the fault of an uploaded module.
    #[response(status = 422, content_type = "application/problem+json")]
    Unfit(Problem),
    /// `internal`.
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(Problem),
    /// Temporary; retry later: `not-ready`, `store-unavailable`, `unknown-outcome`, `conflict`.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}
