"""What a test keeps of each execution, and of what it plans."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ..core.engine import Event, Outcome, Payload, WorkflowFacts
from ..core.execution import Execution
from ..core.function import Workflow
from ..core.randomness import Randomness
from .journal import Journal
from .replay import History


@dataclass
class Invocation:
    """One execution of a workflow, with its generations."""

    id: str
    function: Workflow[Any, Any]
    input: Payload
    facts: WorkflowFacts
    journal: Journal
    execution: Execution
    randomness: Randomness
    path: str | None
    key: str | None
    parent: tuple[str, int] | None
    events: list[tuple[int, Event]] = field(default_factory=list)
    reads: deque[Event] = field(default_factory=deque)
    outcome: Outcome | None = None
    signals: list[tuple[str, Payload]] = field(default_factory=list)
    #: True for a run of a graph, which has no journal.
    is_graph: bool = False

    def history(self) -> History:
        """What a replay needs."""
        return History(self.function, self.input, self.facts, self.key, self.journal, self.events)


@dataclass
class Exchange:
    """A query or an update of a test, and its answer."""

    kind: str
    name: str
    input: Payload
    outcome: Outcome | None = None


@dataclass
class PlannedPromise:
    """How a test settles a promise."""

    name: str
    after_ms: int
    outcome: Outcome
