"""Lengths of time and instants, as authors write them."""

import math
import re
from datetime import UTC, datetime, timedelta

#: A length of time: `timedelta`, a number of seconds, or a text such as `"30s"`, `"1h 30m"`, `"250ms"` or `"2d"`.
Duration = timedelta | int | float | str

#: The last millisecond of the year 9999. No instant and no length is beyond it.
LATEST_MS = 253_402_300_799_999

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d|w)(?=[\s0-9]|$)")


def milliseconds(what: str, length: Duration) -> int:
    """The length in whole milliseconds, rounded up; `what` names the option in errors."""
    if isinstance(length, timedelta):
        exact = length / timedelta(milliseconds=1)
    elif isinstance(length, str):
        exact = _parsed(what, length)
    elif isinstance(length, (int, float)) and not isinstance(length, bool):
        exact = length * 1_000
    else:
        raise TypeError(
            f"{what} is {length!r}: write a timedelta, a number of seconds, or a text such as '30s' or '2d'"
        )
    if not math.isfinite(exact) or not 0 <= exact <= LATEST_MS:
        raise ValueError(f"{what} is {length!r}: a length of time is not negative and ends before the year 10000")
    return math.ceil(round(exact, 3))


def _parsed(what: str, text: str) -> float:
    total, place = 0.0, 0
    while found := _PART.match(text, place):
        total, place = total + float(found[1]) * _UNITS[found[2]], found.end()
    if place == 0 or text[place:].strip():
        raise ValueError(f"{what} is {text!r}: write a length of time such as '250ms', '30s', '1h 30m' or '2d'")
    return total


def instant_ms(what: str, instant: datetime) -> int:
    """Milliseconds since 1970. An instant without a time zone would mean something else on another machine."""
    if not isinstance(instant, datetime):
        raise TypeError(
            f"{what} is {instant!r}: write a datetime with a time zone, such as datetime(2026, 1, 31, tzinfo=UTC)"
        )
    if instant.tzinfo is None:
        raise ValueError(f"{what} is {instant!r}, which has no time zone: add tzinfo=UTC, or another one")
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def instant_of(ms: int) -> datetime:
    """The instant, in UTC."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
