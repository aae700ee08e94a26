"""The attempts of one call or request in a test."""

import base64
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.attempt import Attempt
from ..core.engine import AttemptFacts, FailureRecord, HttpRequest, Outcome, Payload, Success
from ..core.failure import Failure
from ..core.function import Activity, Workflow
from ..core.options import Retry
from .budgets import AttemptCosts
from .doubles import Doubles, FunctionDouble, TestAttempt, without_secrets
from .streams import AttemptStreams

if TYPE_CHECKING:
    from .world import World

#: Number of attempts that counts as an endless loop.
ATTEMPTS_MAX = 1_000


class PlannedAttempt:
    """The attempts of one call."""

    def __init__(
        self, name: str, subject: Any, input: Payload, owner: str, key: str, retry: Retry, is_final: bool
    ) -> None:
        #: The invocation whose streams the attempts write.
        self.owner = owner
        self.name, self.subject, self.input, self.key, self.retry, self.is_final = (
            name,
            subject,
            input,
            key,
            retry,
            is_final,
        )
        self.attempt = 0
        self.progress: list[Payload | None] = [None]

    def next(self, world: "World") -> Outcome | int:
        """Makes an attempt. Returns its outcome, or the milliseconds until the next one."""
        spent = world.budgets.begin(self.key) if self._is_counted(world) else None
        if spent is not None:
            return spent
        self.attempt += 1
        costs = AttemptCosts()
        outcome = self._outcome(world, costs)
        world.budgets.spend(self.key, costs.spent)
        if isinstance(outcome, Success):
            return outcome
        last = self.retry.max_attempts is not None and self.attempt >= self.retry.max_attempts
        if last or self.is_final or Failure(outcome.code, "").is_final or outcome.code in self.retry.non_retryable:
            return outcome
        if self.attempt >= ATTEMPTS_MAX:
            raise AssertionError(
                f"`{self.name}` failed {ATTEMPTS_MAX} times, and its retries have no end; the last time: {outcome.message}"
            )
        wait = self.retry.initial_ms * self.retry.factor ** (self.attempt - 1)
        return min(int(min(wait, 2**53)), self.retry.max_ms)

    def _is_counted(self, world: "World") -> bool:
        """True for an activity or a request. A stand-in for a workflow makes no attempts on a host."""
        if not isinstance(self.subject, FunctionDouble):
            return True
        return not self.name.startswith("segno:") and not isinstance(world.functions.get(self.name), Workflow)

    def _outcome(self, world: "World", costs: AttemptCosts) -> Outcome:
        if isinstance(self.subject, FunctionDouble):
            return self.subject(self.input, costs)
        if isinstance(self.subject, Activity):
            facts = AttemptFacts(self.key, self.key, self.attempt, self.attempt, self.progress[0], world.now_ms, None)
            streams = AttemptStreams(world.streams, self.owner, self.key)
            root = self.key.partition("/")[0]
            engine = TestAttempt(world.doubles, self.progress, world.pass_time, streams, costs, root)
            outcome = Attempt(engine, self.subject, facts).perform(self.input)
            if isinstance(outcome, Success) and streams.refused is not None:
                return FailureRecord(streams.refused.code, streams.refused.message)
            return without_secrets(world.doubles, self.name, outcome)
        outcome = self.subject()
        assert isinstance(outcome, (Success, FailureRecord))
        return outcome


def http_attempt(doubles: Doubles, request: HttpRequest, key: str) -> Callable[[], Outcome]:
    """Sends a durable request, once for each call."""
    sent = request
    if not any(name.lower() == "idempotency-key" for name, _ in sent.headers):
        sent = type(sent)(sent.method, sent.url, (*sent.headers, ("Idempotency-Key", key)), sent.body)

    def attempt() -> Outcome:
        try:
            response = doubles.answer_web(sent)
        except Failure as failure:
            return FailureRecord(failure.code, failure.message)
        status = response.status_code
        if status >= 500 or status in (408, 425, 429):
            return FailureRecord(status, f"{sent.method} {sent.url} answered {status}")
        told: dict[str, Any] = {
            "status": status,
            "headers": {name.lower(): value for name, value in response.headers.items()},
        }
        try:
            told["body"] = response.content.decode()
        except UnicodeDecodeError:
            told["body_base64"] = base64.b64encode(response.content).decode()
        return Success(json.dumps(told, ensure_ascii=False))

    return attempt
