# Written by `scripts/unasync.py` from `src/segno_client/_async/execution.py`. Do not edit.
"""One execution of a function, known by its id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, cast

from ..api import (
    DELETE_INVOCATIONS_ID,
    GET_INVOCATIONS_ID,
    GET_INVOCATIONS_ID_BUDGET,
    GET_INVOCATIONS_ID_LOGS,
    POST_INVOCATIONS_ID_CANCEL,
    POST_INVOCATIONS_ID_CONTINUE,
    POST_INVOCATIONS_ID_HALT,
    POST_INVOCATIONS_ID_KILL,
    POST_INVOCATIONS_ID_RESTART,
    PUT_INVOCATIONS_ID_BUDGET,
    Accepted,
    BudgetView,
    Continued,
    ContinueInvocation,
    Invocation,
    InvocationOutcome,
    LogLine,
    LogPage,
    Removed,
    RestartInvocation,
    SetBudget,
    Started,
)
from ..options import end_of
from ..references import Out
from .listing import Listing
from .messages import Messages
from .transport import Transport
from .waiting import SETTLED, outcome_of, output_of


class Execution(Messages, Generic[Out]):
    """An execution of a function.

    The handle keeps only its id: it costs nothing, and every program may make one. ``Out`` is the type of its
    output, if it was started by a reference.
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

    def result(self, *, wait_ms: float | None = None) -> Out:
        """Waits for the end and returns the output.

        Raises:
            ExecutionFailedError: it was rejected, cancelled, killed, or timed out.
            ExecutionHaltedError: it is halted, and needs a person.
            WaitTimeoutError: it has not ended within ``wait_ms`` (default: no limit); it goes on.
        """
        return cast(Out, output_of(self._outcome or self.wait(wait_ms=wait_ms), wait_ms))

    def wait(self, *, wait_ms: float | None = None) -> InvocationOutcome:
        """Waits until it has ended or is halted, or for ``wait_ms``. Returns its state in any case."""
        return outcome_of(self._transport, self.id, end_of(wait_ms))

    def status(self) -> Invocation:
        """Everything that is known of it, without its journal."""
        return self._transport.send(GET_INVOCATIONS_ID, {"id": self.id})

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

    def restart(self, *, id: str | None = None, module: str | None = None) -> Execution[Out]:
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

    def budget(self) -> BudgetView:
        """The budgets that it draws on, the nearest first, and those of executions below it."""
        return self._transport.send(GET_INVOCATIONS_ID_BUDGET, {"id": self.id})

    def set_budget(self, limits: Mapping[str, float]) -> BudgetView:
        """Sets limits of its own budget. Units that are not named keep theirs, and what is spent stays spent."""
        return self._transport.send(
            PUT_INVOCATIONS_ID_BUDGET, {"id": self.id}, body=SetBudget(limits=dict(limits)), is_repeatable=True
        )

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
