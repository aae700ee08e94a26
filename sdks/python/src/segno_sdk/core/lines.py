"""Lines and server-sent events in bytes that arrive in pieces."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class ServerEvent:
    """An event of a stream of server-sent events (`text/event-stream`)."""

    #: The type of the event; `message` if it has none.
    event: str
    #: The data; several lines are joined by line feeds.
    data: str
    #: The last id that the server has sent; empty if none.
    id: str


def lines_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """The lines of a body, which end with a line feed, a carriage return, or both. Pieces may cut characters and lines."""
    rest, after_return = b"", False
    for piece in pieces:
        if after_return and piece:
            piece, after_return = piece.removeprefix(b"\n"), False
        searched = len(rest)
        rest += piece
        at = 0
        while (end := _LINE_END.search(rest, max(at, searched))) is not None:
            # A line has all bytes of its characters, so each is decoded by itself.
            yield rest[at : end.start()].decode(errors="replace")
            at = end.end()
            after_return = at == len(rest) and end.group() == b"\r"
        rest = rest[at:]
    if rest:
        yield rest.decode(errors="replace")


def events_of(lines: Iterable[str]) -> Iterator[ServerEvent]:
    """The events of a body. One that no empty line ends is left out, as the standard says."""
    event, data, id, is_first = "", list[str](), "", True
    for line in lines:
        if is_first:
            line, is_first = line.removeprefix("\ufeff"), False
        if not line:
            if data:
                yield ServerEvent(event or "message", "\n".join(data), id)
            event, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            data.append(value)
        elif field == "event":
            event = value
        elif field == "id" and "\0" not in value:
            id = value
