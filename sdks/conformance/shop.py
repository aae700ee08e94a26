"""The HTTP server that programs send requests to. Every execution has a path of its own, and with it answers of its own."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Shop:
    """Serves the answers of the scenarios at `/{execution}/…`."""

    def __init__(self) -> None:
        self._answers: dict[str, dict[str, list[Any]]] = {}
        self._lock = threading.Lock()
        shop = self

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
        self.url = f"http://127.0.0.1:{server.server_port}"

    def serve(self, execution: str, answers: dict[str, list[Any]]) -> str:
        """Sets the answers of one execution: lists of `[status, body]` by `METHOD /path`. The last one is repeated."""
        with self._lock:
            self._answers[execution] = {request: list(given) for request, given in answers.items()}
        return f"{self.url}/{execution}"

    def answer(self, method: str, path: str) -> tuple[int, Any]:
        """The status and the body of the next answer."""
        _, execution, rest = path.split("/", 2)
        with self._lock:
            given = self._answers.get(execution, {}).get(f"{method} /{rest}", [[404, None]])
            status, value = given.pop(0) if len(given) > 1 else given[0]
        return status, value
