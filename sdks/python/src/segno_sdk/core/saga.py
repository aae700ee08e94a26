"""Sagas: steps that are undone if the whole does not come about."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from .. import http as web
from ..codec import ANY, encoded, plain
from .budget import BudgetLimits
from .duration import Duration
from .engine import SagaStep
from .failure import CANCELLED, REFUSED, TIMED_OUT, Failure
from .function import Function, checked_name
from .options import CALL_OPTIONS, CallOptions, Retry
from .saga_report import SagaReport, as_cancellation, of_cancellation
from .waits import Call, Command

if TYPE_CHECKING:
    from .execution import Execution

In = TypeVar("In")
Out = TypeVar("Out")
T = TypeVar("T")
OnUnknown = Literal["ask", "compensate"]


@dataclass(frozen=True)
class Undo(Generic[In, Out]):
    """The input of a compensation: what the step was given, and its result, or None if nobody knows whether it acted."""

    input: In
    output: Out | None


@dataclass
class Step:
    """A step of a saga that has begun."""

    name: str
    given: Any
    declared: SagaStep
    ended: Command[Any]
    is_http: bool


@dataclass
class EndedStep:
    """A step of a saga that has ended."""

    step: Step
    #: True if the host recorded that it is to be undone.
    registered: bool
    #: True if nobody knows whether it acted.
    unknown: bool
    output: Any


class Saga:
    """Steps that are undone, the last one first, if the whole does not come about. Made by `ctx.saga(name)`."""

    #: The name, which tells it from the others of this workflow.
    name: str

    def __init__(self, execution: "Execution", name: str) -> None:
        self.name = checked_name("saga", name)
        if any(saga.name == name for saga in execution.sagas):
            raise ValueError(f"this workflow has a saga {name!r} already: give each its own name")
        #: True if it has been undone or completed.
        self.is_over = False
        self._execution = execution
        self._steps: list[Step] = []
        execution.sagas.append(self)

    @overload
    def call(self, function: Function[In, Out], input: In, /, *, compensate: Function[Undo[In, Out], Any] | str, on_unknown: OnUnknown = "ask", timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Call[Out]: ...  # fmt: skip
    @overload
    def call(self, function: str, input: Any = None, /, *, compensate: Function[Any, Any] | str, result: type[T], on_unknown: OnUnknown = "ask", timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Call[T]: ...  # fmt: skip
    @overload
    def call(self, function: Function[None, Out] | str, /, *, compensate: Function[Any, Any] | str, on_unknown: OnUnknown = "ask", timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, labels: Mapping[str, str] | None = None, budget: BudgetLimits | None = None) -> Call[Any]: ...  # fmt: skip
    def call(
        self,
        function: Any,
        input: Any = None,
        /,
        *,
        compensate: Any,
        on_unknown: OnUnknown = "ask",
        result: Any = None,
        **options: Any,
    ) -> Call[Any]:
        """As `ctx.call`, for a step. `compensate` undoes it; it is given `Undo(input, output)`.

        If the outcome of a step is unknown, since its deadline passed or it was cancelled, a person is asked; with
        `on_unknown="compensate"` it is undone without asking.
        """
        context = self._execution.context
        name, payload, codec, checked = context._request(function, input, result, options, CALL_OPTIONS)
        declared = self._declare(name, compensate, on_unknown)
        index = self._execution.engine.saga_call(name, payload, checked, declared)
        self._begin(name, plain(payload), declared, index, is_http=False)
        return context._call(index, codec, name, self._step(name))

    def http(
        self, method: str, url: str, *, compensate: Any, on_unknown: OnUnknown = "ask", **about: Any
    ) -> Call[web.Response]:
        """As `ctx.http`, for a step.

        A response 4xx says that the server did not act, so the step is undone only with `on_unknown="compensate"`.
        """
        from .context import split_request

        execution = self._execution
        execution.check_command("`saga.http`")
        request, options = split_request(execution.engine.now(), method, url, about)
        name = f"{request.method} {request.url}"
        declared = self._declare(name, compensate, on_unknown)
        index = execution.engine.saga_http(request, options, declared)
        body = None if request.body is None else plain(request.body)
        given = {
            "method": request.method,
            "url": request.url,
            "headers": [list(pair) for pair in request.headers],
            "body": body,
        }
        self._begin(name, given, declared, index, is_http=True)
        return Call(execution, index, lambda payload: web.of_payload(payload, url), name=self._step(name))

    def _step(self, name: str) -> str:
        return f"the step `{name}` of the saga `{self.name}`"

    async def abort(self, reason: str) -> Any:
        """Undoes the steps now, and raises a `Failure` 422 that says what was undone."""
        raise await self.unwind(Failure(REFUSED, reason))

    def complete(self) -> None:
        """Ends the saga: its steps stay, whatever happens later."""
        self.is_over = True

    async def __aenter__(self) -> "Saga":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.complete()
        elif self.is_over:
            return
        elif isinstance(error, Failure):
            raise await self.unwind(error) from None
        elif isinstance(error, TimeoutError):
            raise await self.unwind(Failure(TIMED_OUT, str(error) or "a time limit passed")) from None
        elif isinstance(error, asyncio.CancelledError):
            raise as_cancellation(await self.unwind(of_cancellation(error))) from None

    def _declare(self, name: str, compensate: Any, on_unknown: str) -> SagaStep:
        from .context import function_name

        if self.is_over:
            raise ValueError(f"the saga {self.name!r} is over, and `{name}` is a step of it: begin another one")
        if on_unknown not in ("ask", "compensate"):
            raise ValueError(f"on_unknown is {on_unknown!r}: write 'ask' or 'compensate'")
        return SagaStep(self.name, len(self._steps), function_name(compensate), on_unknown == "compensate")

    def _begin(self, name: str, given: Any, declared: SagaStep, index: int, is_http: bool) -> None:
        self._steps.append(Step(name, given, declared, self._shielded(index), is_http))

    def _shielded(self, index: int) -> Command[Any]:
        """The completion of a command, which a cancellation does not touch."""
        command: Command[Any] = Command(self._execution, index, plain)
        del self._execution.waiting[index]
        self._execution.shielded[index] = command
        return command

    async def unwind(self, failure: Failure) -> Failure:
        """Undoes the steps. Returns the failure, which says what was undone. A cancellation changes nothing."""
        self.is_over = True
        task = self._execution.loop.create_task(self._undo(failure), name=f"saga {self.name}")
        self._execution.protected.add(task)
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                continue
        undone: Failure = task.result()
        return undone

    async def _undo(self, failure: Failure) -> Failure:
        execution = self._execution
        ended = [await self._end(step) for step in self._steps]
        report = SagaReport(self.name)
        for one in reversed(ended):
            step, registered = one.step, one.registered
            line = {"seq": step.declared.seq, "step": step.name, "compensate": step.declared.compensate}
            if report.has_stopped:
                if registered or one.unknown:
                    report.left.append(line)
                continue
            if one.unknown and not registered:
                where = f"{execution.facts.invocation}/u/{self.name}/{step.declared.seq}"
                execution.engine.log(
                    "warn",
                    f"step {step.declared.seq} of the saga `{self.name}` (`{step.name}`) is unclear: check whether it acted, then settle `{where}`",
                )
                try:
                    await self._shielded(execution.engine.saga_ask(step.declared))
                    registered = True
                except Failure as answer:
                    if answer.is_cancelled:
                        report.unclear.append(line)
                        continue
            if not registered:
                continue
            try:
                given = encoded(
                    ANY, {"input": step.given, "output": one.output}, f"the input of `{step.declared.compensate}`"
                )
                await self._shielded(execution.engine.saga_undo(step.declared, given, CallOptions()))
            except Failure as error:
                report.failed.append({**line, "error": error.message})
                continue
            report.undone.append(line)
        return report.added_to(failure)

    @staticmethod
    async def _end(step: Step) -> EndedStep:
        try:
            output = await step.ended
        except Failure as failure:
            unknown = failure.code in (TIMED_OUT, CANCELLED)
            return EndedStep(step, unknown and step.declared.compensate_unknown, unknown, None)
        declined = step.is_http and 400 <= output["status"] < 500
        return EndedStep(step, step.declared.compensate_unknown or not declined, False, output)


__all__ = ["Saga", "Undo"]
