# Written by `scripts/unasync.py` from `src/segno_client/_async/transport.py`. Do not edit.
"""Requests: paths, headers, time limits, attempts, and reading answers. It knows no operation of the API."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast
from urllib.parse import quote

import httpx

from .._clock import sleep
from ..api import Answer, Body, Route
from ..errors import (
    RequestTimeoutError,
    SegnoError,
    UnexpectedAnswerError,
    UnreachableError,
    refusal,
)
from ..options import Settings
from ..retrying import Attempts, retry_after_ms

CONNECT_S = 5.0
"""Time to connect, in seconds."""


Content: TypeAlias = bytes | Callable[[], Iterable[bytes]] | None
"""A body, or a function that makes its pieces for each attempt."""


@dataclass(frozen=True)
class Outgoing:
    """A request as it is sent."""

    method: str
    url: str
    content: Content = None
    headers: Mapping[str, str] = field(default_factory=dict)
    params: list[tuple[str, str | int | float | bool | None]] | None = None


class Transport:
    """Sends requests to one host."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        headers = {"accept": "application/json", **settings.headers}
        if settings.token is not None:
            headers["authorization"] = f"Bearer {settings.token}"
        self._http = httpx.Client(headers=headers, trust_env=not settings.is_loopback)
        self._has_answered = False

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def send(
        self,
        route: Route[Body, Answer],
        path: Mapping[str, str] | None = None,
        *,
        query: Mapping[str, str | int | bool | None] | None = None,
        body: Body | None = None,
        is_repeatable: bool | None = None,
        wait_ms: float = 0,
        retry_for_ms: float | None = None,
    ) -> Answer:
        """Sends a request of a route, and returns its answer.

        ``is_repeatable``: the host treats the same request again as the same (default: only ``GET``).
        ``wait_ms``: the time that the request asks the host to wait.
        """
        pairs = _pairs(query or {})
        unknown = [name for name, _ in pairs if name not in route.query]
        assert not unknown, f"{route.method} {route.path} has no parameter {unknown}"
        content, kind = self._content(route.method, body)
        response = self._attempts(
            Outgoing(route.method, _url(route, path), content, kind, pairs or None),
            is_repeatable if is_repeatable is not None else route.method == "GET",
            wait_ms,
            retry_for_ms,
        )
        if not response.headers.get("content-type", "").startswith("application/json"):
            return cast(Answer, response.content)
        return cast(Answer, self._parsed(response))

    def raw(self, method: str, path: str, body: Any, is_repeatable: bool) -> Any:
        """Sends any JSON to any path of the API."""
        content, kind = self._content(method, body)
        request = Outgoing(method, path, content, kind)
        return self._parsed(self._attempts(request, is_repeatable, 0, None))

    def upload(
        self,
        route: Route[Body, Answer],
        path: Mapping[str, str],
        content: Content,
        headers: Mapping[str, str],
        *,
        is_repeatable: bool,
        wait_ms: float,
    ) -> Answer:
        """Sends content in its own content type, and returns the answer."""
        request = Outgoing(route.method, _url(route, path), content, headers)
        return cast(Answer, self._parsed(self._attempts(request, is_repeatable, wait_ms, None)))

    def pieces(
        self, route: Route[Body, Answer], path: Mapping[str, str], headers: Mapping[str, str]
    ) -> Generator[bytes, None, None]:
        """Sends a request, and yields the bytes of the answer as they arrive."""
        request = Outgoing(route.method, _url(route, path), None, headers)
        response = self._attempts(request, True, 0, None, streams=True)
        try:
            if "range" in headers and response.status_code != httpx.codes.PARTIAL_CONTENT:
                raise UnexpectedAnswerError(self.settings.server, response.status_code, "it sent no range")
            for piece in response.iter_raw():
                yield piece
        except httpx.HTTPError as error:
            raise self._lost(error, self.settings.request_timeout_ms) from error
        finally:
            response.close()

    def _content(self, method: str, body: Any) -> tuple[bytes | None, dict[str, str]]:
        if isinstance(body, bytes):
            return body, {"content-type": "application/wasm"}
        if body is None:
            return None, {}
        return self.settings.dumps(body).encode(), {"content-type": "application/json"}

    def _attempts(
        self,
        request: Outgoing,
        is_repeatable: bool,
        wait_ms: float,
        retry_for_ms: float | None,
        streams: bool = False,
    ) -> httpx.Response:
        for_ms = self.settings.retry.for_ms if retry_for_ms is None else retry_for_ms
        attempts = Attempts(self.settings.retry, for_ms, is_repeatable)
        while True:
            try:
                return self._attempt(request, wait_ms, streams)
            except SegnoError as error:
                pause_ms = attempts.pause_after(error, self._has_answered)
            sleep(pause_ms / 1_000)

    def _attempt(self, request: Outgoing, wait_ms: float, streams: bool) -> httpx.Response:
        limit_ms = self.settings.request_timeout_ms + wait_ms
        timeout = httpx.Timeout(limit_ms / 1_000, connect=min(CONNECT_S, limit_ms / 1_000))
        content = request.content
        sent = self._http.build_request(
            request.method,
            self.settings.server + request.url,
            params=request.params,
            content=content() if callable(content) else content,
            headers=request.headers,
            timeout=timeout,
        )
        try:
            response = self._http.send(sent, stream=streams)
            if streams and not response.is_success:
                response.read()
        except httpx.TransportError as error:
            raise self._lost(error, limit_ms) from error
        self._has_answered = True
        if response.is_success:
            return response
        raise self._refusal(response)

    def _lost(self, error: httpx.HTTPError, limit_ms: float) -> SegnoError:
        server, reason = self.settings.server, str(error) or type(error).__name__
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return UnreachableError(server, was_sent=False, reason=str(error))
        if isinstance(error, httpx.TimeoutException):
            return RequestTimeoutError(server, round(limit_ms))
        return UnreachableError(server, was_sent=True, reason=reason)

    def _refusal(self, response: httpx.Response) -> SegnoError:
        after_ms = retry_after_ms(response.headers.get("retry-after"))
        if response.headers.get("content-type", "").startswith("application/problem+json"):
            return refusal(self._parsed(response), response.headers.get("x-request-id"), after_ms)
        reason = f"it answered {response.status_code} without a problem document"
        return UnexpectedAnswerError(self.settings.server, response.status_code, reason, after_ms)

    def _parsed(self, response: httpx.Response) -> Any:
        try:
            return self.settings.loads(response.content.decode())
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            reason = "the answer is not JSON"
            raise UnexpectedAnswerError(self.settings.server, response.status_code, reason) from error


def _url(route: Route[Any, Any], path: Mapping[str, str] | None) -> str:
    url = route.path
    for name, value in (path or {}).items():
        url = url.replace("{" + name + "}", quote(value, safe=""))
    return url


def _pairs(query: Mapping[str, str | int | bool | None]) -> list[tuple[str, str | int | float | bool | None]]:
    """The parameters that are given, as texts."""
    return [
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in query.items()
        if value is not None
    ]
