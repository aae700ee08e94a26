"""The host of a test."""

import re
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from types import ModuleType
from typing import Any, Generic, NoReturn, TypeVar, overload

from ..codec import ANY, decoded, encoded
from ..core import guards, logs
from ..core.blob import BYTES_TYPE, Blob
from ..core.budget import Amount, BudgetLimits, BudgetUnit, limits_text, millionths
from ..core.context import function_name
from ..core.duration import Duration, instant_ms, instant_of, milliseconds
from ..core.engine import CancelRequested, FailureRecord, Level, Outcome, Payload, SignalArrived, Success
from ..core.failure import Failure
from ..core.function import Function, Workflow
from ..core.handler import Handler
from ..core.module import Module
from ..core.object import Method, Object
from ..core.reference import FunctionReference
from ..core.updates import failure_record
from . import replay
from .clock import virtual_time
from .doubles import Doubles, FunctionDouble, SeenRequest
from .journal import JsonRecord
from .objects import ObjectCall, TestObject
from .world import Exchange, PlannedPromise, World

#: Minimum length of a secret, in bytes: so that it can be found in other text.
SECRET_BYTES_MIN = 8

In = TypeVar("In")
Out = TypeVar("Out")
T = TypeVar("T")


class PromisePlan:
    """How a test settles a promise: `host.promise("approval").after("1h").resolve(True)`."""

    def __init__(self, add: Callable[[int, Outcome], None]) -> None:
        self._add, self._after_ms = add, 0

    def after(self, delay: Duration) -> "PromisePlan":
        """Waits first: from the moment in which the workflow makes the promise."""
        self._after_ms = milliseconds("after", delay)
        return self

    def resolve(self, value: Any = None) -> None:
        """Settles it with a value."""
        self._add(self._after_ms, Success(encoded(ANY, value, "the value of the promise")))

    def reject(self, failure: Failure) -> None:
        """Settles it with a failure."""
        self._add(self._after_ms, failure_record(failure))


class Answer(Generic[T]):
    """The answer to a query or an update of a test, after the run."""

    def __init__(self, handler: Handler, exchange: Exchange) -> None:
        self._handler, self._exchange = handler, exchange

    @property
    def value(self) -> Any:
        """The answer. Raises the `Failure` of an update that was refused."""
        if self._exchange.outcome is None:
            raise AssertionError(
                f"the {self._exchange.kind} `{self._exchange.name}` has no answer: the workflow ended before its time came"
            )
        return result_of(self._handler.output, self._exchange.outcome, f"the answer of `{self._exchange.name}`")


class TestHost:
    """Runs workflows in virtual time, without a host.

    The functions that a workflow calls run for real, unless the test has a stand-in for them. After a run, every execution
    is replayed from its journal, once for every place at which it could have been interrupted.
    """

    __test__ = False

    def __init__(
        self,
        module: ModuleType | None = None,
        *,
        start_at: datetime = datetime(2025, 6, 15, 12, tzinfo=UTC),
        seed: int = 0,
        id: str = "test",
        replays: bool = True,
    ) -> None:
        """Args:
        module: the module that would be built. With it, calls of functions that it lacks are refused, as by a host.
        start_at: the instant at which the first run begins.
        seed: another seed draws other random numbers.
        id: the id of the workflow under test.
        replays: False leaves out the replays after a run.
        """
        self.id, self.seed = id, seed
        self._replays = replays
        self._start_ms = instant_ms("start_at", start_at)
        self._doubles = Doubles()
        self._objects: dict[str, TestObject] = {}
        self._functions: dict[str, Function[Any, Any]] = {}
        self._module = None if module is None else Module.of_python(module)
        self._arrivals: list[tuple[int, Any]] = []
        self._promises: list[PlannedPromise] = []
        self._object_promises: list[tuple[int, str, str, Outcome]] = []
        self._raises: list[tuple[int, str, str]] = []
        self._world: World | None = None
        #: Number of replays after the last run.
        self.replayed = 0

    # Before the run.

    @overload
    def on(
        self,
        function: Function[In, Out],
        answer: Callable[[In], Out] | Callable[[], Out] | Callable[[In], NoReturn] | Out,
        *,
        costs: Mapping[str, Amount] = {},
    ) -> None: ...
    @overload
    def on(
        self,
        function: FunctionReference[In, Out],
        answer: Callable[[In], Out] | Out,
        *,
        costs: Mapping[str, Amount] = {},
    ) -> None: ...
    @overload
    def on(self, function: str, answer: Any, *, costs: Mapping[str, Amount] = {}) -> None: ...
    def on(self, function: Any, answer: Any, *, costs: Mapping[str, Amount] = {}) -> None:
        """Puts something in the place of a function: a function of the input, or a value. It may raise a `Failure`.

        `costs`: amounts by unit that each attempt of it reports.
        """
        name = _name(function)
        self._doubles.functions[name] = FunctionDouble(
            name,
            function if isinstance(function, Function) else None,
            answer,
            {unit: millionths(unit, amount) for unit, amount in costs.items()},
        )

    def on_http(self, method: str, url: str, answer: Any) -> None:
        """Answers requests whose address begins so: with a status, `(status, json)`, JSON, or a `Response`; or with a
        function of the request that returns one."""
        self._doubles.web.append((method, url, answer))

    def signal(self, name: str, value: Any = None, *, after: Duration = 0) -> None:
        """Sends the workflow a signal, this long after its start."""
        payload = encoded(ANY, value, f"the value of the signal {name!r}")
        self._arrivals.append((milliseconds("after", after), SignalArrived(name, payload)))

    def promise(self, name: str) -> PromisePlan:
        """Settles a promise, by its name or its id."""
        return PromisePlan(lambda after_ms, outcome: self._promises.append(PlannedPromise(name, after_ms, outcome)))

    def object_promise(self, object: str, name: str) -> PromisePlan:
        """Settles a promise of an object, such as `host.object_promise("Signup@ada", "confirmed")`."""
        return PromisePlan(lambda after_ms, outcome: self._object_promises.append((after_ms, object, name, outcome)))

    def cancel_after(self, delay: Duration) -> None:
        """Cancels the workflow, this long after its start."""
        self._arrivals.append((milliseconds("delay", delay), CancelRequested()))

    def set_budget(self, limits: BudgetLimits, *, after: Duration = 0, id: str | None = None) -> None:
        """Sets limits during the run, as `segno budget set` does, this long after its start.

        `id`: an execution with a budget, other than the workflow under test.
        """
        if (text := limits_text(limits)) is not None:
            self._raises.append((milliseconds("after", after), id or self.id, text))

    def ask(self, query: Handler, input: Any = None, *, after: Duration = 0) -> Answer[Any]:
        """Sends a query during the run."""
        return self._exchange(query, input, after)

    def update(self, update: Handler, input: Any = None, *, after: Duration = 0) -> Answer[Any]:
        """Sends an update during the run."""
        return self._exchange(update, input, after)

    def _exchange(self, handler: Handler, input: Any, after: Duration) -> Answer[Any]:
        payload = "null" if handler.input is None else encoded(handler.input, input, "input")
        exchange = Exchange(handler.kind, handler.name, payload)
        self._arrivals.append((milliseconds("after", after), exchange))
        return Answer(handler, exchange)

    def env(self, name: str, value: str) -> None:
        """Sets `env.NAME` of the module."""
        self._doubles.env[name] = value

    def secret(self, name: str, value: str) -> None:
        """Sets a secret of the module. A host takes secrets of 8 bytes or more."""
        length = len(value.encode())
        if length < SECRET_BYTES_MIN:
            raise ValueError(
                f"the secret {name!r} has {length} bytes, and a host takes {SECRET_BYTES_MIN} or more: put a setting in host.env"
            )
        self._doubles.secrets[name] = value

    def file(self, path: str, content: str | bytes) -> None:
        """Makes a file."""
        self._doubles.files[path] = content.encode() if isinstance(content, str) else content

    def file_content(self, path: str) -> bytes:
        """The content of a file."""
        return self._doubles.files[path]

    def blob(self, content: str | bytes, content_type: str = BYTES_TYPE) -> Blob:
        """Stores a blob, as a client does before it starts the workflow under test."""
        content = content.encode() if isinstance(content, str) else content
        return self._doubles.blobs.store(self.id, content_type, content)

    def blob_content(self, blob: Blob) -> bytes:
        """The content of a blob."""
        return self._doubles.blobs.content(blob)

    def state(self, object: str, name: str, value: Any) -> None:
        """Writes a part of the state of an object, such as `host.state("Cart@ada", "total", 7)`."""
        self._objects.setdefault(object, TestObject()).state[name] = encoded(ANY, value, f"the state {name!r}")

    def state_of(self, object: str, name: str) -> Any:
        """A part of the state of an object, or None."""
        payload = self._objects.setdefault(object, TestObject()).state.get(name, "null")
        return decoded(ANY, payload, f"the state {name!r}")

    # The run.

    @overload
    def run(self, workflow: Workflow[None, Out], /, *, budget: BudgetLimits | None = None) -> Out: ...
    @overload
    def run(self, workflow: Workflow[In, Out], input: In, /, *, budget: BudgetLimits | None = None) -> Out: ...
    def run(self, workflow: Any, input: Any = None, /, *, budget: BudgetLimits | None = None) -> Any:
        """Runs a workflow to its end, and returns its result. Raises the `Failure` with which it ended, and any defect of
        the code. `budget`: limits of the run and everything below it."""
        payload = "null" if workflow.input is None else encoded(workflow.input, input, "input")
        outcome = self._run(workflow, payload, None, budget)
        return result_of(workflow.output, outcome, f"the result of `{workflow.name}`")

    def run_json(self, workflow: Workflow[Any, Any], input: str) -> Any:
        """Runs a workflow with an input in JSON, as a client would: also with one that does not fit."""
        return result_of(workflow.output, self._run(workflow, input, None), f"the result of `{workflow.name}`")

    @overload
    def run_object(self, method: Method[None, Out], key: str, /, *, budget: BudgetLimits | None = None) -> Out: ...
    @overload
    def run_object(
        self, method: Method[In, Out], key: str, input: In, /, *, budget: BudgetLimits | None = None
    ) -> Out: ...
    def run_object(self, method: Any, key: str, input: Any = None, /, *, budget: BudgetLimits | None = None) -> Any:
        """Runs a function of an object: `host.run_object(Cart.add, "ada", "hat")`."""
        kind, _, name = method.name.partition("/")
        call = ObjectCall(f"{kind}@{key}", key, f"{kind}/{name}")
        payload = "null" if method.input is None else encoded(method.input, input, "input")
        return result_of(method.output, self._run(method, payload, call, budget), f"the result of `{method.name}`")

    def _run(
        self,
        workflow: Workflow[Any, Any],
        input: Payload,
        call: ObjectCall | None,
        budget: BudgetLimits | None = None,
    ) -> Outcome:
        if not isinstance(workflow, Workflow):
            raise TypeError(f"{workflow!r} is no workflow: a test of an activity runs a workflow that calls it")
        world = World(self._start_ms, self.seed, self._doubles, self._objects, self._learn(workflow))
        world.listed = None if self._module is None else set(self._module.functions)
        self._world, world.planned = world, self._promises
        world.budgets.open(self.id, None if budget is None else limits_text(budget))
        self._plan(world, workflow)
        for place in self._objects.values():
            place.holder = None
            place.line.clear()
            place.waiting.clear()
        guards.install()
        logs.install()
        try:
            with virtual_time(lambda: world.now_ms):
                world.begin(self.id, workflow, input, None, call)
                outcome = world.run(self.id)
            self._replay(world)
        finally:
            self._start_ms = world.now_ms
            world.close()
            guards.uninstall()
            logs.uninstall()
        for invocation in world.invocations.values():
            for text in invocation.execution.warnings:
                warnings.warn(f"`{invocation.function.name}`: {text}", stacklevel=3)
        return outcome

    def _replay(self, world: World) -> None:
        self.replayed = 0
        for invocation in [*world.finished, *world.invocations.values()]:
            if self._replays and invocation.journal.ending is not None and not invocation.is_graph:
                self.replayed += replay.check(invocation.history())

    def _learn(self, workflow: Workflow[Any, Any]) -> dict[str, Function[Any, Any]]:
        """The functions that the workflow may call: those of the module, or of the modules that its own one imports."""
        import sys

        if self._module is not None:
            self._functions.update(self._module.functions)
        own = sys.modules.get(workflow.__module__)
        if own is not None and self._module is None:
            self._functions.update(Module.of_python(own).functions)
        if workflow.owner is not None:
            self._functions.update({method.name: method for method in workflow.owner.methods()})
        self._functions[workflow.name] = workflow
        _closures(workflow, self._functions)
        return self._functions

    def _plan(self, world: World, workflow: Workflow[Any, Any]) -> None:
        for after_ms, arrival in self._arrivals:
            at_ms = world.now_ms + after_ms
            if isinstance(arrival, Exchange):
                world.decide(at_ms, partial(world.ask, self.id, arrival))
                continue
            if isinstance(arrival, SignalArrived) and not workflow.takes_signals:
                raise AssertionError(
                    f"`{workflow.name}` takes no signals, and is sent {arrival.name!r}: write `@workflow(signals={{{arrival.name!r}: type}})`"
                )
            if isinstance(arrival, SignalArrived) and workflow.signals and arrival.name not in workflow.signals:
                known = ", ".join(map(repr, workflow.signals))
                raise AssertionError(
                    f"`{workflow.name}` declares the signals {known}, and is sent {arrival.name!r}: a host would refuse it"
                )
            if isinstance(arrival, SignalArrived) and workflow.signals:
                # A host refuses the signal to its sender.
                decoded(workflow.signals[arrival.name], arrival.payload, f"the value of the signal {arrival.name!r}")
            world.decide(at_ms, partial(world.tell, self.id, arrival))
        for after_ms, path, name, outcome in self._object_promises:
            world.decide(world.now_ms + after_ms, partial(world.settle_of_object, path, name, outcome))
        for after_ms, id, limits in self._raises:
            world.decide(world.now_ms + after_ms, partial(world.budgets.set, id, limits))
        self._arrivals, self._object_promises, self._raises = [], [], []

    # After the run.

    def query(self, query: Handler, input: Any = None) -> Any:
        """Sends a query after the end."""
        payload = "null" if query.input is None else encoded(query.input, input, "input")
        exchange = Exchange("query", query.name, payload)
        self._last.ask(self.id, exchange)
        return Answer(query, exchange).value

    @property
    def _last(self) -> World:
        if self._world is None:
            raise AssertionError("nothing has run yet: host.run(workflow, input)")
        return self._world

    @overload
    def calls(self, function: Function[In, Any]) -> list[In]: ...
    @overload
    def calls(self, function: FunctionReference[In, Any]) -> list[In]: ...
    @overload
    def calls(self, function: str) -> list[Any]: ...
    def calls(self, function: Any) -> list[Any]:
        """The inputs of the calls of a function, by all executions of the last run."""
        return self._inputs(function, "call")

    @overload
    def sent(self, function: Function[In, Any]) -> list[tuple[In, datetime | None]]: ...
    @overload
    def sent(self, function: FunctionReference[In, Any]) -> list[tuple[In, datetime | None]]: ...
    @overload
    def sent(self, function: str) -> list[tuple[Any, datetime | None]]: ...
    def sent(self, function: Any) -> list[tuple[Any, datetime | None]]:
        """The inputs of the sends of a function, with the instants at which they begin; None: at once."""
        name = _name(function)
        found = [
            request for _, request in self._last.commands if request.kind == "send" and _is_call_of(request.name, name)
        ]
        starts = [request.options.start_at_ms for request in found]
        return [
            (value, None if start is None else instant_of(start))
            for value, start in zip(self._inputs(function, "send"), starts)
        ]

    def _inputs(self, function: Any, kind: str) -> list[Any]:
        name = _name(function)
        codec = function.input if isinstance(function, Function) else ANY
        found = [
            request for _, request in self._last.commands if request.kind == kind and _is_call_of(request.name, name)
        ]
        return [None if codec is None else decoded(codec, request.payload or "null", "input") for request in found]

    @property
    def published(self) -> list[tuple[str, Any]]:
        """The events of the last run: topics and values."""
        return [
            (one.name, decoded(ANY, one.payload or "null", "the event"))
            for _, one in self._last.commands
            if one.kind == "publish"
        ]

    @property
    def signals_sent(self) -> list[tuple[str, str, Any]]:
        """The signals to other invocations: their ids, names and values."""
        found = [one for _, one in self._last.commands if one.kind == "send-signal"]
        return [(one.name, one.promise, decoded(ANY, one.payload or "null", "the signal")) for one in found]

    @property
    def requests(self) -> list[SeenRequest]:
        """The HTTP requests, all attempts included."""
        return self._doubles.requests

    @property
    def heartbeats(self) -> list[Any]:
        """The progress that activities passed to `heartbeat`."""
        return self._doubles.heartbeats

    @property
    def logs(self) -> list[tuple[Level, str]]:
        """The log lines: levels and texts."""
        return self._doubles.logs

    @property
    def elapsed(self) -> timedelta:
        """The virtual time that the last run took."""
        return timedelta(milliseconds=self._last.now_ms - self._last.started_ms)

    @property
    def now(self) -> datetime:
        """The virtual time."""
        return instant_of(self._last.now_ms)

    @property
    def forgotten(self) -> list[int]:
        """The commands that the workflow gave up, by number."""
        return sorted(self._last.invocations[self.id].journal.forgotten)

    def stream(self, name: str, id: str | None = None) -> Any:
        """The content of a stream: the list of messages of a JSON stream, the text of any other with a type `text/…`, else
        the bytes; None if nothing wrote it. `id`: an execution other than the workflow under test."""
        return self._last.streams.content(re.sub("/g/[0-9]+$", "", id or self.id), name)

    def object_stream(self, object: str, name: str) -> Any:
        """The content of a stream of an object, as `stream` returns it, of all runs: `host.object_stream("Account@4711", "history")`."""
        return self._objects.setdefault(object, TestObject()).streams.content(object, name)

    def budget(self, id: str | None = None) -> dict[str, BudgetUnit]:
        """The budget of the run: limits and use by unit. `id`: a call that has its own."""
        return self._last.budgets.of(id or self.id)

    def journal(self, id: str | None = None) -> list[JsonRecord]:
        """The journal of an execution, in the form of `GET /v1/invocations/{id}/journal`.

        Of a workflow that continued as new it is that of the newest generation; the older ones are `{id}/g/1` and so on.
        A run of a graph has none.
        """
        wanted, _, number = (id or self.id).partition("/g/")
        if wanted not in self._last.invocations:
            known = ", ".join(self._last.invocations)
            raise LookupError(f"there is no execution `{wanted}`; there are: {known}")
        generations = [*(one for one in self._last.finished if one.id == wanted), self._last.invocations[wanted]]
        invocation = generations[int(number) - 1 if number else -1]
        return [] if invocation.is_graph else invocation.journal.records


def result_of(codec: Any, outcome: Outcome, what: str) -> Any:
    """The value of an outcome. Raises its failure."""
    if isinstance(outcome, FailureRecord):
        details = None if outcome.details is None else decoded(ANY, outcome.details, "the details")
        raise Failure(outcome.code, outcome.message, details)
    return decoded(codec, outcome.value, what)


def _name(function: Any) -> str:
    return function_name(function)


def _is_call_of(called: str, name: str) -> bool:
    parsed = ObjectCall.parse(called)
    return called == name or (parsed is not None and parsed.name == name)


def _closures(workflow: Function[Any, Any], functions: dict[str, Function[Any, Any]]) -> None:
    """Functions that are defined inside a test, which the workflow sees."""
    todo = [workflow.source]
    seen: set[int] = set()
    while todo:
        run = todo.pop()
        for cell in getattr(run, "__closure__", None) or ():
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, Function):
                functions.setdefault(value.name, value)
                todo.append(value.source)
            elif isinstance(value, type) and issubclass(value, Object):
                functions.update({method.name: method for method in value.methods()})
                todo.extend(method.source for method in value.methods())
            elif callable(value) and hasattr(value, "__closure__"):
                todo.append(value)
