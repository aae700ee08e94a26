# Written by `scripts/unasync.py` from `src/segno_client/_async/schedule.py`. Do not edit.
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
from .execution import Execution
from .transport import Transport


class Schedule:
    """A schedule, known by its id."""

    def __init__(self, transport: Transport, id: str, created: bool | None = None) -> None:
        self._transport = transport
        self.id = id
        """Id of the schedule."""
        self.created = created
        """After ``create_schedule``: true if this request made it, false if it existed already."""

    def status(self) -> ScheduleView:
        """The schedule, with its next ten occurrences."""
        return self._transport.send(GET_SCHEDULES_ID, {"id": self.id})

    def pause(self) -> ScheduleView:
        """Pauses it: its occurrences are skipped."""
        return self._transport.send(POST_SCHEDULES_ID_PAUSE, {"id": self.id}, is_repeatable=True)

    def resume(self) -> ScheduleView:
        """Resumes it."""
        return self._transport.send(POST_SCHEDULES_ID_RESUME, {"id": self.id}, is_repeatable=True)

    def trigger(self, *, at: datetime | int | None = None) -> Execution:
        """Starts an execution now, also of a paused schedule.

        With the instant ``at`` the same request again starts nothing.
        """
        triggered = self._transport.send(
            POST_SCHEDULES_ID_TRIGGER,
            {"id": self.id},
            body=Trigger(at_ms=instant(at, "at")),
            is_repeatable=at is not None,
        )
        return Execution(self._transport, triggered["id"])

    def backfill(self, start: datetime | int, end: datetime | int) -> Backfilled:
        """Starts the missed occurrences from ``start`` up to ``end``, at most the first 100.

        ``next_at_ms`` of the answer is the ``start`` of the next request.
        """
        first, last = instant(start, "start"), instant(end, "end")
        if first is None or last is None:
            raise InvalidArgumentError("`start` and `end` are needed")
        return self._transport.send(
            POST_SCHEDULES_ID_BACKFILL,
            {"id": self.id},
            body=Backfill(from_at_ms=first, to_at_ms=last),
            is_repeatable=True,
        )

    def delete(self) -> Accepted:
        """Removes it. Its executions remain."""
        return self._transport.send(DELETE_SCHEDULES_ID, {"id": self.id})
