"""Errors of the client. Programs read ``code``, which is stable; people read the message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from .api import FailureView


class SegnoError(Exception):
    """Base of all errors that this client raises on purpose."""

    code: str = "segno-error"
    """A stable code, in kebab case. For a refusal of the host, the code of its problem document."""


class InvalidValueError(SegnoError, ValueError):
    """A value that JSON cannot say, or that it would change silently. The message names the place."""

    code = "invalid-value"


class InvalidArgumentError(SegnoError, ValueError):
    """An argument or an option that makes no sense, such as an address without a scheme."""

    code = "invalid-argument"


class UnreachableError(SegnoError):
    """No host answered. Except when ``was_sent`` is false, it is unknown if a host acted on the request."""

    code = "server-unreachable"

    def __init__(self, server: str, was_sent: bool, reason: str) -> None:
        super().__init__(
            f"no host answers at {server} ({reason}); start one with `segno serve`, "
            "or name another in SEGNO_SERVER"
        )
        self.server = server
        """Address of the host."""
        self.was_sent = was_sent
        """False if no connection was made, so that the request did not reach a host."""


class RequestTimeoutError(SegnoError):
    """The host did not answer within ``request_timeout_ms``. It may have acted on the request."""

    code = "server-slow"

    def __init__(self, server: str, timeout_ms: int) -> None:
        super().__init__(
            f"the host at {server} did not answer within {timeout_ms} ms; it may have acted on the request"
        )
        self.server = server
        """Address of the host."""
        self.timeout_ms = timeout_ms
        """Time that the request had, in milliseconds."""


class UnexpectedAnswerError(SegnoError):
    """The answer is none of this API: another program answers, a proxy, or another version of Segno."""

    code = "unexpected-answer"

    def __init__(self, server: str, status: int, reason: str, retry_after_ms: int | None = None) -> None:
        super().__init__(f"what answers at {server} does not speak this API: {reason}")
        self.server = server
        """Address of the host."""
        self.status = status
        """HTTP status of the answer."""
        self.retry_after_ms = retry_after_ms
        """Time after which the answer asks to try again, in milliseconds."""


class BlobDamagedError(SegnoError):
    """The content that passed is not that of the blob: it was changed where it is stored, or on its way."""

    code = "blob-damaged"

    def __init__(self, id: str, digest: str) -> None:
        super().__init__(f"the content of the blob `{id}` is damaged: what passed has the digest {digest}")
        self.id = id
        """Id of the blob."""


class RefusedError(SegnoError):
    """A refusal of the host. Its subclasses are the families of codes; ``code`` tells the reason exactly."""

    def __init__(
        self, problem: Mapping[str, Any], request_id: str | None = None, retry_after_ms: int | None = None
    ) -> None:
        super().__init__(str(problem.get("detail", "")))
        self.code = str(problem.get("code", ""))
        self.status = int(problem.get("status", 0))
        """HTTP status of the answer."""
        self.title = str(problem.get("title", ""))
        """Title, the same for every problem with this code."""
        self.details = {name: value for name, value in problem.items() if name not in _FIELDS}
        """Further data for programs, for example ``known``, ``errors``, ``id``, ``failure``."""
        self.request_id = request_id
        """Id of the request, if the host or a proxy before it names one (``x-request-id``)."""
        self.retry_after_ms = retry_after_ms
        """Time after which the host asks to try again, in milliseconds."""


_FIELDS = frozenset({"type", "title", "status", "detail", "code"})


class InvalidRequestError(RefusedError):
    """400, 405, 408, 413, 415, 422: the request makes no sense to this host; the same is refused again."""


class WorkflowRefusedError(InvalidRequestError):
    """422 ``query-failed``, ``update-refused``: the workflow itself refused a query or an update."""

    @property
    def failure(self) -> FailureView:
        """The workflow's failure."""
        return cast(FailureView, self.details["failure"])


class UnauthorizedError(RefusedError):
    """401: the token is missing or wrong."""


class ForbiddenError(RefusedError):
    """403: the token does not allow the request, or it is for another host."""


class NotFoundError(RefusedError):
    """404: there is no such module, function, invocation, promise, schedule, query or update."""


class ConflictError(RefusedError):
    """409: the state of what the request is about does not allow it; ``key-reused``: the id is of another."""


class UnavailableError(RefusedError):
    """429 and 503: temporary. The client has tried again for as long as its options allow."""


class HostError(RefusedError):
    """500: a fault of the host."""


def refusal(
    problem: Mapping[str, Any], request_id: str | None = None, retry_after_ms: int | None = None
) -> RefusedError:
    """Returns the error of the family of ``problem``."""
    status = int(problem.get("status", 0))
    family: type[RefusedError]
    if problem.get("code") in ("query-failed", "update-refused"):
        family = WorkflowRefusedError
    elif status in _FAMILIES:
        family = _FAMILIES[status]
    else:
        family = HostError if status >= 500 else InvalidRequestError
    return family(problem, request_id, retry_after_ms)


_FAMILIES: dict[int, type[RefusedError]] = {
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    429: UnavailableError,
    503: UnavailableError,
}


class _Ended(SegnoError):
    """Base of the errors of what has ended without a value."""

    WORDS: ClassVar[dict[str, str]] = {
        "rejected": "failed",
        "cancelled": "was cancelled",
        "timed-out": "timed out",
    }


class ExecutionFailedError(_Ended):
    """An execution ended without a result: it was rejected, cancelled, killed, or timed out."""

    code = "execution-failed"

    def __init__(self, id: str, state: str, failure: FailureView, killed: bool) -> None:
        words = "was killed" if killed else self.WORDS.get(state, f"is {state}")
        super().__init__(f"`{id}` {words}: {failure['message']} (code {failure['code']})")
        self.id = id
        """Id of the execution."""
        self.state = state
        """How it ended."""
        self.failure = failure
        """The failure: a code that reads as in HTTP, a message, optional details."""
        self.killed = killed
        """True if it was killed."""


class ExecutionHaltedError(SegnoError):
    """An execution is halted: it has not ended, and needs a person."""

    code = "execution-halted"

    def __init__(self, id: str, reason: str) -> None:
        super().__init__(f"`{id}` is halted: {reason}; `segno inspect {id}` shows more")
        self.id = id
        """Id of the execution."""
        self.reason = reason
        """The reason of the halt."""


class WaitTimeoutError(SegnoError, TimeoutError):
    """What was waited for has not happened within ``wait_ms``. It goes on: wait again, or look later."""

    code = "wait-timeout"

    def __init__(self, id: str, state: str, wait_ms: int) -> None:
        super().__init__(f"`{id}` has not ended within {wait_ms} ms: it is {state}")
        self.id = id
        """Id of the execution or promise."""
        self.state = state
        """Its state when the time was over."""
        self.wait_ms = wait_ms
        """The time, in milliseconds."""


class UpdateFailedError(SegnoError):
    """A workflow answered an accepted update with a failure."""

    code = "update-failed"

    def __init__(self, id: str, update: str, failure: FailureView) -> None:
        super().__init__(f"the update `{update}` of `{id}` failed: {failure['message']} (code {failure['code']})")
        self.id = id
        """Id of the execution."""
        self.update = update
        """Name of the update."""
        self.failure = failure
        """The failure."""


class PromiseFailedError(_Ended):
    """A promise was settled without a value: it was rejected, cancelled, or timed out."""

    code = "promise-failed"

    def __init__(self, id: str, state: str, failure: FailureView | None, value: Any) -> None:
        words = self.WORDS.get(state, f"is {state}")
        reason = f": {failure['message']} (code {failure['code']})" if failure else ""
        super().__init__(f"`{id}` {words}{reason}")
        self.id = id
        """Id of the promise."""
        self.state = state
        """How it was settled."""
        self.failure = failure
        """The failure, if it was rejected with one."""
        self.value = value
        """The value with which it was rejected, if it was no failure."""
