"""Decides if a request is tried again, and when. It sends nothing."""

from __future__ import annotations

import random
from email.utils import parsedate_to_datetime
from time import time

from .errors import RefusedError, RequestTimeoutError, SegnoError, UnexpectedAnswerError, UnreachableError
from .options import Retry, now_ms

FIRST_ANSWER_MS = 2_000
"""Until a host has answered once, a wrong address is more likely than a restart: the client gives up then."""
NOT_AGAIN = frozenset({"not-begun", "read-too-long"})
"""Codes of 503 that say that trying again at once has no use."""


def is_worth_another(error: SegnoError, is_repeatable: bool) -> bool:
    """True if another attempt may succeed, and does nothing twice."""
    match error:
        case UnreachableError():
            return is_repeatable or not error.was_sent
        case RequestTimeoutError():
            return is_repeatable
        case UnexpectedAnswerError():
            return error.status == 429 or (is_repeatable and error.status in (502, 503, 504))
        case RefusedError(status=429):
            return True
        case RefusedError(status=503):
            return error.code not in NOT_AGAIN and (is_repeatable or error.code != "unknown-outcome")
        case _:
            return False


def retry_after_ms(text: str | None) -> int | None:
    """Reads ``Retry-After``: seconds, or a date."""
    if text is None:
        return None
    if text.isdecimal():
        return int(text) * 1_000
    try:
        return max(0, round((parsedate_to_datetime(text).timestamp() - time()) * 1_000))
    except ValueError:
        return None


class Attempts:
    """The attempts of one request."""

    def __init__(self, retry: Retry, for_ms: float, is_repeatable: bool) -> None:
        self._retry = retry
        self._for_ms = for_ms
        self._is_repeatable = is_repeatable
        self._began_at = now_ms()
        self._backoff_ms = retry.initial_ms

    def pause_after(self, error: SegnoError, has_answered: bool) -> float:
        """Returns the pause before the next attempt, in milliseconds; raises ``error`` if there is none."""
        if not is_worth_another(error, self._is_repeatable):
            raise error
        for_ms = self._for_ms
        if isinstance(error, UnreachableError) and not has_answered:
            for_ms = min(for_ms, FIRST_ANSWER_MS)
        asked = getattr(error, "retry_after_ms", None)
        pause_ms = asked if asked is not None else self._backoff_ms * random.uniform(0.5, 1)
        if now_ms() + pause_ms > self._began_at + for_ms:
            raise error
        self._backoff_ms = min(self._backoff_ms * 2, self._retry.max_ms)
        return float(pause_ms)
