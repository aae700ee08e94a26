"""Runs each program in three languages, in the test kit and on a host, and compares the journals with those that are kept.

    SEGNO=/path/to/segno python3 run.py [--languages rust,python] [--native] [--write] [PROGRAM…]

`scenarios.json` has what happens to each program; `journals/PROGRAM.json` what its journals have to be. `--native` leaves out
the host. `--write` keeps the journals of the host, of the first of the languages. The host is killed once, in the middle of
the programs whose scenario has `kill`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from host import Host, Refused, quoted, wait
from journal import comparable, differences, outcome_of
from shop import Shop

HERE = Path(__file__).parent
LANGUAGES = ("typescript", "python", "rust")
#: Number of executions that are followed at the same time.
WATCHERS = 12


@dataclass
class Result:
    """What one execution of a program gave."""

    journals: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    answers: list[Any] = field(default_factory=list)
    #: `FILE:LINE` at which it halted.
    halted_at: str | None = None
    error: str | None = None


class Suite:
    """The programs, and where they differ from what is expected of them."""

    def __init__(self, names: list[str]) -> None:
        self.all = json.loads((HERE / "scenarios.json").read_text())
        unknown = set(names) - set(self.all["programs"])
        if unknown:
            sys.exit(f"there is no program {', '.join(sorted(unknown))} in scenarios.json")
        self.programs = {name: one for name, one in self.all["programs"].items() if not names or name in names}
        self.found: dict[str, list[str]] = {}
        #: The results on the host, by the id of the execution.
        self.hosted: dict[str, Result] = {}

    def kept(self, name: str) -> Path:
        """The file with the journals of a program."""
        return HERE / "journals" / f"{name}.json"

    def expected(self, name: str, language: str, kind: str) -> dict[str, Any]:
        """The kept journals of a program. `by_language` has those that a language or its test kit may have in place."""
        kept = json.loads(self.kept(name).read_text()) if self.kept(name).exists() else {}
        return {**kept, **kept.get("by_language", {}).get(language, {}), **kept.get("by_language", {}).get(f"{language} {kind}", {})}

    def check(self, name: str, language: str, kind: str, result: Result) -> None:
        """Compares one execution with what is expected."""
        scenario, complaints = self.programs[name], []
        if result.error is not None:
            complaints.append(result.error)
        else:
            if not (kind == "test kit" and language == "rust" and scenario["topic"] == "generations"):
                complaints += self._outcome(scenario, result)
            complaints += self._answers(scenario, result)
            expected = self.expected(name, language, kind).get("journals", {})
            # A kit of Rust has no journal of a defect, and ends with the first generation.
            partial = kind == "test kit" and language == "rust" and ("halts" in scenario or scenario["topic"] == "generations")
            for id in result.journals if partial else scenario.get("journals", ["ID"]):
                for place, is_wanted, found in list(differences(expected.get(id), result.journals.get(id)))[:1]:
                    complaints.append(f"journal of {id}, record {place}\n      expected {is_wanted}\n      found    {found}")
        for complaint in complaints:
            self.found.setdefault(name, []).append(f"{language}, {kind}: {complaint}")

    @staticmethod
    def _outcome(scenario: dict[str, Any], result: Result) -> list[str]:
        if "halts" in scenario:
            place = result.halted_at or ""
            is_right = Path(place.split(":")[0]).stem == scenario["halts"]
            return [] if is_right else [f"halted at {place or 'no place'}, and not in `{scenario['halts']}`"]
        first = scenario.get("journals", ["ID"])[-1]
        outcome = outcome_of(result.journals.get(first, []))
        if "code" in scenario:
            code = (outcome or {}).get("failure", {}).get("code")
            return [] if code == scenario["code"] else [f"ended with {json.dumps(outcome)}, and not with code {scenario['code']}"]
        wanted = scenario.get("result")
        is_right = outcome is not None and "failure" not in outcome and outcome.get("value") == wanted
        return [] if is_right else [f"ended with {json.dumps(outcome)}, and not with {json.dumps(wanted)}"]

    @staticmethod
    def _answers(scenario: dict[str, Any], result: Result) -> list[str]:
        wanted = [
            {"code": step["refused"]} if "refused" in step else {"value": step.get("answer")}
            for step in scenario.get("steps", [])
            if "query" in step or "update" in step
        ]
        return [] if wanted == result.answers else [f"answers {json.dumps(result.answers)}, and not {json.dumps(wanted)}"]


# In the test kits.


def build_native(language: str) -> None:
    """Builds what `native` starts."""
    if language == "typescript":
        subprocess.run(["node", "native.mjs", "--build"], cwd=HERE / "typescript", check=True)
    elif language == "rust":
        subprocess.run(["cargo", "build", "--quiet", "--package", "conformance", "--example", "native"], cwd=HERE, check=True)


def native(language: str, suite: Suite) -> dict[str, Result]:
    """Runs all programs in the test kit of a language."""
    commands = {
        "typescript": ["node", "native.mjs"],
        "python": [str(HERE / "python/.venv/bin/python"), "native.py"],
        "rust": ["cargo", "run", "--quiet", "--package", "conformance", "--example", "native", "--"],
    }
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [*commands[language], str(HERE / "scenarios.json"), file.name, *suite.programs]
        subprocess.run(command, cwd=HERE / language, check=True)
        given = json.load(file)
    results = {}
    for name, scenario in suite.programs.items():
        one = given[name]
        random = scenario.get("random", [])
        journals = {id: comparable(records, "ID", "http://shop.test", random) for id, records in one.get("journals", {}).items()}
        results[name] = Result(journals, one.get("answers", []), one.get("halted_at"), one.get("error"))
    return results


# On a host.


@dataclass
class Execution:
    """One program of one language on the host."""

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
        target = f"conformance-{self.language}/{self.name}"
        if not self.scenario.get("start_signal"):
            host.post("/v1/invocations", {"target": target, "id": self.id, "input": given})

    def follow(self, host: Host, until_kill: bool = False) -> None:
        """Does what the scenario says, until the kill or the end."""
        while self.steps:
            step = self.steps[0]
            records = step.get("records", 1)
            wait(f"record {records} of {self.id}", lambda count=records: len(host.journal(self.id)) >= count)  # type: ignore[misc]
            if step.get("kill"):
                if until_kill:
                    return
                self.steps.pop(0)
                continue
            self.steps.pop(0)
            self._tell(host, step)
        if not until_kill:
            wait(f"the end of {self.id}", lambda: host.ended(self.id))

    def _tell(self, host: Host, step: dict[str, Any]) -> None:
        id, value = quoted(self.id), step.get("value")
        if "signal" in step:
            host.post(f"/v1/invocations/{id}/signals", {"name": step["signal"], "payload": value})
        elif "resolve" in step:
            host.post(f"/v1/promises/{quoted(self.id + '/p/' + step['resolve'])}/resolve", {"value": value})
        elif "reject" in step:
            failure = {"code": step["code"], "message": step["message"]}
            host.post(f"/v1/promises/{quoted(self.id + '/p/' + step['reject'])}/reject", {"failure": failure})
        elif "cancel" in step:
            host.post(f"/v1/invocations/{id}/cancel", {})
        elif "query" in step:
            self._ask(lambda: host.post(f"/v1/invocations/{id}/queries/{step['query']}", {"input": value}).get("value"))
        elif "update" in step:
            self._ask(lambda: self._answer(host.post(f"/v1/invocations/{id}/updates/{step['update']}", {"input": value})))
        else:
            raise AssertionError(f"{self.name}: nobody knows the step {step}")

    def _ask(self, asked: Any) -> None:
        try:
            self.answers.append({"value": asked()})
        except Refused as refused:
            self.answers.append({"code": refused.code})

    @staticmethod
    def _answer(answer: dict[str, Any]) -> Any:
        if answer.get("state") == "failed":
            raise Refused((answer.get("failure") or answer).get("code", 0), json.dumps(answer))
        return answer.get("output")

    def result(self, host: Host) -> Result:
        """What it gave. Each journal is replayed on the host as well."""
        random = self.scenario.get("random", [])
        journals = {}
        for id in self.scenario.get("journals", ["ID"]):
            at = id.replace("ID", self.id, 1)
            records = host.journal(at)
            records = json.loads(json.dumps(records).replace(f"conformance-{self.language}", "conformance"))
            journals[id] = comparable(records, self.id, self.url, random)
            if "halts" not in self.scenario:
                verdict = host.post(f"/v1/invocations/{quoted(at)}/replay", {})["verdict"]
                if verdict != "identical":
                    return Result(journals, self.answers, error=f"a replay of {id} on the host is {verdict}")
        found = host.get(f"/v1/invocations/{quoted(self.id)}")
        halted = place_in(json.dumps(found)) if found["state"] == "halted" else None
        return Result(journals, self.answers, halted)


def place_in(text: str) -> str:
    """`FILE:LINE` of a defect in the report of the host."""
    place = text.split("panicked at ")[1].split("\\n")[0].split('"')[0] if "panicked at " in text else text
    parts = place.split(":")
    return ":".join(parts[:2])


def on_host(host: Host, suite: Suite, languages: list[str], shop: Shop) -> None:
    """Runs all programs of all languages at the same time; those with `kill` afterwards, across a kill of the host."""
    executions = []
    for name, scenario in suite.programs.items():
        for language in languages:
            url = shop.serve(f"{language}-{name}", scenario.get("http", {}))
            executions.append(Execution(language, name, scenario, url, list(scenario.get("steps", []))))
    killed = [one for one in executions if any(step.get("kill") for step in one.steps)]
    others = [one for one in executions if one not in killed]
    with ThreadPoolExecutor(WATCHERS) as pool:

        def whole(one: Execution, is_begun: bool = False) -> None:
            try:
                if not is_begun:
                    one.begin(host)
                one.follow(host)
                result = one.result(host)
            except Exception as error:  # the others go on
                result = Result(error=f"{type(error).__name__}: {error}")
            suite.check(one.name, one.language, "host", result)
            results[one.id] = result

        def until_kill(one: Execution) -> None:
            try:
                one.follow(host, until_kill=True)
            except Exception as error:  # `whole` reports it
                print(f"{one.id} before the kill: {error}")

        results: dict[str, Result] = {}
        list(pool.map(whole, others))
        for one in killed:
            one.begin(host)
        list(pool.map(until_kill, killed))
        if killed:
            host.kill()
            host.start()
            list(pool.map(lambda one: whole(one, is_begun=True), killed))
    suite.hosted = results


def policy(languages: list[str], folder: Path, settings: dict[str, Any]) -> str:
    """The policy file: all modules may reach the server, and have the same settings and files."""
    files = folder / "files"
    files.mkdir()
    for path, content in settings["files"].items():
        (files / Path(path).name).write_text(content)
    lines = []
    for language in languages:
        lines.append(f"[conformance-{language}]")
        lines.append('http.allow = ["http://127.0.0.1:*"]')
        lines.append(f'dirs = [{{ host = "{files}", guest = "/in" }}]')
        for table in ("env", "secrets"):
            (folder / table).mkdir(exist_ok=True)
            entries = []
            for name, value in settings[table].items():
                (folder / table / name).write_text(value)
                entries.append(f'{name} = "{value}"' if table == "env" else f'{name} = {{ file = "{folder / table / name}" }}')
            lines.append(f"{table} = {{ {', '.join(entries)} }}")
    return "\n".join(lines) + "\n"


def build_module(language: str, segno: str) -> str:
    """Builds the module of a language; the path of its file."""
    folder = HERE / language
    environment = dict(os.environ)
    if language == "python":
        environment.setdefault("VIRTUAL_ENV", str(folder / ".venv"))
    command = [segno, "--json", "build", str(folder), "--prepare"]
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{finished.stdout}{finished.stderr}")
    return str(json.loads(finished.stdout)["path"])


def write(suite: Suite, language: str) -> None:
    """Keeps the journals that the host has of one language. What `by_language` has stays."""
    results = suite.hosted
    for name in suite.programs:
        result = results[f"{language}-{name}"]
        if result.error is not None:
            continue
        path = suite.kept(name)
        old = json.loads(path.read_text()) if path.exists() else {}
        kept = {"journals": result.journals} | ({"by_language": old["by_language"]} if "by_language" in old else {})
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown(kept))


def shown(kept: dict[str, Any], indent: str = "") -> str:
    """The text of a file of journals, with one record a line."""
    def lines(value: Any, depth: int) -> str:
        pad = " " * depth
        if isinstance(value, dict) and value and depth < 10 and "kind" not in value:
            inner = ",\n".join(f"{pad} {json.dumps(name)}: {lines(one, depth + 1)}" for name, one in value.items())
            return f"{{\n{inner}\n{pad}}}"
        if isinstance(value, list) and value and isinstance(value[0], dict):
            inner = ",\n".join(f"{pad} {json.dumps(one, ensure_ascii=False, sort_keys=True)}" for one in value)
            return f"[\n{inner}\n{pad}]"
        return json.dumps(value, ensure_ascii=False, sort_keys=True)

    return lines(kept, 0) + "\n"


def main() -> None:
    """Runs everything. Exits with 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--segno", default=os.environ.get("SEGNO", "segno"))
    parser.add_argument("--port", type=int, default=int(os.environ.get("SEGNO_PORT", "7812")))
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--native", action="store_true", help="only in the test kits")
    parser.add_argument("--host", action="store_true", help="only on the host")
    parser.add_argument("--write", action="store_true", help="keep the journals")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    suite, languages = Suite(options.programs), options.languages.split(",")
    began = time.monotonic()

    def report(done: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {done}", flush=True)

    if not options.native:
        shop = Shop()
        with tempfile.TemporaryDirectory() as folder:
            host = Host(options.segno, options.port, Path(folder), policy(languages, Path(folder), suite.all["settings"]))
            try:

                def deploy(language: str) -> None:
                    host.deploy(build_module(language, options.segno), f"conformance-{language}")
                    report(f"built and deployed: {language}")

                with ThreadPoolExecutor(len(languages)) as pool:
                    list(pool.map(deploy, languages))
                on_host(host, suite, languages, shop)
            finally:
                host.kill()
        report("run on the host")
        if options.write:
            suite.found = {name: [one for one in found if "journal of" not in one] for name, found in suite.found.items()}
            suite.found = {name: found for name, found in suite.found.items() if found}
            write(suite, languages[0])
    if not options.host:
        for language in languages:
            build_native(language)
            for name, result in native(language, suite).items():
                suite.check(name, language, "test kit", result)
            report(f"run in the test kit: {language}")
    for name, complaints in suite.found.items():
        print(f"{name} DIFFERS")
        for complaint in complaints:
            print(f"    {complaint}")
    count = len(suite.programs)
    print(f"{count - len(suite.found)} of {count} programs are the same in {' and '.join(languages)}")
    sys.exit(1 if suite.found else 0)


if __name__ == "__main__":
    main()
