"""What a test puts in the place of functions, servers, settings and files."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..codec import ANY, codec_of, decoded, encoded
from ..core.engine import (
    FailureRecord,
    FileEntry,
    HttpHead,
    HttpRequest,
    HttpResponse,
    Level,
    Outcome,
    Payload,
    Success,
)
from ..core.failure import BAD_INPUT, FORBIDDEN, NOT_FOUND, REFUSED, Failure
from ..core.function import Function
from ..core.updates import failure_record
from ..http import Response
from .blobs import TestBlobs
from .budgets import AttemptCosts
from .streams import AttemptStreams

#: The number of responses that an attempt may have open, as on a host.
OPEN_RESPONSES_MAX = 16


@dataclass(frozen=True)
class SeenRequest:
    """A request that was sent in a test."""

    method: str
    url: str
    headers: dict[str, str]
    body: Payload | None

    @classmethod
    def of(cls, request: HttpRequest) -> "SeenRequest":
        """Takes the request of the author."""
        return cls(request.method, request.url, {name.lower(): value for name, value in request.headers}, request.body)

    def header(self, name: str) -> str | None:
        """A header by its name, in any case."""
        return self.headers.get(name.lower())

    def json(self, type: Any = Any) -> Any:
        """The body as JSON."""
        body = self.body.decode() if isinstance(self.body, bytes) else self.body
        return decoded(codec_of(type), body or "null", "the body")


@dataclass
class FunctionDouble:
    """A stand-in for a function."""

    name: str
    function: Function[Any, Any] | None
    answer: Any
    #: Millionths by unit that each attempt costs.
    costs: dict[str, int] = field(default_factory=dict)

    def __call__(self, payload: Payload, costs: AttemptCosts) -> Outcome:
        try:
            for unit, amount in self.costs.items():
                costs.report(unit, amount)
            input_codec = self.function.input if self.function else ANY
            input = None if input_codec is None else decoded(input_codec, payload, "input")
            value = self.answer
            if callable(value) and not isinstance(value, type):
                takes = [one for one in inspect.signature(value).parameters.values() if one.default is one.empty]
                value = value(input) if takes or _is_variadic(value) else value()
            if inspect.iscoroutine(value):
                value.close()
                raise TypeError(f"the stand-in for `{self.name}` is an `async def`: write a `def`")
            return Success(
                encoded(
                    self.function.output if self.function else ANY,
                    value,
                    f"the result of the stand-in for `{self.name}`",
                )
            )
        except Failure as failure:
            return failure_record(failure)


def _is_variadic(function: Any) -> bool:
    kinds = {one.kind for one in inspect.signature(function).parameters.values()}
    return inspect.Parameter.VAR_POSITIONAL in kinds or bool(inspect.signature(function).parameters)


@dataclass
class Doubles:
    """All stand-ins of a test, and what was seen."""

    functions: dict[str, FunctionDouble] = field(default_factory=dict)
    web: list[tuple[str, str, Callable[[SeenRequest], Any]]] = field(default_factory=list)
    requests: list[SeenRequest] = field(default_factory=list)
    heartbeats: list[Any] = field(default_factory=list)
    logs: list[tuple[Level, str]] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    blobs: TestBlobs = field(default_factory=TestBlobs)

    def answer_web(self, request: HttpRequest) -> Response:
        """Answers a request as `open_web`, and waits for all of the body."""
        response, pieces = self.open_web(request)
        return Response(response.status_code, b"".join(pieces), response.headers, response.url)

    def open_web(self, request: HttpRequest) -> tuple[Response, Iterator[bytes]]:
        """Answers a request by the stand-in with the longest address that fits; of equal ones, by the newest."""
        seen = SeenRequest.of(request)
        self.requests.append(seen)
        fitting = [one for one in self.web if one[0].upper() == seen.method.upper() and seen.url.startswith(one[1])]
        if not fitting:
            raise Failure(
                REFUSED,
                f"this test has no answer to {seen.method} {seen.url}: add host.on_http({seen.method!r}, {seen.url!r}, lambda request: …)",
            )
        _, _, answer = max(reversed(fitting), key=lambda one: len(one[1]))
        response = _response(answer(seen) if callable(answer) else answer, seen.url)
        pieces = [response.content] if response.pieces is None else response.pieces
        return response, filter(None, map(_bytes, pieces))


def _bytes(piece: str | bytes) -> bytes:
    return piece.encode() if isinstance(piece, str) else bytes(piece)


def _response(answer: Any, url: str) -> Response:
    if isinstance(answer, int):
        answer = Response(answer)
    elif isinstance(answer, tuple):
        answer = Response.of_json(*answer)
    elif not isinstance(answer, Response):
        answer = Response.of_json(200, answer)
    answer.url = url
    return answer  # type: ignore[no-any-return]


class OpenResponses:
    """The open responses of one attempt, by number."""

    def __init__(self, doubles: Doubles) -> None:
        self._doubles, self._opened = doubles, 0
        self._bodies: dict[int, tuple[Iterator[bytes], bytes]] = {}

    def open(self, request: HttpRequest) -> HttpHead:
        """Answers a request by a stand-in."""
        if len(self._bodies) >= OPEN_RESPONSES_MAX:
            message = f"this attempt has {OPEN_RESPONSES_MAX} open responses: read one to its end, or close it, before it opens another"
            raise Failure(BAD_INPUT, message)
        response, pieces = self._doubles.open_web(request)
        number, self._opened = self._opened, self._opened + 1
        self._bodies[number] = (pieces, b"")
        return HttpHead(number, response.status_code, tuple(response.headers.items()))

    def read(self, number: int, limit: int) -> bytes:
        """The next bytes of a body; none at its end."""
        pieces, rest = self._bodies.pop(number)
        piece = rest or next(pieces, b"")
        if piece:
            self._bodies[number] = (pieces, piece[limit:])
        return piece[:limit]

    def close(self, number: int) -> None:
        """Reads no more of a response."""
        self._bodies.pop(number, None)


class TestAttempt:
    """Serves an attempt of an activity in a test."""

    __test__ = False

    def __init__(
        self,
        doubles: Doubles,
        progress: list[Payload | None],
        now: Callable[[float], None],
        streams: AttemptStreams,
        costs: AttemptCosts,
        root: str,
    ) -> None:
        self._root = root
        self._doubles, self._progress, self._sleep, self._streams = doubles, progress, now, streams
        self._costs = costs
        self._responses = OpenResponses(doubles)

    def heartbeat(self, progress: Payload | None) -> bool:
        if progress is not None:
            self._doubles.heartbeats.append(decoded(ANY, progress, "the progress"))
            self._progress[0] = progress
        return False

    def http(self, request: HttpRequest) -> HttpResponse:
        response = self._doubles.answer_web(request)
        return HttpResponse(response.status_code, tuple(response.headers.items()), response.content)

    def http_open(self, request: HttpRequest) -> HttpHead:
        return self._responses.open(request)

    def http_read(self, response: int, limit: int) -> bytes:
        return self._responses.read(response, limit)

    def http_close(self, response: int) -> None:
        self._responses.close(response)

    def log(self, level: Level, message: str) -> None:
        self._doubles.logs.append((level, message))

    def env(self, name: str) -> str:
        return self._set("env", self._doubles.env, name)

    def secret(self, name: str) -> str:
        return self._set("secret", self._doubles.secrets, name)

    @staticmethod
    def _set(what: str, values: dict[str, str], name: str) -> str:
        if name not in values:
            raise Failure(
                FORBIDDEN,
                f"`{name}` is not set: a test sets it by host.{what}({name!r}, …), an operator in policy.toml",
            )
        return values[name]

    def sleep(self, seconds: float) -> None:
        self._sleep(seconds)

    def file_read(self, path: str, offset: int, length: int) -> bytes:
        if path not in self._doubles.files:
            raise _missing(path)
        return self._doubles.files[path][offset : offset + length]

    def file_write(self, path: str, content: bytes) -> None:
        self._doubles.files[path] = content

    def file_append(self, path: str, content: bytes) -> None:
        self._doubles.files[path] = self._doubles.files.get(path, b"") + content

    def file_list(self, path: str) -> list[FileEntry]:
        above = path.rstrip("/") + "/"
        entries: dict[str, FileEntry] = {}
        for file, content in sorted(self._doubles.files.items()):
            if file.startswith(above):
                name, is_directory, _ = file.removeprefix(above).partition("/")
                entries[name] = FileEntry(name, bool(is_directory), 0 if is_directory else len(content))
        if not entries:
            raise _missing(path)
        return list(entries.values())

    def file_remove(self, path: str) -> None:
        self._doubles.files.pop(path, None)

    def stream_kept(self, name: str) -> int:
        return self._streams.kept(name)

    def stream_append(self, name: str, content_type: str, item: Payload) -> None:
        if isinstance(item, str):
            for secret, value in self._doubles.secrets.items():
                item = item.replace(value, f"{{secret:{secret}}}")
        self._streams.append(name, content_type, item)

    def cost_report(self, unit: str, millionths: int) -> None:
        self._costs.report(unit, millionths)

    def blob_create(self, content_type: str) -> int:
        return self._doubles.blobs.create(content_type)

    def blob_write(self, writer: int, piece: bytes) -> None:
        self._doubles.blobs.write(writer, piece)

    def blob_finish(self, writer: int) -> str:
        return self._doubles.blobs.finish(self._root, writer)

    def blob_abandon(self, writer: int) -> None:
        self._doubles.blobs.abandon(writer)

    def blob_read(self, reference: str, offset: int, length: int) -> bytes:
        return self._doubles.blobs.read(reference, offset, length)


def _missing(path: str) -> Failure:
    return Failure(NOT_FOUND, f"`{path}` is not there: a test gives it by host.file({path!r}, …)")


def without_secrets(doubles: Doubles, name: str, outcome: Outcome) -> Outcome:
    """Refuses a result that contains a secret, as a host does."""
    if isinstance(outcome, Success) and isinstance(outcome.value, str):
        for secret, value in doubles.secrets.items():
            if value in outcome.value:
                message = f"the result of `{name}` contains the secret `{secret}`, and results are stored: return something else"
                return FailureRecord(REFUSED, message)
    return outcome
