"""Programs on a host: their starts, what is sent to them, and what they gave."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from host import Host, Refused, quoted, wait
from journal import comparable
from shop import Shop
from suite import Result, Suite

#: Number of executions that are followed at the same time.
WATCHERS = 12


@dataclass
class Execution:
    """One program of one language."""

    language: str
    name: str
    scenario: dict[str, Any]
    url: str
    steps: list[dict[str, Any]]
    answers: list[Any] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The id of the invocation."""
        return f"{self.language}-{self.name}"

    def begin(self, host: Host) -> None:
        """Starts it."""
        given = json.loads(json.dumps(self.scenario.get("input")).replace("URL", self.url))
        start = {"target": f"conformance-{self.language}/{self.name}", "input": given}
        if self.steps and self.steps[0].get("start"):
            step = self.steps.pop(0)
            signal = {"name": step["signal"], "payload": step.get("value"), "start": start}
            host.post(f"/v1/invocations/{quoted(self.id)}/signals", signal)
        else:
            host.post("/v1/invocations", {**start, "id": self.id})

    def follow(self, host: Host, until_kill: bool = False) -> None:
        """Does what the scenario says, until the kill or the end."""
        while self.steps:
            step = self.steps[0]
            self._wait_for(host, step.get("records", 1), step.get("of", "ID"))
            if step.get("kill") and until_kill:
                return
            self.steps.pop(0)
            self._tell(host, step)
        for id in ["ID", *self.scenario.get("journals", [])]:
            at = self._own(id)
            wait(f"the end of {at}", partial(host.ended, at))

    def _own(self, id: str) -> str:
        """The id on the host for one that begins with `ID`."""
        return id.replace("ID", self.id, 1)

    def _wait_for(self, host: Host, records: int, id: str) -> None:
        at = self._own(id)
        wait(f"record {records} of {at}", lambda: len(host.journal(at)) >= records)

    def _tell(self, host: Host, step: dict[str, Any]) -> None:
        own, value = f"/v1/invocations/{quoted(self.id)}", step.get("value")
        match step:
            case {"signal": name}:
                host.post(f"{own}/signals", {"name": name, "payload": value})
            case {"resolve": name}:
                host.post(f"/v1/promises/{quoted(self._promise(host, name))}/resolve", {"value": value})
            case {"reject": name, "code": code, "message": message}:
                failure = {"code": code, "message": message}
                host.post(f"/v1/promises/{quoted(self._promise(host, name))}/reject", {"failure": failure})
            case {"cancel": _}:
                host.post(f"{own}/cancel", {})
            case {"query": name}:
                self._ask(lambda: host.post(f"{own}/queries/{name}", {"input": value}).get("value"))
            case {"update": name}:
                self._ask(lambda: answered(host.post(f"{own}/updates/{name}", {"input": value})))
            case {"kill": _}:
                pass
            case _:
                raise AssertionError(f"{self.name}: there is no such step: {step}")

    def _promise(self, host: Host, name: str) -> str:
        """The id of a promise. One of a graph, which begins with `ID/`, is settled when it exists."""
        if not name.startswith("ID/"):
            return f"{self.id}/p/{name}"
        id = self._own(name)
        wait(f"the promise {id}", lambda: host.exists(f"/v1/promises/{quoted(id)}"))
        return id

    def _ask(self, asked: Callable[[], Any]) -> None:
        try:
            self.answers.append({"value": asked()})
        except Refused as refused:
            self.answers.append({"code": refused.code})

    def result(self, host: Host) -> Result:
        """What it gave. The host replays each journal as well."""
        journals = {}
        for id in self.scenario.get("journals", ["ID"]):
            at = self._own(id)
            records = json.loads(json.dumps(host.journal(at)).replace(f"conformance-{self.language}", "conformance"))
            journals[id] = comparable(records, self.id, self.url, self.scenario.get("random", []))
            verdict = (
                None if "halts" in self.scenario else host.post(f"/v1/invocations/{quoted(at)}/replay", {})["verdict"]
            )
            if verdict not in (None, "identical"):
                return Result(error=f"a replay of {id} on the host is {verdict}")
        found = host.get(f"/v1/invocations/{quoted(self.id)}")
        halted_at = place_in(json.dumps(found)) if found["state"] == "halted" else None
        streams = {name: host.stream(self.id, name) for name in self.scenario.get("streams", {})}
        return Result(journals, self.answers, halted_at, streams=streams)


def answered(answer: dict[str, Any]) -> Any:
    """The answer to an update. Raises what it was refused with."""
    if answer.get("state") == "failed":
        raise Refused((answer.get("failure") or answer).get("code", 0), json.dumps(answer))
    return answer.get("output")


def place_in(text: str) -> str:
    """`FILE:LINE` of a defect in the report of the host."""
    # Below the first place are those of the interpreter.
    found = text.split("panicked at ")
    place = found[1].split("\\n")[0].split('"')[0] if len(found) > 1 else text
    return ":".join(place.split(":")[:2])


def run_all(host: Host, suite: Suite, languages: list[str], shop: Shop) -> None:
    """Runs all programs of all languages at the same time; those with a step `kill` afterwards, across a kill of the host."""
    executions = []
    for name, scenario in suite.programs.items():
        for language in languages:
            url = shop.serve(f"{language}-{name}", scenario.get("http", {}))
            executions.append(Execution(language, name, scenario, url, list(scenario.get("steps", []))))
    killed = [one for one in executions if any(step.get("kill") for step in one.steps)]
    others = [one for one in executions if one not in killed]

    def attempt(one: Execution, *acts: Callable[[Execution], Any]) -> None:
        result = None
        try:
            for act in acts:
                result = act(one)
        except Exception as error:  # the others go on
            result = Result(error=f"{type(error).__name__}: {error}")
        if isinstance(result, Result):
            suite.hosted[one.name, one.language] = result

    def begin(one: Execution) -> None:
        one.begin(host)

    def follow(one: Execution) -> None:
        one.follow(host)

    def follow_until_kill(one: Execution) -> None:
        one.follow(host, until_kill=True)

    def result(one: Execution) -> Result:
        return one.result(host)

    with ThreadPoolExecutor(WATCHERS) as pool:
        list(pool.map(lambda one: attempt(one, begin, follow, result), others))
        list(pool.map(lambda one: attempt(one, begin), killed))
        list(pool.map(lambda one: attempt(one, follow_until_kill), killed))
        if killed:
            host.kill()
            host.start()
        list(pool.map(lambda one: attempt(one, follow, result), killed))
