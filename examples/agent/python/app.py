"""An agent that survives everything: a loop over a model, with tools, approvals and a memory.

It shows a conversation as an object, whose turns are executed one at a time; the answer of the
model as a durable stream; tools in a module of their own, which may reach other hosts than this
one; a person who approves; a tool that is cancelled; a history that is summarised when it grows;
and a second agent as a child workflow.
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from segno_sdk import BudgetSpent, Context, Failure, Object, State, exclusive, shared, workflow

from agents import CLERK, RESEARCHER, Agent, Tool
from model import Message, Request, complete

HISTORY_MAX = 4_000
"""Size of a history, in characters, beyond which a turn begins with a summary."""
RESULT_MAX = 2_000
"""Characters of a tool's result that the model gets."""
ROUNDS_MAX = 10
"""Requests to the model in one turn."""


class Conversation(Object):
    messages: State[list[Message]]

    @exclusive(expose="mcp")
    async def say(self, text: str, ctx: Context) -> str:
        """Answers a text. The answer grows in the stream `answer` of this invocation."""
        messages = await compacted(await self.messages.get_or([]), ctx)
        messages.append(Message(role="user", content=text))
        answer = await converse(CLERK, messages, ctx, lambda: self.messages.set(messages))
        ctx.stream("answer").append({"answer": answer})
        return answer

    @shared
    async def history(self) -> list[Message]:
        """The messages so far."""
        return await self.messages.get_or([])


@dataclass
class Question:
    question: str


@workflow
async def research(input: Question, ctx: Context) -> str:
    """A second agent, with a conversation and tools of its own."""
    return await converse(RESEARCHER, [Message(role="user", content=input.question)], ctx)


async def converse(
    agent: Agent, history: list[Message], ctx: Context, keep: Callable[[], None] = lambda: None
) -> str:
    """Asks the model, and does what it asks for, until it answers.

    `keep` is called when the history is complete.
    """
    for _ in range(ROUNDS_MAX):
        messages = [Message(role="system", content=agent.instructions), *history]
        request = Request(messages, agent.described(), "answer")
        try:
            answer: Message = await ctx.call(complete, request)
        except BudgetSpent:
            return "I have used up my budget."
        calls = answer.get("tool_calls", [])
        tools = [asyncio.create_task(use(agent, call, ctx)) for call in calls]
        # If this turn is cancelled, each tool is cancelled as well, and tells the model so.
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tools)
        results = [tool.result() for tool in tools]
        history += [answer, *results]
        keep()
        if not results:
            return answer["content"]
    raise Failure(422, f"no answer after {ROUNDS_MAX} rounds")


async def use(agent: Agent, call: dict[str, Any], ctx: Context) -> Message:
    """Calls a tool. Whatever happens becomes a message, by which the model goes on."""
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    try:
        result = await result_of(name, agent.tools.get(name), arguments, ctx)
    except asyncio.CancelledError:
        result = "cancelled"
    except Failure as failure:
        # Any other exception is a defect of this code.
        result = "cancelled" if failure.is_cancelled else f"failed: {failure.message}"
    return Message(role="tool", tool_call_id=call["id"], content=result[:RESULT_MAX])


async def result_of(name: str, tool: Tool | None, arguments: str, ctx: Context) -> str:
    if tool is None:
        return f"there is no tool {name}"
    try:
        input = json.loads(arguments)
    except ValueError:
        return "the arguments are not JSON"
    if tool.asks and not await ctx.call(approval, Approval(name, input)):
        return "a person refused it"
    return str(await ctx.call(tool.target, input, result=str, labels={"tool": name}))


@dataclass
class Approval:
    tool: str
    input: Any


@workflow(promises={"decision": bool})
async def approval(_: Approval, ctx: Context) -> bool:
    """Waits until a person decides about the call of a tool: `{invocation}/p/decision`."""
    return await ctx.promise("decision", bool, timeout="3d")


async def compacted(history: list[Message], ctx: Context) -> list[Message]:
    """The history, or a summary and its last turn if it has become too long."""
    turns = [at for at, message in enumerate(history) if message["role"] == "user"]
    if len(json.dumps(history)) <= HISTORY_MAX or len(turns) < 2:
        return history
    old, recent = history[: turns[-1]], history[turns[-1] :]
    request = Message(role="user", content="Summarise this conversation in a few sentences.")
    summary: Message = await ctx.call(complete, Request([*old, request], []))
    content = f"Summary of what was said before: {summary['content']}"
    return [Message(role="system", content=content), *recent]
