"""Replays an execution from every place at which it could have been interrupted, and compares its commands."""

import json
from dataclasses import dataclass
from typing import Any

from ..core.engine import Event, Payload, WorkflowFacts
from ..core.execution import Execution
from ..core.failure import NotDeterministic
from ..core.function import Workflow
from ..core.randomness import Randomness
from .clock import virtual_time
from .journal import Fields, Journal, JsonRecord, Request, shown_field

#: Longer histories are interrupted at every n-th event only, and at the last ones.
INTERRUPTIONS_MAX = 100


@dataclass
class History:
    """What an execution was told, and its journal."""

    function: Workflow[Any, Any]
    input: Payload
    facts: WorkflowFacts
    key: str | None
    journal: Journal
    events: list[tuple[int, Event]]


class ReplayedJournal(Journal):
    """Compares commands with recorded ones."""

    def __init__(self, history: History) -> None:
        super().__init__(history.facts.invocation, history.function.name, history.input, history.key, [])
        self._history = history
        self._recorded = [record for record in history.journal.records if record["kind"] in ("command", "finished")]
        self._place = 0
        self.difference: NotDeterministic | None = None

    def issue(self, request: Request, fields: Fields) -> int:
        index = super().issue(request, fields)
        shown = {name: shown_field(name, value) for name, value in fields}
        asked = {"command": request.kind, "name": request.name, "request": shown}
        self._compare(request.describe(), asked, request.at)
        return index

    def run(self, name: str) -> tuple[int, bool]:
        return super().run(name)[0], False

    def finish(self, outcome: Any) -> None:
        super().finish(outcome)
        self._compare("the end", {"outcome": self.records[-1]["outcome"]}, None)

    def continue_as_new(self, input: Payload, same_code: bool) -> None:
        super().continue_as_new(input, same_code)
        self._compare("the end", {"outcome": {}}, None)

    def _compare(self, what: str, asked: JsonRecord, at: str | None) -> None:
        recorded = self._recorded[self._place] if self._place < len(self._recorded) else None
        self._place += 1
        if self.difference is None and (
            recorded is None or any(recorded.get(key, "") != value for key, value in asked.items())
        ):
            self.difference = self._differs(recorded, f"{what}{_fields(asked)}", at)
            raise self.difference

    def check_end(self, until: int) -> None:
        """Refuses a replay that asked for less. `until`: the record up to which it was told everything."""
        expected = [
            record for record in self._history.journal.records[:until] if record["kind"] in ("command", "finished")
        ]
        if self.difference is None and self._place < len(expected):
            self.difference = self._differs(expected[self._place], "nothing", None)
        if self.difference is not None:
            raise self.difference

    def _differs(self, recorded: JsonRecord | None, asked: str, at: str | None) -> NotDeterministic:
        history = self._history
        where = "" if at is None else f" (at {at})"
        if recorded is None:
            had, place = "nothing more", len(history.journal.records)
        else:
            place = int(recorded["seq"])
            written = history.journal.places.get(place)
            name = f" `{recorded['name']}`" if recorded.get("name") else ""
            had = f"{recorded.get('command', 'the end')}{name}{_fields(recorded)}" + (
                "" if written is None else f" (at {written})"
            )
        return NotDeterministic(
            f"`{history.function.name}` ({history.facts.invocation}) does not replay: at record {place} its journal has {had}, "
            f"but a replay asked for {asked}{where}. A workflow may depend only on its input and on what it was told: "
            "not on global variables, files or the environment"
        )


def _fields(record: JsonRecord) -> str:
    fields = record.get("request") or record.get("outcome")
    return f" {json.dumps(fields, ensure_ascii=False)}" if fields else ""


def check(history: History) -> int:
    """Replays from the beginning to every event. Returns the number of replays."""
    count = len(history.events)
    step = max(1, count // INTERRUPTIONS_MAX)
    places = sorted({*range(0, count + 1, step), *range(max(0, count - 10), count + 1)})
    for place in places:
        replay(history, place)
    return len(places)


def replay(history: History, count: int) -> None:
    """Replays the first events."""
    journal = ReplayedJournal(history)
    execution = Execution(journal, history.function, history.facts)
    randomness = Randomness(history.facts.seed)
    records = [record for record in history.journal.records if record["kind"] in ("notified", "signal", "cancelled")]
    until = int(records[count]["seq"]) if count < len(records) else len(history.journal.records)
    try:
        with virtual_time(journal.now), randomness.entered():
            journal.begin(history.facts.started_at_ms)
            execution.start(history.input)
            for at_ms, event in history.events[:count]:
                journal.tell(at_ms, event)
                execution.resume(event)
        journal.check_end(until)
    except NotDeterministic:
        raise
    except Exception as error:
        if journal.difference is not None:
            raise journal.difference from error
        raise NotDeterministic(
            f"`{history.function.name}` ({history.facts.invocation}) does not replay: it fails with {error!r}"
        ) from error
    finally:
        execution.abandon()
