"""The response to a request of an activity, whose body is read in pieces, as they arrive."""

from collections.abc import Generator, Iterator, Mapping
from types import TracebackType
from typing import Any, Generic, TypeVar

from .. import http as web
from .engine import AttemptEngine, HttpHead
from .lines import ServerEvent, events_of, lines_of

T = TypeVar("T")

#: The largest piece of a body, in bytes.
PIECE_BYTES_MAX = 65_536


class Arriving(Generic[T]):
    """Items that arrive one by one: for `for`, and for `async for`."""

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items

    def __iter__(self) -> "Arriving[T]":
        return self

    def __next__(self) -> T:
        return next(self._items)

    def __aiter__(self) -> "Arriving[T]":
        return self

    async def __anext__(self) -> T:
        for item in self._items:
            return item
        raise StopAsyncIteration


class ArrivingResponse:
    """A response whose status and headers have arrived. Its body is read once: in pieces, or the rest of it by `read`.

    An attempt has at most 16 open responses. `with` closes the response at its end.
    """

    def __init__(self, engine: AttemptEngine, head: HttpHead, url: str) -> None:
        self._engine, self._number, self._is_open = engine, head.response, True
        #: The status, such as 200.
        self.status_code = head.status
        #: The headers, by their names in any case.
        self.headers: Mapping[str, str] = web.CaseInsensitive(list(head.headers))
        #: The address of the request.
        self.url = url

    @property
    def status(self) -> int:
        """The same as `status_code`."""
        return self.status_code

    @property
    def ok(self) -> bool:
        """True for a status below 400."""
        return self.status_code < 400

    def _pieces(self) -> Iterator[bytes]:
        while self._is_open:
            # A body that fails, or is at its end, is open no more.
            self._is_open = False
            piece = self._engine.http_read(self._number, PIECE_BYTES_MAX)
            if not piece:
                return
            self._is_open = True
            yield piece

    def __iter__(self) -> Arriving[bytes]:
        return Arriving(self._pieces())

    def __aiter__(self) -> Arriving[bytes]:
        return Arriving(self._pieces())

    def lines(self) -> Arriving[str]:
        """The lines of the body, without their ends, as they arrive."""
        return Arriving(lines_of(self._pieces()))

    def events(self) -> Arriving[ServerEvent]:
        """The server-sent events of the body (`text/event-stream`), as they arrive."""
        return Arriving(events_of(lines_of(self._pieces())))

    def read(self) -> "web.Response":
        """Waits for the rest of the body."""
        return web.Response(self.status_code, b"".join(self._pieces()), self.headers, self.url)

    def raise_for_status(self) -> "ArrivingResponse":
        """Raises `HTTPError` for a status of 400 and more, with the whole response."""
        if not self.ok:
            self.read().raise_for_status()
        return self

    def close(self) -> None:
        """Reads no more."""
        if self._is_open:
            self._is_open = False
            self._engine.http_close(self._number)

    def __enter__(self) -> "ArrivingResponse":
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> "ArrivingResponse":
        return self

    async def __aexit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __await__(self) -> Generator[Any, None, "ArrivingResponse"]:
        return self
        yield

    def __repr__(self) -> str:
        return f"<ArrivingResponse [{self.status_code}]>"
