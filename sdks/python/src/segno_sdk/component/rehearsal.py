"""A rehearsal of an execution, before the memory is kept with which every instance begins.

CPython adapts code to what it does, and writes that into the code. After a rehearsal an instance finds the code of this
package adapted: it runs faster, and writes to half as many pages, which the host has to put back for the next instance.
Nothing of the author runs, and nothing that an author can see changes.
"""

import asyncio
import contextlib

from ..core.attempt import Attempt
from ..core.context import Context
from ..core.engine import AttemptFacts, Completed, Event, Outcome, Payload, Success, WorkflowFacts
from ..core.execution import Execution
from ..core.function import activity, workflow
from ..core.options import CallOptions
from ..core.randomness import Randomness
from .wire import of_payload, to_options, to_outcome, to_payload

#: CPython adapts an instruction when it runs for the second or third time.
ROUNDS = 4
_FACTS = WorkflowFacts("rehearsal", None, 0, bytes(32))
_ATTEMPT = AttemptFacts("rehearsal/0", "rehearsal/0", 1, 1, None, 0, None)


@workflow
async def rehearsal(input: dict[str, int], ctx: Context) -> list[int]:
    """Asks for the commands that most workflows ask for."""
    first = await ctx.call("leaf", input["number"], result=int)
    await ctx.sleep("1s")
    pair = await asyncio.gather(ctx.call("leaf", first, result=int), ctx.promise("named", int))
    return [*pair, await ctx.run("computed", lambda: first, result=int)]


@activity
async def leaf(number: int) -> int:
    """Returns its input."""
    return number


class RehearsalEngine:
    """Answers each command with its index, in their order."""

    def __init__(self) -> None:
        self._commands = 0
        self._open: list[int] = []
        self.outcome: Outcome | None = None

    def _opened(self) -> int:
        command, self._commands = self._commands, self._commands + 1
        self._open.append(command)
        return command

    def event(self) -> Event | None:
        """The result of the first open command."""
        if not self._open:
            return None
        command = self._open.pop(0)
        return Completed(command, Success(of_payload(to_payload(str(command)))))

    def now(self) -> int:
        return 0

    def call(self, function: str, input: Payload, options: CallOptions) -> int:
        to_payload(input), to_options(options)
        return self._opened()

    def sleep_until(self, until_ms: int) -> int:
        return self._opened()

    def promise(self, name: str | None, timeout_ms: int | None) -> tuple[int, str]:
        return self._opened(), f"rehearsal/p/{name}"

    def run(self, name: str) -> tuple[int, bool]:
        return self._opened(), True

    def run_done(self, command: int, outcome: Outcome) -> None:
        to_outcome(outcome)

    def finish(self, outcome: Outcome) -> None:
        to_outcome(outcome)
        self.outcome = outcome


def rehearse() -> list[Outcome | None]:
    """Runs the rehearsal. Returns the outcomes of its workflows and of its activities."""
    rounds: list[Outcome | None] = []
    # A module may have replaced what this needs. Its instances then begin without a rehearsal.
    with contextlib.suppress(Exception), Randomness(_FACTS.seed).entered():
        for _ in range(ROUNDS):
            rounds += [_execution(), Attempt(RehearsalEngine(), leaf, _ATTEMPT).perform("2")]  # type: ignore[arg-type]
    return rounds


def _execution() -> Outcome | None:
    engine = RehearsalEngine()
    execution = Execution(engine, rehearsal, _FACTS)  # type: ignore[arg-type]
    execution.start('{"number": 1}')
    while (event := engine.event()) is not None:
        execution.resume(event)
    return engine.outcome
