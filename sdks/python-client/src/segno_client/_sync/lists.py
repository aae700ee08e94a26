# Written by `scripts/unasync.py` from `src/segno_client/_async/lists.py`. Do not edit.
"""Lists of executions, objects, promises and schedules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from .. import values
from ..api import (
    GET_INVOCATIONS,
    GET_OBJECTS,
    GET_PROMISES,
    GET_SCHEDULES,
    InvocationCounts,
    InvocationPage,
    InvocationState,
    InvocationSummary,
    ObjectItem,
    ObjectList,
    PromisePage,
    PromiseState,
    PromiseSummary,
    ScheduleList,
    ScheduleView,
)
from ..options import instant
from .listing import Listing
from .transport import Transport


class Lists:
    """The lists of a client."""

    _transport: Transport

    def list(
        self,
        *,
        module: str | None = None,
        function: str | None = None,
        state: InvocationState | None = None,
        label: str | None = None,
        prefix: str | None = None,
        parent: str | None = None,
        roots: bool | None = None,
        stuck: bool | None = None,
        error: str | None = None,
        since: datetime | int | None = None,
        until: datetime | int | None = None,
        page_size: int | None = None,
    ) -> Listing[InvocationSummary, InvocationPage]:
        """Executions, the newest first. Each further filter narrows the list.

        Args:
            module: Alias of the module through which the function was called.
            function: Name of the function.
            state: State of the execution.
            label: Label, as ``name=value``.
            prefix: Only ids that begin so.
            parent: Id of the calling execution.
            roots: True for executions without a caller.
            stuck: True for those that cannot go on by themselves.
            error: Text in the failure, the last error or the reason of a halt.
            since: Created at this instant or later.
            until: Created before this instant.
            page_size: Number of items fetched at once (1 to 1000). Default: 100.
        """
        query = {
            "module": module,
            "function": function,
            "state": state,
            "label": label,
            "prefix": prefix,
            "parent": parent,
            "roots": roots,
            "stuck": stuck,
            "error": error,
            "since_at_ms": instant(since, "since"),
            "until_at_ms": instant(until, "until"),
            "limit": page_size,
        }

        def fetch(after: str | None) -> InvocationPage:
            return self._transport.send(GET_INVOCATIONS, query={**query, "after": after})

        return Listing(fetch, lambda page: page["items"], lambda page: page.get("next"))

    def counts(
        self,
        *,
        module: str | None = None,
        function: str | None = None,
        state: InvocationState | None = None,
        label: str | None = None,
        prefix: str | None = None,
        parent: str | None = None,
        roots: bool | None = None,
    ) -> InvocationCounts:
        """Number of executions in each state that the filters take, of the newest 10,000."""
        query = {
            "module": module,
            "function": function,
            "state": state,
            "label": label,
            "prefix": prefix,
            "parent": parent,
            "roots": roots,
            "counts": True,
            "limit": 1,
        }
        page = self._transport.send(GET_INVOCATIONS, query=query)
        return page.get("counts") or InvocationCounts(states={}, newest_only=False)

    def objects(
        self, *, prefix: str | None = None, page_size: int | None = None
    ) -> Listing[ObjectItem, ObjectList]:
        """Objects, by name: ``MODULE/OBJECT@KEY``."""

        def fetch(after: str | None) -> ObjectList:
            query = {"prefix": prefix, "after": after, "limit": page_size}
            return self._transport.send(GET_OBJECTS, query=query)

        return Listing(fetch, lambda page: page["items"], lambda page: page.get("next"))

    def promises(
        self,
        *,
        state: PromiseState | None = None,
        external: bool | None = None,
        tags: Mapping[str, str] | None = None,
        prefix: str | None = None,
        page_size: int | None = None,
    ) -> Listing[PromiseSummary, PromisePage]:
        """Promises, by id; ``external``: those that people or other systems settle."""
        query = {
            "state": state,
            "external": external,
            "tags": None if tags is None else values.dumps(dict(tags)),
            "prefix": prefix,
            "limit": page_size,
        }

        def fetch(after: str | None) -> PromisePage:
            return self._transport.send(GET_PROMISES, query={**query, "after": after})

        return Listing(fetch, lambda page: page["items"], lambda page: page.get("next"))

    def schedules(
        self, *, label: str | None = None, prefix: str | None = None, page_size: int | None = None
    ) -> Listing[ScheduleView, ScheduleList]:
        """Schedules, by id."""

        def fetch(after: str | None) -> ScheduleList:
            query = {"label": label, "prefix": prefix, "after": after, "limit": page_size}
            return self._transport.send(GET_SCHEDULES, query=query)

        return Listing(fetch, lambda page: page["items"], lambda page: page.get("next"))
