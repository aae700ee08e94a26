"""A server that answers as a test says, and counts the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Answer(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def json(
        self, value: Any, status: int = 200, kind: str = "application/json", headers: Mapping[str, str] = {}
    ) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def problem(self, status: int, code: str, **headers: str) -> None:
        problem = {"type": "", "title": "A title", "status": status, "detail": f"it is {code}", "code": code}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self.json({**problem, "more": [1]}, status, "application/problem+json", names)

    def lose(self) -> None:
        """Closes the connection without an answer."""
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def answering(answer: Callable[[int, Answer], None]) -> Iterator[tuple[str, list[str]]]:
    """Yields the address of the server, and the requests so far."""
    seen: list[str] = []

    class Handler(Answer):
        def _any(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            seen.append(f"{self.command} {self.path}")
            answer(len(seen), self)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
