"""Reads a plan as a host does: all faults are found in one pass."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...core.duration import milliseconds
from ...core.failure import REFUSED, Failure
from ...core.graph.template import INPUT
from ...core.options import Retry

KINDS = ("call", "http", "sleep", "promise", "signal", "graph")
#: The kinds that have a field.
FIELDS: dict[str, tuple[str, ...]] = {
    "needs": KINDS,
    "when": KINDS,
    "function": ("call",),
    "input": ("call", "promise", "graph"),
    "retry": ("call", "http"),
    "timeout": ("call", "http", "promise", "signal", "graph"),
    "attempt_timeout": ("call", "http"),
    "once": ("call", "http"),
}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
Fault = Callable[[str, str], None]


@dataclass(frozen=True)
class PlanNode:
    """A node of a plan. `content` is that of the field of its kind, and `fields` has the others."""

    kind: str
    content: Any
    needs: tuple[str, ...]
    fields: dict[str, Any]
    retry: Retry | None
    length_ms: int
    timeout_ms: int | None


@dataclass(frozen=True)
class Plan:
    """A plan that can be run. Its nodes ascend by name."""

    name: str | None
    max_parallel: int
    fails_fast: bool
    outputs: tuple[str, ...]
    nodes: dict[str, PlanNode]


def read_plan(given: Any) -> Plan:
    """The plan. Raises a `Failure` with the code 422 that lists its faults."""
    faults: list[str] = []
    plan = _read(given, lambda path, message: faults.append(f"{path}: {message}" if path else message))
    if plan is None or faults:
        raise Failure(REFUSED, "\n".join(faults))
    return plan


def _read(given: Any, fault: Fault) -> Plan | None:
    if not isinstance(given, dict):
        fault("", "a plan is a table with `nodes`")
        return None
    _unknown(given, "", ("name", "max_parallel", "on_failure", "outputs", "nodes"), fault)
    most, policy = given.get("max_parallel", 16), given.get("on_failure", "drain")
    if type(most) is not int or not 1 <= most <= 1_000:
        fault("max_parallel", "write a whole number from 1 to 1000")
    if policy not in ("drain", "fail-fast"):
        fault("on_failure", f"`{policy}` is no policy: write `drain` or `fail-fast`")
    drafts = given.get("nodes")
    names = sorted(drafts) if isinstance(drafts, dict) else []
    if not isinstance(drafts, dict) or not names:
        fault("nodes", "a plan has at least one node: write a table for each, with its name as the key")
        return None
    nodes = {}
    for name in names:
        path = f"nodes.{name}"
        if not _NAME.fullmatch(name):
            fault(path, f"`{name}` is no name of a node: it has 1 to 64 letters, digits, `-` or `_`: rename it")
        elif name == INPUT:
            fault(path, "`input` is the name of the input of the run: rename this node")
        else:
            nodes[name] = _node(path, drafts[name], names, fault)
    for name in given.get("outputs") or ():
        if name not in names:
            fault("outputs", f"there is no node `{name}`: add it, or remove it here")
    if cycle := _cycle(nodes):
        path = " → ".join(f"`{name}`" for name in cycle)
        fault("nodes", f"the graph has a cycle, {path}: remove one of these from the `needs` of the next")
    needed = {need for node in nodes.values() for need in node.needs}
    outputs = given.get("outputs") or [name for name in names if name not in needed]
    return Plan(given.get("name"), most, policy == "fail-fast", tuple(sorted(outputs)), nodes)


def _node(path: str, draft: Any, names: list[str], fault: Fault) -> PlanNode:
    fields: dict[str, Any] = draft if isinstance(draft, dict) else {}
    _unknown(fields, path, (*KINDS, *FIELDS), fault)
    kinds = [kind for kind in KINDS if kind in fields]
    if not kinds:
        fault(path, f"the node does nothing: write exactly one of {_listed(KINDS)}")
    elif len(kinds) > 1:
        fault(path, f"the node has {_listed(kinds)}: keep exactly one")
    kind = kinds[0] if kinds else "call"
    for field, of in FIELDS.items():
        if field in fields and kind not in of:
            fault(f"{path}.{field}", f"`{field}` is only for {_listed(of)}: remove it")
    if "once" in fields and "retry" in fields:
        fault(f"{path}.once", "a node that is begun once is not repeated: remove `retry`")
    needs = fields.get("needs") or []
    for need in needs:
        if need not in names:
            fault(f"{path}.needs", f"there is no node `{need}`: add it, or remove it here")
    for origin in (
        *_references(fields.get("input")),
        *_references(fields.get("http")),
        *_references(fields.get("when")),
    ):
        if origin == INPUT or origin in needs:
            continue
        here = f"`{origin}` is not among the `needs` of this node: add it there"
        fault(path, here if origin in names else f"there is no node `{origin}`")

    def length(field: str) -> int | None:
        try:
            return None if fields.get(field) is None else milliseconds(field, fields[field])
        except (TypeError, ValueError) as error:
            fault(f"{path}.{field}", str(error))
            return None

    length("attempt_timeout")
    retry = _retry(fields, path, fault)
    slept = length("sleep") if kind == "sleep" else 0
    return PlanNode(kind, fields.get(kind), tuple(sorted(set(needs))), fields, retry, slept or 0, length("timeout"))


def _retry(fields: dict[str, Any], path: str, fault: Fault) -> Retry | None:
    if "once" in fields:
        return Retry.never()
    try:
        return Retry(**fields["retry"]) if "retry" in fields else None
    except (TypeError, ValueError) as error:
        fault(f"{path}.retry", str(error))
        return None


def _unknown(fields: dict[str, Any], path: str, known: tuple[str, ...], fault: Fault) -> None:
    for field in fields:
        if field not in known:
            place = f"{path}.{field}" if path else field
            fault(place, f"there is no field `{field}` here: the fields are {_listed(known)}")


def _listed(names: "tuple[str, ...] | list[str]") -> str:
    return ", ".join(f"`{name}`" for name in names)


def _references(value: Any) -> list[str]:
    """The nodes that a template or a condition refers to."""
    if isinstance(value, list):
        return [origin for one in value for origin in _references(one)]
    if not isinstance(value, dict):
        return []
    origin = value.get("$from", value.get("from"))
    if isinstance(origin, str):
        return [origin]
    return [origin for one in value.values() for origin in _references(one)]


def _cycle(nodes: dict[str, PlanNode]) -> list[str]:
    """A cycle of names; empty if there is none."""
    left = dict(nodes)
    while ended := [name for name, node in left.items() if not any(need in left for need in node.needs)]:
        for name in ended:
            del left[name]
    path: list[str] = []
    at = next(iter(left), None)
    while at is not None:
        if at in path:
            return [*path[path.index(at) :], at][::-1]
        path.append(at)
        at = next((need for need in left[at].needs if need in left), None)
    return []
