"""A run of a graph in a test. It is executed as a workflow without a journal, whose commands are the nodes."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ...codec import ANY, encoded, plain
from ...core.context import Context
from ...core.duration import milliseconds
from ...core.engine import CancelRequested, HttpRequest
from ...core.failure import Failure
from ...core.function import Workflow
from ...core.graph.template import INPUT, MISSING, filled, part_of
from ...core.options import ATTEMPT_TIMEOUT, CallOptions
from ...core.waits import Command
from ..invocation import Invocation
from .plan import Plan, PlanNode
from .progress import Progress, holds

if TYPE_CHECKING:
    from ..world import World

#: The function that runs plans.
GRAPH = "segno:graph"


class GraphRun:
    """One run. Its steps are decided by the rules of a host."""

    def __init__(self, world: "World", id: str, plan: Plan, input: Any) -> None:
        self._world, self._id, self._plan, self._input = world, id, plan, input
        self._progress = Progress(plan)
        self._outputs: dict[str, Any] = {}
        self._failed: dict[str, Failure] = {}
        #: The signals that have come, and the nodes that wait for the others.
        self._delivered: dict[str, Any] = {}
        self._waiting: dict[str, list[str]] = {}
        self._ended: asyncio.Future[Any] | None = None
        self._children: list[str] = []
        #: The run as a workflow.
        self.workflow: Workflow[Any, Any] = Workflow(self._run, plan.name or GRAPH, "workflow", None, ANY, None, "ctx")

    @property
    def _invocation(self) -> Invocation:
        return self._world.invocations[self._id]

    async def _run(self, ctx: Context) -> Any:
        self._ended = asyncio.get_running_loop().create_future()
        signals = {str(node.content) for node in self._plan.nodes.values() if node.kind == "signal"}
        for signal in sorted(signals):
            index, _ = self._engine.promise(f"sig/{signal}", None)
            self._watch(index, f"sig/{signal}", partial(self._deliver, signal))
        self._advance()
        try:
            return await self._ended
        finally:
            for child in self._children:
                self._world.decide(self._world.now_ms, partial(self._world.tell, child, CancelRequested()))

    @property
    def _engine(self) -> Any:
        return self._invocation.execution.engine

    def _advance(self) -> None:
        """Starts the nodes that can run, and ends the run if it has settled."""
        assert self._ended is not None
        if self._ended.done():
            return
        while nodes := self._progress.dispatch():
            for name in nodes:
                when = self._plan.nodes[name].fields.get("when")
                if when is None or holds(when, self._source):
                    self._start(name, 0)
                else:
                    self._progress.record(name, "skipped")
        match self._progress.end:
            case "completed":
                self._ended.set_result(
                    {name: self._outputs[name] for name in self._plan.outputs if name in self._outputs}
                )
            case "failed":
                self._ended.set_exception(self._failure())

    def _source(self, origin: str, at: str) -> Any:
        return part_of(self._input if origin == INPUT else self._outputs.get(origin, MISSING), at)

    def _input_of(self, node: PlanNode) -> Any:
        if "input" in node.fields:
            return filled(node.fields["input"], self._source)
        if not node.needs:
            return self._input
        return {need: self._outputs[need] for need in node.needs if need in self._outputs}

    def _start(self, name: str, attempt: int) -> None:
        node = self._plan.nodes[name]
        if node.kind == "signal":
            return self._wait(name, node)
        try:
            index = self._issue(name, node)
        except Failure as failure:
            return self._end(name, failure)
        self._watch(index, f"n/{name}/{attempt}", lambda answer: self._answered(name, attempt, answer))

    def _issue(self, name: str, node: PlanNode) -> int:
        engine, content = self._engine, node.content
        labels: tuple[tuple[str, str], ...] = ()
        if (limit := node.fields.get("attempt_timeout")) is not None:
            labels = ((ATTEMPT_TIMEOUT, str(milliseconds("attempt_timeout", limit))),)
        options = CallOptions(timeout_ms=node.timeout_ms, retry=node.retry, labels=labels)
        match node.kind:
            case "sleep":
                return int(engine.sleep_until(self._world.now_ms + node.length_ms))
            case "promise":
                return int(engine.promise(name, node.timeout_ms)[0])
            case "http":
                return int(engine.http(_request(filled(content, self._source)), options))
            case "graph" if not isinstance(content, str):
                return int(engine.call(GRAPH, _json({"plan": content, "input": self._input_of(node)}), options))
        function = f"{content}#{node.fields['function']}" if "function" in node.fields else str(content)
        return int(engine.call(function, _json(self._input_of(node)), options))

    def _watch(self, index: int, id: str, ended: Callable[[Any], None]) -> None:
        """Gives a command the id that it has on a host, and waits for it."""
        request = self._invocation.journal.requests[-1]
        request.promise = f"{self._id}/{id}"
        if request.kind == "call":
            self._children.append(request.promise)
        command: Command[Any] = Command(self._invocation.execution, index, plain)

        def done(future: Any) -> None:
            error = future.exception() if not future.cancelled() else None
            if future.cancelled() or self._ended is None or self._ended.done():
                return
            ended(error if error is not None else future.result())
            self._advance()

        command.add_done_callback(done)

    def _answered(self, name: str, attempt: int, answer: Any) -> None:
        node = self._plan.nodes[name]
        delay_ms = self._repeats(node, attempt, answer) if isinstance(answer, Failure) else None
        if delay_ms is None:
            return self._end(name, answer)
        index = self._engine.sleep_until(self._world.now_ms + delay_ms)
        self._watch(index, f"n/{name}/{attempt + 1}/delay", lambda _: self._start(name, attempt + 1))

    def _repeats(self, node: PlanNode, attempt: int, failure: Failure) -> int | None:
        """The delay before the next attempt of a workflow. Activities and requests are repeated where they run."""
        is_workflow = isinstance(self._world.functions.get(str(node.content)), Workflow)
        if node.retry is None or node.kind != "call" or not is_workflow or failure.is_final:
            return None
        if node.retry.max_attempts is not None and attempt + 1 >= node.retry.max_attempts:
            return None
        return min(int(node.retry.initial_ms * node.retry.factor**attempt), node.retry.max_ms)

    def _wait(self, name: str, node: PlanNode) -> None:
        signal = str(node.content)
        if signal in self._delivered:
            return self._end(name, self._delivered[signal])
        self._progress.record(name, "waiting")
        self._waiting.setdefault(signal, []).append(name)
        if len(self._waiting[signal]) == 1 and node.timeout_ms is not None:
            index = self._engine.sleep_until(self._world.now_ms + node.timeout_ms)
            late = Failure(408, "timed out")
            self._watch(index, f"sig/{signal}/timeout", lambda _: self._deliver(signal, late))

    def _deliver(self, signal: str, answer: Any) -> None:
        if signal in self._delivered:
            return
        self._delivered[signal] = answer
        for name in self._waiting.get(signal, []):
            self._end(name, answer)

    def _end(self, name: str, answer: Any) -> None:
        if isinstance(answer, Failure):
            self._failed[name] = answer
            self._progress.record(name, "failed")
        else:
            self._outputs[name] = answer
            self._progress.record(name, "completed")

    def _failure(self) -> Failure:
        first, failure = next(iter(self._failed.items()))
        others = len(self._failed) - 1
        more = {0: "", 1: "; another node failed as well"}.get(others, f"; {others} other nodes failed as well")
        failed = {name: _detail(one) for name, one in sorted(self._failed.items())}
        not_run = [name for name in self._progress.unfinished if name not in self._failed]
        return Failure(500, f"node `{first}` failed: {failure.message}{more}", {"failed": failed, "not_run": not_run})


def _detail(failure: Failure) -> dict[str, Any]:
    told: dict[str, Any] = {"code": failure.code, "message": failure.message}
    return told if failure.details is None else {**told, "details": failure.details}


def _json(value: Any) -> str:
    return encoded(ANY, value, "the input of a node")


def _request(given: dict[str, Any]) -> HttpRequest:
    headers = given.get("headers") or {}
    for part, value in (("url", given.get("url")), *((f"header `{name}`", value) for name, value in headers.items())):
        if not isinstance(value, str):
            raise Failure(400, f"the {part} of the request is no text: {json.dumps(value)}")
    body = given.get("body")
    content = None if body is None else _json(body)
    return HttpRequest(given.get("method", "GET"), given["url"], tuple(headers.items()), content)
