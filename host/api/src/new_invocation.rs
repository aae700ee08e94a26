//! The promise of a new invocation, made from the request that starts it.

use std::collections::BTreeMap;

use segno_core::{
    id::{Digest, PromiseId, check_name},
    promise::{NewPromise, RetryPolicy},
    tags,
    time::Timestamp,
    value::{Tags, Value},
};
use segno_engine::values;
use segno_guest::Payload;
use serde_json::json;

use super::{
    Api, ApiError, budgets,
    catalog::ResolvedFunction,
    model::{Function, Retry, StartInvocation, StartRetry},
    state::bad_name,
    target::ParsedTarget,
    values::param,
};

/// A validated start.
pub(super) struct PreparedStart {
    /// The promise to create.
    pub new: NewPromise,
    /// The module to run.
    pub module: Digest,
    /// True if the function belongs to no object and no service.
    pub is_plain: bool,
}

/// Validates the request.
pub(super) async fn prepare(
    api: &Api,
    id: PromiseId,
    target: &ParsedTarget<'_>,
    request: &StartInvocation,
    bytes: Option<Vec<u8>>,
) -> Result<PreparedStart, ApiError> {
    let ResolvedFunction { digest, function, by_alias } = target.resolve(api).await?;
    let errors = match bytes {
        Some(_) => Vec::new(),
        None => api.misfits(digest, &function, &request.input),
    };
    if !errors.is_empty() {
        return Err(ApiError::BadInput { target: request.target.clone(), errors });
    }
    let mut tags = labelled(&request.labels)?;
    tags.insert(tags::TARGET.to_owned(), target.address(digest, by_alias));
    budgets::give(&request.budget, &mut tags)?;
    let now = api.host.env.clock.now();
    let mut begins = now;
    if let Some(at) = request.start_at_ms {
        if !(0..Timestamp::NEVER.0).contains(&at) {
            let reason =
                "is not an instant in milliseconds between the years 1970 and 9999".to_owned();
            return Err(ApiError::BadField { field: "start_at_ms", reason });
        }
        tags.insert(tags::DELAY.to_owned(), at.to_string());
        begins = begins.max(Timestamp(at));
    }
    // Counted from when the invocation may begin, as for calls of guests.
    let timeout_at = match request.timeout_ms {
        Some(length) => in_time(begins, length)?,
        None => by_default(begins, function.timeout_ms),
    };
    let mut param = match bytes {
        Some(bytes) => values::param(&target.function(), &Payload::Bytes(bytes), Tags::new()),
        None => param(&target.function(), &request.input),
    };
    param.headers.extend(attempts(request, &function)?);
    let new = NewPromise { id, param, tags, timeout_at };
    // Deployments are called under a claim.
    let is_plain = function.access.is_none() && !target.is_service();
    Ok(PreparedStart { new, module: digest, is_plain })
}

/// Returns the headers with the retry policy and the attempt timeout of an activity, if the request
/// has them.
fn attempts(request: &StartInvocation, function: &Function) -> Result<Tags, ApiError> {
    let mut headers = Tags::new();
    if let Some(asked) = &request.retry {
        let policy = policy(asked, function.retry.as_ref())?;
        headers.insert(tags::RETRY_HEADER.to_owned(), json!(policy).to_string());
    }
    if let Some(limit) = request.attempt_timeout_ms {
        if limit == 0 || i64::try_from(limit).is_err() {
            let reason = format!("takes a number of milliseconds above 0: `{limit}`");
            return Err(ApiError::BadField { field: "attempt_timeout_ms", reason });
        }
        headers.insert(tags::ATTEMPT_TIMEOUT_HEADER.to_owned(), limit.to_string());
    }
    Ok(headers)
}

/// Returns the requested policy. Absent fields default to the function's policy, then to the
/// host's.
fn policy(asked: &StartRetry, described: Option<&Retry>) -> Result<RetryPolicy, ApiError> {
    let own = described.map_or_else(RetryPolicy::default, |retry| RetryPolicy {
        initial_ms: retry.initial_ms,
        factor: retry.factor,
        max_ms: retry.max_ms,
        jitter: retry.jitter,
        max_attempts: retry.max_attempts,
        non_retryable: retry.non_retryable.clone(),
    });
    let wrong = |what: &str| ApiError::BadField { field: "retry", reason: what.to_owned() };
    if asked.factor.is_some_and(|factor| factor < 0.0) {
        return Err(wrong("has a `factor` below 0"));
    }
    if asked.jitter.is_some_and(|jitter| !(0.0..=1.0).contains(&jitter)) {
        return Err(wrong("has a `jitter` that is not from 0 to 1"));
    }
    if asked.max_attempts == Some(0) {
        return Err(wrong("has a `max_attempts` of 0: there is one attempt at the least"));
    }
    Ok(RetryPolicy {
        initial_ms: asked.initial_ms.unwrap_or(own.initial_ms),
        factor: asked.factor.unwrap_or(own.factor),
        max_ms: asked.max_ms.unwrap_or(own.max_ms),
        jitter: asked.jitter.unwrap_or(own.jitter),
        max_attempts: asked.max_attempts.or(own.max_attempts),
        non_retryable: match asked.non_retryable.is_empty() {
            true => own.non_retryable,
            false => asked.non_retryable.clone(),
        },
    })
}

/// Returns the policy and the attempt timeout of an earlier start or call, to repeat it.
pub(super) fn attempts_of(param: &Value) -> (Option<StartRetry>, Option<u64>) {
    let header = |name: &str| param.headers.get(name);
    let retry = header(tags::RETRY_HEADER).and_then(|said| values::read_policy(said).ok());
    let retry = retry.map(|policy| StartRetry {
        initial_ms: Some(policy.initial_ms),
        factor: Some(policy.factor).filter(|factor| factor.is_finite()),
        max_ms: Some(policy.max_ms),
        jitter: Some(policy.jitter).filter(|jitter| (0.0..=1.0).contains(jitter)),
        max_attempts: policy.max_attempts.filter(|most| *most > 0),
        non_retryable: policy.non_retryable,
    });
    let limit = header(tags::ATTEMPT_TIMEOUT_HEADER).and_then(|said| said.parse().ok());
    (retry, limit.filter(|limit| *limit > 0))
}

/// Builds the promise of an invocation that another request creates.
pub(super) async fn to_be_made(
    api: &Api,
    id: PromiseId,
    request: &StartInvocation,
) -> Result<NewPromise, ApiError> {
    let target = ParsedTarget::parse(&request.target)?;
    Ok(prepare(api, id, &target, request, None).await?.new)
}

/// Converts labels to tags.
pub(super) fn labelled(labels: &BTreeMap<String, String>) -> Result<Tags, ApiError> {
    let mut tags = Tags::new();
    for (name, value) in labels {
        check_name("the name of the label", name).map_err(|bad| bad_name("labels", &bad))?;
        tags.insert(format!("{}{name}", tags::LABEL_PREFIX), value.clone());
    }
    Ok(tags)
}

/// Returns the deadline from the default timeout of a function. Modules uploaded before there was a
/// maximum may exceed it, which results in no deadline.
pub(super) fn by_default(begins: Timestamp, timeout_ms: Option<u64>) -> Timestamp {
    let limit = timeout_ms.and_then(|length| begins.in_time(length).ok());
    limit.unwrap_or(Timestamp::NEVER)
}

/// Returns the deadline from a requested timeout.
pub(super) fn in_time(begins: Timestamp, timeout_ms: u64) -> Result<Timestamp, ApiError> {
    begins.in_time(timeout_ms).map_err(|refused| ApiError::BadField {
        field: "timeout_ms",
        reason: format!("{refused}: `{timeout_ms}`"),
    })
}
