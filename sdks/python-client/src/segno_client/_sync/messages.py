# Written by `scripts/unasync.py` from `src/segno_client/_async/messages.py`. Do not edit.
"""Messages to one execution, by name or by reference."""

from __future__ import annotations

from typing import Any, overload

from ..api import (
    POST_INVOCATIONS_ID_QUERIES_NAME,
    POST_INVOCATIONS_ID_SIGNALS,
    QueryAnswer,
    SendQuery,
    SendSignal,
    SignalAccepted,
    StartFirst,
)
from ..options import random_key
from ..references import (
    Answer,
    In,
    PromiseReference,
    QueryReference,
    SignalReference,
    UpdateReference,
    name_of,
)
from .promise import Promise
from .transport import Transport
from .update import Update, UpdateRequest, accepted, completed

REPLAY_MS = 300_000.0
"""Time that a host may take to replay a long journal."""


class Messages:
    """The signals, queries, updates and promises of an execution."""

    id: str
    _transport: Transport

    @overload
    def signal(
        self,
        name: SignalReference[None],
        payload: None = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
    ) -> SignalAccepted: ...
    @overload
    def signal(
        self, name: SignalReference[In], payload: In, *, key: str | None = None, start: StartFirst | None = None
    ) -> SignalAccepted: ...
    @overload
    def signal(
        self, name: str, payload: Any = None, *, key: str | None = None, start: StartFirst | None = None
    ) -> SignalAccepted: ...
    def signal(
        self, name: Any, payload: Any = None, *, key: str | None = None, start: StartFirst | None = None
    ) -> SignalAccepted:
        """Sends a signal.

        Args:
            name: Name of the signal, by which the function receives it, or a reference of ``segno types``.
            payload: Any value of JSON.
            key: The same key again is the same signal. Default: made by the client.
            start: The execution to start, in the same step, if none has this id.
        """
        return self._transport.send(
            POST_INVOCATIONS_ID_SIGNALS,
            {"id": self.id},
            body=SendSignal(name=name_of(name), payload=payload, key=key or random_key(), start=start),
            is_repeatable=True,
        )

    @overload
    def query(
        self, name: QueryReference[None, Answer], input: None = None, *, at: int | None = None
    ) -> Answer: ...
    @overload
    def query(self, name: QueryReference[In, Answer], input: In, *, at: int | None = None) -> Answer: ...
    @overload
    def query(self, name: str, input: Any = None, *, at: int | None = None) -> Any: ...
    def query(self, name: Any, input: Any = None, *, at: int | None = None) -> Any:
        """Asks the workflow, and returns the answer.

        ``at`` asks it as it was after so many records of its journal. A refusal of the workflow is a
        :class:`WorkflowRefusedError`.
        """
        return (self.query_answer(name_of(name), input, at=at))["value"]

    def query_answer(self, name: str, input: Any = None, *, at: int | None = None) -> QueryAnswer:
        """Like :meth:`query`, with the number of records that the answer has seen."""
        return self._transport.send(
            POST_INVOCATIONS_ID_QUERIES_NAME,
            {"id": self.id, "name": name},
            body=SendQuery(input=input, at=at),
            is_repeatable=True,
            wait_ms=REPLAY_MS,
        )

    @overload
    def update(
        self,
        name: UpdateReference[None, Answer],
        input: None = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Answer: ...
    @overload
    def update(
        self,
        name: UpdateReference[In, Answer],
        input: In,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Answer: ...
    @overload
    def update(
        self,
        name: str,
        input: Any = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Any: ...
    def update(
        self,
        name: Any,
        input: Any = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Any:
        """Sends an update, and waits for the workflow's answer.

        Args:
            name: Name of the update.
            input: Any value of JSON.
            key: The same key again is the same update, which runs once. Default: made by the client.
            start: The execution to start first, if none has this id.
            wait_ms: Longest wait. Default: no limit.

        Raises:
            WorkflowRefusedError: the workflow refuses it.
            UpdateFailedError: the answer is a failure.
            WaitTimeoutError: there was no answer within ``wait_ms``; the update goes on.
        """
        request = UpdateRequest(self.id, name_of(name), input, key or random_key(), start)
        return completed(self._transport, request, wait_ms)

    @overload
    def send_update(
        self,
        name: UpdateReference[None, Answer],
        input: None = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Update[Answer]: ...
    @overload
    def send_update(
        self,
        name: UpdateReference[In, Answer],
        input: In,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Update[Answer]: ...
    @overload
    def send_update(
        self,
        name: str,
        input: Any = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Update[Any]: ...
    def send_update(
        self,
        name: Any,
        input: Any = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Update[Any]:
        """Sends an update, and returns when the workflow has accepted it."""
        request = UpdateRequest(self.id, name_of(name), input, key or random_key(), start)
        return Update(self._transport, request, accepted(self._transport, request, wait_ms))

    @overload
    def promise(self, name: PromiseReference[Answer]) -> Promise[Answer]: ...
    @overload
    def promise(self, name: str) -> Promise[Any]: ...
    def promise(self, name: Any) -> Promise[Any]:
        """Its promise with this name, which others settle. Sends nothing."""
        return Promise(self._transport, f"{self.id}/p/{name_of(name)}")
