"""The interfaces of the SDK over what a component imports."""

import time
from typing import Any

from componentize_py_types import Err
from wit_world.imports import activity as wit_activity
from wit_world.imports import activity_streams as wit_activity_streams
from wit_world.imports import blobs as wit_blobs
from wit_world.imports import configuration as wit_configuration
from wit_world.imports import costs as wit_costs
from wit_world.imports import files as wit_files
from wit_world.imports import generations as wit_generations
from wit_world.imports import http_bodies as wit_http_bodies
from wit_world.imports import journal as wit_journal
from wit_world.imports import object_promises as wit_object_promises
from wit_world.imports import sagas as wit_sagas
from wit_world.imports import signals as wit_signals
from wit_world.imports import state as wit_state
from wit_world.imports import streams as wit_streams
from wit_world.imports import types as wit

from ..core.defect import calling_frames
from ..core.engine import FileEntry, HttpHead, HttpRequest, HttpResponse, Level, Outcome, Payload, SagaStep
from ..core.failure import Failure
from ..core.options import CallOptions
from .wire import of_payload, to_level, to_options, to_outcome, to_payload, to_request, to_step

#: The index of a command at which the host stops the workflow.
_STOPPED = 0xFFFF_FFFE


def going(index: Any) -> int:
    """The index of a command that goes on. Otherwise tells the host where the author asked for it, and the call ends."""
    if index == _STOPPED:
        wit_journal.log(wit.Level.ERROR, "\n".join(["asked at", *calling_frames()]))
    return int(index)


class HostEngine:
    """The commands of a workflow, asked of the host."""

    def now(self) -> int:
        return int(wit_journal.now())

    def log(self, level: Level, message: str) -> None:
        wit_journal.log(to_level(level), message)

    def call(self, function: str, input: Payload, options: CallOptions) -> int:
        return going(wit_journal.call(function, to_payload(input), to_options(options)))

    def send(self, function: str, input: Payload, options: CallOptions) -> int:
        return going(wit_journal.send(function, to_payload(input), to_options(options)))

    def sleep_until(self, until_ms: int) -> int:
        return going(wit_journal.sleep_until(until_ms))

    def promise(self, name: str | None, timeout_ms: int | None) -> tuple[int, str]:
        index, id = wit_journal.promise(name, wit.PromiseOptions(timeout_ms))
        return going(index), id

    def settle(self, promise: str, outcome: Outcome) -> int:
        return going(wit_journal.settle(promise, to_outcome(outcome)))

    def http(self, request: HttpRequest, options: CallOptions) -> int:
        return going(wit_journal.http(to_request(request), to_options(options)))

    def cancel(self, command: int) -> int:
        return going(wit_journal.cancel(command))

    def forget(self, command: int) -> None:
        wit_journal.forget(command)

    def publish(self, topic: str, payload: Payload) -> int:
        return going(wit_journal.publish(topic, to_payload(payload)))

    def run(self, name: str) -> tuple[int, bool]:
        answer = wit_journal.run(name)
        return going(answer.value), isinstance(answer, wit.RunAnswer_Execute)

    def run_done(self, command: int, outcome: Outcome) -> None:
        wit_journal.run_done(command, to_outcome(outcome))

    def finish(self, outcome: Outcome) -> None:
        wit_journal.finish(to_outcome(outcome))

    def saga_call(self, function: str, input: Payload, options: CallOptions, step: SagaStep) -> int:
        return going(wit_sagas.call(function, to_payload(input), to_options(options), to_step(step)))

    def saga_http(self, request: HttpRequest, options: CallOptions, step: SagaStep) -> int:
        return going(wit_sagas.http(to_request(request), to_options(options), to_step(step)))

    def saga_undo(self, step: SagaStep, input: Payload, options: CallOptions) -> int:
        return going(wit_sagas.undo(to_step(step), to_payload(input), to_options(options)))

    def saga_ask(self, step: SagaStep) -> int:
        return going(wit_sagas.ask(to_step(step)))

    def state_key(self) -> str:
        return str(wit_state.key())

    def state_get(self, name: str) -> int:
        return going(wit_state.get(name))

    def state_names(self) -> int:
        return going(wit_state.names())

    def state_set(self, name: str, value: Payload) -> None:
        going(wit_state.set(name, to_payload(value)))

    def state_clear(self, name: str) -> None:
        going(wit_state.clear(name))

    def state_clear_all(self) -> None:
        going(wit_state.clear_all())

    def object_promise_wait(self, name: str) -> int:
        return going(wit_object_promises.wait(name))

    def object_promise_peek(self, name: str) -> int:
        return going(wit_object_promises.peek(name))

    def object_promise_settle(self, name: str, outcome: Outcome) -> int:
        return going(wit_object_promises.settle(name, to_outcome(outcome)))

    def signal_send(self, invocation: str, name: str, payload: Payload) -> int:
        return going(wit_signals.send(invocation, name, to_payload(payload)))

    def signals_unread(self, numbers: list[int]) -> None:
        wit_signals.unread(numbers)

    def continue_as_new(self, input: Payload, same_code: bool) -> None:
        wit_generations.continue_as_new(to_payload(input), same_code)

    def stream_append(self, name: str, content_type: str, item: Payload) -> None:
        going(wit_streams.append(name, content_type, to_payload(item)))

    def stream_close(self, name: str, content_type: str) -> None:
        going(wit_streams.close(name, content_type))


def refusable(call: Any, *arguments: Any) -> Any:
    """What the host refuses is raised as a `Failure`."""
    try:
        return call(*arguments)
    except Err as error:
        details = error.value.details
        raise Failure(error.value.code, error.value.message, None if details is None else of_payload(details)) from None


_sleep = time.sleep


class HostAttempt:
    """What an attempt of an activity asks of the host."""

    def heartbeat(self, progress: Payload | None) -> bool:
        return bool(wit_activity.heartbeat(None if progress is None else to_payload(progress)))

    def http(self, request: HttpRequest) -> HttpResponse:
        response = refusable(wit_activity.http, to_request(request))
        return HttpResponse(
            response.status, tuple((name, value) for name, value in response.headers), bytes(response.body)
        )

    def http_open(self, request: HttpRequest) -> HttpHead:
        head = refusable(wit_http_bodies.open, to_request(request))
        return HttpHead(head.response, head.status, tuple((name, value) for name, value in head.headers))

    def http_read(self, response: int, limit: int) -> bytes:
        return bytes(refusable(wit_http_bodies.read, response, limit))

    def http_close(self, response: int) -> None:
        wit_http_bodies.close(response)

    def log(self, level: Level, message: str) -> None:
        wit_activity.log(to_level(level), message)

    def env(self, name: str) -> str:
        return str(refusable(wit_configuration.env, name))

    def secret(self, name: str) -> str:
        return str(refusable(wit_configuration.secret, name))

    def sleep(self, seconds: float) -> None:
        _sleep(seconds)

    def file_read(self, path: str, offset: int, length: int) -> bytes:
        return bytes(refusable(wit_files.read, path, offset, length))

    def file_write(self, path: str, content: bytes) -> None:
        refusable(wit_files.write, path, content)

    def file_append(self, path: str, content: bytes) -> None:
        refusable(wit_files.append, path, content)

    def file_list(self, path: str) -> list[FileEntry]:
        return [
            FileEntry(entry.name, entry.directory, entry.size) for entry in refusable(wit_files.list_directory, path)
        ]

    def file_remove(self, path: str) -> None:
        refusable(wit_files.remove, path)

    def stream_kept(self, name: str) -> int:
        return int(refusable(wit_activity_streams.kept, name))

    def stream_append(self, name: str, content_type: str, item: Payload) -> None:
        refusable(wit_activity_streams.append, name, content_type, to_payload(item))

    def cost_report(self, unit: str, millionths: int) -> None:
        refusable(wit_costs.report, unit, millionths)

    def blob_create(self, content_type: str) -> int:
        return int(refusable(wit_blobs.create, content_type))

    def blob_write(self, writer: int, piece: bytes) -> None:
        refusable(wit_blobs.write, writer, piece)

    def blob_finish(self, writer: int) -> str:
        return str(refusable(wit_blobs.finish, writer))

    def blob_abandon(self, writer: int) -> None:
        wit_blobs.abandon(writer)

    def blob_read(self, reference: str, offset: int, length: int) -> bytes:
        return bytes(refusable(wit_blobs.read, reference, offset, length))
