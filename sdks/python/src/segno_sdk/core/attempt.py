"""One attempt of an activity, and what it may ask for."""

import asyncio
import heapq
import inspect
import time
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .. import http as web
from ..codec import ANY, codec_of, decoded, encoded
from . import current
from .arriving import ArrivingResponse
from .blob import Blobs
from .budget import Amount, millionths
from .defect import Defect, report, shown_file
from .duration import instant_of
from .engine import (
    AttemptEngine,
    AttemptFacts,
    FailureRecord,
    FileEntry,
    HttpRequest,
    HttpResponse,
    Level,
    Outcome,
    Success,
)
from .failure import BAD_INPUT, OTHER, REFUSED, Failure, NotAvailable, NotJson
from .function import Activity
from .loop import Loop
from .options import unknown_name
from .stream import JSON_TYPE, ActivityStream

T = TypeVar("T")


class Files:
    """The directories that the policy of the host gives to the module (`dirs`), by absolute path."""

    def __init__(self, engine: AttemptEngine) -> None:
        self._engine = engine

    def read(self, path: str) -> bytes:
        """All bytes of a file."""
        content = bytearray()
        while part := self._engine.file_read(path, len(content), 1 << 32):
            content += part
        return bytes(content)

    def read_text(self, path: str) -> str:
        """A file as text (UTF-8)."""
        return self.read(path).decode()

    def read_part(self, path: str, offset: int, length: int) -> bytes:
        """At most `length` bytes from `offset` on; fewer at the end, and where the limit of the host is smaller."""
        return self._engine.file_read(path, offset, length)

    def write(self, path: str, content: str | bytes) -> None:
        """Replaces a file as a whole, or makes it. After a crash it is the old or the new one."""
        self._engine.file_write(path, content.encode() if isinstance(content, str) else bytes(content))

    def append(self, path: str, content: str | bytes) -> None:
        """Adds to the end of a file, or makes it. An attempt that is repeated adds again."""
        self._engine.file_append(path, content.encode() if isinstance(content, str) else bytes(content))

    def list(self, path: str) -> list[FileEntry]:
        """What a directory contains, by name."""
        return self._engine.file_list(path)

    def remove(self, path: str) -> None:
        """Removes a file. It is no failure if there is none."""
        self._engine.file_remove(path)


class ActivityContext:
    """What an activity knows of this attempt, and may ask for."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(unknown_name("`ctx`", name, dir(self)))

    def __init__(self, engine: AttemptEngine, facts: AttemptFacts) -> None:
        self._engine, self._facts = engine, facts
        #: The id of the call.
        self.id = facts.invocation
        #: The same for every attempt of one call: pass it on to whatever has to act only once.
        self.idempotency_key = facts.idempotency_key
        #: Larger for every later claim: a receiver that keeps the largest refuses stale writers.
        self.fence_token = facts.fence_token
        #: The number of the attempt, from 1.
        self.attempt = facts.attempt
        #: The directories that the policy gives to the module.
        self.files = Files(engine)
        #: Large values, which are stored beside the database and passed by reference.
        self.blobs = Blobs(engine)

    @property
    def started_at(self) -> datetime:
        """The instant at which the attempt began, in UTC."""
        return instant_of(self._facts.started_at_ms)

    @property
    def deadline(self) -> datetime | None:
        """The deadline of the call, in UTC."""
        return None if self._facts.deadline_ms is None else instant_of(self._facts.deadline_ms)

    @overload
    def last_progress(self) -> Any: ...
    @overload
    def last_progress(self, type: type[T]) -> T | None: ...
    def last_progress(self, type: Any = Any) -> Any:
        """The last progress that the previous attempt passed to `heartbeat`, or None."""
        if self._facts.last_progress is None:
            return None
        return decoded(codec_of(type), self._facts.last_progress, "the progress")

    def heartbeat(self, progress: Any = None) -> bool:
        """Says that the attempt is alive and how far it got. True: it is asked to stop."""
        return self._engine.heartbeat(None if progress is None else encoded(ANY, progress, "the progress"))

    def stream(self, name: str, *, content_type: str = JSON_TYPE) -> ActivityStream:
        """A stream of the workflow that called this activity, or of this call if no workflow did."""
        return ActivityStream(self._engine, name, content_type)

    def cost(self, unit: str, amount: Amount) -> None:
        """Reports a cost of this attempt: `ctx.cost("tokens", 812)`. Several reports of a unit add up.

        Budgets are charged with it at the end of the attempt, also if it fails. An amount is rounded to six decimal places.
        """
        try:
            exact = millionths(unit, amount)
        except ValueError as fault:
            # It is final: another attempt would have the same fault.
            raise Failure(BAD_INPUT, f"the cost is refused: {fault}") from None
        self._engine.cost_report(unit, exact)

    def http(self, method: str, url: str, *, params: web.Params | None = None, headers: web.Headers | None = None, json: Any = None, data: Mapping[str, Any] | str | bytes | None = None, auth: tuple[str, str] | None = None) -> web.SentResponse:  # fmt: skip
        """Sends one request, if the policy of the host allows the address. Nothing is repeated here. May be awaited."""
        request = web.build(method, url, params=params, headers=headers, json=json, data=data, auth=auth)
        return web.of_wire(self._engine.http(request), url)

    def http_open(self, method: str, url: str, *, params: web.Params | None = None, headers: web.Headers | None = None, json: Any = None, data: Mapping[str, Any] | str | bytes | None = None, auth: tuple[str, str] | None = None) -> ArrivingResponse:  # fmt: skip
        """Sends one request as `http`, and returns when the status and the headers have arrived. For `with`; may be awaited.

        The body is read as it arrives: `for piece in response`, `response.lines()`, `response.events()`.
        """
        request = web.build(method, url, params=params, headers=headers, json=json, data=data, auth=auth)
        return ArrivingResponse(self._engine, self._engine.http_open(request), url)

    def log(self, message: str, level: Level = "info") -> None:
        """Writes a line to the log of the call. The module `logging` works too."""
        from .context import checked_level

        self._engine.log(checked_level(level), str(message))

    def env(self, name: str) -> str:
        """The value of `env.NAME` in the policy of the module. Raises a `Failure` 403 if it is not set."""
        return self._engine.env(name)

    def secret(self, name: str) -> str:
        """The value of `secrets.NAME`. The host keeps it out of everything that it stores."""
        return self._engine.secret(name)


class AttemptLoop(Loop):
    """The event loop of an `async def` activity. It sleeps in real time."""

    def __init__(self, engine: AttemptEngine) -> None:
        super().__init__()
        self._engine = engine
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._slept = 0.0

    def time(self) -> float:
        return time.monotonic() + self._slept

    def schedule(self, handle: asyncio.TimerHandle) -> None:
        heapq.heappush(self._timers, (handle.when(), self.next_number(), handle))

    def complete(self, coroutine: Any, name: str) -> Any:
        """Runs a coroutine to its end."""
        task = self.create_task(coroutine, name=name)
        self.drain()
        while not task.done():
            timer = next((one for one in self._timers if not one[2].cancelled()), None)
            if timer is None:
                raise Failure(
                    REFUSED,
                    f"`{name}` waits for something that nothing settles: in an activity only its own tasks and sleeps end",
                )
            self._timers.remove(timer)
            heapq.heapify(self._timers)
            before = self.time()
            if timer[0] > before:
                self._engine.sleep(timer[0] - before)
                self._slept += max(0.0, timer[0] - self.time())
            self.fire(timer[2])
            self.drain()
        return task.result()


class Attempt:
    """One attempt of an activity, while its code runs."""

    def __init__(self, engine: AttemptEngine, function: Activity[Any, Any], facts: AttemptFacts) -> None:
        self.engine, self.function = engine, function
        self.context = ActivityContext(engine, facts)
        self._unawaited: list[Defect] = []

    def send_request(self, request: HttpRequest) -> HttpResponse:
        """Sends a request for `segno_sdk.http`."""
        return self.engine.http(request)

    def open_request(self, request: HttpRequest) -> ArrivingResponse:
        """Sends a request for `segno_sdk.http`, whose body is read as it arrives."""
        return ArrivingResponse(self.engine, self.engine.http_open(request), request.url)

    def unawaited(self, coroutine: Any) -> None:
        """Python dropped a coroutine that nobody awaited."""
        origin = getattr(coroutine, "cr_origin", None)
        at = f"{shown_file(origin[0][0])}:{origin[0][1]}" if origin else None
        name = getattr(coroutine, "__qualname__", "a coroutine")
        self._unawaited.append(
            Defect(f"`{name}(…)` was called here and never awaited, so it did nothing: write `await {name}(…)`", at)
        )

    def perform(self, payload: str | bytes) -> Outcome:
        """Runs the function, and says how it ended."""
        with current.entered(self):
            return self._perform(payload)

    def _perform(self, payload: str | bytes) -> Outcome:
        function = self.function
        loop = AttemptLoop(self.engine)  # type: ignore[abstract]
        try:
            input = None if function.input is None else decoded(function.input, payload, "input")
            value = function.run(**function.arguments(input, self.context))
            if inspect.iscoroutine(value):
                value = loop.complete(value, function.name)
            for defect in [*loop.defects, *self._unawaited]:
                raise defect
            if (failed := loop.unseen()) is not None:
                raise failed.exception() or RuntimeError("a task failed")
            return Success(encoded(function.output, value, "result"))
        except NotJson as error:
            error.at = getattr(error, "at", function.place)  # type: ignore[attr-defined]
            return _failed(error, REFUSED)
        except NotAvailable as error:
            return _failed(error, REFUSED)
        except Failure as failure:
            details = None if failure.details is None else encoded(ANY, failure.details, "the details of the failure")
            return FailureRecord(failure.code, failure.message, details)
        except (Exception, asyncio.CancelledError) as error:
            return _failed(error, OTHER)
        finally:
            loop.abandon()


def _failed(error: BaseException, code: int) -> FailureRecord:
    at, text = report(error)
    return FailureRecord(code, f"{at}: {text}")
