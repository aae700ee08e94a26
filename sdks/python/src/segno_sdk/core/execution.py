"""One execution of a workflow: it begins with an input, is told of events, and asks for commands."""

import asyncio
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..codec import decoded, encoded, plain
from . import current
from .defect import Defect, shown_file, waiting_place
from .engine import (
    CancelRequested,
    Completed,
    Engine,
    Event,
    FailureRecord,
    Outcome,
    SignalArrived,
    Success,
    WorkflowFacts,
)
from .failure import TIMED_OUT, Failure, NotJson
from .function import Workflow
from .loop import Loop
from .saga_report import of_cancellation
from .stream import KnownStream
from .unawaited import UnawaitedCommands
from .updates import UPDATE, Updates
from .waits import Command, ConditionWait, Signals

if TYPE_CHECKING:
    from .saga import Saga


class ContinueAsNew(BaseException):
    """Ends a generation. Raised by `ctx.continue_as_new`."""

    def __init__(self, input: Any, same_code: bool) -> None:
        super().__init__("continues as new")
        self.input, self.same_code = input, same_code


class WorkflowLoop(Loop):
    """The event loop of a workflow: its timers are durable sleeps."""

    def __init__(self, execution: "Execution") -> None:
        super().__init__()
        self._execution = execution
        self._commands: dict[int, asyncio.TimerHandle] = {}

    def time(self) -> float:
        """Seconds since the workflow began."""
        return (self._execution.engine.now() - self._execution.facts.started_at_ms) / 1_000

    def schedule(self, handle: asyncio.TimerHandle) -> None:
        until_ms = self._execution.facts.started_at_ms + max(round(handle.when() * 1_000), 0)
        until_ms = max(until_ms, self._execution.engine.now() + 1)
        self._execution.check_command("a sleep")
        command = self._execution.engine.sleep_until(until_ms)
        self._commands[command] = handle

    def due(self, command: int) -> bool:
        """True if the command is a timer, which is ready now."""
        handle = self._commands.pop(command, None)
        if handle is not None:
            self.fire(handle)
        return handle is not None

    @property
    def has_timers(self) -> bool:
        """True if something is scheduled."""
        return bool(self._commands)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        for command, scheduled in list(self._commands.items()):
            if scheduled is handle:
                del self._commands[command]
                if not self._execution.finished:
                    self._execution.engine.forget(command)


class Execution:
    """One execution of a workflow."""

    def __init__(self, engine: Engine, function: Workflow[Any, Any], facts: WorkflowFacts, module: Any = None) -> None:
        from .context import Context

        self.engine, self.function, self.facts, self.module = engine, function, facts, module
        self.loop = WorkflowLoop(self)  # type: ignore[abstract]
        self.waiting: dict[int, Command[Any]] = {}
        #: Futures that a cancellation does not touch: what sagas need to know.
        self.shielded: dict[int, Command[Any]] = {}
        self.signals = Signals()
        self.unawaited_commands = UnawaitedCommands()
        #: Warnings for the author, which are in the log.
        self.warnings: list[str] = []
        self.conditions: list[ConditionWait] = []
        self.updates = Updates(self)
        self.sagas: list[Saga] = []
        #: The streams that the workflow has asked for, by name.
        self.streams: dict[str, KnownStream] = {}
        #: Tasks that nothing cancels: sagas that undo their steps.
        self.protected: set[asyncio.Task[Any]] = set()
        self._random: random.Random | None = None
        self.shared: Any = None
        self.is_shared = self.is_cancelled = self.finished = False
        #: The name of the `ctx.run` that computes now.
        self.computing: str | None = None
        self._unawaited: list[Defect] = []
        self._ending = False
        self.context = Context(self)
        self._main: asyncio.Task[Any] | None = None

    # Called by whatever executes the workflow.

    def start(self, input: str | bytes) -> None:
        """Begins. Raises the defects of the author's code."""
        with current.entered(self):
            self._main = self.loop.create_task(self._whole(input), name=self.function.name)
            self._turn()

    def resume(self, event: Event) -> None:
        """Tells of one event. Raises the defects of the author's code."""
        if self.finished:
            return
        with current.entered(self):
            self._tell(event)
            self._turn()

    def query(self, name: str, input: str | bytes) -> Outcome:
        """Answers a query."""
        with current.entered(self):
            return self.updates.query(name, input)

    def validate(self, name: str, input: str | bytes) -> FailureRecord | None:
        """Why an update is refused now; None: it is not."""
        with current.entered(self):
            return self.updates.validate(name, input)

    def abandon(self) -> None:
        """Ends the execution without an outcome."""
        self.finished = True
        self.loop.abandon()

    # Used by the context.

    @property
    def random(self) -> random.Random:
        """The generator of `ctx.random`."""
        if self._random is None:
            self._random = random.Random(self.facts.seed)
        return self._random

    def check_command(self, what: str) -> None:
        """Refuses commands where none can be made."""
        if self.computing is not None:
            raise Defect(
                f"{what} inside `ctx.run({self.computing!r}, …)`: the function that it is given only computes", _place()
            )
        if current.running is not self:
            raise Defect(f"{what} outside of the workflow to which this context belongs", _place())

    def forget(self, command: Command[Any]) -> None:
        """Nobody waits for the command any more."""
        self.waiting.pop(command.command, None)
        if not self.finished and command.command not in self.shielded:
            self.engine.forget(command.command)

    def success(self, codec: Any, value: Any, what: str) -> Success:
        """The outcome with a value."""
        return Success(encoded(codec, value, what))

    def unawaited(self, coroutine: Any) -> None:
        """Python dropped a coroutine that nobody awaited."""
        if self.loop.closing or self.finished:
            return
        origin = getattr(coroutine, "cr_origin", None)
        at = f"{shown_file(origin[0][0])}:{origin[0][1]}" if origin else None
        name = getattr(coroutine, "__qualname__", "a coroutine")
        self._unawaited.append(
            Defect(f"`{name}(…)` was called here and never awaited, so it did nothing: write `await {name}(…)`", at)
        )

    # Inside.

    def _tell(self, event: Event) -> None:
        match event:
            case Completed(command, outcome):
                self._complete(command, outcome)
            case SignalArrived(name, payload):
                number = self.signals.next_number()
                if name.startswith(UPDATE):
                    self.updates.accept(name.removeprefix(UPDATE), payload)
                else:
                    self.signals.arrive(number, name, payload)
            case CancelRequested():
                self.is_cancelled = True
                if self._main is not None and not self._ending:
                    self._main.cancel("the invocation was cancelled")

    def _complete(self, index: int, outcome: Outcome) -> None:
        if self.loop.due(index):
            return
        for command in (self.shielded.pop(index, None), self.waiting.pop(index, None)):
            if command is None or command.done():
                continue
            match outcome:
                case Success(value):
                    self.unawaited_commands.complete(index, None)
                    command.settle(value)
                case FailureRecord(code, message, details):
                    failure = Failure(code, message, None if details is None else plain(details))
                    self.unawaited_commands.complete(index, failure)
                    command.fail(failure)

    def _turn(self) -> None:
        """Runs what is ready. Raises the first defect."""
        self.loop.drain()
        while self._hold():
            self.loop.drain()
        for defect in [*self.loop.defects, *self._unawaited]:
            raise defect
        if not self.finished:
            self._check_waits()

    def _hold(self) -> bool:
        """Wakes those whose condition holds; false if there are none."""
        held = False
        for condition in list(self.conditions):
            try:
                if not condition.holds():
                    continue
                condition.set_result(None)
            except Exception as error:
                condition.set_exception(error)
            held = True
            condition.end()
        return held

    def _check_waits(self) -> None:
        waits = self.waiting or self.shielded or self.loop.has_timers or self.function.takes_signals
        if waits or self._main is None:
            return
        if (failed := self.loop.unseen()) is not None:
            raise failed.exception()  # type: ignore[misc]
        at = waiting_place(self._main.get_coro())
        raise Defect(
            f"`{self.function.name}` waits here for something that nothing settles: none of its commands is under way"
            + (
                ", and it takes no signals: declare them with `@workflow(signals=…)`" if self.signals.is_awaited else ""
            ),
            at,
        )

    async def _whole(self, payload: str | bytes) -> None:
        try:
            ended = await self._run(payload)
            await self._cancel_others()
            if isinstance(ended, Failure):
                for saga in reversed([saga for saga in self.sagas if not saga.is_over]):
                    ended = await saga.unwind(ended)
        except Exception as error:
            self.loop.defects.append(error)
            return
        failed = self.loop.unseen()
        if failed is not None:
            self.loop.defects.append(failed.exception() or RuntimeError("a task failed"))
            return
        if self._unawaited:
            return
        self._finish(ended)

    async def _run(self, payload: str | bytes) -> Outcome | ContinueAsNew | Failure:
        """Runs the function of the author to its end, and says how it ended."""
        function = self.function
        try:
            input = None if function.input is None else decoded(function.input, payload, "input")
            self._check_subject()
            value = await function.run(**self._subject(), **function.arguments(input, self.context))
            return self.success(function.output, value, "result")
        except Failure as failure:
            return failure
        except asyncio.CancelledError as error:
            return of_cancellation(error)
        except TimeoutError as error:
            return Failure(TIMED_OUT, str(error) or "a time limit passed")
        except ContinueAsNew as ended:
            return ended
        except NotJson as error:
            error.at = function.place  # type: ignore[attr-defined]
            error.add_note(f"the result is that of `{function.name}`, at {function.place}")
            raise
        except BaseExceptionGroup as group:
            first = _first_failure(group)
            if first is None:
                raise
            return first
        finally:
            self._ending = True

    def _check_subject(self) -> None:
        if self.function.owner is not None:
            self.engine.state_key()

    def _subject(self) -> dict[str, Any]:
        if self.function.owner is None:
            return {}
        return {"self": self.function.owner.of_execution(self)}

    async def _cancel_others(self) -> None:
        """Cancels the tasks that are left, as `asyncio.run` does."""
        me = asyncio.current_task()
        others = [task for task in self.loop.tasks if not (task is me or task.done() or task in self.protected)]
        others = [task for task in others if not self.updates.owns(task)]
        for task in others:
            task.cancel()
        if others:
            # Not `gather`, after which nobody would see that one of them failed.
            await asyncio.wait(others)

    def _finish(self, ended: Outcome | ContinueAsNew | Failure) -> None:
        if isinstance(ended, Failure):
            details = None if ended.details is None else encoded(_any(), ended.details, "the details of the failure")
            ended = FailureRecord(ended.code, ended.message, details)
        next_input = None
        if isinstance(ended, ContinueAsNew):
            next_input = encoded(self.function.input or _any(), ended.input, "the input of the next generation")
        if isinstance(ended, Success):
            self.warnings = self.unawaited_commands.warnings()
            for warning in self.warnings:
                self.engine.log("warn", warning)
        unread = self.signals.unread()
        if unread:
            self.engine.signals_unread(unread)
        self.finished = True
        if isinstance(ended, ContinueAsNew):
            self.engine.continue_as_new(next_input or "null", ended.same_code)
        else:
            self.engine.finish(ended)
        self.updates.close()
        self.loop.abandon()


def _first_failure(group: BaseExceptionGroup[Any]) -> Failure | None:
    """The first failure of a group that has nothing but failures."""
    first: Failure | None = None
    for error in group.exceptions:
        failure: Failure | None
        if isinstance(error, BaseExceptionGroup):
            failure = _first_failure(error)
        elif isinstance(error, TimeoutError) and not isinstance(error, Failure):
            failure = Failure(TIMED_OUT, str(error) or "a time limit passed")
        else:
            failure = error if isinstance(error, Failure) else None
        if failure is None:
            return None
        first = first or failure
    return first


def _any() -> Any:
    from ..codec import ANY

    return ANY


def _place() -> str | None:
    from .defect import calling_place

    return calling_place()


Decode = Callable[[str | bytes], Any]
