"""The part of the host in a test: it begins executions, executes their commands, and lets virtual time pass."""

import heapq
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from ..codec import decoded
from ..core.engine import (
    CancelRequested,
    Completed,
    Event,
    FailureRecord,
    Outcome,
    Payload,
    SignalArrived,
    Success,
    WorkflowFacts,
)
from ..core.execution import Execution
from ..core.failure import CANCELLED, CONFLICT, NOT_FOUND, REFUSED, Failure
from ..core.function import Function, Workflow
from ..core.randomness import Randomness
from ..core.updates import UPDATE
from .budgets import TestBudgets
from .commands import perform
from .doubles import Doubles
from .invocation import Exchange, Invocation, PlannedPromise
from .journal import Journal, Request
from .objects import NULL, ObjectCall, TestObject
from .reads import StreamReads
from .streams import TestStreams

#: Commands without a completion.
UNTOLD = ("set-state", "clear-state", "clear-all-state", "append-stream", "close-stream", "unread", "continue-as-new")


class Stuck(AssertionError):
    """A workflow waits for something that the test never gives it."""


class World:
    """All executions of one run of a test."""

    def __init__(
        self,
        now_ms: int,
        seed: int,
        doubles: Doubles,
        objects: dict[str, TestObject],
        functions: dict[str, Function[Any, Any]],
    ) -> None:
        self.now_ms, self.started_ms, self.seed = now_ms, now_ms, seed
        self.doubles, self.objects, self.functions = doubles, objects, functions
        #: The names of the module's functions, if the test names the module.
        self.listed: set[str] | None = None
        self.invocations: dict[str, Invocation] = {}
        self.finished: list[Invocation] = []
        self.commands: list[tuple[int, Request]] = []
        self.planned: list[PlannedPromise] = []
        self.updates: dict[str, Exchange] = {}
        self.streams = TestStreams()
        self.reads = StreamReads(self)
        #: The ids of executions that are to begin.
        self.expected: set[str] = set()
        self.budgets = TestBudgets()
        self._due: list[tuple[int, int, Callable[[], object]]] = []
        self._decided = 0
        self.open: dict[tuple[str, int], str] = {}
        #: The commands that wait for promises.
        self.promises: dict[str, list[tuple[str, int]]] = {}
        #: The outcomes of settled promises, also of those that are not made yet.
        self.settlements: dict[str, Outcome] = {}

    # Time.

    def decide(self, at_ms: int, action: Callable[[], object]) -> None:
        """Acts at an instant; actions of one instant in the order in which they were decided."""
        heapq.heappush(self._due, (at_ms, self._decided, action))
        self._decided += 1

    def pass_time(self, seconds: float) -> None:
        """An activity slept."""
        self.now_ms += round(seconds * 1_000)

    def run(self, root: str) -> Outcome:
        """Lets time pass until the workflow has ended."""
        while (outcome := self.invocations[root].outcome) is None:
            self.reads.serve()
            if not self._due:
                raise self._stuck(root)
            at_ms, _, action = heapq.heappop(self._due)
            self.now_ms = max(self.now_ms, at_ms)
            action()
        for exchange in self.updates.values():
            if exchange.outcome is None:
                exchange.outcome = FailureRecord(CANCELLED, "the workflow ended before it answered")
        return outcome

    def close(self) -> None:
        """Ends everything that is left."""
        for invocation in self.invocations.values():
            invocation.execution.abandon()

    # Executions.

    def begin(
        self,
        id: str,
        function: Workflow[Any, Any],
        input: Payload,
        parent: tuple[str, int] | None,
        call: ObjectCall | None,
        is_graph: bool = False,
    ) -> None:
        """Begins an execution, or lets it wait for its turn."""
        if call is not None and function.access == "exclusive":
            place = self.objects.setdefault(call.path, TestObject())
            if place.holder is not None:
                place.line.append((id, function, input, parent, call))
                return
            place.holder = id
        self._start(id, function, input, parent, call, [], is_graph=is_graph)

    def _start(
        self,
        id: str,
        function: Workflow[Any, Any],
        input: Payload,
        parent: tuple[str, int] | None,
        call: ObjectCall | None,
        signals: list[tuple[str, Payload]],
        name: str | None = None,
        is_graph: bool = False,
    ) -> None:
        name = name or id
        seed = _seed(self.seed, name)
        facts = WorkflowFacts(name, parent[0] if parent else None, self.now_ms, seed)
        key = call.key if call else None
        called = f"{call.path}/{function.name.partition('/')[2]}" if call else function.name
        journal = Journal(name, called, input, key, self.doubles.logs)
        invocation = Invocation(
            id,
            function,
            input,
            facts,
            journal,
            Execution(journal, function, facts),
            Randomness(seed),
            call.path if call else None,
            key,
            parent,
            is_graph=is_graph,
        )
        self.invocations[id] = invocation
        journal.begin(self.now_ms)
        for signal, payload in signals:
            self.decide(self.now_ms, partial(self.tell, id, SignalArrived(signal, payload)))
        with invocation.randomness.entered():
            invocation.execution.start(input)
        self._attend(invocation)

    def tell(self, id: str, event: Event) -> None:
        """Tells an execution of an event."""
        invocation = self.invocations.get(id)
        if invocation is None or invocation.outcome is not None:
            return
        if isinstance(event, SignalArrived):
            invocation.signals.append((event.name, event.payload))
        self._deliver(invocation, event)
        self._attend(invocation)

    def _deliver(self, invocation: Invocation, event: Event) -> None:
        known = len(invocation.journal.records)
        invocation.journal.tell(self.now_ms, event)
        invocation.events.append((invocation.journal.now_ms, event))
        try:
            with invocation.randomness.entered():
                invocation.execution.resume(event)
        except BaseException:
            # A host stores nothing of a call that ends in a defect.
            del invocation.journal.records[known:]
            raise

    def _attend(self, invocation: Invocation) -> None:
        """Executes what was asked for. Reads of the state, and results of `run`, are told before anything else."""
        journal = invocation.journal
        while True:
            while journal.requests:
                request = journal.requests.popleft()
                self.commands.append((self.now_ms, request))
                if request.kind not in UNTOLD:
                    self.open[invocation.id, request.index] = request.describe()
                perform(self, invocation, request)
            if journal.ending is not None:
                return self._end(invocation)
            if invocation.reads:
                event = invocation.reads.popleft()
            elif journal.runs:
                event = Completed(*journal.runs.popleft())
            else:
                return
            if isinstance(event, Completed) and self.close_command(invocation, event.command):
                self._deliver(invocation, event)

    def _end(self, invocation: Invocation) -> None:
        ending = invocation.journal.ending
        assert ending is not None
        self._stop_calls(invocation)
        if ending.next_input is not None:
            return self._next_generation(invocation, ending.next_input, ending.unread)
        invocation.outcome = ending.outcome
        if invocation.parent is not None and ending.outcome is not None:
            self.answer(self.now_ms, *invocation.parent, ending.outcome)
        if invocation.path is not None:
            place = self.objects[invocation.path]
            if place.holder == invocation.id:
                place.holder = None
                if place.line:
                    self.decide(self.now_ms, lambda: self.begin(*place.line.popleft()) if place.line else None)

    def _stop_calls(self, invocation: Invocation) -> None:
        """Asks the functions to stop that the execution called and that have not ended."""
        for child in self.invocations.values():
            if child.outcome is None and child.parent is not None and child.parent[0] == invocation.id:
                self.decide(self.now_ms, partial(self.tell, child.id, CancelRequested()))

    def _next_generation(self, invocation: Invocation, input: Payload, unread: list[int]) -> None:
        self.finished.append(invocation)
        number = sum(1 for one in self.finished if one.id == invocation.id) + 1
        signals = [invocation.signals[place] for place in unread]
        for place in [place for place in self.open if place[0] == invocation.id]:
            del self.open[place]
        self._start(
            invocation.id, invocation.function, input, invocation.parent, None, signals, f"{invocation.id}/g/{number}"
        )

    # Commands.

    def answer(self, at_ms: int, id: str, command: int, outcome: Outcome) -> None:
        """Completes a command at an instant."""
        invocation = self.invocations.get(id)

        def complete() -> None:
            if self.invocations.get(id) is invocation:
                self.complete(id, command, outcome)

        self.decide(at_ms, complete)

    def complete(self, id: str, command: int, outcome: Outcome) -> None:
        """Completes a command now."""
        invocation = self.invocations.get(id)
        if invocation is not None and self.close_command(invocation, command):
            self.tell(id, Completed(command, outcome))

    def close_command(self, invocation: Invocation, command: int) -> bool:
        """Closes a command. True if it was open and is waited for: only the first answer counts."""
        if self.open.pop((invocation.id, command), None) is None:
            return False
        return command not in invocation.journal.forgotten

    def settle(self, promise: str, outcome: Outcome) -> Outcome:
        """Settles a promise. Returns the answer for whoever settled it."""
        update = self.updates.get(promise)
        # The first settlement counts, and a later one changes nothing.
        if update is not None:
            update.outcome = update.outcome or outcome
            return NULL
        owner, is_named, _ = promise.rpartition("/p/")
        if promise in self.promises or (is_named and owner in self.invocations):
            if promise not in self.settlements:
                self.settlements[promise] = outcome
                for place in self.promises.get(promise, []):
                    self.answer(self.now_ms, *place, outcome)
            return NULL
        return FailureRecord(NOT_FOUND, f"`{promise}` does not exist")

    def send_signal(self, request: Request) -> Outcome:
        """Sends an execution a signal of another one. Returns the answer for the sender."""
        receiver = self.invocations.get(request.name)
        if receiver is None:
            return FailureRecord(NOT_FOUND, f"`{request.name}` does not exist")
        if receiver.outcome is not None:
            return FailureRecord(CONFLICT, f"`{request.name}` has ended")
        known = list(receiver.function.signals or {})
        if not receiver.function.takes_signals or (known and request.promise not in known):
            called = f"`{receiver.function.name}` of `{request.name}`"
            takes = ", ".join(known) or "none"
            return FailureRecord(REFUSED, f"{called} does not take the signal `{request.promise}`: it takes {takes}")
        signal = SignalArrived(request.promise, request.payload or "null")
        try:
            if known:
                decoded((receiver.function.signals or {})[signal.name], signal.payload, f"the signal {signal.name!r}")
        except Failure as unfit:
            return FailureRecord(REFUSED, unfit.message)
        self.decide(self.now_ms, partial(self.tell, request.name, signal))
        return NULL

    def settle_of_object(self, path: str, name: str, outcome: Outcome) -> Outcome:
        """Settles a promise of an object. Returns the answer for whoever settled it."""
        place = self.objects.setdefault(path, TestObject())
        if name in place.settled:
            return FailureRecord(CONFLICT, f"the promise `{path}/p/{name}` was settled before")
        place.settled[name] = outcome
        for id, command in place.waiting.pop(name, []):
            self.answer(self.now_ms, id, command, outcome)
        return Success("true")

    # Queries and updates.

    def ask(self, id: str, exchange: Exchange) -> None:
        """Answers a query; accepts or refuses an update."""
        invocation = self.invocations[id]
        with invocation.randomness.entered():
            if exchange.kind == "query":
                exchange.outcome = invocation.execution.query(exchange.name, exchange.input)
                return
            refused = invocation.execution.validate(exchange.name, exchange.input)
        if refused is not None:
            exchange.outcome = refused
            return
        promise = f"{id}/a/{len(self.updates)}"
        self.updates[promise] = exchange
        self.tell(
            id,
            SignalArrived(
                f"{UPDATE}{exchange.name}", f'{{"promise":{json.dumps(promise)},"input":{_text(exchange.input)}}}'
            ),
        )

    def _stuck(self, root: str) -> Stuck:
        waits = []
        for (id, command), what in self.open.items():
            invocation = self.invocations.get(id)
            if invocation is None or invocation.outcome is not None or command in invocation.journal.forgotten:
                continue
            places = {request.index: request.at for _, request in self.commands if request.describe() == what}
            waits.append(f"`{invocation.function.name}` ({id}): command {command}, {what} ({places.get(command)})")
        name = self.invocations[root].function.name
        if not waits:
            return Stuck(
                f"`{name}` waits, and for none of its commands: if it waits for a signal, add host.signal(name, value); "
                "if for an update, host.update(update, input)"
            )
        return Stuck(
            f"`{name}` waits for what this test never settles:\n  "
            + "\n  ".join(waits)
            + "\nadd for instance host.promise(name).resolve(value), "
            "or give the wait a time limit"
        )


def _text(payload: Payload) -> str:
    return payload if isinstance(payload, str) else json.dumps(payload.decode())


def _seed(seed: int, id: str) -> bytes:
    import hashlib

    return hashlib.sha256(f"{seed}/{id}".encode()).digest()


__all__ = ["Exchange", "Invocation", "PlannedPromise", "Stuck", "World"]
