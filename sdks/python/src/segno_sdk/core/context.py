"""What a workflow may ask for: the context of its function."""

import inspect
import random
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, get_type_hints, overload
from uuid import UUID

from .. import http as web
from ..codec import ANY, EXACT, Codec, codec_of, decoded, encoded
from .budget import BUDGET_FUNCTION, BudgetLimits, BudgetUnit
from .defect import Defect, calling_place, report
from .duration import LATEST_MS, Duration, instant_ms, instant_of, milliseconds
from .engine import FailureRecord, Level, Success
from .execution import ContinueAsNew
from .failure import Failure, NotJson
from .function import Activity, Function, Workflow
from .options import CALL_OPTIONS, SEND_OPTIONS, CallOptions, Retry, call_options, check_options, unknown_name
from .randomness import Randomness
from .reference import FunctionReference
from .saga import Saga
from .stream import JSON_TYPE, OF_OBJECT, WorkflowStream
from .stream_reader import STREAM_FUNCTION, StreamReader
from .updates import failure_record
from .waits import Call, Command, ConditionWait, Promise, SignalWait

if TYPE_CHECKING:
    from .execution import Execution
    from .object import Object

In = TypeVar("In")
Out = TypeVar("Out")
T = TypeVar("T")
O = TypeVar("O", bound="Object")  # noqa: E741
LEVELS = ("trace", "debug", "info", "warn", "error")


@dataclass(frozen=True)
class Signal(Generic[T]):
    """A signal that arrived."""

    name: str
    value: T


def function_name(function: Any) -> str:
    """The name by which the host knows a function."""
    if isinstance(function, Function):
        return function.name
    if isinstance(function, str) and function:
        return function
    if isinstance(address := getattr(function, "address", None), str):
        return address
    if callable(function):
        raise TypeError(
            f"`{getattr(function, '__name__', function)}` is a plain function: put @activity or @workflow above it"
        )
    raise TypeError(
        f"{function!r} is no function: write a function with @activity or @workflow, a reference of `segno types`, or a name"
    )


class Context:
    """What a workflow may ask for, and what it knows of its execution.

    A method that asks for something asks at once, awaited or not; what it returns is to be awaited. The journal keeps the
    order, so a replay has to ask for the same.
    """

    def __init__(self, execution: "Execution") -> None:
        self._execution = execution

    # What it knows.

    @property
    def id(self) -> str:
        """The id of the invocation."""
        return self._execution.facts.invocation

    @property
    def parent(self) -> str | None:
        """The id of the invocation that called this one."""
        return self._execution.facts.parent

    @property
    def started_at(self) -> datetime:
        """The instant at which the workflow began, in UTC."""
        return instant_of(self._execution.facts.started_at_ms)

    def now(self) -> datetime:
        """The instant of the event that woke the workflow, in UTC. The same in every replay."""
        return instant_of(self._execution.engine.now())

    @property
    def is_cancelled(self) -> bool:
        """True if the workflow was asked to end."""
        return self._execution.is_cancelled

    @property
    def random(self) -> random.Random:
        """Draws the same numbers in every replay, and others in every other execution. Not for keys and tokens."""
        return self._execution.random

    def uuid4(self) -> UUID:
        """A random UUID. The same in every replay."""
        return UUID(int=self.random.getrandbits(128), version=4)

    @property
    def key(self) -> str:
        """In a function of an object: the key of the object."""
        return self._execution.engine.state_key()

    # Calls.

    @overload
    def call(self, function: Function[None, Out], /, *, timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Call[Out]: ...  # fmt: skip
    @overload
    def call(self, function: Function[In, Out], input: In, /, *, timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Call[Out]: ...  # fmt: skip
    @overload
    def call(self, function: FunctionReference[None, Out], /, *, timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Call[Out]: ...  # fmt: skip
    @overload
    def call(self, function: FunctionReference[In, Out], input: In, /, *, timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Call[Out]: ...  # fmt: skip
    @overload
    def call(self, function: str, input: Any = None, /, *, result: type[T], timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Call[T]: ...  # fmt: skip
    @overload
    def call(self, function: str, input: Any = None, /, *, timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Call[Any]: ...  # fmt: skip
    def call(self, function: Any, input: Any = None, /, *, result: Any = None, **options: Any) -> Call[Any]:
        """Calls a workflow or an activity; the result is to be awaited.

        Args:
            function: a function of this module, a reference of `segno types`, or a name: `"charge"`, or
                `"wasm://payments/charge"` of another module, or `"poll://any@group#charge"` of an external worker, whose
                input is the list of its arguments.
            input: the input.
            result: the type of the result, for a function that is given by its name.
            timeout: the time until the call fails with code 408, all attempts included.
            attempt_timeout: the longest time for one attempt of an activity.
            retry: when and how often a failed attempt of an activity is repeated.
            labels: names and values by which the call can be listed.
            budget: limits of the call and everything below it; the budgets above it are charged with the same amounts.
        """
        name, payload, codec, checked = self._request(function, input, result, options, CALL_OPTIONS)
        return self._call(self._execution.engine.call(name, payload, checked), codec, name)

    @overload
    def send(self, function: Function[None, Any], /, *, delay: Duration | None = None, start_at: datetime | None = None, timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Command[str]: ...  # fmt: skip
    @overload
    def send(self, function: Function[In, Any], input: In, /, *, delay: Duration | None = None, start_at: datetime | None = None, timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Command[str]: ...  # fmt: skip
    @overload
    def send(self, function: FunctionReference[None, Any], /, *, delay: Duration | None = None, start_at: datetime | None = None, timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Command[str]: ...  # fmt: skip
    @overload
    def send(self, function: FunctionReference[In, Any], input: In, /, *, delay: Duration | None = None, start_at: datetime | None = None, timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Command[str]: ...  # fmt: skip
    @overload
    def send(self, function: str, input: Any = None, /, *, delay: Duration | None = None, start_at: datetime | None = None, timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Command[str]: ...  # fmt: skip
    def send(self, function: Any, input: Any = None, /, **options: Any) -> Command[str]:
        """Starts a function that outlives this workflow. Awaited: its id, when the start is stored."""
        name, payload, _, checked = self._request(function, input, None, options, SEND_OPTIONS)
        return self._command(self._execution.engine.send(name, payload, checked), codec_of(str), f"the id of `{name}`")

    def graph(self, plan: Any, input: Any = None, *, result: Any = Any, **options: Any) -> Call[Any]:
        """Runs a plan of a graph: steps whose order is data. Awaited: the outputs by name."""
        return self.call("segno:graph", {"plan": plan, "input": input}, result=result, **options)

    def budget(self) -> Call[dict[str, BudgetUnit]]:
        """What is left for this execution, by unit: of its budget, or of one above it that has less left.

        Awaited: limit, use and remainder; empty without a budget.
        """
        name, payload, codec, checked = self._request(BUDGET_FUNCTION, None, dict[str, BudgetUnit], {}, CALL_OPTIONS)
        return self._call(self._execution.engine.call(name, payload, checked), codec, name)

    def run(self, name: str, compute: Callable[[], T], *, result: Any = None) -> Command[T]:
        """Computes once, and keeps the result: a replay reads it. `compute` may only compute.

        The type of the result is the annotation of `compute`, or `result`. A `Failure` is kept like a value.
        """
        execution = self._execution
        execution.check_command("`ctx.run`")
        if inspect.iscoroutinefunction(compute):
            raise TypeError(f"ctx.run({name!r}, …) takes a plain function: what waits belongs into an activity")
        codec = EXACT if (kind := _result_type(compute, result)) is None else codec_of(kind)
        index, is_new = execution.engine.run(name)
        command: Command[T] = self._command(index, codec, f"the result of `{name}`")
        if is_new:
            execution.computing = name
            # A replay does not compute, so that what is drawn here must not change what is drawn later.
            seed, state = execution.facts.seed + str(index).encode(), execution.random.getstate()
            randomness = Randomness(seed)
            execution.random.seed(seed)
            outcome: Success | FailureRecord
            try:
                with randomness.entered():
                    outcome = Success(encoded(codec, compute(), f"the result of ctx.run({name!r})"))
            except Failure as failure:
                outcome = failure_record(failure)
            finally:
                execution.computing = None
                execution.random.setstate(state)
            execution.engine.run_done(index, outcome)
        return command

    # Time.

    def sleep(self, length: Duration) -> Command[None]:
        """Sleeps. The sleep is durable, so it may last for years."""
        now_ms = self._execution.engine.now()
        return self._sleep(now_ms + milliseconds("the sleep", length))

    def sleep_until(self, instant: datetime) -> Command[None]:
        """Sleeps until an instant."""
        return self._sleep(max(0, instant_ms("sleep_until", instant)))

    def _sleep(self, until_ms: int) -> Command[None]:
        self._execution.check_command("a sleep")
        if until_ms > LATEST_MS:
            raise ValueError("the sleep ends after the year 9999")
        return self._command(self._execution.engine.sleep_until(until_ms), ANY, "the sleep", "the sleep")

    # Promises and signals.

    @overload
    def promise(self, name: str | None = None, *, timeout: Duration | None = None) -> Promise[Any]: ...
    @overload
    def promise(self, name: str | None, type: type[T], *, timeout: Duration | None = None) -> Promise[T]: ...
    def promise(self, name: str | None = None, type: Any = None, *, timeout: Duration | None = None) -> Promise[Any]:
        """Makes a promise that somebody else settles; it is to be awaited.

        A promise with a name has the id `{invocation}/p/{name}`, which others know in advance. `timeout` is the time
        until it fails with code 408.
        """
        execution = self._execution
        execution.check_command("`ctx.promise`")
        declared = execution.function.promises.get(name or "", ANY)
        codec = declared if type is None else codec_of(type)
        index, id = execution.engine.promise(name, None if timeout is None else milliseconds("timeout", timeout))
        what = "the promise" if name is None else f"the promise {name!r}"
        return Promise(execution, index, lambda payload: decoded(codec, payload, what), id, what)

    def resolve(self, promise: str, value: Any = None) -> Command[None]:
        """Settles the promise of somebody else with a value. Raises a `Failure` 409 if it was settled before."""
        payload = encoded(ANY, value, f"the value of the promise {promise!r}")
        self._execution.check_command("`ctx.resolve`")
        return self._command(self._execution.engine.settle(promise, Success(payload)), ANY, "the settlement")

    def reject(self, promise: str, failure: Failure) -> Command[None]:
        """Settles the promise of somebody else with a failure."""
        self._execution.check_command("`ctx.reject`")
        return self._command(self._execution.engine.settle(promise, failure_record(failure)), ANY, "the settlement")

    @overload
    async def signal(self, name: str, *, timeout: Duration | None = None) -> Any: ...
    @overload
    async def signal(self, name: str, type: type[T], *, timeout: Duration | None = None) -> T: ...
    async def signal(self, name: str, type: Any = None, *, timeout: Duration | None = None) -> Any:
        """Waits for the next signal of this name, and returns its value.

        Signals are kept until somebody reads them. After `timeout` it raises `TimeoutError`, and takes no signal.
        """
        declared = self._signal_codec(name)
        codec = declared if type is None else codec_of(type)
        return await self._wait(name, lambda _, payload: decoded(codec, payload, f"the signal {name!r}"), timeout)

    async def next_signal(self, *, timeout: Duration | None = None) -> Signal[Any]:
        """Waits for the next signal of any name."""

        def decode(name: str, payload: str | bytes) -> Signal[Any]:
            return Signal(name, decoded(self._signal_codec(name), payload, f"the signal {name!r}"))

        return await self._wait(None, decode, timeout)

    async def signals(self) -> AsyncIterator[Signal[Any]]:
        """All signals, in their order: `async for signal in ctx.signals()`."""
        while True:
            yield await self.next_signal()

    def send_signal(self, invocation: str, name: str, value: Any = None) -> Command[None]:
        """Sends another invocation a signal, once."""
        payload = encoded(ANY, value, f"the value of the signal {name!r}")
        self._execution.check_command("`ctx.send_signal`")
        return self._command(self._execution.engine.signal_send(invocation, name, payload), ANY, "the signal")

    def _signal_codec(self, name: str) -> Codec:
        function = self._execution.function
        if not function.takes_signals:
            raise Defect(
                f"`{function.name}` waits for a signal and takes none: write `@workflow(signals={{{name!r}: type}})`",
                calling_place(),
            )
        if function.signals and name not in function.signals:
            known = ", ".join(map(repr, function.signals))
            raise Defect(
                f"`{function.name}` waits for the signal {name!r}, which it does not declare; it declares {known}",
                calling_place(),
            )
        return function.signals.get(name, ANY)

    async def _wait(self, name: str | None, decode: Callable[[str, str | bytes], T], timeout: Duration | None) -> T:
        execution = self._execution
        execution.check_command("a wait for a signal")
        if name is None and not execution.function.takes_signals:
            self._signal_codec("name")
        wait = SignalWait(execution, name, decode)
        if timeout is None:
            return await wait
        import asyncio

        length = milliseconds("timeout", timeout)
        try:
            async with asyncio.timeout(length / 1_000):
                return await wait
        except TimeoutError:
            from .failure import TimedOut

            what = "no signal came" if name is None else f"the signal {name!r} did not come"
            raise TimedOut(408, f"{what} within {timeout}") from None

    # Requests, events.

    def http(
        self,
        method: str,
        url: str,
        *,
        params: web.Params | None = None,
        headers: web.Headers | None = None,
        json: Any = None,
        data: Mapping[str, Any] | str | bytes | None = None,
        auth: tuple[str, str] | None = None,
        timeout: Duration | None = None,
        attempt_timeout: Duration | None = None,
        retry: Retry | None = None,
        labels: Mapping[str, str] | None = None,
        budget: BudgetLimits | None = None,
    ) -> Call[web.Response]:
        """Sends a durable HTTP request: the host sends it, repeats it, and keeps the response.

        A status of 408, 425, 429 or 5xx is repeated by `retry`; any other is a response. Every attempt has the same
        `Idempotency-Key`. A header may name a secret, `Bearer {secret:PAY}`. The policy of the host has to allow the
        address.
        """
        execution = self._execution
        execution.check_command("`ctx.http`")
        request = web.build(method, url, params=params, headers=headers, json=json, data=data, auth=auth)
        now_ms = execution.engine.now()
        options = call_options(
            now_ms, timeout=timeout, attempt_timeout=attempt_timeout, retry=retry, labels=labels, budget=budget
        )
        index = execution.engine.http(request, options)
        return Call(execution, index, lambda payload: web.of_payload(payload, url), name=f"the request to {url}")

    def publish(self, topic: str, value: Any = None) -> Command[None]:
        """Hands an event to the receiver of the topic. It is delivered at least once."""
        payload = encoded(ANY, value, f"the event on the topic {topic!r}")
        self._execution.check_command("`ctx.publish`")
        return self._command(self._execution.engine.publish(topic, payload), ANY, "the event")

    def stream(self, name: str, *, content_type: str = JSON_TYPE) -> WorkflowStream:
        """A stream of this invocation, for readers outside: `ctx.stream("tokens").append({"text": text})`.

        It consists of JSON messages, or with another content type, such as `text/plain`, of text and bytes. Its writes need
        no await.
        """
        return WorkflowStream(self._execution, name, content_type)

    def object_stream(self, name: str, *, content_type: str = JSON_TYPE) -> WorkflowStream:
        """A stream of this object: `ctx.object_stream("history").append(amount)`.

        It outlives the executions of the object, and is removed with the object's state. A shared function may not write it.
        """
        return WorkflowStream(self._execution, name, content_type, OF_OBJECT)

    @overload
    def read_stream(self, invocation: str, name: str, *, start: int = 0) -> StreamReader[Any]: ...
    @overload
    def read_stream(self, invocation: str, name: str, type: type[T], *, start: int = 0) -> StreamReader[T]: ...
    def read_stream(self, invocation: str, name: str, type: Any = Any, *, start: int = 0) -> StreamReader[Any]:
        """Reads a stream of any invocation while it grows: `async for number in ctx.read_stream(id, "numbers", int)`.

        Args:
            invocation: the id of the invocation, or an object: `MODULE/OBJECT@KEY`.
            name: the name of the stream.
            type: the type of a message. A stream of another content is read by `.text()` or `.bytes()` of the result.
            start: the position at which it begins: a number of messages, or of bytes in a stream that is not JSON.
        """

        def ask(query: dict[str, Any]) -> Call[Any]:
            function, payload, codec, checked = self._request(STREAM_FUNCTION, query, Any, {}, CALL_OPTIONS)
            return self._call(self._execution.engine.call(function, payload, checked), codec, function)

        return StreamReader(ask, invocation, name, codec_of(type), start)

    # Structure.

    def cancel(self, command: Command[Any]) -> Command[None]:
        """Cancels a call, a request, a sleep or a promise of this workflow.

        A sleep, a promise or a request ends at once, and raises a `Failure` 499. A called function is asked to stop, and
        its call gives what it answers.
        """
        if not isinstance(command, Command):
            raise TypeError(
                f"ctx.cancel takes what ctx.call, ctx.http, ctx.sleep or ctx.promise returned, and not {command!r}"
            )
        self._execution.check_command("`ctx.cancel`")
        self._execution.unawaited_commands.discard(command.command)
        return self._command(self._execution.engine.cancel(command.command), ANY, "the cancellation")

    def saga(self, name: str) -> Saga:
        """Begins a saga: steps that are undone, the last one first, if a failure leaves the workflow.

        In `async with ctx.saga("trip") as saga:` they are undone if a failure leaves the block.
        """
        return Saga(self._execution, name)

    def object(self, kind: type[O], key: str, *, module: str | None = None) -> O:
        """An object, whose functions can be called: `await ctx.object(Cart, "ada").add("hat")`."""
        return kind.of_caller(self, key, module)

    def share(self, value: T) -> T:
        """Shares a value with the queries and updates of this workflow, once. They see it from now on, also after the end."""
        if self._execution.is_shared:
            raise Defect(
                "this workflow has shared a value already: give the first one what this one has", calling_place()
            )
        self._execution.shared, self._execution.is_shared = value, True
        return value

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until the condition holds: an update, or another task, has made it true."""
        self._execution.check_command("`ctx.until`")
        if not holds():
            await ConditionWait(self._execution, holds)

    async def updates_done(self) -> None:
        """Waits until every update that was accepted has been answered. The others are cancelled at the end."""
        await self.until(lambda: self._execution.updates.unanswered == 0)

    def continue_as_new(self, input: Any = None, *, same_code: bool = False) -> NoReturn:
        """Ends this generation, and begins the next one with this input and an empty journal.

        The next generation has the id, the labels, the deadline and the signals that nobody read. It runs the newest code,
        or with `same_code` that of this one. Raises an exception that ends the workflow: write it last.
        """
        if self._execution.function.access is not None:
            raise Defect(
                "functions of objects cannot continue as new: an object keeps its state instead", calling_place()
            )
        raise ContinueAsNew(input, same_code)

    def log(self, message: str, level: Level = "info") -> None:
        """Writes a line to the log of the invocation. A replay adds none. The module `logging` works too."""
        self._execution.engine.log(checked_level(level), str(message))

    # Inside.

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(unknown_name("`ctx`", name, dir(self)))

    def _request(
        self, function: Any, input: Any, result: Any, options: dict[str, Any], known: tuple[str, ...]
    ) -> tuple[str, str, Codec, CallOptions]:
        name = function_name(function)
        self._execution.check_command(f"a call of `{name}`")
        check_options(options, known, f"the call of `{name}`")
        checked = call_options(self._execution.engine.now(), **options)
        payload = input_payload(function, name, input)
        codec = function.output if isinstance(function, Function) else codec_of(Any if result is None else result)
        return name, payload, codec, checked

    def _call(self, index: int, codec: Codec, function: str, name: str | None = None) -> Call[Any]:
        def decode(payload: str | bytes) -> Any:
            return decoded(codec, payload, f"the result of `{function}`")

        return Call(self._execution, index, decode, name=name or f"the call of `{function}`")

    def _command(self, index: int, codec: Codec, what: str, name: str | None = None) -> Command[Any]:
        return Command(self._execution, index, lambda payload: decoded(codec, payload, what), name=name)


def input_payload(function: Any, name: str, input: Any) -> str:
    """The input of a call as JSON. The error is that of the caller's line."""
    if isinstance(function, Function) and function.input is None:
        if input is not None:
            raise TypeError(f"`{name}` takes no input, and is given {input!r}")
        return "null"
    codec = function.input if isinstance(function, Function) and function.input is not None else ANY
    try:
        return encoded(codec, input, "input")
    except NotJson as error:
        raise NotJson(f"a call of `{name}`: {error}") from None


def split_request(now_ms: int, method: str, url: str, about: dict[str, Any]) -> tuple[Any, CallOptions]:
    """The request and the options of a durable request."""
    options = {name: about.pop(name) for name in CALL_OPTIONS if name in about}
    return web.build(method, url, **about), call_options(now_ms, **options)


def checked_level(level: str) -> Any:
    """Refuses other levels."""
    if level not in LEVELS:
        raise ValueError(f"the level is {level!r}: write one of {', '.join(map(repr, LEVELS))}")
    return level


def _result_type(compute: Any, result: Any) -> Any:
    if result is not None:
        return result
    try:
        return get_type_hints(compute).get("return")
    except Exception:
        return None


__all__ = ["Activity", "Context", "Signal", "Workflow", "report"]
