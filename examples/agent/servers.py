"""The servers of the example, on loopback: a scripted model, and the shop that the tools work with.

    python3 servers.py [--model 9100] [--shop 9101]

The model speaks the protocol of chat completions, and sends each token by itself. Its answers depend
on the conversation only. In the middle of `dictate N` it waits for `POST /continue`. Both servers
repeat their answer to an `Idempotency-Key` that they know, and count the requests by key:
`GET /calls`. The shop also has the page that shows an answer while it grows.
"""

import argparse
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

#: What the model does about a text: what it says first, the tool, and its arguments.
SCRIPT = [
    (r"where is order (\w+)", "I look it up. ", "order_status", lambda order: {"order": order}),
    (r"refund order (\w+)", "I ask. ", "refund", lambda order: {"order": order, "cents": 2500}),
    (r"audit (\d+) orders", "Wait, please. ", "audit", lambda count: {"orders": int(count)}),
    (
        r"research (\S+)",
        "I ask a colleague. ",
        "research",
        lambda url: {"question": f"What does {url} say?"},
    ),
    (r"what does (\S+) say", "I read it. ", "read_page", lambda url: {"url": url}),
]

ORDERS = {"7": "it was shipped on Monday", "8": "it is being packed"}
#: In an answer: the place where the model waits.
PAUSE = "pause"
PAGES = {"/pages/returns": "Goods can be returned within 30 days."}


def answer(messages: list[dict]) -> tuple[str, list[tuple[str, dict]]]:
    """The text of the model, and the tools that it asks for with their arguments."""
    asked = max(at for at, message in enumerate(messages) if message["role"] == "user")
    text = messages[asked]["content"]
    results = [message["content"] for message in messages[asked:] if message["role"] == "tool"]
    if results:
        return f"This is what I found: {results[-1]}", []
    if text.startswith("Summarise"):
        first = next(message["content"] for message in messages if message["role"] == "user")
        return f"{len(messages) - 1} messages; it began with: {first[:40]}", []
    if "remember" in text:
        known = [message["content"] for message in messages if message["role"] == "system"]
        return f"I remember: {' '.join(known[1:]) or 'everything'}", []
    if counted := re.search(r"(?:count to|dictate) (\d+)", text):
        return " ".join(str(number + 1) for number in range(int(counted[1]))), []
    for pattern, says, tool, arguments in SCRIPT:
        if found := re.search(pattern, text, re.IGNORECASE):
            return says, [(tool, arguments(found[1]))]
    return f"You said: {text}", []


class Server(BaseHTTPRequestHandler):
    """Answers requests, the same to the same key."""

    protocol_version = "HTTP/1.1"
    lock = threading.Lock()

    def __init_subclass__(cls) -> None:
        cls.answers, cls.calls, cls.go_on = {}, {}, threading.Event()

    def serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length) or "null")
        key = self.headers.get("idempotency-key")
        if self.path == "/calls":
            return self.say(200, "application/json", json.dumps(list(self.calls.values())))
        if key is None:
            return self.say(*self.respond(None, body))
        known = (self.command, self.path, key)
        with self.lock:
            call = self.calls.setdefault(
                known, {"method": self.command, "path": self.path, "key": key, "times": 0}
            )
            call["times"] += 1
        if known not in self.answers or self.command == "GET":
            self.answers[known] = self.respond(key, body)
        return self.say(*self.answers[known])

    do_GET = do_POST = do_DELETE = serve

    def respond(self, key: str | None, body: dict) -> tuple[int, str, str | list[str]]:
        raise NotImplementedError

    def say(self, status: int, kind: str, content: str | list[str]) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        if isinstance(content, list):
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            return self.send_pieces(content)
        self.send_header("content-length", str(len(content.encode())))
        self.end_headers()
        self.wfile.write(content.encode())

    def send_pieces(self, pieces: list[str]) -> None:
        for piece in [*pieces, ""]:
            if piece == PAUSE:
                self.go_on.wait()
            else:
                content = piece.encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))

    def log_message(self, *_: object) -> None:
        pass


class Listener(ThreadingHTTPServer):
    """Listens for one server. A host that is killed breaks its connections, which is no error."""

    def handle_error(self, request: object, address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, address)


class Model(Server):
    """`POST /v1/chat/completions`, as a stream of server-sent events."""

    def respond(self, key: str | None, body: dict) -> tuple[int, str, str | list[str]]:
        if self.path == "/continue":
            self.go_on.set()
            return 200, "text/plain", ""
        if not self.headers.get("authorization", "").startswith("Bearer "):
            return 401, "text/plain", "there is no key of the model"
        messages = body["messages"]
        text, tools = answer(messages)
        deltas: list[dict] = [{"content": token} for token in re.findall(r"\S+\s*", text)]
        for index, (tool, arguments) in enumerate(tools):
            # The arguments come in pieces, as those of real models.
            call = {
                "index": index,
                "id": f"call-{len(body['messages'])}-{index}",
                "type": "function",
            }
            deltas.append({"tool_calls": [{**call, "function": {"name": tool, "arguments": ""}}]})
            for piece in re.findall(".{1,5}", json.dumps(arguments)):
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        lines = [json.dumps({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas]
        if (body.get("stream_options") or {}).get("include_usage"):
            sent = len(re.findall(r"\S+", json.dumps(messages)))
            lines.append(json.dumps({"choices": [], "usage": {"total_tokens": sent + len(deltas)}}))
        events = [f"data: {line}\n\n" for line in [*lines, "[DONE]"]]
        if "dictate" in messages[-1]["content"]:
            events.insert(len(deltas) // 2, PAUSE)
        return 200, "text/event-stream", events


class Shop(Server):
    """Orders, refunds, audits that take a second for ten orders, and pages."""

    audits: dict[str, tuple[float, int]] = {}

    def respond(self, key: str | None, body: dict) -> tuple[int, str, str]:
        match self.command, self.path.split("?")[0].split("/")[1:]:
            case "GET", [""]:
                page = Path(__file__).with_name("page.html").read_text()
                return 200, "text/html; charset=utf-8", page
            case "GET", ["pages", _] if self.path in PAGES:
                return 200, "text/plain", PAGES[self.path]
            case "GET", ["orders", order] if order in ORDERS:
                return self.text(ORDERS[order])
            case "POST", ["refunds"]:
                return self.text(f"{body['cents']} cents of order {body['order']} refunded")
            case "POST", ["audits"]:
                self.audits[str(key)] = (time.monotonic(), body["orders"])
                return self.text("begun")
            case "GET", ["audit"]:
                # Answers when there is something to tell.
                time.sleep(0.1)
                begun, orders = self.audits[str(key)]
                checked = min(int((time.monotonic() - begun) * 10), orders)
                progress = {"checked": checked, "done": checked == orders}
                return 200, "application/json", json.dumps(progress)
            case "DELETE", ["audit"]:
                del self.audits[str(key)]
                return self.text("stopped")
        return 404, "text/plain", f"there is nothing at {self.path}"

    def text(self, text: str) -> tuple[int, str, str]:
        return 200, "application/json", json.dumps({"text": text})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=int, default=9100, help="port of the model; 0: any")
    parser.add_argument("--shop", type=int, default=9101, help="port of the shop; 0: any")
    options = parser.parse_args()
    servers = [("model", Model, options.model), ("shop", Shop, options.shop)]
    threads = []
    for name, handler, port in servers:
        server = Listener(("127.0.0.1", port), handler)
        print(f"{name} http://127.0.0.1:{server.server_port}", flush=True)
        threads.append(threading.Thread(target=server.serve_forever))
        threads[-1].start()
    threads[0].join()


if __name__ == "__main__":
    main()
