# Written by `scripts/unasync.py` from `src/segno_client/_async/object.py`. Do not edit.
"""Objects: state by key, with one writer at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..api import (
    GET_OBJECTS_MODULE_OBJECT_KEY,
    GET_OBJECTS_MODULE_OBJECT_KEY_PROMISES_NAME,
    PATCH_OBJECTS_MODULE_OBJECT_KEY,
    POST_OBJECTS_MODULE_OBJECT_KEY_FUNCTION,
    POST_OBJECTS_MODULE_OBJECT_KEY_PROMISES_NAME_REJECT,
    POST_OBJECTS_MODULE_OBJECT_KEY_PROMISES_NAME_RESOLVE,
    CallObject,
    ChangeState,
    ObjectPromiseView,
    ObjectView,
    RejectPromise,
    ResolvePromise,
    Started,
)
from ..errors import InvalidArgumentError
from ..options import end_of, instant, now_ms
from .execution import Execution
from .promise import failure
from .transport import Transport
from .waiting import LONGEST_POLL_MS, SETTLED, outcome_of, output_of


class ObjectHandle:
    """An object: a kind of a module, and a key."""

    def __init__(self, transport: Transport, kind: str, key: str) -> None:
        parts = kind.split("/")
        if len(parts) != 2 or not all(parts):
            raise InvalidArgumentError(
                f"`{kind}` is not a kind of objects: write MODULE/OBJECT, and pass the key by itself"
            )
        self._transport = transport
        self._path = {"module": parts[0], "object": parts[1], "key": key}
        self.name = f"{kind}@{key}"
        """Name of the object: ``MODULE/OBJECT@KEY``."""

    def call(
        self,
        function: str,
        input: Any = None,
        *,
        id: str | None = None,
        labels: Mapping[str, str] | None = None,
        budget: Mapping[str, float] | None = None,
        timeout_ms: int | None = None,
        start_at: datetime | int | None = None,
        wait_ms: float | None = None,
    ) -> Any:
        """Calls a function, waits for its end, and returns its output; raises as ``Execution.result`` does."""
        until = end_of(wait_ms)
        first_ms = max(0.0, min(LONGEST_POLL_MS, until - now_ms()))
        started = self._start(function, input, id, labels, budget, timeout_ms, start_at, first_ms)
        outcome = started["invocation"]
        if outcome["state"] not in SETTLED:
            outcome = outcome_of(self._transport, started["id"], until)
        return output_of(outcome, wait_ms)

    def start(
        self,
        function: str,
        input: Any = None,
        *,
        id: str | None = None,
        labels: Mapping[str, str] | None = None,
        budget: Mapping[str, float] | None = None,
        timeout_ms: int | None = None,
        start_at: datetime | int | None = None,
    ) -> Execution:
        """Starts a function, and returns at once.

        ``budget`` is that of the execution and everything below it, as in ``Client.start``.
        Without an ``id`` this start is not repeated after a lost answer, because some functions run once
        for their key under an id that the host chooses.
        """
        started = self._start(function, input, id, labels, budget, timeout_ms, start_at, 0)
        return Execution(self._transport, started["id"], started)

    def status(self) -> ObjectView:
        """Its state, with the execution that has the turn, if any."""
        return self._transport.send(GET_OBJECTS_MODULE_OBJECT_KEY, self._path)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of one name of its state; ``default`` if there is none."""
        view = self._transport.send(GET_OBJECTS_MODULE_OBJECT_KEY, self._path, query={"name": name})
        return view["state"].get(name, default)

    def set(self, values: Mapping[str, Any]) -> ObjectView:
        """Sets names of its state. Refused (``object-busy``) while an execution has the turn or waits for it."""
        return self._change({"set": dict(values)})

    def clear(self, names: Sequence[str] | None = None) -> ObjectView:
        """Clears names of its state; without ``names`` all of them, and its promises."""
        return self._change({"clear_all": True} if names is None else {"clear": list(names)})

    def promise(self, name: str) -> ObjectPromise:
        """One of its promises, which exists as soon as anyone asks for it. Sends nothing."""
        return ObjectPromise(self._transport, {**self._path, "name": name})

    def _start(
        self,
        function: str,
        input: Any,
        id: str | None,
        labels: Mapping[str, str] | None,
        budget: Mapping[str, float] | None,
        timeout_ms: int | None,
        start_at: datetime | int | None,
        wait_ms: float,
    ) -> Started:
        return self._transport.send(
            POST_OBJECTS_MODULE_OBJECT_KEY_FUNCTION,
            {**self._path, "function": function},
            body=CallObject(
                id=id,
                input=input,
                labels=dict(labels or {}),
                budget=dict(budget or {}),
                timeout_ms=timeout_ms,
                start_at_ms=instant(start_at, "start_at"),
                wait_ms=math.ceil(wait_ms) or None,
            ),
            is_repeatable=id is not None,
            wait_ms=wait_ms,
        )

    def _change(self, change: ChangeState) -> ObjectView:
        return self._transport.send(
            PATCH_OBJECTS_MODULE_OBJECT_KEY, self._path, body=change, is_repeatable=True
        )


class ObjectPromise:
    """A promise of an object."""

    def __init__(self, transport: Transport, path: Mapping[str, str]) -> None:
        self._transport = transport
        self._path = path

    def status(self) -> ObjectPromiseView:
        """Its state; pending if it was never made."""
        return self._transport.send(GET_OBJECTS_MODULE_OBJECT_KEY_PROMISES_NAME, self._path)

    def resolve(self, value: Any = None) -> ObjectPromiseView:
        """Settles it with a value, also before anything waits for it."""
        return self._transport.send(
            POST_OBJECTS_MODULE_OBJECT_KEY_PROMISES_NAME_RESOLVE,
            self._path,
            body=ResolvePromise(value=value),
            is_repeatable=True,
        )

    def reject(self, code: int, message: str, details: Any = None) -> ObjectPromiseView:
        """Settles it with a failure."""
        return self._transport.send(
            POST_OBJECTS_MODULE_OBJECT_KEY_PROMISES_NAME_REJECT,
            self._path,
            body=RejectPromise(failure=failure(code, message, details)),
            is_repeatable=True,
        )
