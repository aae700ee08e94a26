"""Objects in a test: their state, their promises, and whose turn it is."""

import base64
import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ..codec import plain
from ..core.engine import FailureRecord, Outcome, Payload, Success
from ..core.failure import CONFLICT
from .journal import shown_failure
from .streams import TestStreams

NULL = Success("null")


@dataclass(frozen=True)
class ObjectCall:
    """A call of a function of an object: `OBJECT@KEY/FUNCTION`, alone or after `wasm://MODULE/`."""

    #: The path of the object, as in the call.
    path: str
    key: str
    #: The name of the function in its module.
    name: str

    @classmethod
    def parse(cls, function: str) -> "ObjectCall | None":
        """None if the name is no call of an object."""
        path = function
        if function.startswith("wasm://"):
            path = function.removeprefix("wasm://").partition("/")[2]
        elif "://" in function:
            return None
        kind, at, rest = path.partition("@")
        key, slash, method = rest.rpartition("/")
        if not at or not slash:
            return None
        return cls(function.rpartition("/")[0], key, f"{kind}/{method}")


@dataclass
class TestObject:
    """One object."""

    __test__ = False

    state: dict[str, Payload] = field(default_factory=dict)
    #: Settled promises, and those that commands wait for.
    settled: dict[str, Outcome] = field(default_factory=dict)
    waiting: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    #: The id of the run of an object that runs once per key.
    run: str | None = None
    #: The invocation whose turn it is, and those that wait.
    holder: str | None = None
    line: deque[Any] = field(default_factory=deque)
    #: Its streams, by the path of the object.
    streams: TestStreams = field(default_factory=TestStreams)

    def names(self) -> Success:
        """The names of the state, in their order."""
        return Success(json.dumps(sorted(self.state)))

    def peek(self, name: str) -> Success:
        """The state of a promise, as a host writes it."""
        outcome = self.settled.get(name)
        if outcome is None:
            return NULL
        if isinstance(outcome, FailureRecord):
            return Success(json.dumps({"rejected": {"details": None, **shown_failure(outcome)}}))
        if isinstance(outcome.value, bytes):
            return Success(json.dumps({"resolved_base64": base64.b64encode(outcome.value).decode()}))
        return Success(json.dumps({"resolved": plain(outcome.value)}))

    def accept_run(self, id: str, path: str) -> FailureRecord | None:
        """Why a second run of the key is refused; None: it is the first."""
        if self.run is not None:
            message = f"`{path}` has had its run, and runs once: read it by its id, `{self.run}`, or use another key"
            return FailureRecord(CONFLICT, message)
        self.run = id
        return None
