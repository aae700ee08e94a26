"""The queries and updates of one execution."""

import asyncio
import json
from typing import TYPE_CHECKING, Any

from ..codec import ANY, encoded
from .defect import report
from .engine import FailureRecord, Outcome, Success
from .failure import NOT_FOUND, NOT_YET, OTHER, Failure
from .handler import Handler

if TYPE_CHECKING:
    from .execution import Execution

#: Updates come as signals with names that begin so.
UPDATE = "segno:update/"


def failure_record(error: BaseException) -> FailureRecord:
    """The outcome of an exception. One that is no `Failure` names its place."""
    if isinstance(error, Failure):
        details = None if error.details is None else encoded(ANY, error.details, "the details of the failure")
        return FailureRecord(error.code, error.message, details)
    at, text = report(error)
    return FailureRecord(OTHER, f"{at}: {text}")


class Updates:
    """Answers queries, and runs updates beside the workflow."""

    def __init__(self, execution: "Execution") -> None:
        self._execution = execution
        self._running: dict[asyncio.Task[Any], None] = {}

    @property
    def unanswered(self) -> int:
        """Number of updates that were accepted and not answered."""
        return len(self._running)

    def owns(self, task: Any) -> bool:
        """True for the task of an update."""
        return task in self._running

    def close(self) -> None:
        """The workflow has ended: nothing is answered any more."""
        self._running.clear()

    def query(self, name: str, input: str | bytes) -> Outcome:
        """Answers a query."""
        try:
            handler = self._find("query", name)
            return Success(handler.answer(handler.run(*handler.arguments(self._execution.shared, input))))
        except Exception as error:
            return failure_record(error)

    def validate(self, name: str, input: str | bytes) -> FailureRecord | None:
        """Why an update is refused now; None: it is not."""
        try:
            handler = self._find("update", name)
            arguments = handler.arguments(self._execution.shared, input)
            if handler.validate is not None:
                handler.validate(*arguments)
            return None
        except Exception as error:
            return failure_record(error)

    def accept(self, name: str, payload: str | bytes) -> None:
        """Begins an update; its end settles the promise that came with it."""
        engine = self._execution.engine
        try:
            told = json.loads(payload)
            promise, input = told["promise"], json.dumps(told.get("input"))
        except (ValueError, TypeError, KeyError):
            engine.log("error", f"the update `{name}` names no promise, so its sender gets no answer")
            return
        try:
            handler = self._find("update", name)
            arguments = handler.arguments(self._execution.shared, input)
        except Failure as error:
            engine.forget(engine.settle(promise, failure_record(error)))
            return
        task = self._execution.loop.create_task(self._answer(handler, arguments, promise), name=f"update {name}")
        self._running[task] = None

    async def _answer(self, handler: Handler, arguments: list[Any], promise: str) -> None:
        execution = self._execution
        context = {} if handler.context_parameter is None else {handler.context_parameter: execution.context}
        outcome: Outcome
        try:
            outcome = Success(handler.answer(await handler.run(*arguments, **context)))
        except Failure as error:
            outcome = failure_record(error)
        except TimeoutError as error:
            outcome = failure_record(Failure(408, str(error) or "a time limit passed"))
        except Exception as error:
            execution.loop.defects.append(error)
            return
        self._running.pop(asyncio.current_task(), None)  # type: ignore[arg-type]
        if not execution.finished:
            execution.engine.forget(execution.engine.settle(promise, outcome))

    def _find(self, kind: str, name: str) -> Handler:
        workflow = self._execution.function
        handler = workflow.handlers.get((kind, name))
        if handler is None:
            names = [f"`{one}`" for of_kind, one in workflow.handlers if of_kind == kind]
            raise Failure(
                NOT_FOUND, f"`{workflow.name}` has no {kind} `{name}`; there are: {', '.join(names) or 'none'}"
            )
        if not self._execution.is_shared:
            raise Failure(NOT_YET, f"`{workflow.name}` has not shared anything yet: it calls `ctx.share`")
        return handler
