# Written by `scripts/unasync.py` from `src/segno_client/_async/promise.py`. Do not edit.
"""Promises that people and other systems settle."""

from __future__ import annotations

from typing import Any, Generic, cast

from .._clock import sleep
from ..api import (
    GET_PROMISES_ID,
    POST_PROMISES_ID_CANCEL,
    POST_PROMISES_ID_REJECT,
    POST_PROMISES_ID_RESOLVE,
    FailureView,
    PromiseView,
    RejectPromise,
    ResolvePromise,
)
from ..errors import PromiseFailedError, WaitTimeoutError
from ..options import end_of, now_ms
from ..references import Out
from .transport import Transport

FIRST_PAUSE_MS = 100.0
LONGEST_PAUSE_MS = 2_000.0


class Promise(Generic[Out]):
    """A promise, known by its id. ``Out`` is the type of its value, if it was made by a reference."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport = transport
        self.id = id
        """Id of the promise."""

    def status(self) -> PromiseView:
        """Its state, and what it was settled with."""
        return self._transport.send(GET_PROMISES_ID, {"id": self.id})

    def resolve(self, value: Out | None = None) -> PromiseView:
        """Settles it with a value. A promise settles once: ``changed`` is false if it was settled before."""
        return self._transport.send(
            POST_PROMISES_ID_RESOLVE, {"id": self.id}, body=ResolvePromise(value=value), is_repeatable=True
        )

    def reject(self, code: int, message: str, details: Any = None) -> PromiseView:
        """Settles it with a failure."""
        return self._transport.send(
            POST_PROMISES_ID_REJECT,
            {"id": self.id},
            body=RejectPromise(failure=failure(code, message, details)),
            is_repeatable=True,
        )

    def cancel(self) -> PromiseView:
        """Settles it as cancelled."""
        return self._transport.send(POST_PROMISES_ID_CANCEL, {"id": self.id}, is_repeatable=True)

    def result(self, *, wait_ms: float | None = None) -> Out:
        """Waits until it is settled, and returns its value.

        Raises:
            PromiseFailedError: it was rejected, cancelled, or timed out.
            WaitTimeoutError: it was not settled within ``wait_ms`` (default: no limit).
        """
        until, pause_ms = end_of(wait_ms), FIRST_PAUSE_MS
        while True:
            view = self.status()
            state = view["state"]
            if state == "resolved":
                return cast(Out, view.get("value"))
            if state != "pending":
                raise PromiseFailedError(self.id, state, view.get("failure"), view.get("value"))
            left_ms = until - now_ms()
            if left_ms <= 0:
                raise WaitTimeoutError(self.id, state, round(wait_ms or 0))
            sleep(min(pause_ms, left_ms) / 1_000)
            pause_ms = min(pause_ms * 2, LONGEST_PAUSE_MS)


def failure(code: int, message: str, details: Any) -> FailureView:
    """A failure; without ``details`` if they are ``None``."""
    if details is None:
        return {"code": code, "message": message}
    return {"code": code, "message": message, "details": details}
