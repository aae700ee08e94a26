"""The journal of one execution in a test: it takes the place of the host's."""

import hashlib
import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ..codec import plain
from ..core.defect import calling_place
from ..core.engine import (
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

#: A host shows longer fields by their digest.
INLINE_LIMIT = 256
#: Fields that are texts and no JSON.
_TEXTS = ("message", "undoes", "saga", "compensate", "unknown", "promise", "content-type")

JsonRecord = dict[str, Any]
Fields = list[tuple[str, str | bytes]]


@dataclass
class Request:
    """A command, for the world that executes it."""

    index: int
    kind: str
    name: str
    payload: Payload | None = None
    options: CallOptions = CallOptions()
    outcome: Outcome | None = None
    timeout_ms: int | None = None
    number: int = 0
    http: HttpRequest | None = None
    step: SagaStep | None = None
    promise: str = ""
    content_type: str = ""
    #: `FILE:LINE` of the author's code that asked.
    at: str | None = None

    def describe(self) -> str:
        """The command, for messages."""
        name = f" `{self.name}`" if self.name else ""
        return f"{self.kind}{name}"


@dataclass
class Ending:
    """The end of an execution."""

    outcome: Outcome | None
    #: The input of the next generation.
    next_input: Payload | None = None
    unread: list[int] = field(default_factory=list)


class Journal:
    """Keeps what an execution asks for, in the form that a host shows."""

    def __init__(
        self, invocation: str, function: str, input: Payload, key: str | None, logs: list[tuple[Level, str]]
    ) -> None:
        self.invocation, self.key, self.logs = invocation, key, logs
        self.records: list[JsonRecord] = []
        self.places: dict[int, str | None] = {}
        self.requests: deque[Request] = deque()
        self.runs: deque[tuple[int, Outcome]] = deque()
        self.forgotten: set[int] = set()
        self.ending: Ending | None = None
        self.now_ms = 0
        self._next = 0
        self._unread: list[int] = []
        self._begin = (function, input)

    @property
    def length(self) -> int:
        """Number of commands."""
        return self._next

    def begin(self, now_ms: int) -> None:
        """Adds the record of the start."""
        self.now_ms = now_ms
        function, input = self._begin
        self.add("started", name=function, request=shown_payload(input))

    def tell(self, now_ms: int, event: Event) -> None:
        """Adds the record of an event that is about to be told."""
        self.now_ms = max(now_ms, self.now_ms)
        match event:
            case Completed(command, outcome):
                self.add("notified", index=command, outcome=shown_outcome(outcome))
            case SignalArrived(name, payload):
                self.add("signal", name=name, outcome={"value": shown_payload(payload)})
            case _:
                self.add("cancelled")

    def add(self, kind: str, **about: Any) -> None:
        """Adds a record."""
        self.records.append({"seq": len(self.records), "at_ms": self.now_ms, "kind": kind, **about})

    def issue(self, request: Request, fields: Fields) -> int:
        """Adds a command."""
        request.index = self._next
        self._next += 1
        request.at = calling_place()
        self.places[len(self.records)] = request.at
        shown = {name: shown_field(name, value) for name, value in fields}
        named = {"name": request.name} if request.name else {}
        self.add("command", index=request.index, command=request.kind, **named, request=shown)
        self.requests.append(request)
        return request.index

    # The interface of an engine.

    def now(self) -> int:
        return self.now_ms

    def log(self, level: Level, message: str) -> None:
        self.logs.append((level, message))

    def call(self, function: str, input: Payload, options: CallOptions) -> int:
        return self.issue(Request(0, "call", function, input, options), [("input", input), *option_fields(options)])

    def send(self, function: str, input: Payload, options: CallOptions) -> int:
        return self.issue(Request(0, "send", function, input, options), [("input", input), *option_fields(options)])

    def sleep_until(self, until_ms: int) -> int:
        return self.issue(Request(0, "sleep", "", number=until_ms), [("until_ms", str(until_ms))])

    def promise(self, name: str | None, timeout_ms: int | None) -> tuple[int, str]:
        request = Request(0, "promise", name or "", timeout_ms=timeout_ms)
        index = self.issue(request, [] if timeout_ms is None else [("timeout_ms", str(timeout_ms))])
        request.promise = f"{self.invocation}/{index}" if name is None else f"{self.invocation}/p/{name}"
        return index, request.promise

    def settle(self, promise: str, outcome: Outcome) -> int:
        return self.issue(Request(0, "settle", promise, outcome=outcome), outcome_fields(outcome))

    def http(self, request: HttpRequest, options: CallOptions) -> int:
        fields = [*request_fields(request), *option_fields(options)]
        return self.issue(Request(0, "http", f"{request.method} {request.url}", options=options, http=request), fields)

    def cancel(self, command: int) -> int:
        return self.issue(Request(0, "cancel", "", number=command), [("command", str(command))])

    def forget(self, command: int) -> None:
        self.forgotten.add(command)

    def publish(self, topic: str, payload: Payload) -> int:
        return self.issue(Request(0, "publish", topic, payload), [("payload", payload)])

    def run(self, name: str) -> tuple[int, bool]:
        return self.issue(Request(0, "run", name), []), True

    def run_done(self, command: int, outcome: Outcome) -> None:
        self.runs.append((command, outcome))

    def saga_call(self, function: str, input: Payload, options: CallOptions, step: SagaStep) -> int:
        fields = [("input", input), *option_fields(options), *step_fields(step)]
        return self.issue(Request(0, "call", function, input, options, step=step), fields)

    def saga_http(self, request: HttpRequest, options: CallOptions, step: SagaStep) -> int:
        fields = [*request_fields(request), *option_fields(options), *step_fields(step)]
        return self.issue(
            Request(0, "http", f"{request.method} {request.url}", options=options, http=request, step=step), fields
        )

    def saga_undo(self, step: SagaStep, input: Payload, options: CallOptions) -> int:
        fields: Fields = [("input", input), *option_fields(options), ("undoes", step.saga), ("seq", str(step.seq))]
        request = Request(
            0, "call", step.compensate, input, options, promise=f"{self.invocation}/c/{step.saga}/{step.seq}"
        )
        return self.issue(request, fields)

    def saga_ask(self, step: SagaStep) -> int:
        request = Request(0, "promise", "", promise=f"{self.invocation}/u/{step.saga}/{step.seq}")
        return self.issue(request, step_fields(step))

    def state_key(self) -> str:
        if self.key is None:
            raise RuntimeError("only a function of an object has a key")
        return self.key

    def state_get(self, name: str) -> int:
        return self.issue(Request(0, "get-state", name), [])

    def state_names(self) -> int:
        return self.issue(Request(0, "state-keys", ""), [])

    def state_set(self, name: str, value: Payload) -> None:
        self.issue(Request(0, "set-state", name, value), [("value", value)])

    def state_clear(self, name: str) -> None:
        self.issue(Request(0, "clear-state", name), [])

    def state_clear_all(self) -> None:
        self.issue(Request(0, "clear-all-state", ""), [])

    def object_promise_wait(self, name: str) -> int:
        return self.issue(Request(0, "wait-object-promise", name), [])

    def object_promise_peek(self, name: str) -> int:
        return self.issue(Request(0, "peek-object-promise", name), [])

    def object_promise_settle(self, name: str, outcome: Outcome) -> int:
        return self.issue(Request(0, "settle-object-promise", name, outcome=outcome), outcome_fields(outcome))

    def signal_send(self, invocation: str, name: str, payload: Payload) -> int:
        request = Request(0, "send-signal", invocation, payload, promise=name)
        return self.issue(request, [("signal", json.dumps(name)), ("payload", payload)])

    def signals_unread(self, numbers: list[int]) -> None:
        self._unread = numbers
        self.issue(Request(0, "unread", str(len(numbers))), [("signals", json.dumps(numbers))])

    def continue_as_new(self, input: Payload, same_code: bool) -> None:
        fields: Fields = [("input", input), *([("same_code", "true")] if same_code else [])]
        self.issue(Request(0, "continue-as-new", ""), fields)
        self.add("finished", outcome={})
        self.end(Ending(None, input, self._unread))

    def stream_append(self, name: str, content_type: str, item: Payload) -> None:
        content = ("item" if isinstance(item, str) else "payload_bytes", item)
        request = Request(0, "append-stream", name, item, content_type=content_type)
        self.issue(request, [("content-type", content_type), content])

    def stream_close(self, name: str, content_type: str) -> None:
        request = Request(0, "close-stream", name, content_type=content_type)
        self.issue(request, [("content-type", content_type)])

    def finish(self, outcome: Outcome) -> None:
        self.add("finished", outcome=shown_outcome(outcome))
        self.end(Ending(outcome, None, self._unread))

    def end(self, ending: Ending) -> None:
        """The execution ended."""
        self.ending = ending


def option_fields(options: CallOptions) -> Fields:
    """The fields of the options of a call."""
    fields: Fields = []
    if options.timeout_ms is not None:
        fields.append(("timeout_ms", str(options.timeout_ms)))
    if options.start_at_ms is not None:
        fields.append(("start_at_ms", str(options.start_at_ms)))
    if options.retry is not None:
        fields.append(("retry", json.dumps(retry_fields(options.retry))))
    if options.labels:
        fields.append(("labels", json.dumps([list(pair) for pair in options.labels], ensure_ascii=False)))
    return fields


def retry_fields(retry: Retry) -> dict[str, Any]:
    """A retry policy as JSON."""
    return {
        "initial_ms": retry.initial_ms,
        "factor": float(retry.factor),
        "max_ms": retry.max_ms,
        "jitter": float(retry.jitter),
        "max_attempts": retry.max_attempts,
        "non_retryable": list(retry.non_retryable),
    }


def step_fields(step: SagaStep) -> Fields:
    """The fields of a step of a saga."""
    fields: Fields = [("saga", step.saga), ("seq", str(step.seq)), ("compensate", step.compensate)]
    return [*fields, ("unknown", "compensate")] if step.compensate_unknown else fields


def request_fields(request: HttpRequest) -> Fields:
    """The fields of a request."""
    fields: Fields = []
    if request.headers:
        fields.append(("headers", json.dumps([list(pair) for pair in request.headers], ensure_ascii=False)))
    if request.body is not None:
        fields.append(("body" if isinstance(request.body, str) else "body_bytes", request.body))
    return fields


def outcome_fields(outcome: Outcome) -> Fields:
    """The fields of an outcome."""
    if isinstance(outcome, Success):
        return [("success" if isinstance(outcome.value, str) else "success_bytes", outcome.value)]
    fields: Fields = [("code", str(outcome.code)), ("message", outcome.message)]
    return fields if outcome.details is None else [*fields, ("details", outcome.details)]


def shown_field(name: str, value: str | bytes) -> Any:
    """A field as a host shows it."""
    data = value.encode() if isinstance(value, str) else value
    if len(data) > INLINE_LIMIT:
        return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    if name in _TEXTS:
        return data.decode()
    return shown_payload(value)


def shown_payload(payload: Payload) -> Any:
    """A value as a host shows it."""
    if isinstance(payload, bytes):
        import base64

        return {"base64": base64.b64encode(payload).decode()}
    return plain(payload)


def shown_outcome(outcome: Outcome) -> dict[str, Any]:
    """An outcome as a host shows it."""
    if isinstance(outcome, Success):
        value = shown_payload(outcome.value)
        return {} if value is None else {"value": value}
    return {"failure": shown_failure(outcome)}


def shown_failure(failure: FailureRecord) -> dict[str, Any]:
    """A failure as a host shows it."""
    shown: dict[str, Any] = {"code": failure.code, "message": failure.message}
    return shown if failure.details is None else {**shown, "details": shown_payload(failure.details)}
