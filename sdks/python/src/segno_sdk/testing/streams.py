"""The streams of a test."""

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from ..codec import plain
from ..core.engine import Payload
from ..core.failure import CONFLICT, Failure
from ..core.stream import is_json


@dataclass
class TestStream:
    """One stream."""

    __test__ = False

    content_type: str
    #: Messages as JSON, or the parts of any other content.
    items: list[str | bytes] = field(default_factory=list)
    is_closed: bool = False
    #: Number of messages or bytes, by the calls of activities that appended them.
    kept: dict[str, int] = field(default_factory=dict)

    @property
    def content(self) -> Any:
        """Messages as a list, text, or bytes."""
        if is_json(self.content_type):
            return [json.loads(item) for item in self.items]
        content = b"".join(map(_bytes, self.items))
        return content.decode(errors="replace") if self.is_text else content

    @property
    def is_text(self) -> bool:
        """True for a stream of text."""
        return self.content_type.lower().startswith("text/")


class TestStreams:
    """All streams of a run, by the invocations that they belong to."""

    __test__ = False

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], TestStream] = {}

    def append(self, owner: str, name: str, content_type: str, item: Payload, writer: str) -> None:
        """Appends to a stream, and counts it for the writer. Raises the `Failure` with which a host would refuse it."""
        stream = self._open(owner, name, content_type)
        if stream.content_type.lower() != content_type.lower():
            raise Failure(
                CONFLICT,
                f"the stream {name!r} has the content type {stream.content_type}, and the request has {content_type}",
            )
        stream.items.append(item)
        count = 1 if is_json(content_type) else len(_bytes(item))
        stream.kept[writer] = stream.kept.get(writer, 0) + count

    def close(self, owner: str, name: str, content_type: str) -> None:
        """Closes a stream. Raises a `Failure` if it is closed."""
        self._open(owner, name, content_type).is_closed = True

    def kept(self, owner: str, name: str, writer: str) -> int:
        """The number of messages or bytes that a writer has appended."""
        stream = self._streams.get((owner, name))
        return 0 if stream is None else stream.kept.get(writer, 0)

    def content(self, owner: str, name: str) -> Any:
        """The content of a stream, or None if nothing wrote it."""
        stream = self._streams.get((owner, name))
        return None if stream is None else stream.content

    def part(self, owner: str, name: str, position: int, has_ended: bool) -> dict[str, Any] | None:
        """The content after a position, as a host answers it, or None if nothing wrote the stream."""
        stream = self._streams.get((owner, name))
        if stream is None:
            return None
        closed = stream.is_closed or has_ended
        if is_json(stream.content_type):
            items = stream.content[position:]
            return {"items": items, "next": position + len(items), "closed": closed}
        rest = b"".join(map(_bytes, stream.items))[position:]
        content = (
            {"text": rest.decode(errors="replace")} if stream.is_text else {"base64": base64.b64encode(rest).decode()}
        )
        return {**content, "next": position + len(rest), "closed": closed}

    def _open(self, owner: str, name: str, content_type: str) -> TestStream:
        stream = self._streams.setdefault((owner, name), TestStream(content_type))
        if stream.is_closed:
            raise Failure(CONFLICT, f"the stream {name!r} is closed: nothing can be appended")
        return stream


class AttemptStreams:
    """The streams that one attempt of an activity writes."""

    def __init__(self, streams: TestStreams, owner: str, call: str) -> None:
        self._streams, self._owner, self._call = streams, owner, call
        #: The refusal of an item. Nothing is appended after it, and the attempt cannot succeed.
        self.refused: Failure | None = None

    def append(self, name: str, content_type: str, item: Payload) -> None:
        """Appends to a stream."""
        if self.refused is None:
            try:
                return self._streams.append(self._owner, name, content_type, item, self._call)
            except Failure as refused:
                self.refused = refused
        raise self.refused

    def kept(self, name: str) -> int:
        """The number of messages or bytes that the call has appended."""
        return self._streams.kept(self._owner, name, self._call)


def _bytes(item: str | bytes) -> bytes:
    """JSON that is a string stands for its text."""
    if isinstance(item, bytes):
        return item
    value = plain(item)
    return (value if isinstance(value, str) else item).encode()
