"""`@graph`: a function that builds a graph, as a workflow."""

import collections.abc
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from types import GenericAlias
from typing import Any, TypeVar, overload

from ..defect import place_of_function
from ..duration import Duration, milliseconds
from ..function import Workflow, checked_name, hints_of, typed
from ..options import Limit
from .builder import GraphBuilder
from .place import Output, Place, template_of
from .template import INPUT, filled, part_of

In = TypeVar("In")
Out = TypeVar("Out")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")


@dataclass(eq=False, repr=False)
class Graph(Workflow[In, Out]):
    """A graph: it is called, started and tested as a workflow. Made by `@graph`."""

    build: Callable[..., Any] = GraphBuilder
    max_parallel: int | None = None
    fail_fast: bool = False

    @property
    def source(self) -> Callable[..., Any]:
        """The function of the author."""
        return self.build

    def plan(self) -> dict[str, Any]:
        """The plan, as the host gets it."""
        return self.built()[0]

    def check(self) -> None:
        """Builds it, so that what is wrong is raised."""
        self.built()

    def built(self) -> tuple[dict[str, Any], Any]:
        """The plan, and the template of the result."""
        builder = GraphBuilder()
        outputs: set[str] = set()
        takes_input = self.input is not None
        try:
            returned = self.build(builder, Place(builder, INPUT)) if takes_input else self.build(builder)
            result = template_of(returned, f"what the graph `{self.name}` returns", builder.finder(outputs))
            if not outputs:
                raise TypeError("it returns no output of a node: return one, or several in a tuple, a list or a dict")
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.place}: the graph `{self.name}`: {error}") from error
        settings: dict[str, Any] = {} if self.max_parallel is None else {"max_parallel": self.max_parallel}
        if self.fail_fast:
            settings["on_failure"] = "fail-fast"
        return {"name": self.name, **settings, "outputs": sorted(outputs), "nodes": builder.nodes}, result


@overload
def graph(function: Callable[[GraphBuilder], Output[Out]], /) -> Graph[None, Out]: ...
@overload
def graph(function: Callable[[GraphBuilder, Place[In]], Output[Out]], /) -> Graph[In, Out]: ...
@overload
def graph(function: Callable[[GraphBuilder], tuple[Output[A], Output[B]]], /) -> Graph[None, tuple[A, B]]: ...
@overload
def graph(function: Callable[[GraphBuilder, Place[In]], tuple[Output[A], Output[B]]], /) -> Graph[In, tuple[A, B]]: ...
@overload
def graph(
    function: Callable[[GraphBuilder, Place[In]], tuple[Output[A], Output[B], Output[C]]], /
) -> Graph[In, tuple[A, B, C]]: ...
@overload
def graph(function: Callable[[GraphBuilder], Any], /) -> Graph[None, Any]: ...
@overload
def graph(function: Callable[[GraphBuilder, Place[In]], Any], /) -> Graph[In, Any]: ...
@overload
def graph(
    *,
    name: str | None = None,
    timeout: Duration | None = None,
    limit: Limit | None = None,
    max_parallel: int | None = None,
    fail_fast: bool = False,
) -> "GraphDecorator": ...
def graph(function: Any = None, /, **about: Any) -> Any:
    """Makes a graph of a `def`: steps with their dependencies, which the host runs, as many as possible at the same time.

    The function takes a `GraphBuilder` and, annotated as `Place[Type]`, the input. It builds, and does nothing else. What
    it returns, an `Output` or several in a tuple, a list or a dict, is the result.

    Args:
        name: the name for calls, in place of the function's own.
        timeout: the time from the call to the deadline of the graph; a call may set another.
        limit: how many executions may run, and how fast they begin.
        max_parallel: how many nodes run at the same time, from 1 to 1000; 16 by default.
        fail_fast: the first failure ends the run. By default, nodes that do not depend on the failed one finish first.
    """
    return GraphDecorator(**about) if function is None else GraphDecorator(**about)(function)


class GraphDecorator:
    """`@graph(…)` with arguments."""

    def __init__(
        self,
        *,
        name: str | None = None,
        timeout: Duration | None = None,
        limit: Limit | None = None,
        max_parallel: int | None = None,
        fail_fast: bool = False,
    ) -> None:
        if max_parallel is not None and not (type(max_parallel) is int and 1 <= max_parallel <= 1_000):
            raise ValueError(f"max_parallel is {max_parallel!r}: write a whole number from 1 to 1000")
        self._about = (name, timeout, limit, max_parallel, fail_fast)

    @overload
    def __call__(self, function: Callable[[GraphBuilder], Output[Out]], /) -> Graph[None, Out]: ...
    @overload
    def __call__(self, function: Callable[[GraphBuilder, Place[In]], Output[Out]], /) -> Graph[In, Out]: ...
    @overload
    def __call__(self, function: Callable[[GraphBuilder], Any], /) -> Graph[None, Any]: ...
    @overload
    def __call__(self, function: Callable[[GraphBuilder, Place[In]], Any], /) -> Graph[In, Any]: ...
    def __call__(self, function: Any, /) -> Any:
        name, timeout, limit, max_parallel, fail_fast = self._about
        place = place_of_function(function)
        label = getattr(function, "__name__", repr(function))
        if not callable(function) or inspect.iscoroutinefunction(function):
            raise TypeError(f"{place}: the graph `{label}` has to be a `def`: it only builds, and waits for nothing")
        parameters = list(inspect.signature(function).parameters)
        if len(parameters) not in (1, 2):
            raise TypeError(f"{place}: the graph `{label}` takes a `GraphBuilder` and at most one input")
        hints = hints_of(function)
        takes_input = len(parameters) == 2
        input_type = value_type(hints.get(parameters[1], Any)) if takes_input else None
        made: Graph[Any, Any] = Graph(
            run=_running(function, lambda: made, takes_input),
            name=checked_name("graph", name or label),
            kind="workflow",
            input=typed(function, "the input", input_type) if takes_input else None,
            output=typed(function, "the result", value_type(hints.get("return", Any))),
            input_parameter="input" if takes_input else None,
            context_parameter="ctx",
            timeout_ms=None if timeout is None else milliseconds("timeout", timeout),
            limit=limit,
            build=function,
            max_parallel=max_parallel,
            fail_fast=fail_fast,
        )
        return made


def _running(build: Any, made: Callable[[], Graph[Any, Any]], takes_input: bool) -> Callable[..., Any]:
    """The workflow that runs the graph."""

    async def run(ctx: Any, input: Any = None) -> Any:
        from ...codec import ANY, decoded, encoded, plain

        graph = made()
        plan, result = graph.built()
        given = plain(encoded(graph.input or ANY, input, "input")) if takes_input else None
        outputs = await ctx.graph(plan, given)
        told = filled(result, lambda origin, at: part_of(given if origin == INPUT else outputs.get(origin), at))
        return decoded(graph.output, encoded(ANY, told, "the result"), "the result")

    run.__doc__, run.__module__, run.__name__ = build.__doc__, build.__module__, build.__name__
    return run


def value_type(annotation: Any) -> Any:
    """The type of the values of an annotation with places: `tuple[Output[int], Output[str]]` is `tuple[int, str]`."""
    origin: Any = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if isinstance(origin, type) and issubclass(origin, Place):
        return arguments[0]
    if isinstance(annotation, type) and issubclass(annotation, Place):
        return Any
    if origin in (tuple, list, dict, collections.abc.Sequence, collections.abc.Mapping):
        return GenericAlias(origin, tuple(one if one is ... else value_type(one) for one in arguments))
    return annotation
