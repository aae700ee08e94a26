"""How each program is started, and what it is told while it runs."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Told:
    """Something that a client sends. `records`: when the journal has so many."""

    records: int
    kind: str
    name: str = ""
    value: Any = None
    #: What the answer has to be, of queries and updates.
    answer: Any = None
    #: The code of a refusal that is expected.
    refused: int | None = None


@dataclass(frozen=True)
class Scenario:
    """One program, from its start to its end."""

    program: str
    input: Any = None
    told: tuple[Told, ...] = ()
    result: Any = None
    #: The code of the failure with which it ends.
    code: int | None = None
    #: `FILE:LINE` of the defect at which it halts.
    halts: str | None = None


SCENARIOS = (
    Scenario("sequence", 3, result=[3, 6, 12]),
    Scenario("fan-out-all", 3, result=["part 0", "part 1", "part 2"]),
    Scenario("race-sleep", result="short"),
    Scenario("named-signal-timeout", told=(Told(4, "signal", "go", 7),), result=["late", 7]),
    Scenario(
        "signal-race-loser",
        told=(Told(3, "signal", "note", "hello"), Told(4, "signal", "stop")),
        result=["nothing", "hello"],
    ),
    Scenario("promise-timeout", told=(Told(4, "resolve", "answer", True),), result=[408, True]),
    Scenario("retry-then-fail", result=["attempt 3", "attempt 1"]),
    Scenario("saga-undo", code=404),
    Scenario("cancel-cleanup", 12, told=(Told(2, "cancel"),), code=499),
    Scenario("run-random", result=True),
    Scenario("object-counter", "ada", result=["ada", 5, ["2", "3"]]),
    Scenario("object-promise", "ada", result=[None, True, False, "ada"]),
    Scenario(
        "query-update",
        told=(
            Told(1, "query", "votes", answer=0),
            Told(1, "update", "vote", "ada", answer=1),
            Told(5, "update", "vote", "ada", refused=422),
            Told(5, "update", "vote", "mallory", refused=403),
            Told(9, "query", "votes", answer=1),
            Told(9, "update", "close"),
        ),
        result=["ada"],
    ),
    Scenario("generation", 0, told=(Told(1, "signal", "add", 4), Told(2, "signal", "add", 7)), result=11),
    Scenario("child-send", 1, result=[2, "ID/0"]),
    Scenario("http-step", "URL", result=[201, "ch-1", 404, "changed my mind; saga `pay`: `POST URL/pay` undone"]),
    Scenario("limits-labels", {"customer": "ada"}, result="ada"),
    Scenario("unhandled-defect", 0, halts="unhandled_defect.py:7"),
)
