"""Workflows of a test that read streams."""

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..codec import plain
from ..core.engine import FailureRecord, Outcome, Payload, Success
from ..core.failure import BAD_INPUT, NOT_FOUND
from ..core.stream_reader import STREAM_FUNCTION
from .invocation import Invocation

if TYPE_CHECKING:
    from .world import World


@dataclass
class StreamRead:
    """A read that waits for data."""

    #: The workflow and the command that read.
    reader: Invocation
    index: int
    #: The id of the first generation of the invocation that writes.
    owner: str
    stream: str
    position: int


class StreamReads:
    """The reads of a run that wait for data."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._open: list[StreamRead] = []

    def add(self, reader: Invocation, index: int, input: Payload) -> None:
        """Keeps a read until it can be answered."""
        given = plain(input)
        match {"position": 0, **given} if isinstance(given, dict) else None:
            case {"invocation": str(invocation), "stream": str(stream), "position": int(position)} if position >= 0:
                owner = re.sub("/g/[0-9]+$", "", invocation)
                self._open.append(StreamRead(reader, index, owner, stream, position))
            case _:
                takes = '{"invocation": ID, "stream": NAME, "position": NUMBER}'
                refused = FailureRecord(BAD_INPUT, f"`{STREAM_FUNCTION}` takes {takes}")
                self._world.answer(self._world.now_ms, reader.id, index, refused)

    def serve(self) -> None:
        """Answers the reads that have data, or whose stream is at its end."""
        world, waiting = self._world, []
        for read in self._open:
            reader, index = read.reader, read.index
            if world.invocations.get(reader.id) is not reader or (reader.id, index) not in world.open:
                continue
            if (outcome := self._outcome_of(read)) is None:
                waiting.append(read)
            else:
                world.answer(world.now_ms, reader.id, index, outcome)
        self._open = waiting

    def _outcome_of(self, read: StreamRead) -> Outcome | None:
        writer = self._world.invocations.get(read.owner)
        if writer is None and read.owner not in self._world.expected:
            if (match := re.fullmatch("[^/@]+/([^/@]+@.+)", read.owner)) is not None:
                return self._of_object(match[1], read)
            return FailureRecord(NOT_FOUND, f"there is no invocation `{read.owner}`")
        has_ended = writer is not None and writer.outcome is not None
        part = self._world.streams.part(read.owner, read.stream, read.position, has_ended)
        if part is None:
            missing = FailureRecord(NOT_FOUND, f"`{read.owner}` has no stream {read.stream!r}")
            return missing if has_ended else None
        return answer_of(part, read.position)

    def _of_object(self, path: str, read: StreamRead) -> Outcome | None:
        place = self._world.objects.get(path) or self._world.objects.get(f"wasm://{read.owner}")
        owner = path if path in self._world.objects else f"wasm://{read.owner}"
        part = None if place is None else place.streams.part(owner, read.stream, read.position, False)
        return None if part is None else answer_of(part, read.position)


def answer_of(part: dict[str, Any], position: int) -> Outcome | None:
    """The answer to a read, or None while there is no data."""
    is_ready = part["closed"] or part["next"] > position
    return Success(json.dumps(part, ensure_ascii=False)) if is_ready else None
