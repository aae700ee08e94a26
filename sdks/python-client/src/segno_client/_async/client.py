"""The client: everything that does not belong to one execution, object, promise or schedule."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from .. import values
from .._clock import async_sleep
from ..api import (
    GET_HEALTH,
    GET_READY,
    POST_PROMISES,
    POST_SCHEDULES,
    CloudEvent,
    CreatePromise,
    CreateSchedule,
    Health,
    Overlap,
    Readiness,
)
from ..errors import SegnoError
from ..options import Retry, end_of, now_ms, settings_of
from . import events
from .blobs import AsyncBlobs
from .lists import AsyncLists
from .modules import AsyncModules
from .object import AsyncObjectHandle
from .promise import AsyncPromise
from .schedule import AsyncSchedule
from .starts import AsyncStarts
from .transport import AsyncTransport


class AsyncClient(AsyncLists, AsyncModules, AsyncStarts):
    """A client of one host, or of several behind one address, for asyncio.

    Without ``server`` and ``token`` it reads ``SEGNO_SERVER`` and ``SEGNO_TOKEN``, as the command line does. It
    keeps a pool of connections: use it in ``async with``, or call :meth:`aclose`.
    """

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        request_timeout_ms: float = 30_000,
        retry: Retry | None = None,
        headers: Mapping[str, str] | None = None,
        dumps: Callable[[Any], str] = values.dumps,
        loads: Callable[[str], Any] = values.loads,
    ) -> None:
        """Sends nothing.

        Args:
            server: Address of the host. Default: ``SEGNO_SERVER``, or ``http://127.0.0.1:7766``.
            token: Token of the host. Default: ``SEGNO_TOKEN``.
            request_timeout_ms: Longest time for the answer to one request, without the time that the request
                asks the host to wait.
            retry: When requests are tried again; ``Retry(for_ms=0)``: never.
            headers: Further headers of every request, for example for a proxy.
            dumps: How values become JSON. The default refuses what JSON cannot say.
            loads: How JSON is read.
        """
        settings = settings_of(server, token, request_timeout_ms, retry, headers, dumps, loads)
        self._transport = AsyncTransport(settings)

    @property
    def server(self) -> str:
        """Address of the host."""
        return self._transport.settings.server

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def blobs(self) -> AsyncBlobs:
        """The blobs of executions: upload, download, list, removal."""
        return AsyncBlobs(self._transport)

    def object(self, kind: str, key: str) -> AsyncObjectHandle:
        """The object ``key`` of the kind ``MODULE/OBJECT``. Sends nothing."""
        return AsyncObjectHandle(self._transport, kind, key)

    def promise(self, id: str) -> AsyncPromise:
        """The promise with this id. Sends nothing."""
        return AsyncPromise(self._transport, id)

    async def create_promise(
        self,
        id: str,
        *,
        param: Any = None,
        tags: Mapping[str, str] | None = None,
        timeout_ms: int | None = None,
    ) -> AsyncPromise:
        """Makes a promise, or finds the one with the same id."""
        body: CreatePromise = {"id": id, "tags": dict(tags or {}), "timeout_ms": timeout_ms}
        if param is not None:
            body["param"] = param
        await self._transport.send(POST_PROMISES, body=body, is_repeatable=True)
        return AsyncPromise(self._transport, id)

    def schedule(self, id: str) -> AsyncSchedule:
        """The schedule with this id. Sends nothing."""
        return AsyncSchedule(self._transport, id)

    async def create_schedule(
        self,
        id: str,
        cron: str,
        target: str,
        input: Any = None,
        *,
        zone: str | None = None,
        overlap: Overlap | None = None,
        labels: Mapping[str, str] | None = None,
        budget: Mapping[str, float] | None = None,
        timeout_ms: int | None = None,
        jitter_ms: int | None = None,
        invocation_id: str | None = None,
    ) -> AsyncSchedule:
        """Makes a schedule, or finds the one with the same id.

        Args:
            id: Id of the schedule.
            cron: Minute, hour, day of month, month, weekday; with six fields the first one is the second.
            target: The function to start.
            input: Its input.
            zone: IANA name of the time zone. Default: UTC.
            overlap: What happens to an occurrence while the last execution has not ended.
            labels: Labels of the executions.
            budget: Budget of each execution and everything below it: limits by unit.
            timeout_ms: Time limit of each execution.
            jitter_ms: Longest random delay between an occurrence and its start.
            invocation_id: Template of the ids, for example ``{{.id}}@{{.timestamp}}``.
        """
        body: CreateSchedule = {
            "id": id,
            "cron": cron,
            "target": target,
            "input": input,
            "zone": zone,
            "labels": dict(labels or {}),
            "budget": dict(budget or {}),
            "timeout_ms": timeout_ms,
            "jitter_ms": jitter_ms,
            "invocation_id": invocation_id,
        }
        if overlap is not None:
            body["overlap"] = overlap
        created = await self._transport.send(POST_SCHEDULES, body=body, is_repeatable=True)
        return AsyncSchedule(self._transport, id, created["created"])

    def events(
        self,
        topic: str | None = None,
        *,
        acknowledging: bool = True,
        page_size: int | None = None,
        until_empty: bool = False,
        retry_for_ms: float = math.inf,
    ) -> AsyncGenerator[CloudEvent, None]:
        """Published events, the oldest first, each at least once. The generator does not end by itself.

        Args:
            topic: Pattern of topics, such as ``order.*``. Default: every topic.
            acknowledging: True: an event is acknowledged when the loop asks for the next one, so that an event
                whose handling raises comes again. False: nothing is acknowledged, and the reader goes on behind
                what it has shown.
            page_size: Number of events fetched at once, and at most delivered again after a crash.
            until_empty: True to end when there is no further event.
            retry_for_ms: Longest time without an answer of a host.
        """
        return events.read(self._transport, topic, acknowledging, page_size, until_empty, retry_for_ms)

    async def acknowledge(self, ids: Sequence[str]) -> int:
        """Acknowledges events by their ids: they are not read again."""
        return await events.acknowledge(self._transport, ids)

    async def health(self) -> Health:
        """The version of the host, if its process answers."""
        return await self._transport.send(GET_HEALTH)

    async def ready(self, *, wait_ms: float = 0) -> Readiness:
        """Returns when the host accepts work; raises its reason after ``wait_ms``."""
        until = end_of(wait_ms)
        while True:
            try:
                return await self._transport.send(GET_READY, retry_for_ms=0)
            except SegnoError:
                if now_ms() >= until:
                    raise
            await async_sleep(0.25)

    async def request(self, method: str, path: str, body: Any = None, *, is_repeatable: bool = False) -> Any:
        """Sends a request that this client has no method for, such as ``request("GET", "/v1/limits")``.

        A ``GET`` is tried again; others only with ``is_repeatable``.
        """
        return await self._transport.raw(method, path, body, is_repeatable or method == "GET")
