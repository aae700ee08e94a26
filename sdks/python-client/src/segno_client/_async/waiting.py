"""Long waits, made of requests that each wait for a while."""

from __future__ import annotations

import math
from typing import Any

from .._clock import async_sleep
from ..api import GET_INVOCATIONS_ID_WAIT, FailureView, InvocationOutcome
from ..errors import ExecutionFailedError, ExecutionHaltedError, WaitTimeoutError
from ..options import now_ms
from .transport import AsyncTransport

FIRST_POLL_MS = 2_000.0
"""Wait of the first request, doubled for each further one: a halt is seen between two requests."""
LONGEST_POLL_MS = 30_000.0
"""Longest wait of one request: shorter than what proxies allow."""

SETTLED = frozenset({"resolved", "rejected", "cancelled", "timed-out"})
"""States of what has ended."""


async def outcome_of(transport: AsyncTransport, id: str, until: float) -> InvocationOutcome:
    """Waits until an execution has ended or is halted, or until ``until``; returns its state then."""
    poll_ms = FIRST_POLL_MS
    while True:
        wait_ms = max(0.0, min(poll_ms, until - now_ms()))
        began_at = now_ms()
        outcome = await transport.send(
            GET_INVOCATIONS_ID_WAIT, {"id": id}, query={"timeout_ms": math.ceil(wait_ms)}, wait_ms=wait_ms
        )
        if outcome["state"] in SETTLED or outcome["state"] == "halted" or now_ms() >= until:
            return outcome
        # A host that stops answers early.
        if now_ms() - began_at < wait_ms / 2:
            await async_sleep(0.2)
        poll_ms = min(poll_ms * 2, LONGEST_POLL_MS)


def output_of(outcome: InvocationOutcome, wait_ms: float | None) -> Any:
    """Returns the output of an execution that has ended well, and raises otherwise."""
    id, state = outcome["id"], outcome["state"]
    if state == "resolved":
        return outcome.get("output")
    if state == "halted":
        note = outcome.get("note")
        raise ExecutionHaltedError(id, note["message"] if note else "no reason is known")
    if state not in SETTLED:
        raise WaitTimeoutError(id, state, round(wait_ms or 0))
    unknown: FailureView = {"code": 500, "message": "without a failure", "details": outcome.get("output")}
    raise ExecutionFailedError(id, state, outcome.get("failure") or unknown, outcome.get("killed", False))
