"""Options of functions and calls: retries, limits, time limits, labels."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Literal

from .budget import BUDGET_LABEL, BudgetLimits, limits_text
from .duration import Duration, instant_ms, milliseconds

#: The contract has no field for the limit of an attempt, but a label.
ATTEMPT_TIMEOUT = "segno:attempt-timeout-ms"


def count(what: str, number: int | None, least: int = 1) -> int | None:
    """A whole number from `least` on, or None."""
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= 0xFFFF_FFFF:
        raise ValueError(f"{what} is {number!r}: write a whole number from {least} to 4294967295")
    return number


@dataclass(frozen=True, kw_only=True)
class Retry:
    """When and how often a failed attempt of an activity or an HTTP request is repeated.

    The wait after attempt n is `initial * factor ** (n - 1)`, at most `max`, of which the part `jitter` is random.
    """

    initial: Duration = 0.1
    factor: float = 2.0
    max: Duration = 60
    jitter: float = 0.2
    #: All attempts, the first included. None: there is no end.
    max_attempts: int | None = None
    #: Further codes that are final.
    non_retryable: Sequence[int] = ()
    initial_ms: int = field(init=False, repr=False)
    max_ms: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "initial_ms", milliseconds("Retry(initial)", self.initial))
        object.__setattr__(self, "max_ms", milliseconds("Retry(max)", self.max))
        count("Retry(max_attempts)", self.max_attempts)
        for name, most in (("factor", math.inf), ("jitter", 1.0)):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float))
                or not 0 <= value <= most
                or not math.isfinite(value)
            ):
                raise ValueError(
                    f"Retry({name}) is {value!r}: write a number {'from 0 to 1' if most == 1 else 'that is not negative'}"
                )
        for code in self.non_retryable:
            count("Retry(non_retryable)", code, 0)

    @classmethod
    def never(cls) -> "Retry":
        """One attempt only."""
        return cls(max_attempts=1)


@dataclass(frozen=True)
class Rate:
    """Admissions in a period, as the contract has them."""

    count: int
    period_ms: int
    burst: int


@dataclass(frozen=True, kw_only=True)
class Limit:
    """How many executions of a function may run at the same time, and how fast they begin.

    `key` and `priority` are places in the input, such as `"customer.id"` or `"0.region"`. A rate is a text such as
    `"10/s"` or `"5/10s"`. Without `key`, all executions of the function share one key.
    """

    key: str | None = None
    concurrency: int | None = None
    rate: str | None = None
    burst: int | None = None
    total_concurrency: int | None = None
    total_rate: str | None = None
    total_burst: int | None = None
    priority: str | None = None
    priority_order: Literal["strict", "weighted"] = "strict"
    singleton: Literal["skip", "replace"] | None = None
    debounce: Duration | None = None
    debounce_longest: Duration | None = None

    def __post_init__(self) -> None:
        count("Limit(concurrency)", self.concurrency)
        count("Limit(total_concurrency)", self.total_concurrency)
        self.bounds()
        self.total_bounds()
        if self.singleton not in (None, "skip", "replace"):
            raise ValueError(f"Limit(singleton) is {self.singleton!r}: write 'skip' or 'replace'")
        if self.priority_order not in ("strict", "weighted"):
            raise ValueError(f"Limit(priority_order) is {self.priority_order!r}: write 'strict' or 'weighted'")
        if self.concurrency is None and self.rate is None and self.singleton is None and self.debounce is None:
            raise ValueError("this Limit limits nothing: give concurrency, rate, singleton or debounce")

    def bounds(self) -> tuple[int | None, Rate | None]:
        """Concurrency and rate of each key."""
        return self.concurrency, _rate("rate", self.rate, self.burst)

    def total_bounds(self) -> tuple[int | None, Rate | None]:
        """Concurrency and rate of all keys together."""
        return self.total_concurrency, _rate("total_rate", self.total_rate, self.total_burst)


def _rate(name: str, rate: str | None, burst: int | None) -> Rate | None:
    if rate is None:
        if burst is not None:
            raise ValueError(f"this Limit has a burst of {burst} and no {name}: add one, such as {name}='10/s'")
        return None
    found = re.fullmatch(r"\s*([0-9]+)\s*/\s*([0-9]*)\s*(ms|s|m|h|d)\s*", rate)
    if not found or int(found[1]) == 0:
        raise ValueError(f"Limit({name}) is {rate!r}: write a number and a period, such as '10/s' or '5/10s'")
    period = milliseconds(f"Limit({name})", f"{found[2] or 1}{found[3]}")
    return Rate(int(found[1]), period, count("Limit(burst)", burst) or int(found[1]))


@dataclass(frozen=True)
class CallOptions:
    """Options of one call, as the contract has them."""

    timeout_ms: int | None = None
    retry: Retry | None = None
    start_at_ms: int | None = None
    labels: tuple[tuple[str, str], ...] = ()


def unknown_name(what: str, name: str, known: Iterable[str], kind: str = "") -> str:
    """The message about a name that does not exist, with the nearest that does."""
    public = [one for one in known if not one.startswith("_")]
    meant = get_close_matches(name, public, 1)
    return f"{what} has no {kind}`{name}`" + (
        f"; do you mean `{meant[0]}`?" if meant else f": it has {', '.join(public)}"
    )


CALL_OPTIONS = ("timeout", "attempt_timeout", "retry", "labels", "budget")
SEND_OPTIONS = (*CALL_OPTIONS, "delay", "start_at")


def check_options(options: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    """Refuses an option that does not exist."""
    for name in options:
        if name not in known:
            raise TypeError(unknown_name(what, name, known, "option "))


def call_options(
    now_ms: int,
    *,
    timeout: Duration | None = None,
    attempt_timeout: Duration | None = None,
    retry: Retry | None = None,
    labels: Mapping[str, str] | None = None,
    budget: BudgetLimits | None = None,
    delay: Duration | None = None,
    start_at: datetime | None = None,
) -> CallOptions:
    """Checks the options of a call."""
    if retry is not None and not isinstance(retry, Retry):
        raise TypeError(f"retry is {retry!r}: write Retry(max_attempts=5), for example")
    pairs = list((labels or {}).items())
    for name, value in pairs:
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"the label {name!r} is {value!r}: names and values of labels are texts")
    if attempt_timeout is not None:
        pairs.append((ATTEMPT_TIMEOUT, str(milliseconds("attempt_timeout", attempt_timeout))))
    if budget is not None and (limits := limits_text(budget)) is not None:
        pairs.append((BUDGET_LABEL, limits))
    if delay is not None and start_at is not None:
        raise ValueError("delay and start_at both say when this starts: give one of them")
    start_ms = None
    if start_at is not None:
        start_ms = instant_ms("start_at", start_at)
    elif delay is not None:
        start_ms = now_ms + milliseconds("delay", delay)
    timeout_ms = None if timeout is None else milliseconds("timeout", timeout)
    return CallOptions(timeout_ms, retry, start_ms, tuple(pairs))
