"""Streams that a workflow reads, of any invocation. Each part that it reads is the result of a call."""

import asyncio
import base64
import builtins
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, TypeVar

from ..codec import Codec
from .defect import Defect, calling_place
from .failure import BAD_INPUT, REFUSED, Failure
from .stream import JSON_TYPE, fault_of
from .waits import Call

T = TypeVar("T")
#: The function that reads.
STREAM_FUNCTION = "segno:stream"
#: The kinds of content, with what reads them.
_KINDS = {
    "items": "messages: write `async for item in reader`, or use `parts()`",
    "text": "text: use `text()`",
    "base64": "bytes: use `bytes()`",
}


class StreamReader(Generic[T]):
    """A stream of an invocation, for a workflow that reads it while it grows: `async for item in reader`.

    The loop ends with the stream, and waits while nothing comes. Another loop over the same reader continues after what was
    read. It raises a `Failure`: 404 if there is no such invocation, or it has ended without the stream; 400 if a message does
    not fit the type; 422 if the stream has another kind of content, or the invocation is out of reach.
    """

    def __init__(
        self, ask: Callable[[dict[str, Any]], Call[Any]], invocation: str, name: str, codec: Codec, start: int
    ) -> None:
        if not isinstance(invocation, str) or invocation == "":
            raise Defect(
                f"ctx.read_stream takes the id of an invocation and the name of a stream, and not the id {invocation!r:.42}",
                calling_place(),
            )
        if (fault := fault_of(name, JSON_TYPE)) is not None:
            raise Defect(fault, calling_place())
        if isinstance(start, bool) or not isinstance(start, int) or start < 0:
            raise Defect(f"start is {start!r:.42}: write a position, a whole number from 0 on", calling_place())
        #: The id of the invocation.
        self.invocation = invocation
        #: The name of the stream in its invocation.
        self.name = name
        self._ask, self._codec, self._position = ask, codec, start
        self._is_over = False
        #: A call that is not answered. A read that was given up, by a time limit for instance, leaves it to the next one.
        self._asked: Call[Any] | None = None
        #: The part that was answered and is not read to its end.
        self._part: dict[str, Any] | None = None
        #: Number of messages of this part that were read.
        self._taken = 0

    @property
    def position(self) -> int:
        """The position after what was read: a number of messages, or of bytes in a stream that is not JSON."""
        return self._position

    def __aiter__(self) -> "StreamReader[T]":
        return self

    async def __anext__(self) -> T:
        """The next message. `StopAsyncIteration` at the end of the stream."""
        if (part := await self._next("items")) is None:
            raise StopAsyncIteration
        item, position = part["items"][self._taken], self._position
        if self._taken + 1 == len(part["items"]):
            self._pass(part)
        else:
            self._taken, self._position = self._taken + 1, position + 1
        return self._decoded(item, position)

    def parts(self) -> AsyncIterator[list[T]]:
        """The messages in lists, as they come: at least one message each."""

        def items(part: dict[str, Any]) -> list[T]:
            position, rest = self._position, part["items"][self._taken :]
            self._pass(part)
            return [self._decoded(item, position + place) for place, item in enumerate(rest)]

        return _Parts(lambda: self._next("items"), items)

    def text(self) -> AsyncIterator[str]:
        """The text of a stream of text, in pieces as it comes."""

        def text(part: dict[str, Any]) -> str:
            self._pass(part)
            return str(part["text"])

        return _Parts(lambda: self._next("text"), text)

    def bytes(self) -> AsyncIterator[builtins.bytes]:
        """The bytes of a stream of neither messages nor text, in pieces as they come."""

        def content(part: dict[str, Any]) -> builtins.bytes:
            self._pass(part)
            return base64.b64decode(part["base64"])

        return _Parts(lambda: self._next("base64"), content)

    async def _next(self, kind: str) -> dict[str, Any] | None:
        """The part that follows. None at the end."""
        while self._part is None and not self._is_over:
            if self._asked is None:
                query = {"invocation": self.invocation, "stream": self.name, "position": self._position}
                self._asked = self._ask(query)
            asked = self._asked
            # A wait that is cancelled leaves the call as it is.
            await asyncio.wait([asked])
            if self._asked is not asked:
                continue  # Another task has read the answer.
            self._asked = None
            part: dict[str, Any] = asked.result()
            if any(part.get(one) for one in _KINDS):
                self._part = part
            else:
                self._pass(part)
        if self._part is None or kind in self._part:
            return self._part
        content = next(one for one in _KINDS if one in self._part)
        raise Failure(REFUSED, f"the stream {self.name!r} of `{self.invocation}` consists of {_KINDS[content]}")

    def _pass(self, part: dict[str, Any]) -> None:
        """The part was read to its end."""
        self._part, self._taken = None, 0
        self._position, self._is_over = part["next"], part["closed"]

    def _decoded(self, item: Any, position: int) -> T:
        try:
            value: T = self._codec.decode(item, f"the message at position {position} of the stream {self.name!r}")
        except ValueError as error:
            raise Failure(BAD_INPUT, str(error)) from None
        return value


class _Parts(AsyncIterator[T]):
    """An iteration over parts. It is no generator: one that a loop has left would have to be closed."""

    def __init__(
        self, read: Callable[[], Awaitable[dict[str, Any] | None]], content: Callable[[dict[str, Any]], T]
    ) -> None:
        self._read, self._content = read, content

    async def __anext__(self) -> T:
        if (part := await self._read()) is None:
            raise StopAsyncIteration
        return self._content(part)
