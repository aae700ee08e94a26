"""The HTTP server that programs send requests to. Every execution has a path of its own, and with it answers of its own."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: The size of the pieces of a body, in bytes: it cuts characters and lines.
PIECE_BYTES = 5


def pieces_of(value: Any) -> list[bytes] | None:
    """The pieces of `{"in_pieces": TEXT}`. None for any other body, which is JSON."""
    if not (isinstance(value, dict) and "in_pieces" in value):
        return None
    body = value["in_pieces"].encode()
    return [body[at : at + PIECE_BYTES] for at in range(0, len(body), PIECE_BYTES)]


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
                if (pieces := pieces_of(value)) is not None:
                    return self.in_pieces(status, pieces)
                body = json.dumps(value, separators=(",", ":")).encode()
                self.send_response_only(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def in_pieces(self, status: int, pieces: list[bytes]) -> None:
                self.send_response_only(status)
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for piece in [*pieces, b""]:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

            do_GET = do_POST = do

            protocol_version = "HTTP/1.1"

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
