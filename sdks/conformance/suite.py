"""The programs, and where they differ from what is expected of them."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from journal import differences, outcome_of

HERE = Path(__file__).parent


@dataclass
class Result:
    """What one execution of a program gave."""

    journals: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    answers: list[Any] = field(default_factory=list)
    #: `FILE:LINE` at which it halted.
    halted_at: str | None = None
    error: str | None = None
    #: The streams that the scenario names. None if the test kit does not show them.
    streams: dict[str, Any] | None = None


class Suite:
    """The scenarios, the kept journals, and the differences that were found."""

    def __init__(self, names: list[str]) -> None:
        scenarios = json.loads((HERE / "scenarios.json").read_text())
        unknown = set(names) - set(scenarios["programs"])
        if unknown:
            sys.exit(f"there is no program {', '.join(sorted(unknown))} in scenarios.json")
        self.settings = scenarios["settings"]
        self.programs = {name: one for name, one in scenarios["programs"].items() if not names or name in names}
        self.differing: dict[str, list[str]] = {}
        #: The results on the host, by program and language.
        self.hosted: dict[tuple[str, str], Result] = {}
        #: The place of a defect, by program and language.
        self._halted: dict[tuple[str, str], str] = {}

    @staticmethod
    def path(name: str) -> Path:
        """The file with the journals of a program."""
        return HERE / "journals" / f"{name}.json"

    def kept(self, name: str) -> dict[str, Any]:
        """The journals of a program that are kept."""
        path = self.path(name)
        return json.loads(path.read_text()) if path.exists() else {}

    def keep(self, name: str, result: Result) -> None:
        """Keeps the journals of a program, with one record a line."""
        texts = []
        for id, records in result.journals.items():
            lines = ",\n".join(f"  {json.dumps(one, ensure_ascii=False, sort_keys=True)}" for one in records)
            texts.append(f" {json.dumps(id)}: [\n{lines}\n ]")
        self.path(name).write_text("{\n" + ",\n".join(texts) + "\n}\n")

    def check(self, name: str, language: str, place: str, result: Result, ends_early: bool = False) -> None:
        """Compares one execution with what is expected. `ends_early`: it has some of the journals, and no outcome."""
        found = self.differing.setdefault(name, [])
        for difference in self._differences(name, language, result, ends_early):
            found.append(f"{language}, {place}: {difference}")
        if not found:
            del self.differing[name]

    def _differences(self, name: str, language: str, result: Result, ends_early: bool) -> list[str]:
        scenario, found = self.programs[name], []
        if result.error is not None:
            return [result.error]
        if "halts" in scenario:
            found += self._place(name, language, result.halted_at or "no place")
        elif not ends_early:
            found += self._outcome(scenario, result)
        wanted = [answer_of(step) for step in scenario.get("steps", []) if "query" in step or "update" in step]
        if wanted != result.answers:
            found.append(f"answers {json.dumps(result.answers)}, and not {json.dumps(wanted)}")
        if result.streams not in (None, scenario.get("streams", {})):
            found.append(f"streams {json.dumps(result.streams)}, and not {json.dumps(scenario['streams'])}")
        kept = self.kept(name)
        for id in result.journals if ends_early else scenario.get("journals", ["ID"]):
            for place, expected, other in differences(kept.get(id), result.journals.get(id)):
                found.append(f"journal of {id}, record {place}\n      expected {expected}\n      found    {other}")
                break
        return found

    def _place(self, name: str, language: str, halted_at: str) -> list[str]:
        """Compares the place of a defect with the file of the scenario, and with the line in the other form."""
        place = Path(halted_at).name
        known = self._halted.setdefault((name, language), place)
        if Path(place.split(":")[0]).stem != self.programs[name]["halts"]:
            return [f"halted at {halted_at}, and not in `{self.programs[name]['halts']}`"]
        return [] if known == place else [f"halted at {place}, and before at {known}"]

    @staticmethod
    def _outcome(scenario: dict[str, Any], result: Result) -> list[str]:
        last = scenario.get("journals", ["ID"])[-1]
        outcome = outcome_of(result.journals.get(last, [])) or {}
        if "code" in scenario:
            wanted, is_right = f"code {scenario['code']}", outcome.get("failure", {}).get("code") == scenario["code"]
        else:
            value = scenario.get("result")
            wanted, is_right = json.dumps(value), "failure" not in outcome and outcome.get("value") == value
        return [] if is_right else [f"ended with {json.dumps(outcome)}, and not with {wanted}"]


def answer_of(step: dict[str, Any]) -> dict[str, Any]:
    """The expected answer to a query or an update."""
    return {"code": step["refused"]} if "refused" in step else {"value": step.get("answer")}
