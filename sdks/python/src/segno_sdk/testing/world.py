"""The part of the host in a test: it begins executions, executes their commands, and lets virtual time pass."""

import heapq
import json
from collections.abc import Callable
from functools import partial
from typing import Any

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
from ..core.failure import CANCELLED, CONFLICT, NOT_FOUND, TIMED_OUT
from ..core.function import Activity, Function, Workflow
from ..core.options import Retry
from ..core.randomness import Randomness
from ..core.updates import UPDATE
from .attempts import PlannedAttempt, http_attempt
from .doubles import Doubles
from .invocation import Exchange, Invocation, PlannedPromise
from .journal import Journal, Request
from .objects import NULL, ObjectCall, TestObject


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
        self._due: list[tuple[int, int, Callable[[], object]]] = []
        self._decided = 0
        self._open: dict[tuple[str, int], str] = {}
        self._promises: dict[str, tuple[str, int]] = {}
        self._kept_settlements: dict[str, Outcome] = {}

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
    ) -> None:
        """Begins an execution, or lets it wait for its turn."""
        if call is not None and function.access == "exclusive":
            place = self.objects.setdefault(call.path, TestObject())
            if place.holder is not None:
                place.line.append((id, function, input, parent, call))
                return
            place.holder = id
        self._start(id, function, input, parent, call, [])

    def _start(
        self,
        id: str,
        function: Workflow[Any, Any],
        input: Payload,
        parent: tuple[str, int] | None,
        call: ObjectCall | None,
        signals: list[tuple[str, Payload]],
        name: str | None = None,
    ) -> None:
        name = name or id
        seed = _seed(self.seed, name)
        facts = WorkflowFacts(name, parent[0] if parent else None, self.now_ms, seed)
        key = call.key if call else None
        journal = Journal(name, function.name, input, key, self.doubles.logs)
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
                if request.kind not in ("set-state", "clear-state", "clear-all-state", "unread", "continue-as-new"):
                    self._open[invocation.id, request.index] = request.describe()
                self._perform(invocation, request)
            if journal.ending is not None:
                return self._end(invocation)
            if invocation.reads:
                event = invocation.reads.popleft()
            elif journal.runs:
                event = Completed(*journal.runs.popleft())
            else:
                return
            if isinstance(event, Completed) and self._close(invocation, event.command):
                self._deliver(invocation, event)

    def _end(self, invocation: Invocation) -> None:
        ending = invocation.journal.ending
        assert ending is not None
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

    def _next_generation(self, invocation: Invocation, input: Payload, unread: list[int]) -> None:
        self.finished.append(invocation)
        number = sum(1 for one in self.finished if one.id == invocation.id) + 1
        signals = [invocation.signals[place] for place in unread]
        for place in [place for place in self._open if place[0] == invocation.id]:
            del self._open[place]
        self._start(
            invocation.id, invocation.function, input, invocation.parent, None, signals, f"{invocation.id}/g/{number}"
        )

    # Commands.

    def answer(self, at_ms: int, id: str, command: int, outcome: Outcome) -> None:
        """Completes a command at an instant."""
        invocation = self.invocations.get(id)

        def complete() -> None:
            if self.invocations.get(id) is invocation:
                self._complete(id, command, outcome)

        self.decide(at_ms, complete)

    def _complete(self, id: str, command: int, outcome: Outcome) -> None:
        invocation = self.invocations.get(id)
        if invocation is not None and self._close(invocation, command):
            self.tell(id, Completed(command, outcome))

    def _close(self, invocation: Invocation, command: int) -> bool:
        """True if the command was open and is waited for: only the first answer counts."""
        if self._open.pop((invocation.id, command), None) is None:
            return False
        return command not in invocation.journal.forgotten

    def _perform(self, invocation: Invocation, request: Request) -> None:
        id, index = invocation.id, request.index
        child = f"{invocation.facts.invocation}/{index}"
        match request.kind:
            case "call":
                self._call(invocation, request, request.promise or child)
            case "send":
                self._send(invocation, request, child)
            case "sleep":
                self.answer(max(self.now_ms, request.number), id, index, NULL)
            case "promise":
                self._promise(invocation, request)
            case "settle":
                self.answer(self.now_ms, id, index, self.settle(request.name, _outcome(request)))
            case "http":
                assert request.http is not None
                subject = http_attempt(self.doubles, request.http, child)
                self._attempt(
                    invocation,
                    request,
                    PlannedAttempt(request.name, subject, "null", child, request.options.retry or Retry(), False),
                )
                self._overdue(invocation, request, request.options.timeout_ms)
            case "cancel":
                self._cancel(invocation, request)
            case "send-signal":
                self.decide(
                    self.now_ms,
                    lambda: self.tell(request.name, SignalArrived(request.promise, request.payload or "null")),
                )
                self.answer(self.now_ms, id, index, NULL)
            case "publish":
                self.answer(self.now_ms, id, index, NULL)
            case "run" | "unread" | "continue-as-new":
                pass
            case _:
                self._object(invocation, request)

    def _call(self, invocation: Invocation, request: Request, child: str) -> None:
        called = ObjectCall.parse(request.name)
        name = called.name if called else request.name
        function = self.functions.get(name)
        double = self.doubles.functions.get(request.name) or self.doubles.functions.get(name)
        if double is None:
            self._check_listed(invocation, "calls", request, name)
        timeout_ms = (
            request.options.timeout_ms
            if request.options.timeout_ms is not None
            else getattr(function, "timeout_ms", None)
        )
        if double is None and isinstance(function, Workflow):
            if function.once and called is not None:
                refused = self.objects.setdefault(called.path, TestObject()).accept_run(child, called.path)
                if refused is not None:
                    return self.answer(self.now_ms, invocation.id, request.index, refused)
            self._overdue(invocation, request, timeout_ms)
            parent = (invocation.id, request.index)
            return self.decide(
                self.now_ms, lambda: self.begin(child, function, request.payload or "null", parent, called)
            )
        if double is None and function is None:
            raise AssertionError(
                f"{request.at}: `{invocation.function.name}` calls `{request.name}`, which this test does not define: "
                f"add host.on({request.name!r}, lambda input: …)"
            )
        retry = request.options.retry or getattr(function, "retry", None) or Retry()
        is_final = isinstance(function, Workflow) or name == "segno:graph"
        self._attempt(
            invocation,
            request,
            PlannedAttempt(name, double or function, request.payload or "null", child, retry, is_final),
        )
        self._overdue(invocation, request, timeout_ms)

    def _check_listed(self, invocation: Invocation, does: str, request: Request, name: str) -> None:
        if self.listed is None or name in self.listed or request.name.startswith("wasm://") or ":" in name:
            return
        raise AssertionError(
            f"{request.at}: `{invocation.function.name}` {does} `{name}`, which is not in the module of this test: a host would answer 404. "
            "Import it in app.py"
        )

    def _send(self, invocation: Invocation, request: Request, child: str) -> None:
        called = ObjectCall.parse(request.name)
        name = called.name if called else request.name
        function, double = self.functions.get(name), self.doubles.functions.get(name)
        self._check_listed(invocation, "sends", request, name)
        self.answer(self.now_ms, invocation.id, request.index, Success(json.dumps(child)))
        at_ms = max(self.now_ms, request.options.start_at_ms or 0)
        payload = request.payload or "null"
        if double is not None:
            self.decide(at_ms, lambda: double(payload))
        elif isinstance(function, Workflow):
            self.decide(at_ms, lambda: self.begin(child, function, payload, None, called))
        elif isinstance(function, Activity):
            planned = PlannedAttempt(name, function, payload, child, Retry.never(), True)
            self.decide(at_ms, lambda: planned.next(self))

    def _attempt(self, invocation: Invocation, request: Request, planned: PlannedAttempt) -> None:
        def attempt() -> None:
            if (
                self.invocations.get(invocation.id) is not invocation
                or (invocation.id, request.index) not in self._open
            ):
                return
            outcome = planned.next(self)
            if isinstance(outcome, int):
                self.decide(self.now_ms + outcome, attempt)
            else:
                self._complete(invocation.id, request.index, outcome)

        self.decide(self.now_ms, attempt)

    def _overdue(self, invocation: Invocation, request: Request, timeout_ms: int | None) -> None:
        if timeout_ms is None:
            return

        def late() -> None:
            if self.invocations.get(invocation.id) is invocation and (invocation.id, request.index) in self._open:
                child = self.invocations.get(f"{invocation.facts.invocation}/{request.index}")
                if child is not None and child.outcome is None:
                    child.outcome = FailureRecord(TIMED_OUT, "its deadline passed")
                    child.execution.abandon()
                self._complete(invocation.id, request.index, FailureRecord(TIMED_OUT, "timed out"))

        self.decide(self.now_ms + timeout_ms, late)

    def _promise(self, invocation: Invocation, request: Request) -> None:
        self._promises[request.promise] = (invocation.id, request.index)
        kept = self._kept_settlements.pop(request.promise, None)
        if kept is not None:
            self.answer(self.now_ms, invocation.id, request.index, kept)
        plan = next((plan for plan in self.planned if plan.name in (request.promise, request.name) and plan.name), None)
        if plan is not None:
            self.planned.remove(plan)
            self.decide(self.now_ms + plan.after_ms, lambda: self.settle(request.promise, plan.outcome))
        self._overdue(invocation, request, request.timeout_ms)

    def settle(self, promise: str, outcome: Outcome) -> Outcome:
        """Settles a promise. Returns the answer for whoever settled it."""
        update = self.updates.get(promise)
        if update is not None:
            if update.outcome is not None:
                return FailureRecord(CONFLICT, f"the promise `{promise}` is settled already")
            update.outcome = outcome
            return NULL
        place = self._promises.get(promise)
        if place is None and "/p/" in promise:
            self._kept_settlements[promise] = outcome
            return NULL
        if place is None:
            return FailureRecord(NOT_FOUND, f"there is no promise `{promise}`")
        if place not in self._open:
            return FailureRecord(CONFLICT, f"the promise `{promise}` is settled already")
        self.answer(self.now_ms, *place, outcome)
        return NULL

    def _cancel(self, invocation: Invocation, request: Request) -> None:
        child = self.invocations.get(f"{invocation.facts.invocation}/{request.number}")
        if child is not None:
            self.decide(self.now_ms, lambda: self.tell(child.id, CancelRequested()))
        else:
            self.answer(self.now_ms, invocation.id, request.number, FailureRecord(CANCELLED, "it was cancelled"))
        self.answer(self.now_ms, invocation.id, request.index, NULL)

    # Objects.

    def _object(self, invocation: Invocation, request: Request) -> None:
        if invocation.path is None:
            raise AssertionError(
                f"{request.at}: `{invocation.function.name}` is no function of an object: it has no state"
            )
        place = self.objects.setdefault(invocation.path, TestObject())
        match request.kind:
            case "get-state":
                invocation.reads.append(Completed(request.index, Success(place.state.get(request.name, "null"))))
            case "state-keys":
                invocation.reads.append(Completed(request.index, place.names()))
            case "peek-object-promise":
                invocation.reads.append(Completed(request.index, place.peek(request.name)))
            case "set-state":
                place.state[request.name] = request.payload or "null"
            case "clear-state":
                place.state.pop(request.name, None)
            case "clear-all-state":
                place.state.clear()
            case "wait-object-promise":
                outcome = place.settled.get(request.name)
                if outcome is None:
                    place.waiting.setdefault(request.name, []).append((invocation.id, request.index))
                else:
                    self.answer(self.now_ms, invocation.id, request.index, outcome)
            case "settle-object-promise":
                answer = self.settle_of_object(invocation.path, request.name, _outcome(request))
                self.answer(self.now_ms, invocation.id, request.index, answer)

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
        for (id, command), what in self._open.items():
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


def _outcome(request: Request) -> Outcome:
    assert request.outcome is not None
    return request.outcome


def _text(payload: Payload) -> str:
    return payload if isinstance(payload, str) else json.dumps(payload.decode())


def _seed(seed: int, id: str) -> bytes:
    import hashlib

    return hashlib.sha256(f"{seed}/{id}".encode()).digest()


__all__ = ["Exchange", "Invocation", "PlannedPromise", "Stuck", "World"]
