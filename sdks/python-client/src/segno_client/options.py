"""Options of a client, and what both clients derive from arguments."""

from __future__ import annotations

import ipaddress
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

from .errors import InvalidArgumentError
from .values import dumps, loads

DEFAULT_SERVER = "http://127.0.0.1:7766"


@dataclass(frozen=True)
class Retry:
    """When requests are tried again: after a lost connection if that is safe, and if an answer asks for it."""

    for_ms: float = 30_000
    """Longest time without an answer, in milliseconds. ``math.inf`` never gives up; 0 never tries again."""
    initial_ms: float = 100
    """Pause before the second attempt, in milliseconds, doubled for each further one."""
    max_ms: float = 5_000
    """Longest pause, in milliseconds."""

    def __post_init__(self) -> None:
        for name in ("for_ms", "initial_ms", "max_ms"):
            length(f"retry.{name}", getattr(self, name))


@dataclass(frozen=True)
class Settings:
    """Options with their defaults."""

    server: str
    token: str | None
    request_timeout_ms: float
    retry: Retry
    headers: Mapping[str, str] = field(default_factory=dict)
    dumps: Callable[[Any], str] = dumps
    loads: Callable[[str], Any] = loads

    @property
    def is_loopback(self) -> bool:
        """True if the host is on this machine, so that no proxy is asked."""
        name = urlsplit(self.server).hostname or ""
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return name == "localhost"


def settings_of(
    server: str | None,
    token: str | None,
    request_timeout_ms: float,
    retry: Retry | None,
    headers: Mapping[str, str] | None,
    dumps: Callable[[Any], str],
    loads: Callable[[str], Any],
) -> Settings:
    """Completes the options of a client."""
    if length("request_timeout_ms", request_timeout_ms) == 0:
        raise InvalidArgumentError("`request_timeout_ms` is 0: no request could be answered")
    return Settings(
        server=_address(server if server is not None else os.environ.get("SEGNO_SERVER") or DEFAULT_SERVER),
        token=(token if token is not None else os.environ.get("SEGNO_TOKEN")) or None,
        request_timeout_ms=request_timeout_ms,
        retry=retry or Retry(),
        headers=dict(headers or {}),
        dumps=dumps,
        loads=loads,
    )


def _address(server: str) -> str:
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidArgumentError(f"`{server}` is not a server's address; write it like {DEFAULT_SERVER}")
    if parts.query or parts.fragment or parts.username:
        raise InvalidArgumentError(
            f"`{server}` is not a server's address: it must end with the host name, the port or a path"
        )
    return server.rstrip("/")


def length(name: str, value: float) -> float:
    """Checks a length of time, which may be infinite."""
    if not isinstance(value, int | float) or not value >= 0:
        raise InvalidArgumentError(f"`{name}` is {value}: it must be a number of milliseconds, 0 or more")
    return value


def end_of(wait_ms: float | None) -> float:
    """The instant at which a wait of ``wait_ms`` ends, in the milliseconds of :func:`now_ms`."""
    return float("inf") if wait_ms is None else now_ms() + length("wait_ms", wait_ms)


def now_ms() -> float:
    """A clock for lengths of time, in milliseconds."""
    return time.monotonic() * 1_000


def instant(at: datetime | int | None, name: str) -> int | None:
    """An instant in milliseconds since 1970."""
    if not isinstance(at, datetime):
        return at
    if at.tzinfo is None:
        raise InvalidArgumentError(f"`{name}` has no time zone: pass `datetime(…, tzinfo=UTC)` or another zone")
    return round((at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000)


def random_key() -> str:
    """A new id or key: 128 random bits."""
    return token_hex(16)


def identity(target: str, id: str | None) -> tuple[str | None, bool]:
    """Returns the id of a start of ``target``, and if the same request again is the same start."""
    if id is not None:
        return id, True
    # A function of an object may run once for its key, under an id that the host chooses.
    if "@" in target:
        return None, False
    # As in the ids that a host makes: those of one second are next to each other in its index.
    second = int(time.time()) & 0xFFFF
    return f"{target.rsplit('/', 1)[-1]}-{second:04x}{random_key()}", True
