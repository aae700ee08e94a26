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
class HttpHead:
    """The response to an HTTP request, without its body, which is read by the number of the response."""

    response: int
    status: int
    headers: tuple[tuple[str, str], ...]


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

    def now(self) -> int:
        """The instant of the event that woke the workflow, in milliseconds since 1970."""
        ...

    def log(self, level: Level, message: str) -> None:
        """Writes a line to the log."""
        ...

    def call(self, function: str, input: Payload, options: CallOptions) -> int:
        """Calls a function."""
        ...

    def send(self, function: str, input: Payload, options: CallOptions) -> int:
        """Starts a function that outlives the workflow; completes with its id."""
        ...

    def sleep_until(self, until_ms: int) -> int:
        """Completes at an instant."""
        ...

    def promise(self, name: str | None, timeout_ms: int | None) -> tuple[int, str]:
        """Makes a promise that is settled from outside. Returns its id too."""
        ...

    def settle(self, promise: str, outcome: Outcome) -> int:
        """Settles a promise."""
        ...

    def http(self, request: HttpRequest, options: CallOptions) -> int:
        """Sends a request."""
        ...

    def cancel(self, command: int) -> int:
        """Cancels a command of the workflow."""
        ...

    def forget(self, command: int) -> None:
        """The workflow does not wait for the command any more."""
        ...

    def publish(self, topic: str, payload: Payload) -> int:
        """Hands an event to the receiver of a topic."""
        ...

    def run(self, name: str) -> tuple[int, bool]:
        """Begins a computation that is kept. True: compute now, and call `run_done`."""
        ...

    def run_done(self, command: int, outcome: Outcome) -> None:
        """Keeps the result of a computation."""
        ...

    def finish(self, outcome: Outcome) -> None:
        """Ends the workflow."""
        ...

    def saga_call(self, function: str, input: Payload, options: CallOptions, step: SagaStep) -> int:
        """As `call`, for a step of a saga."""
        ...

    def saga_http(self, request: HttpRequest, options: CallOptions, step: SagaStep) -> int:
        """As `http`, for a step of a saga."""
        ...

    def saga_undo(self, step: SagaStep, input: Payload, options: CallOptions) -> int:
        """Undoes a step."""
        ...

    def saga_ask(self, step: SagaStep) -> int:
        """Asks a person whether a step acted."""
        ...

    def state_key(self) -> str:
        """The key of the object."""
        ...

    def state_get(self, name: str) -> int:
        """Reads a part of the state of the object."""
        ...

    def state_names(self) -> int:
        """Reads the names of the state."""
        ...

    def state_set(self, name: str, value: Payload) -> None:
        """Writes a part of the state. Has no completion."""
        ...

    def state_clear(self, name: str) -> None:
        """Removes a part of the state. Has no completion."""
        ...

    def state_clear_all(self) -> None:
        """Removes the state. Has no completion."""
        ...

    def object_promise_wait(self, name: str) -> int:
        """Waits for a promise of the object."""
        ...

    def object_promise_peek(self, name: str) -> int:
        """Reads a promise of the object."""
        ...

    def object_promise_settle(self, name: str, outcome: Outcome) -> int:
        """Settles a promise of the object."""
        ...

    def signal_send(self, invocation: str, name: str, payload: Payload) -> int:
        """Sends a signal to another invocation."""
        ...

    def signals_unread(self, numbers: list[int]) -> None:
        """Reports the signals that nobody read, by number."""
        ...

    def continue_as_new(self, input: Payload, same_code: bool) -> None:
        """Ends the generation, and begins the next one."""
        ...

    def stream_append(self, name: str, content_type: str, item: Payload) -> None:
        """Appends to a stream. Has no completion."""
        ...

    def stream_close(self, name: str, content_type: str) -> None:
        """Closes a stream. Has no completion."""
        ...


class AttemptEngine(Protocol):
    """Serves one attempt of an activity. Refusals are raised as `Failure`."""

    def heartbeat(self, progress: Payload | None) -> bool:
        """Says that the attempt is alive. True: it is asked to stop."""
        ...

    def http(self, request: HttpRequest) -> HttpResponse:
        """Sends a request."""
        ...

    def http_open(self, request: HttpRequest) -> HttpHead:
        """Sends a request, and waits for the status and the headers."""
        ...

    def http_read(self, response: int, limit: int) -> bytes:
        """Waits for the next bytes of a body; none at its end."""
        ...

    def http_close(self, response: int) -> None:
        """Reads no more of a response."""
        ...

    def log(self, level: Level, message: str) -> None:
        """Writes a line to the log."""
        ...

    def env(self, name: str) -> str:
        """A setting of the module."""
        ...

    def secret(self, name: str) -> str:
        """A secret of the module."""
        ...

    def sleep(self, seconds: float) -> None:
        """Sleeps."""
        ...

    def file_read(self, path: str, offset: int, length: int) -> bytes:
        """Reads a part of a file."""
        ...

    def file_write(self, path: str, content: bytes) -> None:
        """Replaces a file."""
        ...

    def file_append(self, path: str, content: bytes) -> None:
        """Adds to a file."""
        ...

    def file_list(self, path: str) -> list[FileEntry]:
        """Lists a directory."""
        ...

    def file_remove(self, path: str) -> None:
        """Removes a file."""
        ...

    def stream_kept(self, name: str) -> int:
        """The number of messages or bytes that the call has stored in a stream."""
        ...

    def blob_create(self, content_type: str) -> int:
        """Begins a blob. Returns the number of its writer."""
        ...

    def blob_write(self, writer: int, piece: bytes) -> None:
        """Adds to a blob."""
        ...

    def blob_finish(self, writer: int) -> str:
        """Stores a blob. Returns its reference as JSON."""
        ...

    def blob_abandon(self, writer: int) -> None:
        """Drops a blob that is being written."""
        ...

    def blob_read(self, reference: str, offset: int, length: int) -> bytes:
        """Reads a part of a blob."""
        ...

    def stream_append(self, name: str, content_type: str, item: Payload) -> None:
        """Appends to a stream."""
        ...

    def cost_report(self, unit: str, millionths: int) -> None:
        """Adds to the costs of the attempt."""
        ...
