# Written by `scripts/unasync.py` from `src/segno_client/_async/execution.py`. Do not edit.
"""One execution of a function, known by its id."""

from __future__ import annotations

from typing import Any

from ..api import (
    DELETE_INVOCATIONS_ID,
    GET_INVOCATIONS_ID,
    GET_INVOCATIONS_ID_LOGS,
    POST_INVOCATIONS_ID_CANCEL,
    POST_INVOCATIONS_ID_CONTINUE,
    POST_INVOCATIONS_ID_HALT,
    POST_INVOCATIONS_ID_KILL,
    POST_INVOCATIONS_ID_QUERIES_NAME,
    POST_INVOCATIONS_ID_RESTART,
    POST_INVOCATIONS_ID_SIGNALS,
    Accepted,
    Continued,
    ContinueInvocation,
    Invocation,
    InvocationOutcome,
    LogLine,
    LogPage,
    QueryAnswer,
    Removed,
    RestartInvocation,
    SendQuery,
    SendSignal,
    SignalAccepted,
    Started,
    StartFirst,
)
from ..options import end_of, random_key
from .listing import Listing
from .promise import Promise
from .transport import Transport
from .update import Update, UpdateRequest, accepted, completed
from .waiting import SETTLED, outcome_of, output_of

REPLAY_MS = 300_000.0
"""Time that a host may take to replay a long journal."""


class Execution:
    """An execution of a function.

    The handle keeps only its id: it costs nothing, and every program may make one.
    """

    def __init__(self, transport: Transport, id: str, started: Started | None = None) -> None:
        self._transport = transport
        outcome = started["invocation"] if started else None
        self._outcome = outcome if outcome and outcome["state"] in SETTLED else None
        self.id = id
        """Id of the execution."""
        self.created = started["created"] if started else None
        """After a start: true if this start made it, false if it existed already."""
        self.behind = started.get("behind") if started else None
        """After a start: the limit that it waits behind, if it does."""

    def result(self, *, wait_ms: float | None = None) -> Any:
        """Waits for the end and returns the output.

        Raises:
            ExecutionFailedError: it was rejected, cancelled, killed, or timed out.
            ExecutionHaltedError: it is halted, and needs a person.
            WaitTimeoutError: it has not ended within ``wait_ms`` (default: no limit); it goes on.
        """
        return output_of(self._outcome or self.wait(wait_ms=wait_ms), wait_ms)

    def wait(self, *, wait_ms: float | None = None) -> InvocationOutcome:
        """Waits until it has ended or is halted, or for ``wait_ms``. Returns its state in any case."""
        return outcome_of(self._transport, self.id, end_of(wait_ms))

    def status(self) -> Invocation:
        """Everything that is known of it, without its journal."""
        return self._transport.send(GET_INVOCATIONS_ID, {"id": self.id})

    def signal(
        self, name: str, payload: Any = None, *, key: str | None = None, start: StartFirst | None = None
    ) -> SignalAccepted:
        """Sends a signal.

        Args:
            name: Name of the signal, by which the function receives it.
            payload: Any value of JSON.
            key: The same key again is the same signal. Default: made by the client.
            start: The execution to start, in the same step, if none has this id.
        """
        return self._transport.send(
            POST_INVOCATIONS_ID_SIGNALS,
            {"id": self.id},
            body=SendSignal(name=name, payload=payload, key=key or random_key(), start=start),
            is_repeatable=True,
        )

    def query(self, name: str, input: Any = None, *, at: int | None = None) -> Any:
        """Asks the workflow, and returns the answer.

        ``at`` asks it as it was after so many records of its journal. A refusal of the workflow is a
        :class:`WorkflowRefusedError`.
        """
        return (self.query_answer(name, input, at=at))["value"]

    def query_answer(self, name: str, input: Any = None, *, at: int | None = None) -> QueryAnswer:
        """Like :meth:`query`, with the number of records that the answer has seen."""
        return self._transport.send(
            POST_INVOCATIONS_ID_QUERIES_NAME,
            {"id": self.id, "name": name},
            body=SendQuery(input=input, at=at),
            is_repeatable=True,
            wait_ms=REPLAY_MS,
        )

    def update(
        self,
        name: str,
        input: Any = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Any:
        """Sends an update, and waits for the workflow's answer.

        Args:
            name: Name of the update.
            input: Any value of JSON.
            key: The same key again is the same update, which runs once. Default: made by the client.
            start: The execution to start first, if none has this id.
            wait_ms: Longest wait. Default: no limit.

        Raises:
            WorkflowRefusedError: the workflow refuses it.
            UpdateFailedError: the answer is a failure.
            WaitTimeoutError: there was no answer within ``wait_ms``; the update goes on.
        """
        request = UpdateRequest(self.id, name, input, key or random_key(), start)
        return completed(self._transport, request, wait_ms)

    def send_update(
        self,
        name: str,
        input: Any = None,
        *,
        key: str | None = None,
        start: StartFirst | None = None,
        wait_ms: float | None = None,
    ) -> Update:
        """Sends an update, and returns when the workflow has accepted it."""
        request = UpdateRequest(self.id, name, input, key or random_key(), start)
        return Update(self._transport, request, accepted(self._transport, request, wait_ms))

    def promise(self, name: str) -> Promise:
        """Its promise with this name, which others settle. Sends nothing."""
        return Promise(self._transport, f"{self.id}/p/{name}")

    def cancel(self) -> Accepted:
        """Asks it to stop. It may clean up first: :meth:`wait` tells when it has ended."""
        return self._transport.send(POST_INVOCATIONS_ID_CANCEL, {"id": self.id}, is_repeatable=True)

    def kill(self) -> Accepted:
        """Ends it at once, without cleaning up."""
        return self._transport.send(POST_INVOCATIONS_ID_KILL, {"id": self.id}, is_repeatable=True)

    def halt(self) -> Accepted:
        """Stops it for a person to look at."""
        return self._transport.send(POST_INVOCATIONS_ID_HALT, {"id": self.id}, is_repeatable=True)

    def resume(self, *, module: str | None = None) -> Continued:
        """Goes on with it after a halt, on another module if ``module`` repeats its journal."""
        return self._transport.send(
            POST_INVOCATIONS_ID_CONTINUE, {"id": self.id}, body=ContinueInvocation(module=module)
        )

    def restart(self, *, id: str | None = None, module: str | None = None) -> Execution:
        """Starts its function once more, with the same input, labels and time limit.

        Without an ``id`` the host takes the first free one of ``ID-r1``, ``ID-r2``, ….
        """
        started = self._transport.send(
            POST_INVOCATIONS_ID_RESTART,
            {"id": self.id},
            body=RestartInvocation(id=id, module=module),
            is_repeatable=id is not None,
        )
        return Execution(self._transport, started["id"], started)

    def remove(self, *, cancel: bool = False, grace_ms: int = 10_000) -> Removed:
        """Removes it after its end, with everything that it made.

        With ``cancel``, what has not ended is cancelled first, and killed after ``grace_ms``.
        """
        return self._transport.send(
            DELETE_INVOCATIONS_ID,
            {"id": self.id},
            query={"cancel": True, "grace_ms": grace_ms} if cancel else None,
            wait_ms=grace_ms if cancel else 0,
        )

    def logs(self) -> Listing[LogLine, LogPage]:
        """Its log lines."""

        def fetch(after: str | None) -> LogPage:
            return self._transport.send(GET_INVOCATIONS_ID_LOGS, {"id": self.id}, query={"from": after})

        return Listing(fetch, lambda page: page["lines"], lambda page: page.get("next"))
