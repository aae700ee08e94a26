"""A graph under construction: its nodes, in the form of a plan."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from ...codec import encoded, plain
from ..duration import Duration, milliseconds
from ..function import Function
from ..options import Retry
from .place import Condition, Output, Place, has_places, template_of
from .template import INPUT

In = TypeVar("In")
Out = TypeVar("Out")
T = TypeVar("T")
After = Output[Any] | Sequence[Output[Any]]
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class GraphBuilder:
    """Adds nodes to a graph."""

    def __init__(self) -> None:
        #: The nodes in the form of a plan.
        self.nodes: dict[str, dict[str, Any]] = {}

    @overload
    def call(self, name: str, function: Function[Any, Out], input: Any = None, /, *, when: Condition, after: After = (), timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, once: bool = False) -> Output[Out | None]: ...  # fmt: skip
    @overload
    def call(self, name: str, function: Function[Any, Out], input: Any = None, /, *, after: After = (), timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, once: bool = False) -> Output[Out]: ...  # fmt: skip
    @overload
    def call(self, name: str, function: str, input: Any = None, /, *, when: Condition | None = None, after: After = (), timeout: Duration | None = None, attempt_timeout: Duration | None = None, retry: Retry | None = None, once: bool = False) -> Output[Any]: ...  # fmt: skip
    def call(self, name: str, function: Any, input: Any = None, /, **options: Any) -> Output[Any]:
        """Calls a function of this module, or one by its address.

        Args:
            name: the name of the node.
            function: an activity, a workflow, another graph, or an address: `"Cart@ada/add"`, `"wasm://payments/charge"`,
                `"poll://any@group#charge"` of an external worker, whose input is the list of its arguments.
            input: an output, a part of one, a constant, or a list, tuple, dict or dataclass of these.
            when: the node runs only if this holds; if not, it is skipped, and its output is None.
            after: nodes that end before this one begins, beside those whose outputs it uses.
            timeout: the time until the node fails with code 408.
            attempt_timeout: the longest time for one attempt of an activity.
            retry: when and how often a failed attempt is repeated, in place of the function's own policy.
            once: the node begins only once, and fails with code 520 if its host is lost.
        """
        from ..context import function_name

        address = function_name(function)
        does: dict[str, Any] = {"call": address}
        if not isinstance(function, Function) and "#" in address:
            worker, _, called = address.partition("#")
            does = {"call": worker, "function": called}
        if isinstance(function, Function) and function.input is not None and not has_places(input):
            input = plain(encoded(function.input, input, f"the input of the node `{name}`"))
        return self._add(name, does, {"input": input}, **options)

    def http(
        self,
        name: str,
        method: str,
        url: str | Place[str],
        *,
        headers: Mapping[str, str | Place[str]] | None = None,
        json: Any = None,
        **options: Any,
    ) -> Output[dict[str, Any]]:
        """Sends a request, which the host retries. The output has `status`, `headers` and `body`.

        Each part may be an output. The options are those of `call`.
        """
        sent = dict(headers or {})
        if json is not None and not any(header.lower() == "content-type" for header in sent):
            sent["content-type"] = "application/json"
        request = {"method": method.upper(), "url": url, "headers": sent, "body": json}
        return self._add(name, {}, {"http": request}, **options)

    def sleep(self, name: str, length: Duration, *, after: After = (), when: Condition | None = None) -> Output[None]:
        """Waits for this time."""
        does = {"sleep": f"{milliseconds(f'the length of the node `{name}`', length)}ms"}
        return self._add(name, does, {}, after=after, when=when)

    @overload
    def promise(self, name: str, type: type[T], *, shows: Any = None, timeout: Duration | None = None, after: After = (), when: Condition | None = None) -> Output[T]: ...  # fmt: skip
    @overload
    def promise(self, name: str, *, shows: Any = None, timeout: Duration | None = None, after: After = (), when: Condition | None = None) -> Output[Any]: ...  # fmt: skip
    def promise(self, name: str, type: Any = None, *, shows: Any = None, **options: Any) -> Output[Any]:
        """Waits until somebody settles the promise `RUN/n/NODE/0`; `shows` is what a person sees."""
        return self._add(name, {"promise": True}, {"input": shows}, **options)

    @overload
    def signal(self, name: str, type: type[T], *, signal: str | None = None, timeout: Duration | None = None, after: After = (), when: Condition | None = None) -> Output[T]: ...  # fmt: skip
    @overload
    def signal(self, name: str, *, signal: str | None = None, timeout: Duration | None = None, after: After = (), when: Condition | None = None) -> Output[Any]: ...  # fmt: skip
    def signal(self, name: str, type: Any = None, *, signal: str | None = None, **options: Any) -> Output[Any]:
        """Waits for a signal of the run, which is the promise `RUN/sig/SIGNAL`; by default that with the node's name."""
        return self._add(name, {"signal": signal or name}, {}, **options)

    def finder(self, needs: set[str]) -> Callable[[Place[Any]], None]:
        """Notes the nodes of places."""

        def found(place: Place[Any]) -> None:
            if place.owner is not self:
                raise TypeError(f"{place!r} belongs to another graph")
            if place.origin != INPUT:
                needs.add(place.origin)

        return found

    def _add(
        self,
        name: str,
        does: dict[str, Any],
        templates: dict[str, Any],
        *,
        after: After = (),
        when: Condition | None = None,
        timeout: Duration | None = None,
        attempt_timeout: Duration | None = None,
        retry: Retry | None = None,
        once: bool = False,
    ) -> Output[Any]:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name == INPUT:
            raise ValueError(
                f"{name!r} is no name of a node: it has 1 to 64 letters, digits, '_' and '-', and is not 'input'"
            )
        if name in self.nodes:
            raise ValueError(f"there are two nodes `{name}` in the graph: give each its own name")
        needs: set[str] = set()
        found = self.finder(needs)
        node = dict(does)
        for field, template in templates.items():
            node[field] = template_of(template, f"the input of the node `{name}`", found)
        for before in [after] if isinstance(after, Output) else after:
            if not isinstance(before, Output):
                raise TypeError(f"`after` of the node `{name}` takes outputs of nodes")
            found(before)
        if when is not None:
            if not isinstance(when, Condition):
                raise TypeError(f"`when` of the node `{name}` takes a condition, such as `output.is_(True)`")
            for place in when.places:
                found(place)
            node["when"] = when.expression
        for option, length in (("timeout", timeout), ("attempt_timeout", attempt_timeout)):
            if length is not None:
                node[option] = f"{milliseconds(f'`{option}` of the node `{name}`', length)}ms"
        if once and retry is not None:
            raise ValueError(f"the node `{name}` has `once` and `retry`: what begins once is not repeated")
        if once:
            node["once"] = True
        if retry is not None:
            node["retry"] = _retry(name, retry)
        if needs:
            node["needs"] = sorted(needs)
        self.nodes[name] = node
        return Output(self, name)


def _retry(name: str, retry: Retry) -> dict[str, Any]:
    if retry.jitter != Retry().jitter or retry.non_retryable:
        raise ValueError(
            f"`retry` of the node `{name}` has no `jitter` and no `non_retryable`: set them at the function"
        )
    most = {} if retry.max_attempts is None else {"max_attempts": retry.max_attempts}
    return {"initial": f"{retry.initial_ms}ms", "factor": retry.factor, "max": f"{retry.max_ms}ms", **most}
