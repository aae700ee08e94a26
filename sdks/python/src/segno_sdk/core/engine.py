"""The interface between the functions of an author and whatever executes them: a host, or a test."""

from dataclasses import dataclass
from typing import Literal, Protocol

from .options import CallOptions

#: JSON as text, or bytes.
Payload = str | bytes
Level = Literal["trace", "debug", "info", "warn", "error"]


@dataclass(frozen=True)
class Success:
    """The outcome of something that succeeded."""

    value: Payload


@dataclass(frozen=True)
class FailureRecord:
    """The outcome of something that failed."""

    code: int
    message: str
    details: Payload | None = None


Outcome = Success | FailureRecord


@dataclass(frozen=True)
class Completed:
    """A command completed."""

    command: int
    outcome: Outcome


@dataclass(frozen=True)
class SignalArrived:
    """A signal was sent to the workflow."""

    name: str
    payload: Payload


@dataclass(frozen=True)
class CancelRequested:
    """The workflow is asked to end."""


Event = Completed | SignalArrived | CancelRequested


@dataclass(frozen=True)
class HttpRequest:
    """An HTTP request."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: Payload | None = None


@dataclass(frozen=True)
class HttpResponse:
    """The response to an HTTP request."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True)
class SagaStep:
    """A step of a saga, and the function that undoes it."""

    saga: str
    seq: int
    compensate: str
    compensate_unknown: bool


@dataclass(frozen=True)
class WorkflowFacts:
    """What a workflow knows of its own execution. The same in every replay."""

    invocation: str
    parent: str | None
    started_at_ms: int
    seed: bytes


@dataclass(frozen=True)
class AttemptFacts:
    """What an activity knows of this attempt."""

    invocation: str
    idempotency_key: str
    fence_token: int
    attempt: int
    last_progress: Payload | None
    started_at_ms: int
    deadline_ms: int | None


@dataclass(frozen=True)
class FileEntry:
    """An entry of a directory."""

    name: str
    directory: bool
    size: int


class Engine(Protocol):
    """Executes the commands of one workflow. Each command returns its index at once; its result is an event."""

    def now(self) -> int: ...
    def log(self, level: Level, message: str) -> None: ...
    def call(self, function: str, input: Payload, options: CallOptions) -> int: ...
    def send(self, function: str, input: Payload, options: CallOptions) -> int: ...
    def sleep_until(self, until_ms: int) -> int: ...
    def promise(self, name: str | None, timeout_ms: int | None) -> tuple[int, str]: ...
    def settle(self, promise: str, outcome: Outcome) -> int: ...
    def http(self, request: HttpRequest, options: CallOptions) -> int: ...
    def cancel(self, command: int) -> int: ...
    def forget(self, command: int) -> None: ...
    def publish(self, topic: str, payload: Payload) -> int: ...
    def run(self, name: str) -> tuple[int, bool]: ...
    def run_done(self, command: int, outcome: Outcome) -> None: ...
    def finish(self, outcome: Outcome) -> None: ...
    def saga_call(self, function: str, input: Payload, options: CallOptions, step: SagaStep) -> int: ...
    def saga_http(self, request: HttpRequest, options: CallOptions, step: SagaStep) -> int: ...
    def saga_undo(self, step: SagaStep, input: Payload, options: CallOptions) -> int: ...
    def saga_ask(self, step: SagaStep) -> int: ...
    def state_key(self) -> str: ...
    def state_get(self, name: str) -> int: ...
    def state_names(self) -> int: ...
    def state_set(self, name: str, value: Payload) -> None: ...
    def state_clear(self, name: str) -> None: ...
    def state_clear_all(self) -> None: ...
    def object_promise_wait(self, name: str) -> int: ...
    def object_promise_peek(self, name: str) -> int: ...
    def object_promise_settle(self, name: str, outcome: Outcome) -> int: ...
    def signal_send(self, invocation: str, name: str, payload: Payload) -> int: ...
    def signals_unread(self, numbers: list[int]) -> None: ...
    def continue_as_new(self, input: Payload, same_code: bool) -> None: ...


class AttemptEngine(Protocol):
    """Serves one attempt of an activity. Refusals are raised as `Failure`."""

    def heartbeat(self, progress: Payload | None) -> bool: ...
    def http(self, request: HttpRequest) -> HttpResponse: ...
    def log(self, level: Level, message: str) -> None: ...
    def env(self, name: str) -> str: ...
    def secret(self, name: str) -> str: ...
    def sleep(self, seconds: float) -> None: ...
    def file_read(self, path: str, offset: int, length: int) -> bytes: ...
    def file_write(self, path: str, content: bytes) -> None: ...
    def file_append(self, path: str, content: bytes) -> None: ...
    def file_list(self, path: str) -> list[FileEntry]: ...
    def file_remove(self, path: str) -> None: ...
