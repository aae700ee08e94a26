"""Queries and updates of workflows."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ..codec import Codec, decoded, encoded
from .defect import place_of_function
from .function import Function, Workflow, checked_name, hints_of, typed


@dataclass(eq=False)
class Handler:
    """A query or an update of a workflow."""

    run: Callable[..., Any]
    name: str
    kind: Literal["query", "update"]
    workflow: Workflow[Any, Any]
    input: Codec | None
    output: Codec
    context_parameter: str | None
    validate: Callable[..., Any] | None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Calls the function that was decorated."""
        return self.run(*arguments, **named)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.workflow.name}.{self.name}>"

    @property
    def summary(self) -> str | None:
        """The first paragraph of the documentation."""
        return inspect.cleandoc(self.run.__doc__).split("\n\n")[0] if self.run.__doc__ else None

    def arguments(self, shared: Any, payload: str | bytes) -> list[Any]:
        """The arguments of a call, without the context. Raises a `Failure` if the input does not fit."""
        return [shared] if self.input is None else [shared, decoded(self.input, payload, "input")]

    def answer(self, value: Any) -> str:
        """The answer as JSON."""
        return encoded(self.output, value, f"the answer of `{self.name}`")


def declare(
    of: Workflow[Any, Any], kind: Literal["query", "update"], function: Any, name: str | None, validate: Any
) -> Any:
    """Adds a handler to a workflow, or returns the decorator that does."""
    if function is None:
        return lambda decorated: declare(of, kind, decorated, name, validate)
    from .context import Context

    label, place = getattr(function, "__name__", repr(function)), place_of_function(function)
    if isinstance(function, (Function, Handler)):
        raise TypeError(f"{place}: `{label}` is a {function.kind} already")
    if of.access is not None:
        raise TypeError(f"{place}: functions of objects have no {kind}: write a shared function")
    if inspect.iscoroutinefunction(function) != (kind == "update"):
        raise TypeError(
            f"{place}: `{label}` has to be {'an `async def`, as updates are' if kind == 'update' else 'a `def`, as queries are'}"
        )
    hints = hints_of(function)
    others, context_parameter = [], None
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if (isinstance(hint, type) and issubclass(hint, Context)) or (hint is None and parameter.name == "ctx"):
            context_parameter = parameter.name
        else:
            others.append(parameter.name)
    if not 1 <= len(others) <= 2 or (kind == "query" and context_parameter):
        wanted = (
            "`(shared)` or `(shared, input)`"
            if kind == "query"
            else "`(shared)`, `(shared, input)` or `(shared, input, ctx)`"
        )
        raise TypeError(f"{place}: the {kind} `{label}` takes {wanted}")
    handler = Handler(
        function,
        checked_name(kind, name or label),
        kind,
        of,
        typed(function, "the input", hints.get(others[1], Any)) if len(others) == 2 else None,
        typed(function, "the answer", hints.get("return", Any)),
        context_parameter,
        validate,
    )
    if (kind, handler.name) in of.handlers:
        raise ValueError(
            f"{place}: the workflow `{of.name}` has two handlers of the kind {kind} with the name `{handler.name}`"
        )
    of.handlers[kind, handler.name] = handler
    return handler
