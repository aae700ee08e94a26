"""Published events, each delivered at least once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from ..api import GET_EVENTS, POST_EVENTS_ACK, AcknowledgeEvents, CloudEvent
from ..options import now_ms
from .transport import AsyncTransport

POLL_MS = 30_000
"""Wait of one request."""
ACKNOWLEDGE_MS = 1_000
"""Longest delay of acknowledgements."""
MOST_IDS = 1_000
"""Most ids of one acknowledgement."""


async def read(
    transport: AsyncTransport,
    topic: str | None,
    acknowledging: bool,
    page_size: int | None,
    until_empty: bool,
    retry_for_ms: float,
) -> AsyncGenerator[CloudEvent, None]:
    """Reads events, the oldest first."""
    handled: list[str] = []
    acknowledged_at = now_ms()
    cursor: str | None = None
    wait_ms = 0 if until_empty else POLL_MS
    try:
        while True:
            page = await transport.send(
                GET_EVENTS,
                query={"topic": topic, "cursor": cursor, "limit": page_size, "wait_ms": wait_ms},
                wait_ms=wait_ms,
                retry_for_ms=retry_for_ms,
            )
            for event in page["events"]:
                yield event
                if not acknowledging:
                    continue
                handled.append(event["id"])
                if now_ms() - acknowledged_at > ACKNOWLEDGE_MS:
                    await acknowledge(transport, handled, retry_for_ms)
                    handled, acknowledged_at = [], now_ms()
            await acknowledge(transport, handled, retry_for_ms)
            handled, acknowledged_at = [], now_ms()
            if until_empty and not page["events"]:
                return
            # Without a cursor no event is missed that another host commits a moment late.
            if not acknowledging:
                cursor = page.get("next", cursor)
    except GeneratorExit:
        # The reader was closed, for example by a `break`: what was handled before.
        await acknowledge(transport, handled, retry_for_ms)
        raise


async def acknowledge(transport: AsyncTransport, ids: Sequence[str], retry_for_ms: float | None = None) -> int:
    """Acknowledges events: they are not read again."""
    acknowledged = 0
    for first in range(0, len(ids), MOST_IDS):
        answer = await transport.send(
            POST_EVENTS_ACK,
            body=AcknowledgeEvents(ids=list(ids[first : first + MOST_IDS])),
            is_repeatable=True,
            retry_for_ms=retry_for_ms,
        )
        acknowledged += answer["acknowledged"]
    return acknowledged
