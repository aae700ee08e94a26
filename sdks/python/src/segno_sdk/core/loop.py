"""An event loop of `asyncio` without sockets and threads: it runs what is ready, and then returns."""

import asyncio
import contextvars
from asyncio import events
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, NoReturn, TypeVar

from .failure import NotAvailable

T = TypeVar("T")


class Numbered:
    """Hashes by a number, so that sets of tasks and futures have one order in every replay."""

    number: int

    def __hash__(self) -> int:
        return self.number


class LoopFuture(Numbered, asyncio.Future[T]):
    """A future of a `Loop`."""

    def __init__(self, *, loop: "Loop") -> None:
        super().__init__(loop=loop)
        self.number = loop.next_number()

    __hash__ = Numbered.__hash__


class LoopTask(Numbered, asyncio.Task[T]):
    """A task of a `Loop`."""

    def __init__(self, coroutine: Any, *, loop: "Loop", number: int, **about: Any) -> None:
        self.number = number
        super().__init__(coroutine, loop=loop, **about)

    __hash__ = Numbered.__hash__


class Loop(asyncio.AbstractEventLoop):
    """Runs callbacks in the order in which they became ready. Subclasses say what time is."""

    def __init__(self) -> None:
        self._ready: deque[asyncio.Handle] = deque()
        self._numbers = 0
        self._generators: list[Any] = []
        #: Tasks that have not ended, in the order in which they began.
        self.tasks: dict[asyncio.Task[Any], None] = {}
        #: Tasks that ended with an exception.
        self.failed: list[asyncio.Task[Any]] = []
        #: Exceptions of callbacks.
        self.defects: list[BaseException] = []
        self.closing = False

    def next_number(self) -> int:
        """The number of the next task or future."""
        self._numbers += 1
        return self._numbers

    def drain(self) -> None:
        """Runs everything that is ready, until nothing is."""
        previous = events._get_running_loop()
        events._set_running_loop(None)
        events._set_running_loop(self)
        try:
            while self._ready:
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            events._set_running_loop(None)
            events._set_running_loop(previous)

    def unseen(self) -> asyncio.Task[Any] | None:
        """A task that failed and that nobody awaited."""
        # One that has just ended is still among the others.
        ended = [*self.failed, *(task for task in self.tasks if task.done())]
        return next((task for task in ended if getattr(task, "_log_traceback", False)), None)

    def abandon(self) -> None:
        """Ends the loop: nothing runs any more."""
        self.closing = True
        self._ready.clear()
        for task in [*self.tasks, *self.failed]:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            if task.done():
                task._log_traceback = False
        for task in self.tasks:
            coroutine = task.get_coro()
            if coroutine is not None and hasattr(coroutine, "close"):
                try:
                    coroutine.close()
                except (RuntimeError, Exception):
                    pass  # It asks for something while it ends, which is too late.
        self.tasks.clear()
        self.failed.clear()

    # The part of the interface that workflows and activities use.

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None:
        pass

    def is_running(self) -> bool:
        return events._get_running_loop() is self

    def is_closed(self) -> bool:
        return self.closing

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., Any], *arguments: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, arguments, self, context)
        if not self.closing:
            self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., Any], *arguments: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *arguments, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *arguments: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, arguments, self, context)
        if when <= self.time():
            self._ready.append(handle)
        elif not self.closing:
            self.schedule(handle)
        return handle

    def schedule(self, handle: asyncio.TimerHandle) -> None:
        """Runs the handle when its time has come."""
        raise NotImplementedError

    def fire(self, handle: asyncio.TimerHandle) -> None:
        """Makes a scheduled handle ready."""
        self._ready.append(handle)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass

    def create_future(self) -> LoopFuture[Any]:
        return LoopFuture(loop=self)

    def create_task(
        self, coro: Any, *, name: object = None, context: contextvars.Context | None = None, **about: Any
    ) -> LoopTask[Any]:
        about.pop("eager_start", None)
        number = self.next_number()
        task: LoopTask[Any] = LoopTask(
            coro, loop=self, number=number, name=str(name or f"task {number}"), context=context, **about
        )
        self.tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self.tasks.pop(task, None)
        if not task.cancelled() and getattr(task, "_exception", None) is not None:
            self.failed = [one for one in self.failed if getattr(one, "_log_traceback", False)]
            self.failed.append(task)

    def set_task_factory(self, factory: Any) -> None:
        raise NotAvailable("the event loop of Segno makes its own tasks: `set_task_factory` does not work here")

    def get_task_factory(self) -> None:
        return None

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None and not self.closing and "never retrieved" not in context.get("message", ""):
            self.defects.append(error)

    default_exception_handler = call_exception_handler

    def set_exception_handler(self, handler: Any) -> None:
        pass

    def get_exception_handler(self) -> None:
        return None

    async def shutdown_asyncgens(self) -> None:
        pass

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        pass

    # The part that does not exist here.

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> NoReturn:  # type: ignore[override]
        raise NotAvailable(
            "there are no threads here (`to_thread`, `run_in_executor`): call the function, or put it into an activity"
        )

    def run_forever(self) -> NoReturn:
        raise NotAvailable("the event loop runs already: `await` what you want to wait for")

    def run_until_complete(self, future: Any) -> NoReturn:
        raise NotAvailable("the event loop runs already: `await` what you want to wait for")

    def stop(self) -> NoReturn:
        raise NotAvailable("the event loop ends with the function: `return`")

    def close(self) -> None:
        pass

    def add_signal_handler(self, sig: int, callback: Any, *args: Any) -> NoReturn:  # type: ignore[override]
        raise NotAvailable(
            "there are no signals of the system here: a workflow is told of its cancellation by `asyncio.CancelledError`"
        )


def _no_network(name: str) -> Any:
    def refused(self: Loop, *arguments: Any, **named: Any) -> NoReturn:
        raise NotAvailable(f"there are no sockets here (`{name}`): send requests with `ctx.http` or `segno_sdk.http`")

    return refused


for _name in (
    "create_connection", "create_server", "create_unix_connection", "create_unix_server", "create_datagram_endpoint", "start_tls",
    "sock_connect", "sock_recv", "sock_sendall", "sock_accept", "getaddrinfo", "getnameinfo", "add_reader", "add_writer",
    "connect_read_pipe", "connect_write_pipe", "subprocess_exec", "subprocess_shell", "connect_accepted_socket", "sendfile",
):  # fmt: skip
    setattr(Loop, _name, _no_network(_name))


def blocking(future: "asyncio.Future[Any]") -> Generator[Any, None, None]:
    """Waits for a future in its own `__await__`."""
    future._asyncio_future_blocking = True
    yield future


_as_completed: Any = asyncio.as_completed


def _in_order(fs: Any, **about: Any) -> Any:
    """`asyncio.as_completed`, which would begin coroutines in the order of a set."""
    loop = events._get_running_loop()
    if isinstance(loop, Loop):
        fs = [asyncio.ensure_future(one) for one in fs]
    return _as_completed(fs, **about)


asyncio.as_completed = asyncio.tasks.as_completed = _in_order
