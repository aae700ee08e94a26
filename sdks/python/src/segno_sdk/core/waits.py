"""Futures of a workflow: of its commands, of signals, and of conditions."""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .loop import LoopFuture, blocking

if TYPE_CHECKING:
    from .execution import Execution

T = TypeVar("T")


class Command(LoopFuture[T]):
    """The result of a command, to be awaited; any number of times.

    `cancel()` gives up waiting, as the loser of a race does: what was asked for goes on. `await ctx.cancel(command)`
    ends it.
    """

    def __init__(
        self,
        execution: "Execution",
        index: int,
        decode: Callable[[str | bytes], T],
        id: str | None = None,
        name: str | None = None,
    ) -> None:
        """Args:
        name: the command in the warning that nobody awaited it; None if nobody has to.
        """
        super().__init__(loop=execution.loop)
        #: The number of the command in the journal.
        self.command = index
        #: The id of what the command made.
        self.id = id or f"{execution.facts.invocation}/{index}"
        self._execution, self._decode = execution, decode
        execution.waiting[index] = self
        if name is not None:
            execution.unawaited_commands.add(index, name)

    def settle(self, value: str | bytes) -> None:
        """The command succeeded."""
        try:
            self.set_result(self._decode(value))
        except Exception as error:
            self.fail(error)

    def fail(self, error: BaseException) -> None:
        """The command failed."""
        self.set_exception(error)
        self._log_traceback = False  # Nobody has to await a command.

    def add_done_callback(self, fn: Any, /, *, context: Any = None) -> None:
        self._execution.unawaited_commands.discard(self.command)
        super().add_done_callback(fn, context=context)

    def __await__(self) -> Generator[Any, None, T]:
        self._execution.unawaited_commands.discard(self.command)
        return super().__await__()

    __iter__ = __await__

    def cancel(self, msg: Any = None) -> bool:
        """Gives up waiting; what was asked for goes on."""
        self._execution.unawaited_commands.discard(self.command)
        if not super().cancel(msg):
            return False
        self._execution.forget(self)
        return True


class Call(Command[T], Generic[T]):
    """A call, whose result is to be awaited. `id` is the id of the called invocation."""


class Promise(Command[T], Generic[T]):
    """A promise that somebody else settles by its `id`. To be awaited."""


class Wait(LoopFuture[T]):
    """A wait that takes something only while somebody waits for it."""

    def __init__(self, execution: "Execution") -> None:
        super().__init__(loop=execution.loop)
        self._execution = execution

    def add_done_callback(self, fn: Any, /, *, context: Any = None) -> None:
        super().add_done_callback(fn, context=context)
        if not self.done():
            self.begin()

    def remove_done_callback(self, fn: Any, /) -> int:
        removed = super().remove_done_callback(fn)
        if not self.done() and not self.is_awaited:
            self.end()
        return removed

    def cancel(self, msg: Any = None) -> bool:
        cancelled = super().cancel(msg)
        if cancelled:
            self.end()
        return cancelled

    @property
    def is_awaited(self) -> bool:
        """True if somebody waits."""
        return bool(getattr(self, "_callbacks", None))

    def begin(self) -> None:
        """Somebody waits from now on."""

    def end(self) -> None:
        """Nobody waits any more."""


class SignalWait(Wait[T]):
    """A wait for a signal. A signal that was taken and that nobody looked at is unread."""

    def __init__(self, execution: "Execution", name: str | None, decode: Callable[[str, str | bytes], T]) -> None:
        super().__init__(execution)
        self.name, self._decode = name, decode
        self._taken: tuple[int, str, str | bytes] | None = None
        self._is_read = False

    def begin(self) -> None:
        self._execution.signals.listen(self)

    def end(self) -> None:
        self._execution.signals.leave(self)

    def take(self, number: int, name: str, payload: str | bytes) -> None:
        """Takes a signal."""
        self._taken = (number, name, payload)
        self._execution.signals.taken.append(self)
        try:
            self.set_result(self._decode(name, payload))
        except Exception as error:
            self.set_exception(error)
            self._log_traceback = False

    @property
    def unread(self) -> tuple[int, str, str | bytes] | None:
        """The signal, if nobody looked at it."""
        return None if self._is_read else self._taken

    def result(self) -> T:
        if not self._is_read and self.done():
            self._is_read = True
            if self in self._execution.signals.taken:
                self._execution.signals.taken.remove(self)
        return super().result()

    def __await__(self) -> Generator[Any, None, T]:
        if not self.done():
            try:
                yield from blocking(self)
            except BaseException:
                self._execution.signals.give_back(self)
                raise
        return self.result()

    __iter__ = __await__


class Signals:
    """The signals of a workflow that nobody has read, and the waits for them."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, str, str | bytes]] = []
        self._waits: list[SignalWait[Any]] = []
        self.taken: list[SignalWait[Any]] = []
        self._heard = 0

    @property
    def is_awaited(self) -> bool:
        """True if somebody waits for a signal."""
        return bool(self._waits)

    def next_number(self) -> int:
        """The number of the signal that arrived."""
        self._heard += 1
        return self._heard - 1

    def arrive(self, number: int, name: str, payload: str | bytes) -> None:
        """Keeps a signal until somebody reads it."""
        self._kept.append((number, name, payload))
        self._match()

    def listen(self, wait: SignalWait[Any]) -> None:
        """Somebody waits."""
        if wait not in self._waits:
            self._waits.append(wait)
            self._match()

    def leave(self, wait: SignalWait[Any]) -> None:
        """Nobody waits any more."""
        if wait in self._waits:
            self._waits.remove(wait)

    def give_back(self, wait: SignalWait[Any]) -> None:
        """A wait that was given up in the moment in which it took a signal."""
        unread = wait.unread
        if unread is not None and wait in self.taken:
            self.taken.remove(wait)
            self._kept.append(unread)
            self._kept.sort(key=lambda signal: signal[0])
            self._match()

    def _match(self) -> None:
        for signal in list(self._kept):
            wait = next((wait for wait in self._waits if wait.name in (None, signal[1])), None)
            if wait is not None:
                self._kept.remove(signal)
                self._waits.remove(wait)
                wait.take(*signal)

    def unread(self) -> list[int]:
        """The numbers of the signals that nobody read."""
        lost = [wait.unread for wait in self.taken if wait.unread is not None]
        return sorted(signal[0] for signal in [*self._kept, *lost])


class ConditionWait(Wait[None]):
    """A wait until a condition holds."""

    def __init__(self, execution: "Execution", holds: Callable[[], bool]) -> None:
        super().__init__(execution)
        self.holds = holds

    def begin(self) -> None:
        if self not in self._execution.conditions:
            self._execution.conditions.append(self)

    def end(self) -> None:
        if self in self._execution.conditions:
            self._execution.conditions.remove(self)
