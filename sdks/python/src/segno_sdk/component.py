"""The functions of a module as the exports of a WebAssembly component. Imported by the build, and nowhere else.

The build generates a module with the classes that componentize-py expects:

```python
from segno_sdk.component import load
Functions, Messages, Objects, Runs, Handlers, Limits = load("app")
```
"""

import os
import random
import time
from types import ModuleType
from typing import Any, NoReturn

from componentize_py_types import Err
from wit_world.exports import handlers as wit_handlers
from wit_world.exports import limits as wit_limits
from wit_world.exports import messages as wit_messages
from wit_world.exports import objects as wit_objects
from wit_world.imports import activity as wit_activity
from wit_world.imports import configuration as wit_configuration
from wit_world.imports import files as wit_files
from wit_world.imports import generations as wit_generations
from wit_world.imports import journal as wit_journal
from wit_world.imports import object_promises as wit_object_promises
from wit_world.imports import sagas as wit_sagas
from wit_world.imports import signals as wit_signals
from wit_world.imports import state as wit_state
from wit_world.imports import types as wit

from . import prepare
from .codec import schema_text
from .core import defect, guards, logs
from .core.attempt import Attempt
from .core.defect import report
from .core.engine import (
    AttemptFacts,
    CancelRequested,
    Completed,
    Event,
    FailureRecord,
    FileEntry,
    HttpRequest,
    HttpResponse,
    Level,
    Outcome,
    Payload,
    SagaStep,
    SignalArrived,
    Success,
    WorkflowFacts,
)
from .core.execution import Execution
from .core.failure import Failure
from .core.function import Function, Workflow
from .core.module import Module
from .core.options import CallOptions, Limit, Rate, Retry
from .core.randomness import Randomness


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


class HostEngine:
    """The commands of a workflow, asked of the host."""

    def now(self) -> int:
        return int(wit_journal.now())

    def log(self, level: Level, message: str) -> None:
        wit_journal.log(to_level(level), message)

    def call(self, function: str, input: Payload, options: CallOptions) -> int:
        return int(wit_journal.call(function, to_payload(input), to_options(options)))

    def send(self, function: str, input: Payload, options: CallOptions) -> int:
        return int(wit_journal.send(function, to_payload(input), to_options(options)))

    def sleep_until(self, until_ms: int) -> int:
        return int(wit_journal.sleep_until(until_ms))

    def promise(self, name: str | None, timeout_ms: int | None) -> tuple[int, str]:
        index, id = wit_journal.promise(name, wit.PromiseOptions(timeout_ms))
        return index, id

    def settle(self, promise: str, outcome: Outcome) -> int:
        return int(wit_journal.settle(promise, to_outcome(outcome)))

    def http(self, request: HttpRequest, options: CallOptions) -> int:
        return int(wit_journal.http(to_request(request), to_options(options)))

    def cancel(self, command: int) -> int:
        return int(wit_journal.cancel(command))

    def forget(self, command: int) -> None:
        wit_journal.forget(command)

    def publish(self, topic: str, payload: Payload) -> int:
        return int(wit_journal.publish(topic, to_payload(payload)))

    def run(self, name: str) -> tuple[int, bool]:
        answer = wit_journal.run(name)
        return answer.value, isinstance(answer, wit.RunAnswer_Execute)

    def run_done(self, command: int, outcome: Outcome) -> None:
        wit_journal.run_done(command, to_outcome(outcome))

    def finish(self, outcome: Outcome) -> None:
        wit_journal.finish(to_outcome(outcome))

    def saga_call(self, function: str, input: Payload, options: CallOptions, step: SagaStep) -> int:
        return int(wit_sagas.call(function, to_payload(input), to_options(options), to_step(step)))

    def saga_http(self, request: HttpRequest, options: CallOptions, step: SagaStep) -> int:
        return int(wit_sagas.http(to_request(request), to_options(options), to_step(step)))

    def saga_undo(self, step: SagaStep, input: Payload, options: CallOptions) -> int:
        return int(wit_sagas.undo(to_step(step), to_payload(input), to_options(options)))

    def saga_ask(self, step: SagaStep) -> int:
        return int(wit_sagas.ask(to_step(step)))

    def state_key(self) -> str:
        return str(wit_state.key())

    def state_get(self, name: str) -> int:
        return int(wit_state.get(name))

    def state_names(self) -> int:
        return int(wit_state.names())

    def state_set(self, name: str, value: Payload) -> None:
        wit_state.set(name, to_payload(value))

    def state_clear(self, name: str) -> None:
        wit_state.clear(name)

    def state_clear_all(self) -> None:
        wit_state.clear_all()

    def object_promise_wait(self, name: str) -> int:
        return int(wit_object_promises.wait(name))

    def object_promise_peek(self, name: str) -> int:
        return int(wit_object_promises.peek(name))

    def object_promise_settle(self, name: str, outcome: Outcome) -> int:
        return int(wit_object_promises.settle(name, to_outcome(outcome)))

    def signal_send(self, invocation: str, name: str, payload: Payload) -> int:
        return int(wit_signals.send(invocation, name, to_payload(payload)))

    def signals_unread(self, numbers: list[int]) -> None:
        wit_signals.unread(numbers)

    def continue_as_new(self, input: Payload, same_code: bool) -> None:
        wit_generations.continue_as_new(to_payload(input), same_code)


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


def stop(error: BaseException) -> NoReturn:
    """Ends the call with a defect: the host tries again, and then halts the execution."""
    at, text = report(error)
    # The form in which the host reads a defect of the code.
    wit_journal.log(wit.Level.ERROR, f"panicked at {at}:\n{text}")
    os.abort()


def _rate(rate: Rate | None) -> Any:
    return None if rate is None else wit_limits.Rate(rate.count, rate.period_ms, rate.burst)


def _limit(function: str, limit: Limit) -> Any:
    from .core.duration import milliseconds

    concurrency, rate = limit.bounds()
    total_concurrency, total_rate = limit.total_bounds()
    priority = (
        None
        if limit.priority is None
        else wit_limits.Priority(limit.priority, wit_limits.Order[limit.priority_order.upper()])
    )
    debounce = None
    if limit.debounce is not None:
        longest = None if limit.debounce_longest is None else milliseconds("debounce_longest", limit.debounce_longest)
        debounce = wit_limits.Debounce(milliseconds("debounce", limit.debounce), longest)
    return wit_limits.FunctionLimits(
        function,
        limit.key,
        wit_limits.Bounds(concurrency, _rate(rate)),
        wit_limits.Bounds(total_concurrency, _rate(total_rate)),
        priority,
        None if limit.singleton is None else wit_limits.Singleton[limit.singleton.upper()],
        debounce,
    )


def _described(function: Function[Any, Any]) -> Any:
    is_workflow = isinstance(function, Workflow)
    return wit.FunctionDescription(
        function.name,
        wit.FunctionKind.WORKFLOW if is_workflow else wit.FunctionKind.ACTIVITY,
        function.summary,
        None if function.input is None else schema_text(function.input),
        schema_text(function.output),
        isinstance(function, Workflow) and function.takes_signals,
        function.timeout_ms,
        to_retry(function.retry),
    )


def load(name: str) -> tuple[type, ...]:
    """The classes of the author's module, which is imported."""
    return export(prepare.load(name))


def export(app: ModuleType) -> tuple[type, ...]:
    """The classes `Functions`, `Messages`, `Objects`, `Runs`, `Handlers` and `Limits` of a module."""
    module = Module.of_python(app)
    if not module.functions:
        raise TypeError("app.py has no functions: put @workflow or @activity above one")
    defect.author_folder = os.path.dirname(app.__file__ or "") + "/"
    guards.install()
    logs.install()
    begun: list[Execution] = []

    class Functions:
        def describe(self) -> list[Any]:
            return [_described(function) for function in module.functions.values()]

        def start(self, function: str, input: Any, context: Any) -> None:
            Randomness(bytes(context.seed)).enter()
            facts = WorkflowFacts(context.invocation, context.parent, context.started_at_ms, bytes(context.seed))
            execution = Execution(HostEngine(), module.workflow(function), facts, module)
            begun.append(execution)
            try:
                execution.start(of_payload(input))
            except BaseException as error:
                stop(error)

        def resume(self, event: Any) -> None:
            try:
                begun[0].resume(of_event(event))
            except BaseException as error:
                stop(error)

        def perform(self, function: str, input: Any, context: Any) -> Any:
            random.seed()  # Its seed was made when the component was built.
            progress = None if context.last_progress is None else of_payload(context.last_progress)
            facts = AttemptFacts(
                context.invocation, context.idempotency_key, context.fence_token, context.attempt,
                progress, context.started_at_ms, context.deadline_ms,
            )  # fmt: skip
            return to_outcome(Attempt(HostAttempt(), module.activity(function), facts).perform(of_payload(input)))

    class Messages:
        def describe_messages(self) -> list[Any]:
            kinds = wit_messages.MessageKind
            return [
                wit_messages.MessageDescription(workflow.name, kind, name, schema_text(codec) or "{}")
                for workflow in module.workflows
                for kind, declared in ((kinds.SIGNAL, workflow.signals), (kinds.PROMISE, workflow.promises))
                for name, codec in declared.items()
            ]

    class Objects:
        def describe_objects(self) -> list[Any]:
            return [
                wit_objects.ObjectFunction(workflow.name, wit_objects.Access[workflow.access.upper()])
                for workflow in module.workflows
                if workflow.access is not None
            ]

    class Runs:
        def describe_runs(self) -> list[str]:
            return [workflow.name for workflow in module.workflows if workflow.once]

    class Handlers:
        def describe_handlers(self) -> list[Any]:
            return [
                wit_handlers.HandlerDescription(
                    handler.workflow.name,
                    wit_handlers.HandlerKind[handler.kind.upper()],
                    handler.name,
                    handler.summary,
                    None if handler.input is None else schema_text(handler.input),
                    schema_text(handler.output),
                )
                for handler in module.handlers
            ]

        def query(self, name: str, input: Any) -> Any:
            return to_outcome(begun[0].query(name, of_payload(input)))

        def validate(self, name: str, input: Any) -> Any:
            refused = begun[0].validate(name, of_payload(input))
            return None if refused is None else to_failure(refused)

    class Limits:
        def describe_limits(self) -> list[Any]:
            return [
                _limit(function.name, function.limit)
                for function in module.functions.values()
                if function.limit is not None
            ]

    return Functions, Messages, Objects, Runs, Handlers, Limits
