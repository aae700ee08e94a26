"""Schedules: functions that start by a clock."""

from __future__ import annotations

from datetime import datetime

from ..api import (
    DELETE_SCHEDULES_ID,
    GET_SCHEDULES_ID,
    POST_SCHEDULES_ID_BACKFILL,
    POST_SCHEDULES_ID_PAUSE,
    POST_SCHEDULES_ID_RESUME,
    POST_SCHEDULES_ID_TRIGGER,
    Accepted,
    Backfill,
    Backfilled,
    ScheduleView,
    Trigger,
)
from ..errors import InvalidArgumentError
from ..options import instant
from .execution import AsyncExecution
from .transport import AsyncTransport


class AsyncSchedule:
    """A schedule, known by its id."""

    def __init__(self, transport: AsyncTransport, id: str, created: bool | None = None) -> None:
        self._transport = transport
        self.id = id
        """Id of the schedule."""
        self.created = created
        """After ``create_schedule``: true if this request made it, false if it existed already."""

    async def status(self) -> ScheduleView:
        """The schedule, with its next ten occurrences."""
        return await self._transport.send(GET_SCHEDULES_ID, {"id": self.id})

    async def pause(self) -> ScheduleView:
        """Pauses it: its occurrences are skipped."""
        return await self._transport.send(POST_SCHEDULES_ID_PAUSE, {"id": self.id}, is_repeatable=True)

    async def resume(self) -> ScheduleView:
        """Resumes it."""
        return await self._transport.send(POST_SCHEDULES_ID_RESUME, {"id": self.id}, is_repeatable=True)

    async def trigger(self, *, at: datetime | int | None = None) -> AsyncExecution:
        """Starts an execution now, also of a paused schedule.

        With the instant ``at`` the same request again starts nothing.
        """
        triggered = await self._transport.send(
            POST_SCHEDULES_ID_TRIGGER,
            {"id": self.id},
            body=Trigger(at_ms=instant(at, "at")),
            is_repeatable=at is not None,
        )
        return AsyncExecution(self._transport, triggered["id"])

    async def backfill(self, start: datetime | int, end: datetime | int) -> Backfilled:
        """Starts the missed occurrences from ``start`` up to ``end``, at most the first 100.

        ``next_at_ms`` of the answer is the ``start`` of the next request.
        """
        first, last = instant(start, "start"), instant(end, "end")
        if first is None or last is None:
            raise InvalidArgumentError("`start` and `end` are needed")
        return await self._transport.send(
            POST_SCHEDULES_ID_BACKFILL,
            {"id": self.id},
            body=Backfill(from_at_ms=first, to_at_ms=last),
            is_repeatable=True,
        )

    async def delete(self) -> Accepted:
        """Removes it. Its executions remain."""
        return await self._transport.send(DELETE_SCHEDULES_ID, {"id": self.id})
