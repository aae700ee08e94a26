"""The rules of a run: which nodes begin, what a failure closes, and when the run has ended."""

from collections.abc import Callable
from typing import Any, Literal

from ...core.graph.template import MISSING
from .plan import Plan

Status = Literal["pending", "running", "waiting", "completed", "skipped", "failed"]


class Progress:
    """The state of a run."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._status: dict[str, Status] = dict.fromkeys(plan.nodes, "pending")

    def dispatch(self) -> list[str]:
        """Marks nodes that can run as running, ascending by name, as many as the plan allows at the same time."""
        if self.end is not None:
            return []
        room = self._plan.max_parallel - len(self._having("running"))
        nodes = [name for name in self._having("pending") if self._is_unblocked(name)][: max(0, room)]
        self._status.update(dict.fromkeys(nodes, "running"))
        return nodes

    def record(self, name: str, status: Status) -> None:
        """A node ended, or waits for a signal. A failure closes the nodes that need it, directly or indirectly."""
        self._status[name] = status
        if status != "failed":
            return
        for other, node in self._plan.nodes.items():
            if name in node.needs and self._status[other] == "pending":
                self.record(other, "failed")

    @property
    def unfinished(self) -> list[str]:
        """The nodes that have neither completed nor been skipped."""
        return [name for name, status in self._status.items() if status not in ("completed", "skipped")]

    @property
    def end(self) -> Literal["completed", "failed"] | None:
        """How the run ended; None: it has not."""
        has_failed = bool(self._having("failed"))
        if has_failed and self._plan.fails_fast:
            return "failed"
        if self._having("pending", "running", "waiting"):
            return None
        return "failed" if has_failed else "completed"

    def _having(self, *wanted: Status) -> list[str]:
        return [name for name, status in self._status.items() if status in wanted]

    def _is_unblocked(self, name: str) -> bool:
        return all(self._status[need] in ("completed", "skipped") for need in self._plan.nodes[name].needs)


def holds(condition: dict[str, Any], source: Callable[[str, str], Any]) -> bool:
    """True if a condition holds. A comparison with a missing value, or with one of another type, is false."""
    if "all" in condition:
        return all(holds(one, source) for one in condition["all"])
    if "any" in condition:
        return any(holds(one, source) for one in condition["any"])
    if "not" in condition:
        return not holds(condition["not"], source)
    found = source(condition["from"], condition.get("at", ""))
    test, operand = next((key, value) for key, value in condition.items() if key not in ("from", "at"))
    match test:
        case "is":
            return _equal(None if found is MISSING else found, operand)
        case "is_not":
            return not _equal(None if found is MISSING else found, operand)
        case "exists":
            return bool((found is not MISSING) == operand)
    if not (_is_number(found) and _is_number(operand)):
        return False
    tests = {
        "above": found > operand,
        "below": found < operand,
        "at_least": found >= operand,
        "at_most": found <= operand,
    }
    return bool(tests[test])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)
