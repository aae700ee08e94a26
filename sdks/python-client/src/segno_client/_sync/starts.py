# Written by `scripts/unasync.py` from `src/segno_client/_async/starts.py`. Do not edit.
"""Starts of functions, by name or by reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict, Unpack, overload

from ..api import POST_INVOCATIONS, Started, StartInvocation, StartRetry
from ..options import end_of, identity, instant, now_ms
from ..references import FunctionReference, In, Out, address_of
from .execution import Execution
from .transport import Transport
from .waiting import LONGEST_POLL_MS, SETTLED, outcome_of, output_of


class StartOptions(TypedDict, total=False):
    """The options of a start, which :meth:`Starts.start` explains."""

    id: str | None
    labels: Mapping[str, str] | None
    budget: Mapping[str, float] | None
    timeout_ms: int | None
    start_at: datetime | int | None
    retry: StartRetry | None
    attempt_timeout_ms: int | None


class CallOptions(StartOptions, total=False):
    """The options of a call."""

    wait_ms: float | None


class Starts:
    """Functions, as a client starts them."""

    _transport: Transport

    @overload
    def start(
        self, target: FunctionReference[None, Out], input: None = None, **options: Unpack[StartOptions]
    ) -> Execution[Out]: ...
    @overload
    def start(
        self, target: FunctionReference[In, Out], input: In, **options: Unpack[StartOptions]
    ) -> Execution[Out]: ...
    @overload
    def start(
        self, target: str, input: Any = None, **options: Unpack[StartOptions]
    ) -> Execution[Any]: ...
    def start(
        self,
        target: Any,
        input: Any = None,
        *,
        id: str | None = None,
        labels: Mapping[str, str] | None = None,
        budget: Mapping[str, float] | None = None,
        timeout_ms: int | None = None,
        start_at: datetime | int | None = None,
        retry: StartRetry | None = None,
        attempt_timeout_ms: int | None = None,
    ) -> Execution[Any]:
        """Starts a function, and returns at once.

        Args:
            target: The function: ``MODULE/FUNCTION``, ``MODULE/OBJECT@KEY/FUNCTION``, or a reference that
                ``segno types`` wrote.
            input: Its input: any value of JSON.
            id: Id of the execution. A start with the same id, function and input again finds the first
                execution; with others it is refused (``ConflictError``, code ``key-reused``). Default: made by
                the client, so that a repeat after a lost answer starts nothing twice.
            labels: Labels by which executions are listed.
            budget: Budget of the execution and everything below it: limits by unit, such as
                ``{"tokens": 20_000, "usd": 1.5}``, with at most six decimal places. The host counts ``calls``;
                activities report all others.
            timeout_ms: Time limit of the execution, from now. Default: the function's own.
            start_at: Earliest start.
            retry: Retry policy of an activity. Default: the function's own.
            attempt_timeout_ms: Time limit of one attempt of an activity.
        """
        started = self._start(
            target, input, id, labels, budget, timeout_ms, start_at, retry, attempt_timeout_ms, 0
        )
        return Execution(self._transport, started["id"], started)

    @overload
    def call(
        self, target: FunctionReference[None, Out], input: None = None, **options: Unpack[CallOptions]
    ) -> Out: ...
    @overload
    def call(self, target: FunctionReference[In, Out], input: In, **options: Unpack[CallOptions]) -> Out: ...
    @overload
    def call(self, target: str, input: Any = None, **options: Unpack[CallOptions]) -> Any: ...
    def call(
        self,
        target: Any,
        input: Any = None,
        *,
        id: str | None = None,
        labels: Mapping[str, str] | None = None,
        budget: Mapping[str, float] | None = None,
        timeout_ms: int | None = None,
        start_at: datetime | int | None = None,
        retry: StartRetry | None = None,
        attempt_timeout_ms: int | None = None,
        wait_ms: float | None = None,
    ) -> Any:
        """Starts a function, waits for its end, and returns its output; raises as ``Execution.result`` does.

        The arguments are those of :meth:`start`; ``wait_ms`` is the longest wait (default: no limit).
        """
        until = end_of(wait_ms)
        first_ms = max(0.0, min(LONGEST_POLL_MS, until - now_ms()))
        started = self._start(
            target, input, id, labels, budget, timeout_ms, start_at, retry, attempt_timeout_ms, first_ms
        )
        outcome = started["invocation"]
        if outcome["state"] not in SETTLED:
            outcome = outcome_of(self._transport, started["id"], until)
        return output_of(outcome, wait_ms)

    @overload
    def execution(self, id: str, runs: FunctionReference[Any, Out]) -> Execution[Out]: ...
    @overload
    def execution(self, id: str) -> Execution[Any]: ...
    def execution(self, id: str, runs: object = None) -> Execution[Any]:
        """The execution with this id. Sends nothing. ``runs`` says the type of its output, and is not checked."""
        return Execution(self._transport, id)

    def _start(
        self,
        target: object,
        input: Any,
        id: str | None,
        labels: Mapping[str, str] | None,
        budget: Mapping[str, float] | None,
        timeout_ms: int | None,
        start_at: datetime | int | None,
        retry: StartRetry | None,
        attempt_timeout_ms: int | None,
        wait_ms: float,
    ) -> Started:
        address = address_of(target)
        known_id, is_repeatable = identity(address, id)
        started = self._transport.send(
            POST_INVOCATIONS,
            body=StartInvocation(
                id=known_id,
                target=address,
                input=input,
                labels=dict(labels or {}),
                budget=dict(budget or {}),
                timeout_ms=timeout_ms,
                start_at_ms=instant(start_at, "start_at"),
                retry=retry,
                attempt_timeout_ms=attempt_timeout_ms,
                wait_ms=math.ceil(wait_ms) or None,
            ),
            is_repeatable=is_repeatable,
            wait_ms=wait_ms,
        )
        if id is None and is_repeatable:
            # Nobody else has an id that this client made up: an earlier attempt of this start made it.
            started["created"] = True
        return started
