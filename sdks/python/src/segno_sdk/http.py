"""HTTP requests and responses, in the manner of `requests`.

In an activity, `http.get(url)` and the other functions send one request. A workflow sends durable requests with
`await ctx.http("GET", url)`.
"""

import base64
import json as _json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload
from urllib.parse import urlencode, urlsplit, urlunsplit

from .codec import ANY, codec_of, decoded, encoded
from .core import current
from .core.engine import HttpRequest, HttpResponse
from .core.failure import Failure, NotAvailable

if TYPE_CHECKING:
    from .core.arriving import ArrivingResponse

T = TypeVar("T")
Headers = Mapping[str, str] | Sequence[tuple[str, str]]
Params = Mapping[str, Any] | Sequence[tuple[str, Any]]

__all__ = ["HTTPError", "Response", "delete", "get", "head", "options", "patch", "post", "put", "request", "stream"]


class HTTPError(Failure):
    """The status of a response is no success. `code` is the status, `response` the response."""

    response: "Response"


class CaseInsensitive(Mapping[str, str]):
    """Headers by name, in any case. Of several headers with one name it has all, joined with commas."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._values: dict[str, tuple[str, str]] = {}
        for name, value in pairs:
            known = self._values.get(name.lower())
            self._values[name.lower()] = (name, value) if known is None else (known[0], f"{known[1]}, {value}")

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()][1]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._values.values())

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values

    def __repr__(self) -> str:
        return repr(dict(self))


class Response:
    """The response to a request."""

    def __init__(self, status_code: int, content: bytes = b"", headers: Headers = (), url: str = "") -> None:
        pairs = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
        self.status_code, self.content, self.url = status_code, content, url
        self.headers: Mapping[str, str] = CaseInsensitive(pairs)
        #: In a test: the pieces in which the body arrives.
        self.pieces: Iterable[str | bytes] | None = None

    @classmethod
    def in_pieces(cls, status_code: int, pieces: Iterable[str | bytes], headers: Headers = ()) -> "Response":
        """A response whose body arrives in these pieces, for tests. What the iterable raises breaks the body off."""
        response = cls(status_code, b"", headers)
        response.pieces = pieces
        return response

    @classmethod
    def of_json(cls, status_code: int, value: Any, headers: Headers = ()) -> "Response":
        """A response with a JSON body, for tests."""
        pairs = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
        return cls(
            status_code, encoded(ANY, value, "the body").encode(), [("content-type", "application/json"), *pairs]
        )

    @property
    def status(self) -> int:
        """The same as `status_code`."""
        return self.status_code

    @property
    def ok(self) -> bool:
        """True for a status below 400."""
        return self.status_code < 400

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode(errors="replace")

    @overload
    def json(self) -> Any: ...
    @overload
    def json(self, type: type[T]) -> T: ...
    def json(self, type: Any = Any) -> Any:
        """The body as JSON, in this type if one is given. Raises a `Failure` with code 400 if it does not fit."""
        return decoded(codec_of(type), self.content.decode(), "the body")

    def raise_for_status(self) -> "Response":
        """Raises `HTTPError` for a status of 400 and more."""
        if not self.ok:
            error = HTTPError(self.status_code, f"{self.url or 'the server'} answered {self.status_code}")
            error.response = self
            raise error
        return self

    def __repr__(self) -> str:
        return f"<Response [{self.status_code}]>"


class SentResponse(Response):
    """The response to a request of an activity, which waited for it already. May be awaited all the same."""

    def __await__(self) -> Generator[Any, None, Response]:
        return self
        yield


def build(
    method: str,
    url: str,
    *,
    params: Params | None = None,
    headers: Headers | None = None,
    json: Any = None,
    data: Mapping[str, Any] | str | bytes | None = None,
    auth: tuple[str, str] | None = None,
) -> HttpRequest:
    """Makes the request that the host sends."""
    if json is not None and data is not None:
        raise ValueError(f"{method} {url}: json and data are both a body: give one of them")
    if params:
        parts = urlsplit(url)
        query = "&".join(filter(None, [parts.query, urlencode(params, doseq=True)]))
        url = urlunsplit(parts._replace(query=query))
    given = headers.items() if isinstance(headers, Mapping) else headers or ()
    pairs = [(str(name), str(value)) for name, value in given]
    names = {name.lower() for name, _ in pairs}
    body: str | bytes | None = None
    kind = None
    if json is not None:
        body, kind = encoded(ANY, json, f"the body of {method} {url}"), "application/json"
    elif isinstance(data, Mapping):
        body, kind = urlencode(data, doseq=True).encode(), "application/x-www-form-urlencoded"
    elif data is not None:
        body = data.encode() if isinstance(data, str) else bytes(data)
    if kind is not None and "content-type" not in names:
        pairs.append(("content-type", kind))
    if auth is not None and "authorization" not in names:
        pairs.append(("authorization", "Basic " + base64.b64encode(":".join(auth).encode()).decode()))
    return HttpRequest(method.upper(), url, tuple(pairs), body)


def of_wire(response: HttpResponse, url: str) -> SentResponse:
    """A response to an activity."""
    return SentResponse(response.status, response.body, response.headers, url)


def of_payload(payload: str | bytes, url: str) -> Response:
    """A response to a workflow, as its journal has it."""
    told = _json.loads(payload)
    content = base64.b64decode(told["body_base64"]) if "body_base64" in told else (told.get("body") or "")
    content = content.encode() if isinstance(content, str) else content
    headers = told.get("headers") or []
    pairs = list(headers.items()) if isinstance(headers, dict) else [(name, value) for name, value in headers]
    return Response(told["status"], content, pairs, url)


#: Options of `requests` that something else decides here.
_ELSEWHERE = {
    "timeout": "the call of the activity has one, `ctx.call(…, attempt_timeout='30s')`",
    "allow_redirects": "redirects are not followed",
    "verify": "the host checks certificates",
    "stream": "write `with http.stream(method, url) as response:`",
    "files": "write the body into `data`",
    "cookies": "write a header",
}


def request(method: str, url: str, **about: Any) -> Response:
    """Sends one request from an activity. Nothing is repeated here: a failed attempt of the activity is.

    Takes `params`, `headers`, `json`, `data` and `auth`, as `requests` does. The policy of the host has to allow the
    address. Without a time limit of its own, it has that of the activity (`attempt_timeout`).
    """
    send = _in_activity("send_request", method.lower(), method, about)
    return of_wire(send(build(method, url, **about)), url)


def stream(method: str, url: str, **about: Any) -> "ArrivingResponse":
    """Sends one request from an activity, as `request`, and returns when the status and the headers have arrived.

    The body is read as it arrives: `for piece in response`, `response.lines()`, `response.events()`.
    """
    opened: ArrivingResponse = _in_activity("open_request", "stream", method, about)(build(method, url, **about))
    return opened


def _in_activity(needed: str, name: str, method: str, about: Mapping[str, Any]) -> Any:
    running = current.running
    send = getattr(running, needed, None)
    if send is None:
        where = "in a workflow" if running is not None else "outside of an activity"
        raise NotAvailable(
            f"`http.{name}` was called {where}: it is for activities; a workflow writes `await ctx.http({method!r}, url)`"
        )
    for option, instead in _ELSEWHERE.items():
        if option in about:
            raise TypeError(f"`http.{name}` has no `{option}`: {instead}")
    return send


def get(url: str, params: Params | None = None, **about: Any) -> Response:
    """Sends a GET request from an activity."""
    return request("GET", url, params=params, **about)


def post(url: str, data: Mapping[str, Any] | str | bytes | None = None, json: Any = None, **about: Any) -> Response:
    """Sends a POST request from an activity."""
    return request("POST", url, data=data, json=json, **about)


def put(url: str, data: Mapping[str, Any] | str | bytes | None = None, **about: Any) -> Response:
    """Sends a PUT request from an activity."""
    return request("PUT", url, data=data, **about)


def patch(url: str, data: Mapping[str, Any] | str | bytes | None = None, **about: Any) -> Response:
    """Sends a PATCH request from an activity."""
    return request("PATCH", url, data=data, **about)


def delete(url: str, **about: Any) -> Response:
    """Sends a DELETE request from an activity."""
    return request("DELETE", url, **about)


def head(url: str, **about: Any) -> Response:
    """Sends a HEAD request from an activity."""
    return request("HEAD", url, **about)


def options(url: str, **about: Any) -> Response:
    """Sends an OPTIONS request from an activity."""
    return request("OPTIONS", url, **about)
