"""Runs each program natively and on a host that is killed in the middle, and compares the journals record by record.

    python run.py --segno segno --component app.wasm

Without `--component` it builds one. It needs the package `segno-sdk`, and componentize-py for the build.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from scenarios import SCENARIOS, Scenario, Told

from segno_sdk import Failure, Module
from segno_sdk.http import Response
from segno_sdk.testing import TestHost

HERE = Path(__file__).parent
Record = dict[str, Any]


# The server of `http-step`.


class Shop:
    """Answers of the server, the same natively and over a socket."""

    def __init__(self) -> None:
        self.charges = 0

    def answer(self, method: str, path: str) -> tuple[int, Any]:
        if (method, path) == ("POST", "/charges"):
            self.charges += 1
            return (503, None) if self.charges == 1 else (201, {"id": "ch-1"})
        return (200, {"paid": True}) if path == "/pay" else (404, None)


def serve_shop() -> str:
    """Starts the server; returns its address."""
    shop = Shop()

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status, value = shop.answer(self.command, self.path)
            body = json.dumps(value, separators=(",", ":")).encode()
            self.send_response_only(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


# Natively.


def run_natively(scenario: Scenario, module: Any, url: str) -> tuple[list[Record], dict[str, Any]]:
    """Runs a program in virtual time. Returns its journal, and how it ended."""
    workflow = Module.of_python(module).workflow(scenario.program)
    host = TestHost(module)
    shop = Shop()

    def answer(request: Any) -> Response:
        status, value = shop.answer(request.method, request.url.removeprefix(url))
        body = json.dumps(value, separators=(",", ":"))
        return Response(
            status, body.encode(), [("content-type", "application/json"), ("content-length", str(len(body)))]
        )

    host.on_http("GET", url, answer)
    host.on_http("POST", url, answer)
    answers = []
    for number, told in enumerate(scenario.told):
        after = 0.3 + 0.1 * number
        match told.kind:
            case "signal":
                host.signal(told.name, told.value, after=after)
            case "resolve":
                host.promise(told.name).after(after).resolve(told.value)
            case "cancel":
                host.cancel_after(after)
            case kind:
                handler = workflow.handlers[kind, told.name]
                sent = host.ask if kind == "query" else host.update
                answers.append((told, sent(handler, told.value, after=after)))
    ended: dict[str, Any] = {}
    try:
        ended["result"] = host.run_json(workflow, json.dumps(with_url(scenario.input, url)))
    except Failure as failure:
        ended["code"] = failure.code
    except Exception as error:
        ended["halts"] = place_of(error)
    for told, given in answers:
        check_answer(scenario, told, lambda given=given: given.value)  # type: ignore[misc]
    return host.journal("test/g/1" if scenario.program == "generation" else "test"), ended


def place_of(error: BaseException) -> str:
    """The line at which a defect was raised."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    assert traceback is not None
    return f"{Path(traceback.tb_frame.f_code.co_filename).name}:{traceback.tb_lineno}"


def check_answer(scenario: Scenario, told: Told, answer: Any) -> None:
    """Compares the answer to a query or an update."""
    try:
        given, refused = answer(), None
    except Failure as failure:
        given, refused = None, failure.code
    if (given, refused) != (told.answer, told.refused):
        raise AssertionError(
            f"{scenario.program}: `{told.name}` answered {given!r} (refused: {refused}), and not {told.answer!r} ({told.refused})"
        )


# On a host.


class Host:
    """A host with its own store."""

    def __init__(self, segno: str, port: int, folder: Path) -> None:
        self.segno, self.folder, self.address = segno, folder, f"127.0.0.1:{port}"
        (folder / "policy.toml").write_text('[conformance]\nhttp = { allow = ["http://127.0.0.1:*"] }\n')
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Starts the process, and waits until it answers."""
        command = [self.segno, "serve", "--data", str(self.folder / "data"), "--listen", self.address, "--lease", "1"]
        command += ["--policy", str(self.folder / "policy.toml")]
        with open(self.folder / "host.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        for _ in range(600):
            try:
                self.get("/v1/invocations?limit=1")
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError((self.folder / "host.log").read_text())

    def kill(self) -> None:
        """Kills the process, as a power failure would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def command(self, *arguments: str) -> str:
        """Runs a command of `segno`."""
        environment = {**os.environ, "SEGNO_SERVER": f"http://{self.address}"}
        finished = subprocess.run([self.segno, *arguments], env=environment, capture_output=True, text=True)
        if finished.returncode not in (0, 3, 4):
            raise RuntimeError(f"segno {' '.join(arguments)}: {finished.stdout}{finished.stderr}")
        return finished.stdout

    def get(self, path: str) -> Any:
        """Reads over HTTP."""
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=60) as answer:
            return json.load(answer)

    def post(self, path: str, value: Any) -> Any:
        """Writes over HTTP. Raises a `Failure` for a refusal."""
        data = json.dumps(value).encode()
        request = urllib.request.Request(f"http://{self.address}{path}", data, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            told = json.loads(error.read())
            raise Failure(told.get("code_of_failure") or error.code, json.dumps(told)) from None

    def journal(self, id: str) -> list[Record]:
        """The journal of an execution; empty before its begin."""
        try:
            return self.get(f"/v1/invocations/{quoted(id)}/journal")["records"]  # type: ignore[no-any-return]
        except urllib.error.HTTPError:
            return []

    def wait(self, what: str, ready: Any, seconds: float = 120) -> Any:
        """Waits until `ready` returns something."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = ready()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"{what} did not happen in {seconds} s")


def quoted(id: str) -> str:
    """An id in a path."""
    return urllib.parse.quote(id, safe="")


def tell(host: Host, scenario: Scenario, id: str, told: Told) -> None:
    """Sends what a client sends."""
    host.wait(f"record {told.records} of {id}", lambda: len(host.journal(id)) >= told.records)
    match told.kind:
        case "signal":
            host.command("signal", id, told.name, json.dumps(told.value))
        case "resolve":
            host.command("resolve", f"{id}/p/{told.name}", json.dumps(told.value))
        case "cancel":
            host.command("cancel", id)
        case "query":
            check_answer(
                scenario,
                told,
                lambda: host.post(f"/v1/invocations/{id}/queries/{told.name}", {"input": told.value})["value"],
            )
        case "update":
            check_answer(
                scenario,
                told,
                lambda: answer_of(host.post(f"/v1/invocations/{id}/updates/{told.name}", {"input": told.value})),
            )


def answer_of(told: dict[str, Any]) -> Any:
    """The answer to an update."""
    if told["state"] == "failed":
        failure = told.get("failure") or told
        raise Failure(failure["code"], failure.get("message", ""))
    return told.get("output")


def ended_on_host(host: Host, id: str) -> dict[str, Any]:
    """Waits for the end, and says how it ended."""

    def state() -> Any:
        told = host.get(f"/v1/invocations/{quoted(id)}")
        return told if told["state"] in ("resolved", "rejected", "cancelled", "halted", "timed-out") else None

    told = host.wait(f"the end of {id}", state)
    if told["state"] == "resolved":
        return {"result": told.get("output")}
    if told["state"] == "halted":
        text = json.dumps(told)
        place = text.split("panicked at ")[1].split(": ")[0] if "panicked at " in text else text
        return {"halts": place.rsplit(":", 1)[0] if place.count(":") == 2 else place}
    return {"code": told["failure"]["code"]}


# Comparing.


def with_url(value: Any, url: str) -> Any:
    """The value with the address of the server."""
    return json.loads(json.dumps(value).replace("URL", url))


def normal(records: list[Record], id: str, url: str) -> list[Record]:
    """The records without what differs between any two runs: instants, ids, random numbers, the module."""
    result = []
    for record in records:
        one = {key: value for key, value in record.items() if key not in ("module", "at_ms") and value is not None}
        text = json.dumps(one, sort_keys=True).replace(url, "URL").replace(f'"{id}/', '"ID/')
        one = json.loads(text)
        request = one.get("request")
        if isinstance(request, dict):
            for name in ("until_ms", "start_at_ms"):
                if name in request:
                    request[name] = f"+{request[name] - record['at_ms']}"
        result.append(one)
    numbers = [one["index"] for one in result if one.get("command") == "run"]
    for one in result:
        if one["kind"] == "notified" and one["index"] in numbers:
            one["outcome"] = "RANDOM"
    return result


def main() -> None:
    """Runs everything. Exits with 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--segno", default="segno")
    parser.add_argument("--port", type=int, default=7812)
    parser.add_argument("--component")
    parser.add_argument("--native", action="store_true", help="only natively")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    import app

    url = serve_shop()
    chosen = [scenario for scenario in SCENARIOS if not options.programs or scenario.program in options.programs]
    native = {}
    for scenario in chosen:
        records, ended = run_natively(scenario, app, url)
        native[scenario.program] = normal(records, "test", url)
        check_end(scenario, ended, url, "test", "natively")
    print(f"{len(native)} programs have run natively")
    if options.native:
        return
    with tempfile.TemporaryDirectory() as folder:
        host = Host(options.segno, options.port, Path(folder))
        try:
            differing = compare(host, chosen, native, options.component, url)
        finally:
            host.kill()
    print(f"{len(chosen) - differing} of {len(chosen)} programs have the same journal natively and on the host")
    sys.exit(1 if differing else 0)


def compare(
    host: Host, chosen: list[Scenario], native: dict[str, list[Record]], component: str | None, url: str
) -> int:
    """Runs the programs on a host. Returns the number of those that differ."""
    host.command("deploy", component or str(HERE), "--as", "conformance")
    ids = {scenario.program: f"c-{scenario.program}" for scenario in chosen}
    for scenario in chosen:
        host.command(
            "start",
            f"conformance/{scenario.program}",
            json.dumps(with_url(scenario.input, url)),
            "--id",
            ids[scenario.program],
        )
    host.kill()
    print("the host was killed")
    host.start()
    differing = 0
    for number, scenario in enumerate(chosen):
        id = ids[scenario.program]
        if number == len(chosen) // 2:
            host.kill()
            print("the host was killed again")
            host.start()
        try:
            for told in scenario.told:
                tell(host, scenario, id, told)
            check_end(scenario, ended_on_host(host, id), url, id, "on the host")
            # Of a workflow that continued as new, the first generation is compared.
            first = f"{id}/g/1" if scenario.program == "generation" else id
            there, here = normal(host.journal(first), id, url), native[scenario.program]
            if there != here:
                raise AssertionError("\n".join(difference(here, there)))
            verdict = host.post(f"/v1/invocations/{quoted(id)}/replay", {})["verdict"]
            if scenario.halts is None and verdict != "identical":
                raise AssertionError(f"a replay on the host is {verdict}")
            print(f"  {scenario.program}: {len(here)} records, the same")
        except (AssertionError, Failure) as error:
            differing += 1
            print(f"  {scenario.program}: DIFFERS\n{error}")
    return differing


def check_end(scenario: Scenario, ended: dict[str, Any], url: str, id: str, where: str) -> None:
    """Compares how a program ended with what is expected."""
    expected: dict[str, Any] = {
        "result": json.loads(json.dumps(with_url(scenario.result, url)).replace('"ID/', f'"{id}/'))
    }
    if scenario.code is not None:
        expected = {"code": scenario.code}
    if scenario.halts is not None:
        expected = {"halts": scenario.halts}
    ended = json.loads(json.dumps(ended))
    if ended != expected:
        raise AssertionError(f"{scenario.program} {where}: {ended}, and not {expected}")


def difference(here: list[Record], there: list[Record]) -> list[str]:
    """The records that differ."""
    lines = []
    for place in range(max(len(here), len(there))):
        one = here[place] if place < len(here) else None
        other = there[place] if place < len(there) else None
        if one != other:
            lines.append(
                f"    natively    {json.dumps(one, sort_keys=True)}\n    on the host {json.dumps(other, sort_keys=True)}"
            )
    return lines


if __name__ == "__main__":
    main()
