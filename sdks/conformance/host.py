"""A host with a store of its own, and the requests that the suite sends."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

ENDED = ("resolved", "rejected", "cancelled", "halted", "timed-out", "timed_out", "failed")
#: The compiled code that hosts keep between runs, and verify.
COMPILED = Path(__file__).parent / ".compiled"
#: Milliseconds that a request waits for the end of an execution.
WAIT_MS = 2_000


class Refused(Exception):
    """A request that the host refused, with the code of the failure."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Host:
    """One process of `segno serve` on a temporary folder."""

    def __init__(self, program: str, port: int, folder: Path, policy: str) -> None:
        self.program, self.folder, self.address = program, folder, f"127.0.0.1:{port}"
        (folder / "policy.toml").write_text(policy)
        COMPILED.mkdir(exist_ok=True)
        (folder / "data").mkdir()
        (folder / "data/compiled").symlink_to(COMPILED)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Starts the process, and waits until it answers."""
        command = [self.program, "serve", "--data", str(self.folder / "data"), "--listen", self.address, "--lease", "1"]
        command += ["--policy", str(self.folder / "policy.toml")]
        with open(self.folder / "host.log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        for _ in range(600):
            if self.process.poll() is not None:
                break
            try:
                self.get("/v1/invocations?limit=1")
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError((self.folder / "host.log").read_text())

    def kill(self) -> None:
        """Ends the process as a power failure does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def deploy(self, module: str, name: str) -> None:
        """Uploads a module under a name."""
        environment = {**os.environ, "SEGNO_SERVER": f"http://{self.address}"}
        command = [self.program, "deploy", module, "--as", name]
        finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if finished.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {finished.stdout}{finished.stderr}")

    def get(self, path: str) -> Any:
        """Reads over HTTP."""
        return self._send(self._request(path))

    def post(self, path: str, value: Any) -> Any:
        """Writes over HTTP."""
        return self._send(self._request(path, json.dumps(value).encode(), "application/json"))

    def _request(self, path: str, data: bytes | None = None, type: str = "") -> urllib.request.Request:
        headers = {"content-type": type} if type else {}
        return urllib.request.Request(f"http://{self.address}{path}", data, headers)

    def _send(self, request: urllib.request.Request, seconds: float = 60) -> Any:
        until = time.monotonic() + seconds
        while True:
            try:
                with urllib.request.urlopen(request, timeout=seconds) as answer:
                    return json.loads(answer.read() or b"null")
            except urllib.error.HTTPError as error:
                text = error.read().decode()
                # A busy host asks for the same request later.
                if error.code == 503 and time.monotonic() < until:
                    time.sleep(0.1)
                    continue
                failure = json.loads(text).get("failure") or {} if text.startswith("{") else {}
                raise Refused(failure.get("code", error.code), text) from None

    def exists(self, path: str) -> bool:
        """True if there is something to read."""
        try:
            self.get(path)
        except Refused:
            return False
        return True

    def journal(self, id: str) -> list[dict[str, Any]]:
        """The journal of an execution; empty before its begin."""
        try:
            return self.get(f"/v1/invocations/{quoted(id)}/journal")["records"]  # type: ignore[no-any-return]
        except Refused as refused:
            if refused.code != 404:
                raise
            return []

    def stream(self, id: str, name: str) -> Any:
        """The content of a stream: messages or text."""
        with urllib.request.urlopen(
            self._request(f"/v1/stream/{quoted(id)}/stream/{quoted(name)}"), timeout=60
        ) as answer:
            text = answer.read().decode()
            return json.loads(text) if answer.headers["content-type"] == "application/json" else text

    def ended(self, id: str) -> dict[str, Any] | None:
        """The invocation, if it ends soon."""
        found = self.get(f"/v1/invocations/{quoted(id)}/wait?timeout_ms={WAIT_MS}")
        return found if found["state"] in ENDED else None


def wait(event: str, ready: Callable[[], Any], seconds: float = 30) -> Any:
    """Waits until `ready` returns something."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = ready()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{event} did not happen in {seconds} s")


def quoted(id: str) -> str:
    """An id in a path."""
    return urllib.parse.quote(id, safe="")
