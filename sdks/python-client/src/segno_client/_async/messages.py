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
from .promise import AsyncPromise
from .transport import AsyncTransport
from .update import AsyncUpdate, UpdateRequest, accepted, completed

REPLAY_MS = 300_000.0
"""Time that a host may take to replay a long journal."""


class AsyncMessages:
    """The signals, queries, updates and promises of an execution."""

    id: str
    _transport: AsyncTransport

    @overload
    async def signal(
        self,
        name: SignalReference[None],
        payload: None = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
    ) -> SignalAccepted: ...
    @overload
    async def signal(
        self, name: SignalReference[In], payload: In, *, key: str | None = None, start: StartFirst | None = None
    ) -> SignalAccepted: ...
    @overload
    async def signal(
        self, name: str, payload: Any = None, *, key: str | None = None, start: StartFirst | None = None
    ) -> SignalAccepted: ...
    async def signal(
        self, name: Any, payload: Any = None, *, key: str | None = None, start: StartFirst | None = None
    ) -> SignalAccepted:
        """Sends a signal.

        Args:
            name: Name of the signal, by which the function receives it, or a reference of ``segno types``.
            payload: Any value of JSON.
            key: The same key again is the same signal. Default: made by the client.
            start: The execution to start, in the same step, if none has this id.
        """
        return await self._transport.send(
            POST_INVOCATIONS_ID_SIGNALS,
            {"id": self.id},
            body=SendSignal(name=name_of(name), payload=payload, key=key or random_key(), start=start),
            is_repeatable=True,
        )

    @overload
    async def query(
        self, name: QueryReference[None, Answer], input: None = None, *, at: int | None = None
    ) -> Answer: ...
    @overload
    async def query(self, name: QueryReference[In, Answer], input: In, *, at: int | None = None) -> Answer: ...
    @overload
    async def query(self, name: str, input: Any = None, *, at: int | None = None) -> Any: ...
    async def query(self, name: Any, input: Any = None, *, at: int | None = None) -> Any:
        """Asks the workflow, and returns the answer.

        ``at`` asks it as it was after so many records of its journal. A refusal of the workflow is a
        :class:`WorkflowRefusedError`.
        """
        return (await self.query_answer(name_of(name), input, at=at))["value"]

    async def query_answer(self, name: str, input: Any = None, *, at: int | None = None) -> QueryAnswer:
        """Like :meth:`query`, with the number of records that the answer has seen."""
        return await self._transport.send(
            POST_INVOCATIONS_ID_QUERIES_NAME,
            {"id": self.id, "name": name},
            body=SendQuery(input=input, at=at),
            is_repeatable=True,
            wait_ms=REPLAY_MS,
        )

    @overload
    async def update(
        self,
        name: UpdateReference[None, Answer],
        input: None = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Answer: ...
    @overload
    async def update(
        self,
        name: UpdateReference[In, Answer],
        input: In,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Answer: ...
    @overload
    async def update(
        self,
        name: str,
        input: Any = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Any: ...
    async def update(
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
        return await completed(self._transport, request, wait_ms)

    @overload
    async def send_update(
        self,
        name: UpdateReference[None, Answer],
        input: None = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> AsyncUpdate[Answer]: ...
    @overload
    async def send_update(
        self,
        name: UpdateReference[In, Answer],
        input: In,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> AsyncUpdate[Answer]: ...
    @overload
    async def send_update(
        self,
        name: str,
        input: Any = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> AsyncUpdate[Any]: ...
    async def send_update(
        self,
        name: Any,
        input: Any = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> AsyncUpdate[Any]:
        """Sends an update, and returns when the workflow has accepted it."""
        request = UpdateRequest(self.id, name_of(name), input, key or random_key(), start)
        return AsyncUpdate(self._transport, request, await accepted(self._transport, request, wait_ms))

    @overload
    def promise(self, name: PromiseReference[Answer]) -> AsyncPromise[Answer]: ...
    @overload
    def promise(self, name: str) -> AsyncPromise[Any]: ...
    def promise(self, name: Any) -> AsyncPromise[Any]:
        """Its promise with this name, which others settle. Sends nothing."""
        return AsyncPromise(self._transport, f"{self.id}/p/{name_of(name)}")
