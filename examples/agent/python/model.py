"""The model: messages of chat completions, and the activity that asks for the next one."""

import json
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from segno_sdk import ActivityContext, activity


class Message(TypedDict, total=False):
    """A message, in the form of chat completions."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: list[dict[str, Any]]
    tool_call_id: str


@dataclass
class Request:
    messages: list[Message]
    tools: list[Any]
    stream: str | None = None


@activity(timeout="1h")
async def complete(request: Request, ctx: ActivityContext) -> Message:
    """Asks the model for the next message. Its text is appended to a stream, token by token."""
    body = {
        "model": ctx.env("MODEL"),
        "messages": request.messages,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    headers = {
        "authorization": f"Bearer {ctx.secret('MODEL_KEY')}",
        "idempotency-key": ctx.idempotency_key,
    }
    answer = Message(role="assistant", content="")
    tokens = ctx.stream(request.stream) if request.stream else None
    # An attempt that was interrupted has stored the first of them.
    kept = tokens.kept() if tokens else 0
    with ctx.http_open(
        "POST",
        f"{ctx.env('MODEL_URL')}/chat/completions",
        headers=headers,
        json=body | ({"tools": request.tools} if request.tools else {}),
    ) as response:
        # Each event is there when the model has sent it.
        for event in response.raise_for_status().events():
            if event.data == "[DONE]":
                break
            chunk = json.loads(event.data)
            if usage := chunk.get("usage"):
                ctx.cost("tokens", usage["total_tokens"])
            for choice in chunk["choices"][:1]:
                if token := choice["delta"].get("content"):
                    answer["content"] += token
                    if kept > 0:
                        kept -= 1
                    elif tokens:
                        tokens.append(token)
                for piece in choice["delta"].get("tool_calls") or []:
                    add(piece, answer)
    return answer


def add(piece: dict[str, Any], answer: Message) -> None:
    """Adds a piece of the call of a tool."""
    calls = answer.setdefault("tool_calls", [])
    if piece["index"] == len(calls):
        function = {"name": "", "arguments": ""}
        calls.append({"id": piece["id"], "type": "function", "function": function})
    for name, text in (piece.get("function") or {}).items():
        calls[piece["index"]]["function"][name] += text or ""
