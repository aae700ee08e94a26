import json
from collections.abc import Iterator
from typing import Any

import pytest
from segno_sdk import Failure
from segno_sdk.http import Response
from segno_sdk.testing import TestHost

from app import HISTORY_MAX, Conversation
from model import Message, Request, complete

CALL = {"name": "refund", "arguments": json.dumps({"order": "7", "cents": 100})}


def model(request: Request) -> Message:
    """Asks for a refund, and tells what came of it."""
    last = request.messages[-1]
    if last["role"] == "tool":
        return Message(role="assistant", content=last["content"])
    calls: list[dict[str, Any]] = [{"id": "1", "type": "function", "function": CALL}]
    return Message(role="assistant", content="", tool_calls=calls)


@pytest.mark.parametrize(
    ("decision", "answer", "refunds"), [(True, "done", 1), (False, "a person refused it", 0)]
)
def test_a_refund_is_made_when_a_person_approves_it(
    segno_host: TestHost, decision: bool, answer: str, refunds: int
) -> None:
    segno_host.on(complete, model)
    segno_host.on("wasm://tools/refund", "done")
    segno_host.promise("test/2/p/decision").resolve(decision)
    assert segno_host.run_object(Conversation.say, "ada", "refund") == answer
    assert len(segno_host.calls("wasm://tools/refund")) == refunds


def test_a_tool_that_fails_is_told_to_the_model(segno_host: TestHost) -> None:
    def fail(_: Any) -> str:
        raise Failure(403, "not this one")

    segno_host.on(complete, model)
    segno_host.on("wasm://tools/refund", fail)
    segno_host.promise("test/2/p/decision").resolve(True)
    assert segno_host.run_object(Conversation.say, "ada", "refund") == "failed: not this one"


def test_a_cancelled_turn_goes_on_without_the_tool(segno_host: TestHost) -> None:
    segno_host.on(complete, model)
    segno_host.cancel_after("1h")
    assert segno_host.run_object(Conversation.say, "ada", "refund") == "cancelled"


def test_each_token_is_in_the_stream_before_the_model_sends_the_next_one(
    segno_host: TestHost,
) -> None:
    for name, value in [("MODEL_URL", "http://model"), ("MODEL", "scripted")]:
        segno_host.env(name, value)
    segno_host.secret("MODEL_KEY", "sk-scripted")
    seen = []

    def pieces() -> Iterator[str]:
        for content in ("Good ", "day"):
            # The pieces cut the lines.
            yield 'data: {"choices":[{"delta":{"content":"' + content
            yield '"}}]}\n\n'
            seen.append(segno_host.stream("answer"))
        yield "data: [DONE]\n\n"

    segno_host.on_http("POST", "http://model/", lambda _: Response.in_pieces(200, pieces()))
    assert segno_host.run_object(Conversation.say, "ada", "hello") == "Good day"
    assert seen == [["Good "], ["Good ", "day"]]


def test_a_long_history_is_summarised(segno_host: TestHost) -> None:
    def long(request: Request) -> Message:
        content = "x" * HISTORY_MAX if request.tools else "long texts"
        return Message(role="assistant", content=content)

    segno_host.on(complete, long)
    for _ in range(5):
        segno_host.run_object(Conversation.say, "ada", "more")
    history = segno_host.state_of("Conversation@ada", "messages")
    assert len(history) == 5, "a summary and two turns"
    assert history[0]["content"].endswith("before: long texts")
