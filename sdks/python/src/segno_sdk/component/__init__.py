"""The functions of a module as the exports of a WebAssembly component. Imported by the build, and nowhere else.

The build generates a module with the classes that componentize-py expects:

```python
from segno_sdk.component import load
Functions, Messages, Objects, Runs, Handlers, Limits, Commits, Exposures = load("app")
```
"""

import os
import random
from types import ModuleType
from typing import Any, NoReturn

from wit_world.exports import exposures as wit_exposures
from wit_world.exports import handlers as wit_handlers
from wit_world.exports import limits as wit_limits
from wit_world.exports import messages as wit_messages
from wit_world.exports import objects as wit_objects
from wit_world.imports import journal as wit_journal
from wit_world.imports import types as wit

from .. import prepare
from ..codec import schema_text
from ..core import defect, guards, logs
from ..core.attempt import Attempt
from ..core.defect import report
from ..core.duration import milliseconds
from ..core.engine import AttemptFacts, WorkflowFacts
from ..core.execution import Execution
from ..core.function import Function, Workflow
from ..core.module import Module
from ..core.options import Limit, Rate
from ..core.randomness import Randomness
from .engines import HostAttempt, HostEngine
from .rehearsal import rehearse
from .wire import of_event, of_payload, to_failure, to_outcome, to_retry


def stop(error: BaseException) -> NoReturn:
    """Ends the call with a defect: the host tries again, and then halts the execution."""
    at, text = report(error)
    # The form in which the host reads a defect of the code.
    wit_journal.log(wit.Level.ERROR, f"panicked at {at}:\n{text}")
    os.abort()


def _rate(rate: Rate | None) -> Any:
    return None if rate is None else wit_limits.Rate(rate.count, rate.period_ms, rate.burst)


def _limit(function: str, limit: Limit) -> Any:
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
    """The classes `Functions`, `Messages`, `Objects`, `Runs`, `Handlers`, `Limits`, `Commits` and `Exposures` of a module."""
    module = Module.of_python(app)
    if not module.functions:
        raise TypeError("app.py has no functions: put @workflow or @activity above one")
    for function in module.functions.values():
        function.check()
    defect.author_folder = os.path.dirname(app.__file__ or "") + "/"
    guards.install()
    logs.install()
    rehearse()
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
            random.seed()  # Its seed was made when the module was loaded.
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

    class Commits:
        def describe_commits(self) -> list[str]:
            return [workflow.name for workflow in module.workflows if workflow.commit == "each"]

    class Exposures:
        def describe_exposures(self) -> list[Any]:
            return [
                wit_exposures.Exposure(function.name, function.expose)
                for function in module.functions.values()
                if function.expose is not None
            ]

    return Functions, Messages, Objects, Runs, Handlers, Limits, Commits, Exposures
