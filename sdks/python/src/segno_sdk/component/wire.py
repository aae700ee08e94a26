"""The types of the contract, and those of the SDK."""

from typing import Any

from wit_world.imports import sagas as wit_sagas
from wit_world.imports import types as wit

from ..core.engine import (
    CancelRequested,
    Completed,
    Event,
    FailureRecord,
    HttpRequest,
    Level,
    Outcome,
    Payload,
    SagaStep,
    SignalArrived,
    Success,
)
from ..core.options import CallOptions, Retry


def to_payload(payload: Payload) -> Any:
    return wit.Payload_Json(payload) if isinstance(payload, str) else wit.Payload_Bytes(payload)


def of_payload(payload: Any) -> Payload:
    return payload.value if isinstance(payload, wit.Payload_Json) else bytes(payload.value)


def to_failure(failure: FailureRecord) -> Any:
    return wit.Failure(failure.code, failure.message, None if failure.details is None else to_payload(failure.details))


def to_outcome(outcome: Outcome) -> Any:
    return (
        wit.Outcome_Success(to_payload(outcome.value))
        if isinstance(outcome, Success)
        else wit.Outcome_Failure(to_failure(outcome))
    )


def of_outcome(outcome: Any) -> Outcome:
    if isinstance(outcome, wit.Outcome_Success):
        return Success(of_payload(outcome.value))
    failure = outcome.value
    return FailureRecord(
        failure.code, failure.message, None if failure.details is None else of_payload(failure.details)
    )


def of_event(event: Any) -> Event:
    if isinstance(event, wit.Event_Completed):
        return Completed(event.value.command, of_outcome(event.value.outcome))
    if isinstance(event, wit.Event_Signal):
        return SignalArrived(event.value.name, of_payload(event.value.payload))
    return CancelRequested()


def to_retry(retry: Retry | None) -> Any:
    if retry is None:
        return None
    return wit.RetryOptions(
        retry.initial_ms,
        float(retry.factor),
        retry.max_ms,
        float(retry.jitter),
        retry.max_attempts,
        list(retry.non_retryable),
    )


def to_options(options: CallOptions) -> Any:
    return wit.CallOptions(options.timeout_ms, to_retry(options.retry), options.start_at_ms, list(options.labels))


def to_request(request: HttpRequest) -> Any:
    return wit.HttpRequest(
        request.method, request.url, list(request.headers), None if request.body is None else to_payload(request.body)
    )


def to_step(step: SagaStep) -> Any:
    return wit_sagas.Step(step.saga, step.seq, step.compensate, step.compensate_unknown)


def to_level(level: Level) -> Any:
    return wit.Level[level.upper()]
