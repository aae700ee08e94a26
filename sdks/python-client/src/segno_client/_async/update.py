"""Updates of workflows: sent, accepted, answered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, cast

from ..api import POST_INVOCATIONS_ID_UPDATES_NAME, SendUpdate, StartFirst, UpdateAnswer, UpdateWait
from ..errors import RefusedError, UpdateFailedError, WaitTimeoutError
from ..options import end_of, now_ms
from ..references import Out
from .transport import AsyncTransport

POLL_MS = 30_000.0
"""Longest wait of one request."""
NOT_STORED = frozenset({"not-begun", "journal-grew"})
"""Refusals after which the same update may be sent again: nothing was stored."""


@dataclass(frozen=True)
class UpdateRequest:
    """What one update sends, each time it is sent."""

    id: str
    name: str
    input: Any
    key: str
    start: StartFirst | None


class AsyncUpdate(Generic[Out]):
    """An update that a workflow has accepted. ``Out`` is the type of the answer, if it was sent by a reference."""

    def __init__(self, transport: AsyncTransport, request: UpdateRequest, answer: UpdateAnswer) -> None:
        self._transport = transport
        self._request = request
        self.id = answer["id"]
        """Id of the execution."""
        self.name = answer["name"]
        """Name of the update."""
        self.key = request.key
        """Key of the update."""
        self.promise = answer["promise"]
        """Id of the promise that the workflow settles with its answer."""

    async def result(self, *, wait_ms: float | None = None) -> Out:
        """Waits for the answer.

        Raises:
            UpdateFailedError: the answer is a failure.
            WaitTimeoutError: there was no answer within ``wait_ms`` (default: no limit).
        """
        return cast(Out, await completed(self._transport, self._request, wait_ms))


async def accepted(transport: AsyncTransport, request: UpdateRequest, wait_ms: float | None) -> UpdateAnswer:
    """Sends an update until it is accepted."""
    return await _sent(transport, request, "accepted", end_of(wait_ms))


async def completed(transport: AsyncTransport, request: UpdateRequest, wait_ms: float | None) -> Any:
    """Sends an update until it is answered."""
    until = end_of(wait_ms)
    while True:
        answer = await _sent(transport, request, "completed", until)
        if answer["state"] == "completed":
            return answer.get("output")
        if answer["state"] == "failed":
            failure = answer.get("failure") or {"code": 500, "message": "without a failure"}
            raise UpdateFailedError(answer["id"], answer["name"], failure)
        if now_ms() >= until:
            raise WaitTimeoutError(answer["promise"], answer["state"], round(wait_ms or 0))


async def _sent(transport: AsyncTransport, request: UpdateRequest, wait: UpdateWait, until: float) -> UpdateAnswer:
    while True:
        wait_ms = max(0.0, min(POLL_MS, until - now_ms()))
        body = SendUpdate(
            input=request.input,
            key=request.key,
            start=request.start,
            wait=wait,
            timeout_ms=math.ceil(wait_ms),
        )
        try:
            return await transport.send(
                POST_INVOCATIONS_ID_UPDATES_NAME,
                {"id": request.id, "name": request.name},
                body=body,
                is_repeatable=True,
                wait_ms=wait_ms,
            )
        except RefusedError as error:
            if error.code not in NOT_STORED or now_ms() >= until:
                raise
