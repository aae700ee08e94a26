"""Runs programs in the test kit, and writes what they gave.

python native.py SCENARIOS OUT [PROGRAM…]
"""

import json
import sys
import traceback
from pathlib import Path
from typing import Any

import app

from segno_sdk import Failure, Module
from segno_sdk.http import Response
from segno_sdk.testing import TestHost

SHOP = "http://shop.test"


def serve(host: TestHost, answers: dict[str, list[Any]]) -> None:
    """The server of one program: each answer once, the last one again and again."""
    left = {request: list(given) for request, given in answers.items()}

    def answer(request: Any) -> Response:
        given = left.get(f"{request.method} {request.url.removeprefix(SHOP)}", [[404, None]])
        status, value = given.pop(0) if len(given) > 1 else given[0]
        if isinstance(value, dict) and "in_pieces" in value:
            whole = value["in_pieces"].encode()
            return Response.in_pieces(status, [whole[at : at + 5] for at in range(0, len(whole), 5)])
        body = json.dumps(value, separators=(",", ":")).encode()
        return Response(status, body, [("content-type", "application/json"), ("content-length", str(len(body)))])

    for method in ("GET", "POST"):
        host.on_http(method, SHOP, answer)


def tell(host: TestHost, workflow: Any, step: dict[str, Any], number: int) -> Any:
    """Sends a step of the scenario; gives what was asked, if it has an answer."""
    after, value = step.get("at", 300 + 100 * number) / 1000, step.get("value")
    match step:
        case {"signal": name}:
            host.signal(name, value, after=after)
        case {"resolve": name}:
            host.promise(name).after(after).resolve(value)
        case {"reject": name, "code": code, "message": message}:
            host.promise(name).after(after).reject(Failure(code, message))
        case {"cancel": _}:
            host.cancel_after(after)
        case {"query": name}:
            return host.ask(workflow.handlers["query", name], value, after=after)
        case {"update": name}:
            return host.update(workflow.handlers["update", name], value, after=after)
    return None


def refusing(failure: dict[str, Any]) -> Any:
    """A double that fails."""

    def double(_: Any) -> None:
        raise Failure(failure["code"], failure["message"])

    return double


def answer_of(asked: Any) -> dict[str, Any]:
    """The answer to a query or an update."""
    try:
        return {"value": asked.value}
    except Failure as failure:
        return {"code": failure.code}


def place_of(error: BaseException) -> str:
    """The line at which a defect was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent == Path(__file__).parent]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}"


def run(settings: dict[str, Any], name: str, scenario: dict[str, Any]) -> dict[str, Any]:
    """Runs one program."""
    workflow: Any = Module.of_python(app).workflow(name)
    host = TestHost(app, id="ID")
    serve(host, scenario.get("http", {}))
    if refused := scenario.get("refused"):
        host.on_http("GET", refused["url"], refusing(refused))
    for function, failure in scenario.get("doubles", {}).items():
        host.on(function, refusing(failure))
    for key, value in settings["env"].items():
        host.env(key, value)
    for key, value in settings["secrets"].items():
        host.secret(key, value)
    for path, content in settings["files"].items():
        host.file(path, content)
    told = [tell(host, workflow, step, number) for number, step in enumerate(scenario.get("steps", []))]
    halted = None
    try:
        host.run_json(workflow, json.dumps(scenario.get("input")).replace("URL", SHOP))
    except Failure:
        pass
    except Exception as error:
        if "halts" not in scenario:
            raise
        halted = place_of(error)
    journals = {id: host.journal(None if id == "ID" else id) for id in scenario.get("journals", ["ID"])}
    streams = {name: host.stream(name) for name in scenario.get("streams", {})}
    answers = [answer_of(one) for one in told if one is not None]
    return {"journals": journals, "streams": streams, "answers": answers, "halted_at": halted}


def main() -> None:
    """Runs the programs that are named."""
    scenarios, out, *wanted = sys.argv[1:]
    given = json.loads(Path(scenarios).read_text())
    results: dict[str, Any] = {}
    for name in wanted:
        try:
            results[name] = run(given["settings"], name, given["programs"][name])
        except Exception:
            results[name] = {"error": traceback.format_exc()}
    Path(out).write_text(json.dumps(results))


if __name__ == "__main__":
    main()
